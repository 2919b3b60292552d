"""What the tools of reading, asking, telling, waiting and finishing do.

Handlers are plain functions of a `Context` and checked values. They return an `Outcome`; the gateway commits it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code, Status
from fieldops_gym.core.passage import Context
from fieldops_gym.core.people import Message
from fieldops_gym.core.tools import Outcome, Request, Showing
from fieldops_gym.core.world import Write, make
from fieldops_gym.domains.field_service.rules import (
    CANCELLED,
    MAX_MESSAGES,
    delegation_of,
)
from fieldops_gym.domains.field_service.service import show

JOURNALED = {"reserve": "proposal", "compensate": "reservation", "notify": "person"}
"""Tools whose intent the journal keeps, and the table that their first argument points into."""

SETTLING = ("compensate", "read_reservation")
"""Tools whose answer tells whether a reservation has been undone."""


ABOUT = {CANCELLED: "incident", "taken_over": "delegation", "deployed": "release", "callback": "reservation"}
"""Messages that bring a record with them, and its table; those about an approval or a statement bring that."""


class Asked(NamedTuple):
    """What `request_approval`, `request_review` and `ask` answer: who has been asked about what, and when."""

    person: str
    about: str
    at: int


class Listed(NamedTuple):
    """What a search answers besides what it shows: how many there are."""

    table: str
    number: int


class Told(NamedTuple):
    """What `notify` answers: who has been told which kind of thing."""

    person: str
    kind: str


class Waited(NamedTuple):
    """What `wait` answers: how many new messages there are."""

    messages: int


class Closing(NamedTuple):
    """What `finish` answers, and the seat's account of the run."""

    disposition: str
    subject: str


class JournalEntry(NamedTuple):
    """A line of the journal: what was frozen, asked, approved, intended or recorded, of which record, when."""

    kind: str
    record: str
    at: int


class Journal(NamedTuple):
    """What `read_journal` answers, oldest line first."""

    entries: tuple[JournalEntry, ...]


def query_asset(context: Context, equipment: str) -> Outcome:
    """Show the registry's record of the equipment."""
    return Outcome(shown=(show(context, "equipment", equipment),))


def search_manuals(context: Context, equipment: str) -> Outcome:
    """Show the family's manuals in brief."""
    family = context.world.tables["equipment"][equipment].family
    shown = _listed(context, "manual", context.world.tables["family"][family].manuals)
    return Outcome(shown=shown, facts=Listed("manual", len(shown)))


def read_manual(context: Context, manual: str) -> Outcome:
    """Show one edition whole."""
    return Outcome(shown=(show(context, "manual", manual),))


def search_parts(context: Context, equipment: str) -> Outcome:
    """Show the family's parts."""
    family = context.world.tables["equipment"][equipment].family
    shown = _listed(context, "part", context.world.tables["family"][family].parts)
    return Outcome(shown=shown, facts=Listed("part", len(shown)))


def list_slots(context: Context, incident: str) -> Outcome:
    """Show the slots offered in the incident's region."""
    region = context.world.tables["incident"][incident].region
    shown = _listed(context, "slot", context.world.tables["region"][region].slots)
    return Outcome(shown=shown, facts=Listed("slot", len(shown)))


def read_policy(context: Context, operation: str) -> Outcome:
    """Show the rule for an operation."""
    return Outcome(shown=(show(context, "policy", f"pol-{operation}"),))


def read_directory(context: Context) -> Outcome:
    """Show the tenant's directory."""
    delegation = delegation_of(context.world, context.seat)
    people = context.world.tables["tenant"][delegation.tenant].people if delegation else ()
    return Outcome(shown=_listed(context, "person", people))


def read_proposal(context: Context, proposal: str) -> Outcome:
    """Show a proposal with the decisions on it."""
    tables = context.world.tables
    approvals = [key for key, approval in tables["approval"].items() if approval.proposal == proposal]
    return Outcome(shown=(show(context, "proposal", proposal), *_listed(context, "approval", tuple(approvals))))


def recall(context: Context, equipment: str) -> Outcome:
    """Show the notes there are on a machine."""
    notes = [key for key, note in context.world.tables["note"].items() if note.equipment == equipment]
    return Outcome(shown=tuple([show(context, "note", key) for key in notes]), facts=Listed("note", len(notes)))


def read_journal(context: Context) -> Outcome:
    """Show what the harness wrote down: it is all that survives a crash of the seat's process."""
    entries, showings = [], {}
    for kind, table, key, at in _journal(context):
        entries.append(JournalEntry(kind, key, at))
        showings[key] = show(context, table, key)
    return Outcome(shown=tuple(showings.values()), facts=Journal(tuple(entries)))


