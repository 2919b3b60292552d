"""The fixed shape of a seat's view: which tables it has, what each shows, and where its numbers lie in the flat array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fieldops_gym.core.calls import Code, Reply, Status, ToolCall
from fieldops_gym.core.catalogue import Catalogue
from fieldops_gym.core.tools import Tool

if TYPE_CHECKING:
    from fieldops_gym.core.view import Row, View


class Field(NamedTuple):
    """One number of an observation and what it means; it lies in [-1, 1]."""

    name: str
    meaning: str


class ViewTable(NamedTuple):
    """How records of one table are shown.

    `columns` are shown by any reply that shows the record, `details` only by one that shows it whole. `features(view,
    rows)` returns, row after row, one number per entry of `fields`: 1 yes, -1 no, 0 not known. They are recomputed when a
    row of the table itself or of one in `refreshed_by` changes.
    """

    name: str
    capacity: int
    columns: tuple[str, ...]
    details: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    features: Callable[[View, list[Row]], Sequence[float]] | None = None
    refreshed_by: tuple[str, ...] = ()


class Panel(NamedTuple):
    """A group of numbers about no single record. `write(view, flat, start)` puts one per entry of `fields` into `flat`.

    It writes rather than returns because one panel, the clock, is written at every step. The other is written when
    a reply changed it, or a row of a table in `refreshed_by`. `terms(view)` reads once, from the brief, what
    the clock needs all along.
    """

    fields: tuple[Field, ...]
    write: Callable[[View, np.ndarray, int], None]
    refreshed_by: frozenset[str] = frozenset()
    terms: Callable[[View], tuple[int, ...]] | None = None


SITUATION = "situation"
"""The section of an observation that is about no single record, and what `absorb` calls it."""


class Layout:
    """The fixed shape of a seat's view: its catalogue, tables and panels, and where each lies in the flat array.

    `clock` is written whenever time has passed. `absorb(view, call, reply)` notes what replies say beyond records and
    returns the tables whose features that may change; `SITUATION` among them stands for the situation's numbers.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        tables: Sequence[ViewTable],
        clock: Panel,
        situation: Panel,
        absorb: Callable[[View, ToolCall, Reply], Sequence[str]],
    ) -> None:
        self.tables = {table.name: table for table in tables}
        self.catalogue = Catalogue(tools, {table.name: table.capacity for table in tables})
        self.clock, self.situation, self.absorb = clock, situation, absorb
        self.last = last_fields(self.catalogue)
        widths = {"clock": len(clock.fields), "situation": len(situation.fields), "last": len(self.last)}
        widths |= {t.name: t.capacity * len(t.fields) for t in tables if t.fields}
        self.sections: dict[str, slice] = {}
        start = 0
        for name, width in widths.items():
            self.sections[name] = slice(start, start + width)
            start += width
        self.width = start
        self.pieces = tuple(self.sections.items())
        last = self.sections["last"].start
        self.status_at: dict[str, int] = {status: last + index for index, status in enumerate(STATUSES)}
        self.code_at: dict[str, int] = {code: last + len(STATUSES) + index for index, code in enumerate(CODES)}
        self.tool_at = {t.name: last + len(STATUSES) + len(CODES) + i for i, t in enumerate(self.catalogue.tools)}
        self.clock_at, self.situation_at = self.sections["clock"].start, self.sections["situation"].start
        self.features = {SITUATION: None} | {t.name: t.features for t in tables}
        self.starts = {name: piece.start for name, piece in self.sections.items()}
        self.readers: dict[str, tuple[str, ...]] = {SITUATION: ()}
        self.readers |= {t.name: tuple(o.name for o in tables if t.name in o.refreshed_by) for t in tables}
        self.tools_by_table = {
            table: tuple(i for i, ways in enumerate(self.catalogue.alternatives) if any(table in way for way in ways))
            for table in self.tables
        }

    def __deepcopy__(self, memo: dict[int, Any]) -> Layout:
        return self


STATUSES = tuple(Status)
CODES = tuple(code for code in Code if code)


def last_fields(catalogue: Catalogue) -> tuple[Field, ...]:
    """Name the numbers of the `last` section: the last result's status and code, and the tool it came from."""
    return (
        *(Field(f"status_{status}", f"the last result is '{status}'") for status in STATUSES),
        *(Field(f"code_{code}", f"the last result's code is '{code}'") for code in CODES),
        *(Field(f"tool_{tool.name}", f"the last call was '{tool.name}'") for tool in catalogue.tools),
    )


def shown_fields(table: ViewTable, record: Any, detail: int) -> dict[str, Any]:
    """Return the fields of `record` that a reply shows, by name, in the order of the table's columns."""
    names = table.columns + table.details if detail else table.columns
    return {name: getattr(record, name) for name in names}
