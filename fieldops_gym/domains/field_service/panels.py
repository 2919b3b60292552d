"""Panels: features that are about no single record, time and budget among them."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.layout import Panel
from fieldops_gym.core.view import View
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.features import fields, known, machine, yes
from fieldops_gym.domains.field_service.notes import proposal_note, seat_note
from fieldops_gym.domains.field_service.policies import ESCALATE, MIGRATE, NAMING
from fieldops_gym.domains.field_service.tools import KINDS_TOLD

PROPOSALS = rules.MAX_PROPOSALS
DAY = 24 * 3600


def write_clock(view: View, flat: Any, at: int) -> None:
    """Time and budget, each as the share that is left. Only what time or a call changes is written at every step."""
    now, meters = view.now, view.meters
    turns, calls, retries, attempts, seconds, asks = view.limits
    deadline, expires = view.terms
    flat[at] = (seconds - now) / seconds if now < seconds else 0.0
    flat[at + 1] = (deadline - now) / DAY if now < deadline else 0.0
    flat[at + 2] = (expires - now) / (2 * DAY) if now < expires else 0.0
    flat[at + 3] = (turns - meters[1]) / turns if turns else 0.0
    flat[at + 4] = (calls - meters[2]) / calls if calls else 0.0
    if meters[4] or not meters[1]:
        flat[at + 5] = max(0.0, (retries - meters[3]) / retries) if retries else 0.0
        flat[at + 6] = (attempts - meters[4]) / attempts if attempts else 0.0
    flat[at + CLOCK_FIELDS] = (asks - meters[5]) / asks if asks > meters[5] else 0.0
    if view.rows["approval"]:
        for row in view.rows["proposal"]:
            flat[at + 6 + row.position] = _approval_left(view, row.id, now)
    if meters[1] and view.notes:
        for row in view.rows["proposal"]:
            asked = proposal_note(view, row.id).asked_at
            left = asked + rules.APPROVAL_SECONDS - now if asked else 0
            flat[at + 6 + PROPOSALS + row.position] = left / rules.APPROVAL_SECONDS if left > 0 else 0.0


def terms(view: View) -> tuple[int, int]:
    """Return what the brief says of time: the incident's deadline and the delegation's end, in seconds."""
    return view.rows["incident"][0].record.deadline, view.rows["delegation"][0].record.expires


def _approval_left(view: View, proposal: str, now: int) -> float:
    ends = [
        row.record.expires
        for row in view.rows["approval"]
        if row.record.proposal == proposal and row.record.disposition == "approved" and _may_approve(view, row.record.by)
    ]
    return max(0.0, (max(ends) - now) / rules.APPROVAL_SECONDS) if ends else 0.0


def _may_approve(view: View, person: str) -> bool:
    row = view.row(person)
    return row is not None and rules.may_approve(row.record, view.rows["incident"][0].record.tenant)


CLOCK_FIELDS = 7 + 2 * PROPOSALS
"""Where the model calls stand: behind time, counts, approvals and requests."""

CLOCK = Panel(
    fields(
        ("time", "simulated time left of the budget"),
        ("deadline", "time to the incident's deadline, over a day"),
        ("delegation", "time to the delegation's end, over two days"),
        ("turns", "turns left"),
        ("tool_calls", "tool calls left"),
        ("retries", "retries left"),
        ("effect_attempts", "attempts at an effect left"),
        *(
            (f"approval_{n}", f"time left of the approval seen for proposal {n}, over its full length")
            for n in range(1, PROPOSALS + 1)
        ),
        *(
            (f"request_{n}", f"time left of the last request for approval of proposal {n}, over its full length")
            for n in range(1, PROPOSALS + 1)
        ),
        ("model_calls", "model calls left"),
    ),
    write_clock,
    terms=terms,
)


def write_situation(view: View, flat: Any, at: int) -> None:
    """What is known that is about no single record."""
    note, rows = seat_note(view), view.rows
    told = [kind for _, kind in note.told]
    unresolved = sum([proposal_note(view, row.id).sent in ("open", "stale") for row in rows["proposal"]])
    incident = rows["incident"][0].record
    seen = machine(view)
    acts = {row.record.act for row in rows["message"]}
    named = {row.record.operation: row.record.value for row in rows["policy"]}
    flat[at : at + len(SITUATION.fields)] = (
        yes(view.restarted),
        yes(note.journal),
        yes(seen is not None),
        yes(seen is not None and bool(seen.revision)),
        yes("manual" in note.listed),
        yes("part" in note.listed),
        yes("slot" in note.listed),
        yes("note" in note.listed),
        yes("revision" in [topic for _, topic in note.asked]),
        yes("review" in [topic for _, topic in note.asked]),
        yes(note.ended or rows["delegation"][0].record.revoked),
        yes(named.get("deploy") == MIGRATE),
        yes(named.get("deploy") == ESCALATE),
        yes("callback" in acts),
        yes("declined" in acts),
        yes(rules.ANSWER in incident.asks),
        yes(rules.PLAN in incident.asks),
        *[known(named.get(operation)) for operation in NAMING],
        yes(len(rows["person"]) > 1),
        unresolved / PROPOSALS,
        yes(rules.REPAIR in incident.asks),
        yes(rules.CONTROL in incident.asks),
        yes(incident.status == rules.CANCELLED),
        yes("insisted" in acts),
        *[1.0 if kind in told else 0.0 for kind in KINDS_TOLD],
    )


SITUATION = Panel(
    fields(
        ("restarted", "this process was started again after a crash"),
        ("journal", "the journal was read"),
        ("registry", "the registry was read"),
        ("revision_known", "the machine's revision is known"),
        ("manuals_listed", "the manuals were listed"),
        ("parts_listed", "the parts were listed"),
        ("slots_listed", "the slots were listed"),
        ("recalled", "notes from earlier runs were recalled"),
        ("revision_asked", "somebody was asked for the revision"),
        ("review_asked", "the review desk was asked"),
        ("ended", "the delegation is known to have ended"),
        ("deploy_migrate", "policy lets proposals of an earlier workflow be carried over"),
        ("deploy_escalate", "policy has proposals of an earlier workflow escalated"),
        ("callback", "a service called back about a reservation"),
        ("declined", "somebody declined to answer"),
        ("asks_answer", "the request is for an answer"),
        ("asks_plan", "the request is for a plan"),
        *((f"names_{operation}", f"the policy on {operation} names something") for operation in NAMING),
        ("directory", "the directory was read"),
        ("open", "dispatches without a known outcome, over the number of proposals there can be"),
        ("asks_repair", "the request is for a repair"),
        ("asks_control", "the request is for control of the machine"),
        ("cancelled", "the request is known to have been cancelled"),
        ("insisted", "somebody has insisted"),
        *((f"told_{kind}", f"somebody was told: {kind}") for kind in KINDS_TOLD),
    ),
    write_situation,
    frozenset({"incident", "equipment", "person", "proposal", "message", "statement", "delegation"}),
)


def write_nothing(view: View, flat: Any, at: int) -> None:
    """People's seats have no panels."""


NO_PANEL = Panel((), write_nothing)
