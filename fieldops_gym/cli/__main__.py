"""`python -m fieldops_gym.cli`."""

from fieldops_gym.cli import main

if __name__ == "__main__":
    main()
