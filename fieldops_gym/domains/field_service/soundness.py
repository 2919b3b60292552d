"""World invariants: what holds of every world after every event, but where a fault that fired declares otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service.rules import applies, is_current, wholeness


class Unsound(NamedTuple):
    """A world invariant that does not hold: its rule, the record, and what is wrong."""

    rule: str
    table: str
    id: str
    text: str


def unsound(tables: Tables, start: Tables) -> tuple[Unsound, ...]:
    """Return every world invariant that `tables` breaks, `start` being what stock is counted against."""
    return tuple(_stock(tables, start)) + tuple(_slots(tables)) + tuple(_links(tables)) + tuple(_sources(tables))


def _stock(tables: Tables, start: Tables) -> Iterable[Unsound]:
    active = {r.id for r in tables["reservation"].values() if r.status == "active"}
    for key, part in tables["part"].items():
        if part.quantity < 0:
            yield Unsound("W-1", "part", key, f"quantity is {part.quantity}")
        before = start["part"][key]
        if part is not before and part.quantity + len(part.reserved) != before.quantity + len(before.reserved):
            yield Unsound("W-2", "part", key, "quantity and reservations do not add up to the stock at the start")
        if not active.issuperset(part.reserved):
            yield Unsound("W-3", "part", key, "it is held by a reservation that is not active")


def _slots(tables: Tables) -> Iterable[Unsound]:
    active = {r.id for r in tables["reservation"].values() if r.status == "active"}
    for key, slot in tables["slot"].items():
        if slot.free < 0:
            yield Unsound("W-4", "slot", key, "it is over its capacity")
        if not active.issuperset(slot.taken):
            yield Unsound("W-3", "slot", key, "it is held by a reservation that is not active")
        if slot.technician not in tables["technician"]:
            yield Unsound("W-5", "slot", key, "its technician does not exist")


def _links(tables: Tables) -> Iterable[Unsound]:
    for reservation in tables["reservation"].values():
        if reservation.status != "active":
            continue
        whole = wholeness(tables, reservation)
        for table, rule in (("part", "W-6"), ("slot", "W-7"), ("audit", "W-9")):
            if not getattr(whole, table):
                yield Unsound(rule, "reservation", reservation.id, f"its {table} record does not show it")
        linked = tables["reservation"].get(tables["incident"][reservation.incident].reservation)
        if linked is None or linked.status != "active":
            yield Unsound("W-8", "reservation", reservation.id, "its incident record shows no active reservation")
    for reservation in tables["reservation"].values():
        if not any(e.reservation == reservation.id and e.kind == "reserve" for e in tables["ledger"].values()):
            yield Unsound("W-10", "reservation", reservation.id, "the ledger does not have it")


def _sources(tables: Tables) -> Iterable[Unsound]:
    for key, delegation in tables["delegation"].items():
        if delegation.expires > delegation.issued_for:
            yield Unsound("W-11", "delegation", key, "it outlives what its issuer may delegate")
    for key, family in tables["family"].items():
        for revision in range(1, 10):
            current = [m for m in (tables["manual"][i] for i in family.manuals) if is_current(m) and applies(m, revision)]
            if len({(m.tenant, m.source) for m in current}) < len(current):
                yield Unsound("W-12", "family", key, f"two current editions of one source cover revision {revision}")
