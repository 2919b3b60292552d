"""Milestones: progress of a reservation, for shaped rewards."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Tables, World
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.answers import right_answer
from fieldops_gym.domains.field_service.notes import proposal_note, seat_note
from fieldops_gym.domains.field_service.records import Proposal

MILESTONES = (
    "registry_read", "manuals_listed", "right_edition_read", "parts_listed", "slots_listed", "directory_read", "part_drafted",
    "slot_drafted", "edition_cited", "right_proposal", "approval_requested", "approval_seen", "dispatched", "answer_sought",
    "answer_settled", "outcome_known", "read_back", "requester_told",
)  # fmt: skip
"""Progress of a reservation, for shaped rewards: each can be reached once, none pays for a wrong turn."""


def milestones(world: World, view: View, scenario: Scenario) -> tuple[bool, ...]:
    """Return which milestones hold now."""
    roles, rows, tables = scenario.roles, view.rows, world.tables
    incident = rows["incident"][0].record
    if scenario.checks == "answer":
        return _of_an_answer(world, view, scenario)
    if rules.REPAIR not in incident.asks and rules.PLAN not in incident.asks:
        return (*[False] * (len(MILESTONES) - 1), (incident.requester, "refused") in seat_note(view).told)
    current = view.row(roles["manual.current"][0])
    machine = view.row(roles["equipment"][0])
    draft = rules.draft_of(world)
    plan = right_proposal(tables, roles)
    state = proposal_note(view, plan.id).sent if plan else ""
    held = proposal_note(view, plan.id).reservation if plan else ""
    back = view.notes.get(held)
    return (
        machine is not None and machine.full is not None,
        bool(rows["manual"]),
        current is not None and current.full is not None,
        bool(rows["part"]),
        bool(rows["slot"]),
        len(rows["person"]) > 1,
        draft.part in roles["part.fits"],
        draft.slot in roles["slot.fits"],
        roles["manual.current"][0] in draft.citations,
        plan is not None,
        plan is not None and asked_rightly(tables, plan, roles),
        plan is not None and any(a.record.proposal == plan.id and a.record.disposition == "approved" for a in rows["approval"]),
        state != "",
        state in ("stale", "absent", "known"),
        state in ("absent", "known"),
        state == "known",
        back is not None,
        (incident.requester, _right_to_tell(view, state, held)) in seat_note(view).told,
    )


def right_proposal(tables: Tables, roles: Any) -> Proposal | None:
    """Return the first frozen proposal whose part, slot and citation are right."""
    return next((plan for plan in tables["proposal"].values() if is_right(plan, roles)), None)


def _of_an_answer(world: World, view: View, scenario: Scenario) -> tuple[bool, ...]:
    """Return the milestones of an answer: reading and citing what it rests on."""
    right, machine = right_answer(world.start, scenario.roles), view.row(scenario.roles["equipment"][0])
    read = [row is not None and row.full is not None for row in map(view.row, right.cites)]
    cited = set(right.cites) <= set(rules.draft_of(world).citations)
    reached = {
        "registry_read": machine is not None and machine.full is not None,
        "manuals_listed": "manual" in seat_note(view).listed,
        "right_edition_read": bool(read) and all(read),
        "edition_cited": bool(read) and cited,
    }
    return tuple(reached.get(name, False) for name in MILESTONES)


def is_right(plan: Proposal, roles: Any) -> bool:
    """Whether a proposal is frozen, and its part, slot and citation are right."""
    cited = roles["manual.current"][0] in plan.citations
    return plan.status == "frozen" and cited and plan.part in roles["part.fits"] and plan.slot in roles["slot.fits"]


def asked_rightly(tables: Tables, plan: Proposal, roles: Any) -> bool:
    """Whether a proposal was put before the approver."""
    return any(r.proposal == plan.id and r.person == roles["approver"][0] for r in tables["request"].values())


def _right_to_tell(view: View, state: str, held: str) -> str:
    """Return what the requester may be told by what the seat knows; '' while that is nothing."""
    back, row = view.notes.get(held), view.row(held)
    cancelled = view.rows["incident"][0].record.status == rules.CANCELLED
    if back is None or row is None:
        return "escalated" if state == "conflict" else "not_reserved" if cancelled and state in ("absent", "refused") else ""
    if row.record.status != "active":
        return "not_reserved"
    return "reserved" if all(back[2:]) and not cancelled else "escalated"
