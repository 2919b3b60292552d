"""`python -m fieldops_gym.cli`."""

from fieldops_gym.cli import main

main()
