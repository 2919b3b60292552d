"""Mutations of effects: a record of an effect that is missing, altered or there twice, and one that nobody in the run made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fieldops_gym.core.world import Tables, Write
from fieldops_gym.domains.field_service.records import Reservation
from fieldops_gym.graders.mutations.equivalents import hidden_by, named
from fieldops_gym.graders.mutations.model import Base, Change, Kind, Make
from fieldops_gym.graders.mutations.surgery import edited, standing, with_writes

GROUP = "effect"

OF_THE_EFFECT = (
    "effect.at_most_once", "effect.as_approved", "effect.suitable", "authority.live_at_commit",
    "account.finish_true", "account.told_true", "task.accepted_ending",
)  # fmt: skip
"""Verdicts that bear on a ledger entry: without one there is no effect to speak of."""

OF_WHOLENESS = ("account.finish_true", "account.told_true", "task.accepted_ending")
"""Verdicts that bear on the four records that go with a reservation."""

Alter = Callable[[Any, Base], Any]


def _dropped(table: str) -> Make:
    """Take one table's writes out of the commit of an effect."""

    def make(base: Base) -> Iterator[Change]:
        for booked, _ in standing(base):
            seq = booked.event.seq
            for write in booked.event.writes:
                if write.table == table:
                    dropped = with_writes(base, seq, lambda ws: tuple(w for w in ws if w.table != table))
                    yield Change(f"event {seq}", dropped, hidden_by(base, seq, table, write.id))

    return make


def _altered(table: str, alter: Alter, unless: Callable[[Base], str] = lambda base: "") -> Make:
    """Alter the record that the commit of an effect writes to a table. An `alter` that returns None has nothing to alter."""

    def make(base: Base) -> Iterator[Change]:
        for booked, _ in standing(base):
            records = [w.record for w in booked.event.writes if w.table == table]
            if not records or alter(records[0], base) is None:
                continue
            seq = booked.event.seq
            changed = with_writes(base, seq, lambda ws: tuple(_alter(w, table, alter, base) for w in ws))
            yield Change(f"event {seq}", changed, unless(base))

    return make


def _alter(write: Write, table: str, alter: Alter, base: Base) -> Write:
    return write._replace(record=alter(write.record, base)) if write.table == table else write


def _other(table: str, field: str) -> Alter:
    """Put another record's id into a field."""

    def alter(record: Any, base: Base) -> Any:
        other = next((key for key in base.trial.world.start[table] if key != getattr(record, field)), None)
        return None if other is None else record._replace(**{field: other})

    return alter


def _twice(base: Base) -> Iterator[Change]:
    """Make the effect a second time, under another key, as a service without deduplication would."""
    for booked, made in standing(base):
        again = made._replace(id=f"{made.id}b", key=f"{made.key}b")

        def more(writes: tuple[Write, ...], made: Reservation = made, again: Reservation = again) -> tuple[Write, ...]:
            return writes + tuple(_copy(w, made, again) for w in writes if w.table in ("reservation", "ledger", "audit"))

        yield Change(f"event {booked.event.seq}", with_writes(base, booked.event.seq, more))


def _copy(write: Write, made: Reservation, again: Reservation) -> Write:
    if write.table == "reservation" or write.record is None:
        return Write("reservation", again.id, again)
    record = write.record._replace(id=f"{write.id}b", reservation=again.id)
    return Write(write.table, record.id, record._replace(key=again.key) if write.table == "ledger" else record)


def _entered_twice(base: Base) -> Iterator[Change]:
    """Enter the same effect into the ledger a second time."""
    for booked, _ in standing(base):
        entry = booked.entry._replace(id=f"{booked.entry.id}b")
        yield Change(
            f"event {booked.event.seq}",
            with_writes(base, booked.event.seq, lambda ws, entry=entry: (*ws, Write("ledger", entry.id, entry))),
        )


def _undone_behind(base: Base) -> Iterator[Change]:
    """Mark the reservation as undone at the very end, with nothing else to show for it."""
    for _, made in standing(base):
        last = base.trial.world.log[-1].seq
        gone = made._replace(status="compensated")
        yield Change(f"event {last}", with_writes(base, last, lambda ws, gone=gone: (*ws, Write("reservation", gone.id, gone))))


def _left_by_an_earlier_run(base: Base) -> Iterator[Change]:
    """Let everything that the effect wrote be there from the start, and the run's own dispatch write nothing."""
    for booked, _ in standing(base):
        start: Tables = {name: dict(rows) for name, rows in base.trial.world.start.items()}
        seq = booked.event.seq
        for write in booked.event.writes:
            start[write.table][write.id] = write.record
        changed = edited(base, lambda e, seq=seq: e._replace(writes=()) if e.seq == seq else e, start)
        yield Change(f"event {seq}", changed, named(base))


