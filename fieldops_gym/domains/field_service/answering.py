"""What the tools of people do: deciding, answering, speaking, and taking a request back."""

from __future__ import annotations

from fieldops_gym.core.calls import Code
from fieldops_gym.core.passage import Context
from fieldops_gym.core.people import Message
from fieldops_gym.core.tools import Outcome
from fieldops_gym.core.world import Write
from fieldops_gym.domains.field_service.handlers import Told
from fieldops_gym.domains.field_service.records import Approval, ApprovalRequest, Incident, Knowledge, Statement
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
        key, request, asked.proposal, asked.hash, asked.person, context.now, context.now + APPROVAL_SECONDS, disposition
    )
    said = f"msg-{context.ids.token('decided', request)}"
    message = Message(said, context.scenario.lead, asked.person, asked.person, disposition, key, context.now, "")
    writes = (Write("approval", key, made), Write("message", said, message))
    return Outcome(writes, facts=Told(asked.person, disposition))


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
