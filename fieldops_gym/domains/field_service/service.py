"""The reservation service: real state behind `reserve`, `compensate`, `reconcile` and `read_reservation`.

It deduplicates by key and by nothing else, so that exactly-once can be broken. A reservation touches four records
together and leaves an entry in a ledger that only grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code
from fieldops_gym.core.passage import Context
from fieldops_gym.core.tools import AT_COMMIT, Outcome, Showing
from fieldops_gym.core.world import World, Write, make
from fieldops_gym.domains.field_service.records import AuditEntry, Intent, LedgerEntry, Part, Proposal, Reservation, Slot
from fieldops_gym.domains.field_service.rules import CANCELLED, effects_on, wholeness


class Dispatched(NamedTuple):
    """What `reserve` answers: the reservation, and whether the key was known with the same content already."""

    proposal: str
    reservation: str
    duplicate: bool


class Reconciled(NamedTuple):
    """What `reconcile` answers: whether the key was known at second `as_of`, with the same content, and what it led to.

    `reservation` is empty where there is none, or where it is another tenant's.
    """

    proposal: str
    found: bool
    same: bool
    reservation: str
    as_of: int


class ReadBack(NamedTuple):
    """What `read_reservation` answers: which of the four records agree with the reservation."""

    reservation: str
    status: str
    part: bool
    slot: bool
    incident: bool
    audit: bool


class Compensated(NamedTuple):
    """What `compensate` answers."""

    reservation: str


def show(context: Context, table: str, key: str, detail: int = 1) -> Showing:
    """Return the showing of a record as it is now."""
    world = context.world
    return make(Showing, (table, world.tables[table][key], detail, world.version(table, key)))


def reserve(context: Context, proposal_id: str, key_choice: str) -> Outcome:
    """Reserve the proposal's part and slot under its own key or a fresh one."""
    tables = context.world.tables
    proposal: Proposal = tables["proposal"][proposal_id]
    if tables["incident"][proposal.incident].status == CANCELLED:
        shown = (show(context, "incident", proposal.incident, 0),)
        return Outcome(code=Code.CONFLICT, expected="a request that has not been cancelled", shown=shown)
    key = proposal.key
    if key_choice == "fresh":
        key = f"key-{context.ids.token('fresh', proposal.id, len(tables['intent']))}"
    known: Intent | None = tables["intent"].get(key)
    if known is not None:
        if known.hash != proposal.hash:
            expected = "a key that no other content has used"
            shown = _of_this_tenant(context, proposal, known)
            return Outcome(code=Code.KEY_REUSED, expected=expected, shown=shown, reads=(("intent", key),))
        shown = show(context, "reservation", known.reservation)
        facts = Dispatched(proposal.id, known.reservation, True)
        return Outcome(shown=(shown,), facts=facts, reads=(("intent", key),))
    part, slot = tables["part"][proposal.part], tables["slot"][proposal.slot]
    if part.quantity <= 0 or slot.free <= 0:
        gone = "part" if part.quantity <= 0 else "slot"
        reads = (("intent", key), ("part", part.id), ("slot", slot.id))
        shown = (show(context, gone, part.id if gone == "part" else slot.id, 0),)
        return Outcome(code=Code.CONFLICT, expected=f"a proposal whose {gone} is still to be had", shown=shown, reads=reads)
    made = book(context, key, proposal.hash, proposal.id, proposal.incident, part, slot)
    shown = (Showing("reservation", made.reservation, 1, AT_COMMIT),)
    facts = Dispatched(proposal.id, made.reservation.id, False)
    return Outcome(made.writes, shown, facts, reads=(("intent", key),))


def _of_this_tenant(context: Context, proposal: Proposal, known: Intent) -> tuple[Showing, ...]:
    """Show what a key led to, unless it is another tenant's."""
    made: Reservation = context.world.tables["reservation"][known.reservation]
    theirs = context.world.tables["incident"][made.incident].tenant != proposal.tenant
    return () if theirs else (show(context, "reservation", made.id),)


class Booked(NamedTuple):
    """A reservation to be, with the writes that make it."""

    reservation: Reservation
    writes: tuple[Write, ...]


