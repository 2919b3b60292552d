"""Views: what a seat has been shown, with values as shown, and its array form.

A view is a projection of the log. It is kept up by writing rows when they are shown, never by looking at the world:
a stale read stays stale until it is read again. `tests/core/test_view.py` rebuilds views from logs and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fieldops_gym.core.calls import Reply, Status, ToolCall
from fieldops_gym.core.layout import SITUATION, Layout, ViewTable
from fieldops_gym.core.tools import Showing


class ViewError(Exception):
    """A view was asked to hold more than its capacity: a defect of a card, caught by the capacity lint."""


class Row:
    """A record as it was last shown: `record` in brief, `full` with its details (None until they were shown).

    Agents read `row["column"]`, which is None for what was not shown; features read the records.
    """

    __slots__ = ("full", "id", "position", "record", "table")

    def __init__(self, table: ViewTable, key: str, position: int) -> None:
        self.table = table
        self.id = key
        self.position = position
        self.record: Any = None
        self.full: Any = None

    def __getitem__(self, column: str) -> Any:
        if column in self.table.columns:
            return getattr(self.record, column)
        if column in self.table.details:
            return None if self.full is None else getattr(self.full, column)
        raise KeyError(f"table '{self.table.name}' shows no '{column}'; it shows {self.table.columns + self.table.details}")


class View:
    """What one seat has been shown. `flat` is its array form (float32), `mask` its legal actions, per slot and flat (bool).

    `notes` holds what replies said about a record beyond the record itself, by record id; `brief` is the task as given;
    `decoded` is what actions have come to, which holds as long as rows keep their places. A seat that a script plays
    needs no `arrays`.
    """

    __slots__ = (
        "_last", "arrays", "blocked", "brief", "by_id", "decoded", "flat", "layout", "limits", "listed", "mask",
        "meters", "notes", "now", "restarted", "rows", "seat", "terms",
    )  # fmt: skip

    def __init__(self, layout: Layout, seat: str, brief: Any, listed: Iterable[str], limits: Any, arrays: bool = True) -> None:
        self.layout = layout
        self.seat = seat
        self.brief = brief
        self.listed = frozenset(listed)
        self.limits = limits
        self.meters: Any = None
        self.terms: tuple[int, ...] = ()
        self.now = 0
        self.restarted = False
        self.blocked: frozenset[str] = frozenset()
        self.arrays = arrays
        self._clear()

    def _clear(self) -> None:
        layout = self.layout
        self.rows: dict[str, list[Row]] = {name: [] for name in layout.tables}
        self.by_id: dict[str, Row] = {}
        self.notes: dict[str, Any] = {}
        self.decoded: dict[bytes | None, tuple[ToolCall, tuple[Any, ...]]] = {}
        if not self.arrays:
            return
        self.flat = np.zeros(layout.width, dtype=np.float32)
        self.mask = np.zeros(layout.catalogue.size, dtype=bool)
        start = layout.sections["last"].start
        self._last = (start, start, start)
        for slot in layout.catalogue.slots[1:]:
            if slot.name in layout.tables:
                self.mask[slot.start] = True
            else:
                self.mask[slot.start : slot.start + slot.size] = True
        self._judge_tools(range(len(layout.catalogue.tools)))

    def open(self, showings: Sequence[Showing], now: int, *, restarted: bool) -> None:
        """Start (again) from nothing but the brief, as at the start of an episode and after a crash of the agent."""
        self.restarted = restarted
        self.now = now
        self._clear()
        self._show(showings)
        self.terms = self.layout.clock.terms(self) if self.layout.clock.terms else ()
        self._recompute({SITUATION, *self.layout.tables})
        if restarted:
            self._mark_last("", Status.RESTARTED, "")

    def absorb(self, call: ToolCall, reply: Reply, showings: Sequence[Showing], now: int) -> None:
        """Take in a reply to this seat's own call."""
        self.now = now
        changed = self._show(showings) if showings else None
        noted = self.layout.absorb(self, call, reply)
        self._mark_last(call.tool, reply.status, reply.code)
        if noted:
            self._recompute(changed.union(noted) if changed else set(noted))
        elif changed:
            self._recompute(changed)

    def deliver(self, showings: Sequence[Showing], now: int) -> None:
        """Take in a request that was put before this seat: a request is a person's brief."""
        self.now = now
        changed = self._show(showings)
        if changed and self.arrays:
            self._recompute(changed)

    def _show(self, showings: Sequence[Showing]) -> set[str] | None:
        changed: set[str] | None = None
        by_id = self.by_id
        for table, record, detail, _ in showings:
            row = by_id.get(record[0])
            if row is None:
                row = self._add(table, record[0])
            elif record is row.record and (not detail or record is row.full):
                continue
            row.record = record
            if detail:
                row.full = record
            if changed is None:
                changed = {table}
            else:
                changed.add(table)
        return changed

    def _add(self, table: str, key: str) -> Row:
        rows = self.rows[table]
        if len(rows) >= self.layout.tables[table].capacity:
            raise ViewError(f"view of seat '{self.seat}': table '{table}' is full ({len(rows)} rows); '{key}' does not fit")
        row = Row(self.layout.tables[table], key, len(rows) + 1)
        rows.append(row)
        self.by_id[key] = row
        start = self.layout.catalogue.position_start.get(table) if self.arrays else None
        if start is not None:
            self.mask[start + row.position - 1] = True
            if row.position == 1:
                self._judge_tools(self.layout.tools_by_table[table])
        return row

    def _mark_last(self, tool: str, status: str, code: str) -> None:
        layout, flat = self.layout, self.flat
        first, second, third = self._last
        flat[first] = flat[second] = flat[third] = 0.0
        first = layout.status_at[status]
        second, third = layout.code_at.get(code, first), layout.tool_at.get(tool, first)
        flat[first] = flat[second] = flat[third] = 1.0
        self._last = (first, second, third)

    def _recompute(self, changed: set[str]) -> None:
        layout, flat, rows = self.layout, self.flat, self.rows
        tables = set(changed)
        for name in changed:
            readers = layout.readers[name]
            if readers:
                tables.update(readers)
        for name in tables:
            features = layout.features[name]
            if features is not None and rows[name]:
                numbers = features(self, rows[name])
                start = layout.starts[name]
                flat[start : start + len(numbers)] = numbers
        if SITUATION in changed or not layout.situation.refreshed_by.isdisjoint(changed):
            layout.situation.write(self, flat, layout.situation_at)

    def tick(self, now: int, meters: Any, blocked: frozenset[str]) -> None:
        """Bring clock and meters up to `now` (simulated seconds); `blocked` are tools whose budget is used up."""
        self.now = now
        self.meters = meters
        self.layout.clock.write(self, self.flat, self.layout.clock_at)
        if blocked != self.blocked:
            self.blocked = blocked
            self._judge_tools(range(len(self.layout.catalogue.tools)))

    def _judge_tools(self, indices: Iterable[int]) -> None:
        catalogue, rows = self.layout.catalogue, self.rows
        for index in indices:
            tool = catalogue.tools[index]
            reachable = any(all(rows[table] for table in way) for way in catalogue.alternatives[index])
            self.mask[index] = tool.name in self.listed and tool.name not in self.blocked and reachable

    def table_of(self, key: str) -> str | None:
        """Return the table of a record this seat has been shown; None for any other text."""
        row = self.by_id.get(key)
        return None if row is None else row.table.name

    def place(self, key: str) -> tuple[str, int] | None:
        """Return the table and position (from 1) of a shown record, or None."""
        row = self.by_id.get(key)
        return None if row is None else (row.table.name, row.position)

    def row(self, key: str) -> Row | None:
        """Return the row of a shown record, or None."""
        return self.by_id.get(key)

    def last_call(self, tool: str) -> bool:
        """Whether the last result was one of `tool`."""
        layout = self.layout
        return bool(self.flat[layout.tool_at[tool]])

    def observation(self) -> dict[str, np.ndarray]:
        """Return a fresh observation: float32 arrays, one per section, each in [-1, 1]."""
        flat = self.flat.copy()
        return {name: flat[piece] for name, piece in self.layout.pieces}

    def menu_mask(self) -> np.ndarray:
        """Return which entries of the call menu are legal now, bool of shape (entries,)."""
        return self.layout.catalogue.menu_mask(self.mask)
