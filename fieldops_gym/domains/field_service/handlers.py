"""What the tools other than the reservation service do: reading, drafting, proposing, asking, telling, finishing.

Handlers are plain functions of a `Context` and checked values. They return an `Outcome`; the gateway commits it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code
from fieldops_gym.core.canonical import digest
from fieldops_gym.core.passage import Context
from fieldops_gym.core.people import Message
from fieldops_gym.core.tools import AT_COMMIT, Outcome, Request, Showing
from fieldops_gym.core.world import Write, make
from fieldops_gym.domains.field_service.records import (
    ApprovalRequest,
    Draft,
    Proposal,
)
from fieldops_gym.domains.field_service.rules import (
    CANCELLED,
    MAX_MESSAGES,
    MAX_PROPOSALS,
    MAX_REQUESTS_EACH,
    delegation_of,
    draft_of,
    live_approval,
)
from fieldops_gym.domains.field_service.service import show

WORKFLOW = "wf-1"

JOURNALED = {"reserve": "proposal", "compensate": "reservation", "notify": "person"}
"""Tools whose intent the journal keeps, and the table that their first argument points into."""


class Asked(NamedTuple):
    """What `request_approval` and `ask` answer: who has been asked about what."""

    person: str
    about: str


class Listed(NamedTuple):
    """What a search answers besides what it shows: how many there are."""

    table: str
    number: int


class Told(NamedTuple):
    """What `notify` answers: who has been told which kind of thing."""

    person: str
    kind: str


class Drafted(NamedTuple):
    """What `draft` answers when the draft has changed: which field, and what was put there."""

    field: str
    ref: str


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
    return Outcome(shown=_listed(context, "part", context.world.tables["family"][family].parts))


def list_slots(context: Context, incident: str) -> Outcome:
    """Show the slots offered in the incident's region."""
    region = context.world.tables["incident"][incident].region
    return Outcome(shown=_listed(context, "slot", context.world.tables["region"][region].slots))


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
        elif message.act == CANCELLED:
            shown.append(show(context, "incident", message.about, 0))
    return Outcome(shown=tuple(shown), facts=Waited(len(new)))


def draft(context: Context, field: str, ref: str) -> Outcome:
    """Put a reference into the draft and show the whole draft."""
    old = draft_of(context.world)
    part, slot, citations, alternatives = old[1:]
    if field == "part":
        part = ref
    elif field == "slot":
        slot = ref
    elif field == "citation":
        citations = tuple(sorted({*citations, ref}))
    else:
        alternatives = tuple(sorted({*alternatives, ref}))
    new = make(Draft, (old.id, part, slot, citations, alternatives))
    if new == old:
        return Outcome(shown=(show(context, "draft", old.id),))
    writes, shown = (make(Write, ("draft", new.id, new)),), (make(Showing, ("draft", new, 1, AT_COMMIT)),)
    return Outcome(writes, shown, Drafted(field, ref))


def propose(context: Context) -> Outcome:
    """Freeze the draft under the hash of its exact content."""
    tables, old = context.world.tables, draft_of(context.world)
    missing = [name for name, value in (("part", old.part), ("slot", old.slot), ("citation", old.citations)) if not value]
    if missing:
        return Outcome(code=Code.INCOMPLETE, expected=f"a draft with {', '.join(missing)}")
    incident = tables["incident"][context.scenario.roles["incident"][0]]
    content = (incident.id, incident.equipment, old.part, old.slot, old.citations, old.alternatives, WORKFLOW)
    frozen = digest(content)[:16]
    same = next((p for p in tables["proposal"].values() if p.hash == frozen and p.status == "frozen"), None)
    if same is not None:
        return Outcome(shown=(show(context, "proposal", same.id),))
    stock = (("part", old.part, tables["part"][old.part].quantity), ("slot", old.slot, tables["slot"][old.slot].free))
    gone = [(name, key) for name, key, left in stock if left <= 0]
    if gone:
        shown = tuple([show(context, name, key, 0) for name, key in gone])
        return Outcome(code=Code.CONFLICT, expected=f"a {gone[0][0]} that is still to be had", shown=shown)
    number = len(tables["proposal"])
    if number >= MAX_PROPOSALS:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_PROPOSALS} proposals for one incident")
    key = f"prp-{context.ids.token('proposal', context.seat, number)}"
    made = Proposal(
        key, incident.tenant, frozen, f"key-{frozen}", incident.id, incident.equipment, old.part, old.slot, old.citations,
        old.alternatives, "compensatable", WORKFLOW, "frozen", context.seat, context.now,
    )  # fmt: skip
    return Outcome((Write("proposal", key, made),), (Showing("proposal", made, 1, AT_COMMIT),))


def withdraw(context: Context, proposal: str) -> Outcome:
    """Take a proposal back; nothing can be reserved under it any more."""
    old: Proposal = context.world.tables["proposal"][proposal]
    if old.status != "frozen":
        return Outcome(code=Code.CONFLICT, expected="a proposal that is frozen")
    if any(made.proposal == proposal for made in context.world.tables["reservation"].values()):
        return Outcome(
            code=Code.CONFLICT, expected="a proposal that nothing has been reserved under", reads=(("intent", old.key),)
        )
    new = old._replace(status="withdrawn")
    return Outcome((Write("proposal", new.id, new),), (Showing("proposal", new, 1, AT_COMMIT),))


def request_approval(context: Context, proposal: str, person: str) -> Outcome:
    """Put a proposal before a person, who answers by message."""
    tables = context.world.tables
    plan: Proposal = tables["proposal"][proposal]
    if plan.status != "frozen":
        return Outcome(code=Code.CONFLICT, expected="a proposal that is frozen")
    earlier = [r for r in tables["request"].values() if r.proposal == proposal]
    if live_approval(tables, plan, context.now) is not None:
        return Outcome(code=Code.CONFLICT, expected="a proposal that has no live approval yet")
    answered = {approval.request for approval in tables["approval"].values()}
    if any(r.person == person and r.id not in answered for r in earlier):
        return Outcome(code=Code.CONFLICT, expected="a person who has not been asked yet, or has answered")
    if len(earlier) >= MAX_REQUESTS_EACH:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_REQUESTS_EACH} requests for one proposal")
    key = f"req-{context.ids.token('request', proposal, len(earlier))}"
    made = ApprovalRequest(key, proposal, plan.hash, person, context.now)
    seat = tables["person"][person].seat
    return Outcome((Write("request", key, made),), (), Asked(person, proposal), (Request(seat, "approval", key),))


def ask(context: Context, person: str, topic: str) -> Outcome:
    """Ask a person about a topic; the answer comes by message."""
    return _say(context, person, f"asked:{topic}", "", "ask", Asked(person, topic))


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
