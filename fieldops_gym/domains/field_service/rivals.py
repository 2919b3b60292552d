"""What others at the desk's services do on their own account: they act on the world, and never through this desk."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.calls import Code
from fieldops_gym.core.canonical import digest
from fieldops_gym.core.passage import Context
from fieldops_gym.core.people import Message
from fieldops_gym.core.tools import Outcome
from fieldops_gym.core.world import Write
from fieldops_gym.domains.field_service.records import AuditEntry, Delegation, Incident, Part, Proposal, Slot
from fieldops_gym.domains.field_service.rules import (
    CANCELLED,
    LATER_WORKFLOW,
    MAX_CALLBACKS,
    delegation_of,
    draft_of,
    effects_on,
    own_effects_on,
)
from fieldops_gym.domains.field_service.service import audit_id, book, compensate


def claim_key(context: Context, proposal: str, by: str, left: str) -> Outcome:
    """Use a proposal's key for other content: a colleague for the same incident, a stranger for one of another tenant.

    `left` says whether the reservation made under it is left active, or is compensated by now. A colleague keeps to
    policy: where something stands for the incident, or the request was cancelled, nothing is claimed.
    """
    tables = context.world.tables
    plan: Proposal = tables["proposal"][proposal]
    if plan.key in tables["intent"]:
        return Outcome(code=Code.KEY_REUSED, expected="a key that is not known yet")
    incident = tables["incident"][plan.incident] if by == "colleague" else _elsewhere(context, plan.tenant)
    if incident.status == CANCELLED or effects_on(tables, incident.id):
        return Outcome(code=Code.CONFLICT, expected="an open incident that nothing was reserved for")
    part, slot = _stock(context, plan, incident)
    if part.quantity <= 0 or slot.free <= 0:
        return Outcome(code=Code.CONFLICT, expected="a part in stock and a free slot")
    made = book(context, plan.key, digest(("other content", plan.hash))[:16], "", incident.id, part, slot)
    if left == "active":
        return Outcome(made.writes)
    undone = made.reservation._replace(status="compensated")
    entry: Any = next(write.record for write in made.writes if write.table == "ledger")
    second = entry._replace(id=f"led-{context.ids.token('ledger', 'undone', entry.id)}", kind="compensate")
    audit = AuditEntry(audit_id(context, undone.id, "compensate"), undone.id, "compensate", context.now)
    kept = tuple(write for write in made.writes if write.table in ("intent", "ledger", "audit"))
    return Outcome(
        (*kept, Write("reservation", undone.id, undone), Write("ledger", second.id, second), Write("audit", audit.id, audit))
    )


def _elsewhere(context: Context, tenant: str) -> Incident:
    """Return the first incident of another tenant."""
    return next(i for i in context.world.tables["incident"].values() if i.tenant != tenant)


def _stock(context: Context, plan: Proposal, incident: Incident) -> tuple[Part, Slot]:
    """Return the part and slot that are reserved: those of the plan, or what another incident's site has most of."""
    tables = context.world.tables
    if incident.id == plan.incident:
        return tables["part"][plan.part], tables["slot"][plan.slot]
    return _site_stock(context, incident)


def _site_stock(context: Context, incident: Incident) -> tuple[Part, Slot]:
    """Return the part and the slot that an incident's site has most of."""
    tables = context.world.tables
    family = tables["family"][tables["equipment"][incident.equipment].family]
    part = max((tables["part"][key] for key in family.parts), key=lambda p: (p.quantity, p.id))
    slot = max((tables["slot"][key] for key in tables["region"][incident.region].slots), key=lambda s: (s.free, s.id))
    return part, slot