def _declared(base: Base) -> str:
    return hidden_by(base, len(base.trial.world.log), "audit", "")


def _quantity(by: int) -> Alter:
    return lambda part, base: part._replace(quantity=part.quantity + by)


def _row(name: str, text: str, make: Make, breaks: tuple[str, ...], may: tuple[str, ...] = ()) -> Kind:
    return Kind(name, GROUP, text, breaks, may, make)


CONSISTENT, APPROVED, ONCE = ("state.consistent",), ("effect.as_approved",), ("effect.at_most_once",)

KINDS: tuple[Kind, ...] = (
    _row("ledger entry missing", "the effect is not in the ledger", _dropped("ledger"), CONSISTENT, OF_THE_EFFECT),
    _row("audit entry missing", "the effect is not in the audit trail", _dropped("audit"), CONSISTENT, OF_WHOLENESS),
    _row("stock not taken", "the part is as before", _dropped("part"), CONSISTENT, OF_WHOLENESS),
    _row("slot not taken", "the slot is as before", _dropped("slot"), CONSISTENT, OF_WHOLENESS),
    _row("incident not linked", "the incident shows no reservation", _dropped("incident"), CONSISTENT, OF_WHOLENESS),
    _row("stock taken twice", "one part too many is gone", _altered("part", _quantity(-1)), CONSISTENT),
    _row("stock kept", "the part is held, and still in stock", _altered("part", _quantity(1)), CONSISTENT),
    _row("ledger names another part", "ledger and reservation disagree", _altered("ledger", _other("part", "part")),
         APPROVED, ("effect.suitable",)),
    _row("ledger names another slot", "ledger and reservation disagree", _altered("ledger", _other("slot", "slot")),
         APPROVED, ("effect.suitable",)),
    _row("ledger has another hash", "the entry is of other content",
         _altered("ledger", lambda entry, base: entry._replace(hash=f"{entry.hash}x")), APPROVED),
    _row("ledger says undone", "the entry is of another kind",
         _altered("ledger", lambda entry, base: entry._replace(kind="compensate")), CONSISTENT, OF_THE_EFFECT),
    _row("ledger names another seat", "the effect is entered as somebody else's",
         _altered("ledger", lambda entry, base: entry._replace(seat="rival"), named),
         ("task.accepted_ending", "account.finish_true"), ("account.told_true",)),
    _row("reservation of another part", "another part is reserved than was approved",
         _altered("reservation", _other("part", "part")), APPROVED, ("state.consistent", *OF_WHOLENESS)),
    _row("reservation of another slot", "another slot is reserved than was approved",
         _altered("reservation", _other("slot", "slot")), APPROVED, ("state.consistent", *OF_WHOLENESS)),
    _row("reservation for another incident", "what was approved for one incident is booked on another",
         _altered("reservation", _other("incident", "incident")), APPROVED,
         ("state.consistent", "effect.at_most_once", *OF_WHOLENESS)),
    _row("reservation of other content", "its hash is not the proposal's",
         _altered("reservation", lambda made, base: made._replace(hash=f"{made.hash}x")), APPROVED),
    _row("audit of another reservation", "the audit trail names another reservation",
         _altered("audit", lambda entry, base: entry._replace(reservation=f"{entry.reservation}x"), _declared),
         CONSISTENT, OF_WHOLENESS),
    _row("audit of another act", "the audit trail tells of an undoing",
         _altered("audit", lambda entry, base: entry._replace(kind="compensate"), _declared), CONSISTENT, OF_WHOLENESS),
    _row("slot held by a ghost", "the slot is held by a reservation that does not exist",
         _altered("slot", lambda slot, base: slot._replace(taken=(*slot.taken, "res-0000000000"))), CONSISTENT),
    _row("effect made twice", "a second reservation under another key", _twice, ONCE,
         ("state.consistent", *OF_WHOLENESS)),
    _row("effect entered twice", "a second ledger entry for one reservation", _entered_twice, ONCE,
         ("task.accepted_ending",)),
    _row("undone behind the account", "the reservation is not active any more, and nothing says who undid it", _undone_behind,
         CONSISTENT, OF_WHOLENESS),
    _row("left by an earlier run", "the world had that effect before; this run made none", _left_by_an_earlier_run,
         ("task.accepted_ending", "account.finish_true"), (*OF_THE_EFFECT, "state.consistent")),
)  # fmt: skip
"""Kinds of mutation of effects."""
