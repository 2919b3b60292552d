"""What an environment card is made of: parts, each with a lead and tables. JSON and Markdown are two faces of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Cell = str | int


class EnvironmentCardError(Exception):
    """A card cannot be made, or read: an audit of something else, or a claim that traces to nothing. One line."""


class Table(NamedTuple):
    """Named rows under columns. `note` says how to read it, '' for nothing."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, name: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], note: str = "") -> Table:
        """Return a table of rows, each as long as the columns. Raises `ValueError` for one that is not."""
        held = tuple(tuple(row) for row in rows)
        for row in held:
            if len(row) != len(columns):
                raise ValueError(f"table '{name}': a row has {len(row)} cells, there are {len(columns)} columns: {row}")
        return cls(name, tuple(columns), held, note)


class Part(NamedTuple):
    """One part of a card. `lead` are sentences that come before the tables."""

    id: str
    title: str
    lead: tuple[str, ...]
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """Return a table by its name. Raises `KeyError` that lists the names."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"part '{self.id}' has no table '{name}'; it has {', '.join(t.name for t in self.tables)}")

    @property
    def empty(self) -> bool:
        """Whether it shows nothing: no table has a row."""
        return not any(table.rows for table in self.tables)


def words(names: Iterable[object], none: str = "none") -> str:
    """Return names in one line, `none` if there are none."""
    return ", ".join(str(name) for name in names) or none
