"""How many repetitions a test makes: few by default, the promised number when `FIELDOPS_FULL=1` is set."""

from __future__ import annotations

import os

FULL = os.environ.get("FIELDOPS_FULL") == "1"


def count(quick: int, full: int) -> int:
    """Return `full` in the full run, `quick` otherwise."""
    return full if FULL else quick
