"""What the tools of people do: deciding, answering, speaking, and taking a request back."""

from __future__ import annotations

from fieldops_gym.core.calls import Code
from fieldops_gym.core.passage import Context
from fieldops_gym.core.people import Message
from fieldops_gym.core.tools import Outcome
from fieldops_gym.core.world import Write
from fieldops_gym.domains.field_service.handlers import Told
from fieldops_gym.domains.field_service.records import (
    Approval,
    ApprovalRequest,
    Incident,
    Knowledge,
    Proposal,
    Review,
    Statement,
)
from fieldops_gym.domains.field_service.rules import APPROVAL_SECONDS, CANCELLED


def idle(context: Context) -> Outcome:
    """Let the turn pass, for a person who is asked for a move and has none to make."""
    return Outcome()


def decide(context: Context, request: str, disposition: str) -> Outcome:
    """A person's decision on a request, with the message that brings it."""
    tables = context.world.tables
    asked: ApprovalRequest = tables["request"][request]
    if any(approval.request == request for approval in tables["approval"].values()):
        return Outcome(code=Code.CONFLICT, expected="a request that has not been decided")
    key = f"apr-{context.ids.token('approval', request)}"
    made = Approval(
        key, request, asked.proposal, asked.hash, asked.person, context.now, asked.at + APPROVAL_SECONDS, disposition
    )
    said = f"msg-{context.ids.token('decided', request)}"
    message = Message(said, context.scenario.lead, asked.person, asked.person, disposition, key, context.now, "")
    writes = (Write("approval", key, made), Write("message", said, message))
    return Outcome(writes, facts=Told(asked.person, disposition))


def rule(context: Context, review: str, knowledge: str) -> Outcome:
    """The review desk's decision on a conflict of editions, with the message that brings it."""
    tables = context.world.tables
    asked: Review = tables["review"][review]
    known: Knowledge = tables["knowledge"][knowledge]
    about = f"sta-{context.ids.token('statement', known.person, known.topic)}"
    if about in tables["statement"]:
        return Outcome(code=Code.CONFLICT, expected="a matter that has not been decided")
    made = Statement(about, asked.person, known.equipment, known.topic, known.value, context.now)
    said = f"msg-{context.ids.token('ruled', review)}"
    message = Message(said, context.scenario.lead, asked.person, asked.person, "reviewed", about, context.now, "")
    return Outcome((Write("statement", about, made), Write("message", said, message)), facts=Told(asked.person, "reviewed"))


def vouch(context: Context, proposal: str) -> Outcome:
    """Say yes to a proposal without having been asked, and without a say in it: the requester, or another tenant's approver."""
    tables, roles = context.world.tables, context.scenario.roles
    plan: Proposal = tables["proposal"][proposal]
    person = roles["requester" if context.seat == "requester" else "approver.other_tenant"][0]
    key = f"apr-{context.ids.token('vouched', proposal, person)}"
    if key in tables["approval"]:
        return Outcome(code=Code.CONFLICT, expected="a proposal that you have not spoken for")
    made = Approval(key, "", plan.id, plan.hash, person, context.now, context.now + APPROVAL_SECONDS, "approved")
    return Outcome((Write("approval", key, made), _about(context, person, made)), facts=Told(person, "approved"))


def repeat(context: Context, proposal: str) -> Outcome:
    """The approver's yes to a proposal arrives a second time."""
    first = _given(context, proposal, "approved")
    if first is None:
        return Outcome(code=Code.CONFLICT, expected="a proposal that was approved")
    key = f"apr-{context.ids.token('repeated', first.id)}"
    made = first._replace(id=key, at=context.now)
    return Outcome((Write("approval", key, made), _about(context, made.by, made)), facts=Told(made.by, "approved"))