def take_stock(context: Context, what: str) -> Outcome:
    """Take one of the part, or one place in the slot, that the desk has in its latest proposal, or else in its draft."""
    tables = context.world.tables
    frozen = [plan for plan in tables["proposal"].values() if plan.status == "frozen"]
    plan = frozen[-1] if frozen else draft_of(context.world)
    elsewhere = _elsewhere(context, tables["incident"][context.scenario.roles["incident"][0]].tenant)
    part, slot = _site_stock(context, elsewhere)
    if what == "part" and plan.part:
        part = tables["part"][plan.part]
    elif what == "slot" and plan.slot:
        slot = tables["slot"][plan.slot]
    else:
        return Outcome(code=Code.CONFLICT, expected=f"a plan with a {what}")
    if part.quantity <= 0 or slot.free <= 0:
        return Outcome(code=Code.CONFLICT, expected="a part in stock and a free slot")
    number = len(tables["reservation"])
    key = f"key-{context.ids.token('taken', what, number)}"
    return Outcome(book(context, key, digest((what, number))[:16], "", elsewhere.id, part, slot).writes)


def undo(context: Context) -> Outcome:
    """Undo the reservation that the desk has made."""
    made = own_effects_on(context.world.tables, context.scenario.roles["incident"][0])
    if not made:
        return Outcome(code=Code.CONFLICT, expected="a reservation of the desk's")
    undone = compensate(context, made[-1].id)
    return Outcome(undone.writes, code=undone.code, expected=undone.expected)


def take_over(context: Context) -> Outcome:
    """Take the work over from the desk: its delegation is revoked, and it is told so."""
    delegation: Delegation | None = delegation_of(context.world, context.scenario.lead)
    if delegation is None or delegation.revoked:
        return Outcome(code=Code.CONFLICT, expected="a delegation that has not been revoked")
    revoked = Write("delegation", delegation.id, delegation._replace(revoked=True))
    return Outcome((revoked, _message(context, "taken_over", delegation.id)))


def let_lapse(context: Context) -> Outcome:
    """Let the desk's delegation run out now; nobody says so."""
    delegation: Delegation | None = delegation_of(context.world, context.scenario.lead)
    if delegation is None or context.now >= delegation.expires:
        return Outcome(code=Code.CONFLICT, expected="a delegation that still runs")
    return Outcome((Write("delegation", delegation.id, delegation._replace(expires=context.now)),))


def deploy(context: Context) -> Outcome:
    """Put a later version of the workflow in force, and say so to the desk."""
    release = next(iter(context.world.tables["release"].values()))
    if release.workflow == LATER_WORKFLOW:
        return Outcome(code=Code.CONFLICT, expected="an earlier version")
    later = Write("release", release.id, release._replace(workflow=LATER_WORKFLOW))
    return Outcome((later, _message(context, "deployed", release.id)))


def call_back(context: Context, of: str) -> Outcome:
    """Tell the desk that a reservation has been made: its own, or one that is none of its business."""
    tables, incident = context.world.tables, context.scenario.roles["incident"][0]
    if len([1 for message in tables["message"].values() if message.act == "callback"]) >= MAX_CALLBACKS:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_CALLBACKS} callbacks")
    if of == "another":
        elsewhere = _elsewhere(context, tables["incident"][incident].tenant)
        part, slot = _site_stock(context, elsewhere)
        key = f"key-{context.ids.token('another', len(tables['reservation']))}"
        if part.quantity <= 0 or slot.free <= 0:
            return Outcome(code=Code.CONFLICT, expected="a part in stock and a free slot")
        made = book(context, key, digest(("another", key))[:16], "", elsewhere.id, part, slot)
        return Outcome((*made.writes, _message(context, "callback", made.reservation.id)))
    own = own_effects_on(tables, incident)
    if not own:
        return Outcome(code=Code.CONFLICT, expected="a reservation of the desk's")
    return Outcome((_message(context, "callback", own[-1].id),))


def _message(context: Context, act: str, about: str) -> Write:
    """Return a message of a service, which no person sends."""
    number = len(context.world.tables["message"])
    key = f"msg-{context.ids.token(act, about, number)}"
    return Write("message", key, Message(key, context.scenario.lead, context.seat, "", act, about, context.now, ""))