def book(context: Context, key: str, hash: str, proposal: str, incident_id: str, part: Part, slot: Slot) -> Booked:
    """Return a reservation with its four companion records, its ledger entry and its key."""
    tables, now, ids = context.world.tables, context.now, context.ids
    number = len(tables["reservation"])
    incident = tables["incident"][incident_id]
    made = Reservation(
        f"res-{ids.token('reservation', number)}", key, hash, proposal, incident.id, part.id, slot.id, "active", now
    )
    audit = AuditEntry(audit_id(context, made.id, "reserve"), made.id, "reserve", now)
    writes = (
        Write("reservation", made.id, made),
        Write("intent", key, Intent(key, hash, made.id, context.sent)),
        _ledger(context, "reserve", made),
        Write("part", part.id, part._replace(quantity=part.quantity - 1, reserved=(*part.reserved, made.id))),
        Write("slot", slot.id, slot._replace(taken=(*slot.taken, made.id))),
        Write("incident", incident.id, incident._replace(reservation=made.id)),
        Write("audit", audit.id, audit),
    )
    return Booked(made, writes)


def _ledger(context: Context, kind: str, made: Reservation) -> Write:
    number = len(context.world.tables["ledger"])
    key = f"led-{context.ids.token('ledger', number)}"
    entry = LedgerEntry(key, kind, made.key, made.hash, made.id, made.incident, made.part, made.slot, context.seat, context.now)
    return Write("ledger", key, entry)


def compensate(context: Context, reservation_id: str) -> Outcome:
    """Undo an active reservation: give back what it holds, keep what happened in ledger and audit trail."""
    tables = context.world.tables
    made: Reservation = tables["reservation"][reservation_id]
    if made.status != "active":
        shown = (show(context, "reservation", made.id),)
        return Outcome(code=Code.CONFLICT, expected="a reservation that is active", shown=shown)
    part, slot, incident = tables["part"][made.part], tables["slot"][made.slot], tables["incident"][made.incident]
    undone = made._replace(status="compensated")
    audit = AuditEntry(audit_id(context, made.id, "compensate"), made.id, "compensate", context.now)
    writes: list[Write] = [
        Write("reservation", made.id, undone),
        _ledger(context, "compensate", undone),
        Write("audit", audit.id, audit),
    ]
    if made.id in part.reserved:
        left = tuple(key for key in part.reserved if key != made.id)
        writes.append(Write("part", part.id, part._replace(quantity=part.quantity + 1, reserved=left)))
    if made.id in slot.taken:
        left = tuple(key for key in slot.taken if key != made.id)
        writes.append(Write("slot", slot.id, slot._replace(taken=left)))
    if incident.reservation == made.id:
        # Where another one stands for the incident, the link goes back to that.
        others = [r.id for r in effects_on(tables, incident.id) if r.status == "active" and r.id != made.id]
        writes.append(Write("incident", incident.id, incident._replace(reservation=others[-1] if others else "")))
    shown = (Showing("reservation", undone, 1, AT_COMMIT),)
    return Outcome(tuple(writes), shown, Compensated(made.id))


def was_sent(world: World, values: tuple[Any, ...]) -> bool:
    """Whether the proposal that a call names first has been dispatched, whether or not that arrived."""
    return any(e.kind == "intent" and e.data.tool == "reserve" and e.data.values[0] == values[0] for e in world.log)


def undo_sent(world: World, values: tuple[Any, ...]) -> bool:
    """Whether a reservation was to be undone, whether or not that arrived."""
    return any(e.kind == "intent" and e.data.tool == "compensate" for e in world.log)


def reconcile(context: Context, proposal_id: str) -> Outcome:
    """Look a proposal's key up in the service's register, as it was at `context.as_of`.

    The register is indexed by the time of dispatch, so an answer is authoritative for every call sent by then.
    """
    tables = context.world.tables
    proposal: Proposal = tables["proposal"][proposal_id]
    known: Intent | None = tables["intent"].get(proposal.key)
    if known is None or known.at > context.as_of:
        return Outcome(facts=Reconciled(proposal.id, False, False, "", context.as_of), reads=(("intent", proposal.key),))
    shown = _of_this_tenant(context, proposal, known)
    led_to = known.reservation if shown else ""
    facts = Reconciled(proposal.id, True, known.hash == proposal.hash, led_to, context.as_of)
    return Outcome(shown=shown, facts=facts, reads=(("intent", proposal.key),))


def read_reservation(context: Context, reservation_id: str) -> Outcome:
    """Read a reservation back with the four records that should go with it."""
    tables: Any = context.world.tables
    made: Reservation = tables["reservation"][reservation_id]
    whole = wholeness(tables, made)
    shown = (
        show(context, "reservation", made.id),
        show(context, "part", made.part),
        show(context, "slot", made.slot),
        show(context, "incident", made.incident),
    )
    reads = (("audit", audit_id(context, made.id, "reserve")),)
    return Outcome(shown=shown, facts=ReadBack(made.id, made.status, *whole), reads=reads)


def audit_id(context: Context, reservation: str, kind: str) -> str:
    """Return the id that the audit entry of an act on a reservation has."""
    return f"aud-{context.ids.token('audit', reservation, kind)}"
