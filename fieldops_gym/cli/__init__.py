"""The command line, `fieldops ...`: one module per group of commands.

Exit status: 0 when the command worked, however bad the agent; 1 when a trial could not be judged, a start is unsound, or a
check falls short; 2 when the command itself, or a file that it was given, is wrong; 130 when it was interrupted.
"""

from __future__ import annotations

from fieldops_gym.cli import card, evaluate, locking, look, review, sampling, upkeep
from fieldops_gym.cli.common import app

__all__ = ["app", "card", "evaluate", "locking", "look", "main", "review", "sampling", "upkeep"]


def main() -> None:
    """Run the command line; the entry point of the `fieldops` script."""
    app()
