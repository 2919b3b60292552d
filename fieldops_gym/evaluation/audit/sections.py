"""What a section of the audit says: rows, each of which holds or falls short, and the bound that they are held to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """One thing that was looked at. `text` says what was seen, `figures` the numbers behind it."""

    subject: str
    holds: bool
    text: str
    figures: Mapping[str, float | str] = {}


class Section(NamedTuple):
    """One question of the audit. `bound` says what must hold, `summary` what was seen, in one line each.

    A section without rows has looked at nothing, and so falls short.
    """

    name: str
    bound: str
    summary: str
    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        """Whether every row holds, and there is one."""
        return bool(self.rows) and all(row.holds for row in self.rows)

    @property
    def short(self) -> tuple[Row, ...]:
        """The rows that fall short."""
        return tuple(row for row in self.rows if not row.holds)