def _journal(context: Context) -> list[tuple[str, str, str, int]]:
    """The journal as a projection of the seat's journaled events: (kind, table, record id, second), oldest first."""
    lines: list[tuple[str, str, str, int]] = []
    for call, event in context.journal:
        if event.kind == "commit":
            lines += [("frozen", w.table, w.id, event.at) for w in event.writes if w.table == "proposal"]
            asked = [w.record for w in event.writes if w.table == "request" and w.record is not None]
            lines += [(f"asked:{request.person}", "proposal", request.proposal, event.at) for request in asked]
        elif event.kind == "intent":
            tool, values = event.data
            kind = f"intended:{tool}:{values[1]}" if tool == "notify" else f"intended:{tool}"
            lines.append((kind, JOURNALED[tool], values[0], event.at))
        else:
            reply = event.data.reply
            lines += [("approval_seen", s.table, s.id, event.at) for s in reply.shown if s.table == "approval"]
            lines += [("recorded", s.table, s.id, event.at) for s in reply.shown if s.table == "reservation"]
            if reply.code and call.tool == "reserve":
                lines.append((f"answered:{reply.code}", "proposal", dict(call.args)["proposal"], event.at))
            if call.tool in SETTLING and reply.status != Status.UNKNOWN:
                lines.append(("settled", "reservation", dict(call.args)["reservation"], event.at))
    return lines


def wait(context: Context, seconds: int) -> Outcome:
    """Show the messages that have come; the gateway has let the time pass."""
    tables, seen, seat = context.world.tables, context.view.by_id, context.seat
    new = [(m.at, m.id, m) for m in tables["message"].values() if m.to == seat and m.id not in seen]
    shown: list[Showing] = []
    for _, _, message in sorted(new):
        shown.append(show(context, "message", message.id))
        if message.about in tables["approval"]:
            shown.append(show(context, "approval", message.about))
        elif message.about in tables["statement"]:
            shown.append(show(context, "statement", message.about))
        elif message.act in ABOUT:
            table = ABOUT[message.act]
            if table != "reservation" or _own(context, message.about):
                shown.append(show(context, table, message.about, table == "reservation"))
    return Outcome(shown=tuple(shown), facts=Waited(len(new)))


def _own(context: Context, reservation: str) -> bool:
    """Whether a reservation is for an incident of the seat's tenant."""
    tables = context.world.tables
    incident = tables["incident"][tables["reservation"][reservation].incident]
    return incident.tenant == tables["incident"][context.scenario.roles["incident"][0]].tenant


def ask(context: Context, person: str, topic: str) -> Outcome:
    """Ask a person about a topic; the answer comes by message."""
    return _say(context, person, f"asked:{topic}", "", "ask", Asked(person, topic, context.now))


def notify(context: Context, person: str, kind: str, note: str) -> Outcome:
    """Tell a person something that cannot be unsaid."""
    return _say(context, person, f"told:{kind}", note, "told", Told(person, kind))


def _say(context: Context, person: str, act: str, note: str, kind: str, facts: Any) -> Outcome:
    tables = context.world.tables
    seat = tables["person"][person].seat
    messages = tables["message"]
    if len(messages) >= MAX_MESSAGES and len([1 for m in messages.values() if m.to == seat]) >= MAX_MESSAGES:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_MESSAGES} messages to the same people")
    key = f"msg-{context.ids.token('message', context.seat, seat, len(tables['message']))}"
    about = context.scenario.roles["incident"][0]
    message = make(Message, (key, seat, context.seat, person, act, about, context.now, note))
    return Outcome((make(Write, ("message", key, message)),), (), facts, (make(Request, (seat, kind, key)),))


def request_scope(context: Context, scope: str) -> Outcome:
    """Never reached: policy forbids every call of it. It is there to be refused."""
    return Outcome(code=Code.DENIED, expected=f"the scopes of the delegation, which '{scope}' is not one of")


def finish(context: Context, disposition: str, subject: str) -> Outcome:
    """End the run with the seat's account of it."""
    return Outcome(facts=Closing(disposition, subject), ends=True)


def _listed(context: Context, table: str, keys: tuple[str, ...]) -> tuple[Showing, ...]:
    rows, version = context.world.tables[table], context.world.version
    return tuple([make(Showing, (table, rows[key], 0, version(table, key))) for key in keys])
