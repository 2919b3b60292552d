"""The world: tables of immutable records, and the log of events that made them what they are.

`World.apply` is the only way to change anything, so the world is the fold of its start over its log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import canonical, digest

Record = Any
"""An immutable NamedTuple, id first; one class per table."""

Tables = dict[str, dict[str, Record]]


class WorldError(Exception):
    """The harness broke a rule of the log. Never the fault of an agent."""


class Write(NamedTuple):
    """A record put into a table under an id; None deletes it."""

    table: str
    id: str
    record: Record | None


class Event(NamedTuple):
    """One entry of the log.

    `at` is in simulated seconds. `actor` is a seat, a service or the harness. `ref` is the seq of the call that caused
    the event, 0 if none did. `data` is a NamedTuple whose class goes with `kind`.
    """

    seq: int
    at: int
    actor: str
    kind: str
    ref: int
    writes: tuple[Write, ...]
    data: Any


class Change(NamedTuple):
    """A record before and after; None where it did not exist."""

    table: str
    id: str
    before: Record | None
    after: Record | None


make = tuple.__new__
"""`make(Event, (...))` builds a record without the named constructor's detour: the difference is felt in every step."""


class World:
    """Tables and their log. `now` is the time of the last event, in simulated seconds."""

    __slots__ = ("_versions", "log", "now", "start", "tables")

    def __init__(self, start: Tables, at: int = 0) -> None:
        self.start = start
        self.tables: Tables = {name: dict(rows) for name, rows in start.items()}
        self.log: list[Event] = []
        self.now = at
        self._versions: dict[tuple[str, str], int] = {}

    def apply(self, event: Event) -> None:
        """Append `event` and make its writes. Raises `WorldError` on a gap, time that runs back, or an unknown table."""
        if event.seq != len(self.log) + 1:
            raise WorldError(f"event seq {event.seq} does not follow {len(self.log)}")
        self.emit(*event[1:])

    def emit(self, at: int, actor: str, kind: str, ref: int, writes: tuple[Write, ...], data: Any) -> int:
        """Append the next event, make its writes, and return its seq. Raises `WorldError` as `apply` does."""
        log = self.log
        seq = len(log) + 1
        if at < self.now:
            raise WorldError(f"event {seq} is at {at} s, before the world's {self.now} s")
        if writes:
            tables, versions = self.tables, self._versions
            for write in writes:
                if write[0] not in tables:
                    raise WorldError(f"event {seq} writes to table '{write[0]}', which this world does not have")
            for table, key, record in writes:
                if record is None:
                    tables[table].pop(key, None)
                else:
                    tables[table][key] = record
                versions[table, key] = seq
        log.append(make(Event, (seq, at, actor, kind, ref, writes, data)))
        self.now = at
        return seq

    def version(self, table: str, key: str) -> int:
        """Return the seq of the event that last wrote the record; 0 when it is as at the start (or never was)."""
        return self._versions.get((table, key), 0)

    def record_at(self, table: str, key: str, seq: int) -> Record | None:
        """Return the record as it was after event `seq`."""
        for event in reversed(self.log[:seq]):
            for write in reversed(event.writes):
                if write.table == table and write.id == key:
                    return write.record
        return self.start[table].get(key)

    def at(self, seq: int) -> Tables:
        """Return the tables as they were after event `seq`, for inspection."""
        return fold(self.start, self.log[:seq])

    def digest(self, table: str | None = None) -> str:
        """SHA-256 of one table, or of all of them."""
        return tables_digest(self.tables, table)

    def log_digest(self) -> str:
        """The end of the digest chain over the log; equal logs have equal digests, in any process."""
        return chain_digests(self.log)[-1] if self.log else GENESIS


GENESIS = "0" * 64
"""What the digest chain starts from."""


def fold(start: Mapping[str, Mapping[str, Record]], log: Iterable[Event]) -> Tables:
    """Return the tables that `log` makes of `start`."""
    tables: Tables = {name: dict(rows) for name, rows in start.items()}
    for event in log:
        for table, key, record in event.writes:
            if record is None:
                tables[table].pop(key, None)
            else:
                tables[table][key] = record
    return tables


def tables_digest(tables: Mapping[str, Mapping[str, Record]], table: str | None = None) -> str:
    """SHA-256 of canonical JSON of `tables`, or of one of them."""
    return digest(tables if table is None else tables[table])


def chain_digests(log: Iterable[Event]) -> list[str]:
    """Return one digest per event, each over the one before and its own event, so that no line can be changed alone."""
    chain, last = [], GENESIS
    for event in log:
        last = hashlib.sha256(last.encode("ascii") + canonical(event)).hexdigest()
        chain.append(last)
    return chain


def diff(before: Mapping[str, Mapping[str, Record]], after: Mapping[str, Mapping[str, Record]]) -> tuple[Change, ...]:
    """Return every record that differs, in the order of table and id."""
    changes = []
    for table in sorted(set(before) | set(after)):
        old, new = before.get(table, {}), after.get(table, {})
        if old == new:
            continue
        for key in sorted(set(old) | set(new)):
            if old.get(key) != new.get(key):
                changes.append(Change(table, key, old.get(key), new.get(key)))
    return tuple(changes)