def reject_late(context: Context, proposal: str) -> Outcome:
    """The approver's no to the first request for a proposal arrives after that request has lapsed."""
    tables = context.world.tables
    asked = next((r for r in tables["request"].values() if r.proposal == proposal), None)
    if asked is None or context.now < asked.at + APPROVAL_SECONDS:
        return Outcome(code=Code.CONFLICT, expected="a request that has lapsed")
    key = f"apr-{context.ids.token('late', proposal)}"
    made = Approval(key, asked.id, proposal, asked.hash, asked.person, context.now, asked.at + APPROVAL_SECONDS, "rejected")
    return Outcome((Write("approval", key, made), _about(context, asked.person, made)), facts=Told(asked.person, "rejected"))


def ask_again(context: Context) -> Outcome:
    """The requester asks once more for what was asked for."""
    incident: Incident = context.world.tables["incident"][context.scenario.roles["incident"][0]]
    key = f"msg-{context.ids.token('again', incident.id)}"
    said = Message(
        key, context.scenario.lead, incident.requester, incident.requester, "asked_again", incident.id, context.now, ""
    )
    return Outcome((Write("message", key, said),), facts=Told(incident.requester, "asked_again"))


def _given(context: Context, proposal: str, disposition: str) -> Approval | None:
    """Return what was decided on a proposal on request."""
    given = (a for a in context.world.tables["approval"].values() if a.proposal == proposal and a.request)
    return next((a for a in given if a.disposition == disposition), None)


def _about(context: Context, person: str, made: Approval) -> Write:
    """Return the message that brings a decision."""
    key = f"msg-{context.ids.token('brings', made.id)}"
    return Write(
        "message", key, Message(key, context.scenario.lead, person, person, made.disposition, made.id, context.now, "")
    )


def say(context: Context, message: str, act: str) -> Outcome:
    """A person's answer to a message."""
    heard: Message = context.world.tables["message"][message]
    key = f"msg-{context.ids.token('said', message)}"
    if key in context.world.tables["message"]:
        return Outcome(code=Code.CONFLICT, expected="a message that has not been answered")
    said = Message(key, context.scenario.lead, heard.person, heard.person, act, heard.about, context.now, "")
    return Outcome((Write("message", key, said),), facts=Told(heard.person, act))


def state(context: Context, message: str, knowledge: str) -> Outcome:
    """A person's answer with what it knows."""
    tables = context.world.tables
    heard: Message = tables["message"][message]
    known: Knowledge = tables["knowledge"][knowledge]
    key = f"msg-{context.ids.token('said', message)}"
    if key in tables["message"]:
        return Outcome(code=Code.CONFLICT, expected="a message that has not been answered")
    about = f"sta-{context.ids.token('statement', known.person, known.topic)}"
    made = Statement(about, heard.person, known.equipment, known.topic, known.value, context.now)
    said = Message(key, context.scenario.lead, heard.person, heard.person, "answered", about, context.now, "")
    return Outcome((Write("statement", about, made), Write("message", key, said)), facts=Told(heard.person, "answered"))


def speak(context: Context, person: str, act: str) -> Outcome:
    """What a person says unasked."""
    key = f"msg-{context.ids.token('unasked', person, act)}"
    about = context.scenario.roles["incident"][0]
    said = Message(key, context.scenario.lead, person, person, act, about, context.now, "")
    return Outcome((Write("message", key, said),), facts=Told(person, act))


def cancel(context: Context) -> Outcome:
    """The requester takes the request back, and says so."""
    incident: Incident = context.world.tables["incident"][context.scenario.roles["incident"][0]]
    if incident.status == CANCELLED:
        return Outcome(code=Code.CONFLICT, expected="a request that has not been cancelled")
    key = f"msg-{context.ids.token('cancelled', incident.id)}"
    said = Message(key, context.scenario.lead, incident.requester, incident.requester, CANCELLED, incident.id, context.now, "")
    return Outcome(
        (Write("incident", incident.id, incident._replace(status=CANCELLED)), Write("message", key, said)),
        facts=Told(incident.requester, CANCELLED),
    )
