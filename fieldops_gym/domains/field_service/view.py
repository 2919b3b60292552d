"""What a seat of field service sees: the tables of its view, their features, and what it notes of replies.

A feature is a predicate over what has been shown, 1 for yes, -1 for no, 0 for not known. None is the code of a family,
a tenant or a card, so that unseen ones are not strange numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code, ToolCall
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.tools import Request, Showing
from fieldops_gym.core.view import Field, Layout, Panel, Reply, Row, View, ViewTable
from fieldops_gym.core.world import World
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.handlers import Asked, Drafted, Journal, Told
from fieldops_gym.domains.field_service.service import Dispatched, ReadBack, Reconciled
from fieldops_gym.domains.field_service.tools import KINDS_TOLD, PEOPLE_SEATS, TOOLS

PROPOSALS = rules.MAX_PROPOSALS
DECISIONS = PROPOSALS * rules.MAX_REQUESTS_EACH
"""How many decisions people can be asked for; each brings a message, and so does each answer to a message."""

DAY = 24 * 3600

SENT_STATES = ("not_sent", "open", "stale", "absent", "known", "conflict")
"""What the seat knows of a proposal's dispatch: not sent; open (no answer came); still open after a read too old to tell;
known not to have arrived; known to have taken effect; refused for a conflict."""


class ProposalNote(NamedTuple):
    """What replies said of a proposal beyond its record. `sent_by` is a second by which its last dispatch had been sent."""

    asked: tuple[str, ...] = ()
    sent: str = ""
    sent_by: int = 0
    reservation: str = ""


class SeatNote(NamedTuple):
    """What replies said that is about no record: the journal was read, and who was told what."""

    journal: bool = False
    told: tuple[tuple[str, str], ...] = ()


NO_PROPOSAL_NOTE = ProposalNote()
NO_SEAT_NOTE = SeatNote()
SEAT = "seat"


def proposal_note(view: View, proposal: str) -> ProposalNote:
    """Return what the seat has noted of a proposal."""
    return view.notes.get(proposal, NO_PROPOSAL_NOTE)


def seat_note(view: View) -> SeatNote:
    """Return what the seat has noted of itself."""
    return view.notes.get(SEAT, NO_SEAT_NOTE)


def yes(value: bool) -> float:
    """Return a known answer as a feature."""
    return 1.0 if value else -1.0


def first(view: View, table: str) -> Row | None:
    """Return the first row of a table, or None."""
    rows = view.rows[table]
    return rows[0] if rows else None


def machine(view: View) -> Any:
    """Return the equipment's registry record, None before it was read."""
    row = first(view, "equipment")
    return row.full if row else None


def remedy(view: View) -> str:
    """Return the kind of part that an edition in force and read prescribes for the machine, '' before that is known."""
    known = machine(view)
    if known is None:
        return ""
    for row in view.rows["manual"]:
        if row.full is not None and rules.is_current(row.full) and rules.applies(row.full, known.revision):
            return row.full.remedy
    return ""


def manual_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Editions."""
    known, draft = machine(view), first(view, "draft")
    cited = draft.record.citations if draft else ()
    numbers: list[float] = []
    for row in rows:
        edition = row.record
        covers = 0.0 if known is None else yes(rules.applies(edition, known.revision))
        read = 1.0 if row.full is not None else -1.0
        numbers += (1.0, yes(rules.is_current(edition)), covers, read, 1.0 if row.id in cited else -1.0)
    return numbers


def part_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Parts."""
    known, draft, incident, kind = machine(view), first(view, "draft"), view.rows["incident"][0].record, remedy(view)
    chosen, alternatives = (draft.record.part, draft.record.alternatives) if draft else ("", ())
    numbers: list[float] = []
    for row in rows:
        part = row.record
        fits = 0.0 if known is None else 1.0 if rules.fits_revision(part, known) else -1.0
        stock = 1.0 if rules.in_stock(part) else -1.0
        near = 1.0 if rules.depot_serves(part, incident) else -1.0
        prescribed = 0.0 if not kind else 1.0 if part.kind == kind else -1.0
        suits = min(fits, stock, near, prescribed)
        drafted = 1.0 if chosen == row.id else -1.0
        alternative = 1.0 if row.id in alternatives else -1.0
        numbers += (1.0, fits, stock, near, prescribed, suits, drafted, alternative, part.uncertainty / 20.0)
    return numbers


def slot_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Slots."""
    draft, incident, trade = first(view, "draft"), view.rows["incident"][0].record, view.rows["family"][0].record.trade
    chosen = draft.record.slot if draft else ""
    numbers: list[float] = []
    for row in rows:
        slot = row.record
        skilled = 1.0 if rules.skill_fits(slot, trade) else -1.0
        region = 1.0 if rules.region_fits(slot, incident) else -1.0
        in_time = 1.0 if rules.before_deadline(slot, incident) else -1.0
        free = 1.0 if slot.free > 0 else -1.0
        suits = min(skilled, region, in_time, free)
        numbers += (1.0, skilled, region, in_time, free, suits, 1.0 if chosen == row.id else -1.0)
    return numbers


def person_features(view: View, rows: list[Row]) -> Sequence[float]:
    """People."""
    incident = view.rows["incident"][0].record
    asked = {person for plan in view.rows["proposal"] for person in proposal_note(view, plan.id).asked}
    numbers: list[float] = []
    for row in rows:
        person = row.record
        numbers += (
            1.0,
            yes(person.tenant == incident.tenant),
            yes("reserve" in person.authority),
            yes(person.id == incident.requester),
            yes(row.id in asked),
        )
    return numbers


def draft_features(view: View, rows: list[Row]) -> Sequence[float]:
    """The draft."""
    draft = rows[0].record
    return (1.0, yes(bool(draft.part)), yes(bool(draft.slot)), yes(bool(draft.citations)), yes(bool(draft.alternatives)))


def proposal_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Proposals: what each holds, who was asked, what they said, and what is known of its dispatch."""
    draft = first(view, "draft")
    drafted = draft.record[1:4] if draft else ()
    numbers: list[float] = []
    for row in rows:
        proposal, note = row.record, proposal_note(view, row.id)
        decisions = {a.record.disposition for a in view.rows["approval"] if a.record.proposal == row.id}
        authority = [p.record.id for p in view.rows["person"] if rules.may_approve(p.record, proposal.tenant)]
        numbers += (
            1.0,
            yes(proposal.status == "frozen"),
            yes(drafted == (proposal.part, proposal.slot, proposal.citations)),
            yes(bool(note.asked)),
            yes(any(key in note.asked for key in authority)) if authority else 0.0,
            yes("approved" in decisions),
            yes("rejected" in decisions or "declined" in decisions),
            *[1.0 if note.sent == state else 0.0 for state in SENT_STATES],
        )
    return numbers


def reservation_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Reservations: status, and what the last read-back said of the four records."""
    numbers: list[float] = []
    for row in rows:
        back: ReadBack | None = view.notes.get(row.id)
        numbers += (1.0, yes(row.record.status == "active"))
        numbers += (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0) if back is None else (1.0, *map(yes, back[2:]), yes(all(back[2:])))
    return numbers


def _fields(*pairs: tuple[str, str]) -> tuple[Field, ...]:
    return tuple(Field(name, meaning) for name, meaning in pairs)


TABLES: tuple[ViewTable, ...] = (
    ViewTable("incident", 1, ("id", "equipment", "requester", "region", "symptom", "urgency", "deadline"), ("reservation",)),
    ViewTable("equipment", 1, ("id", "family", "serial", "region"), ("revision",)),
    ViewTable("family", 1, ("id", "name", "trade")),
    ViewTable("delegation", 1, ("id", "scopes", "expires")),
    ViewTable(
        "manual",
        4,
        ("id", "title", "edition", "status", "rev_from", "rev_to"),
        ("remedy", "source", "remark"),
        _fields(
            ("present", "there is such a row"),
            ("current", "it is in force"),
            ("covers", "it covers the machine's revision"),
            ("read", "it was read whole"),
            ("cited", "the draft cites it"),
        ),
        manual_features,
        ("equipment",),
    ),
    ViewTable(
        "part",
        6,
        ("id", "kind", "rev_from", "rev_to", "depot", "quantity", "uncertainty"),
        (),
        _fields(
            ("present", "there is such a row"),
            ("fits", "it fits the machine's revision"),
            ("in_stock", "one is left"),
            ("near", "its depot is in the incident's region"),
            ("prescribed", "an edition in force and read prescribes it"),
            ("suits", "yes to all four, no to any; not known while one is not"),
            ("drafted", "it is the draft's part"),
            ("alternative", "it is an alternative of the draft"),
            ("uncertainty", "uncertainty in percent, over 20"),
        ),
        part_features,
        ("equipment", "manual"),
    ),
    ViewTable(
        "slot",
        6,
        ("id", "technician", "skills", "region", "start", "free"),
        (),
        _fields(
            ("present", "there is such a row"),
            ("skilled", "the technician knows the trade"),
            ("region", "the technician works in the incident's region"),
            ("in_time", "it starts before the deadline"),
            ("free", "a place is left"),
            ("suits", "yes to all four"),
            ("drafted", "it is the draft's slot"),
        ),
        slot_features,
        (),
    ),
    ViewTable(
        "person",
        5,
        ("id", "tenant", "title", "authority"),
        (),
        _fields(
            ("present", "there is such a row"),
            ("own", "of the incident's tenant"),
            ("authority", "may approve reservations"),
            ("requester", "reported the incident"),
            ("asked", "was asked to approve a proposal"),
        ),
        person_features,
        (),
    ),
    ViewTable("policy", len(rules.POLICIES), ("id", "operation", "rule", "text")),
    ViewTable(
        "draft",
        1,
        ("id", "part", "slot", "citations", "alternatives"),
        (),
        _fields(
            ("present", "it was shown"),
            ("part", "it has a part"),
            ("slot", "it has a slot"),
            ("citation", "it cites an edition"),
            ("alternative", "it names an alternative"),
        ),
        draft_features,
        (),
    ),
    ViewTable(
        "proposal",
        PROPOSALS,
        ("id", "hash", "incident", "part", "slot", "citations", "alternatives", "consequence", "workflow", "status"),
        (),
        _fields(
            ("present", "there is such a row"),
            ("frozen", "it is frozen"),
            ("as_drafted", "it holds what the draft holds"),
            ("asked", "somebody was asked to approve it"),
            ("asked_authority", "somebody known to have authority was asked"),
            ("approved", "an approval was seen"),
            ("rejected", "a rejection was seen"),
            *((f"sent_{state}", f"its dispatch is known to be: {state}") for state in SENT_STATES),
        ),
        proposal_features,
        ("draft", "approval", "person"),
    ),
    ViewTable("approval", DECISIONS, ("id", "proposal", "hash", "by", "disposition", "at", "expires")),
    ViewTable(
        "reservation",
        4,
        ("id", "proposal", "incident", "part", "slot", "status", "at"),
        (),
        _fields(
            ("present", "there is such a row"),
            ("active", "it is active"),
            ("read_back", "it was read back"),
            ("part", "its part shows it"),
            ("slot", "its slot shows it"),
            ("incident", "its incident shows it"),
            ("audit", "the audit trail shows it"),
            ("whole", "all four show it"),
        ),
        reservation_features,
        (),
    ),
    ViewTable("message", len(PEOPLE_SEATS) * rules.MAX_MESSAGES + DECISIONS, ("id", "sender", "act", "about", "at", "note")),
)

PERSON_TABLES: tuple[ViewTable, ...] = (
    ViewTable(
        "proposal", PROPOSALS, ("id", "hash", "incident", "part", "slot", "citations", "alternatives", "consequence", "status")
    ),
    ViewTable("request", DECISIONS, ("id", "proposal", "hash", "person", "at")),
    ViewTable("message", rules.MAX_MESSAGES, ("id", "sender", "act", "about", "at", "note")),
)


def write_clock(view: View, flat: Any, at: int) -> None:
    """Time and budget, each as the share that is left. Only what time or a call changes is written at every step."""
    now, (turns, calls, retries, attempts, seconds), rows = view.now, view.limits, view.rows
    _, used_turns, used_calls, used_retries, used_attempts = view.meters
    flat[at] = (seconds - now) / seconds if now < seconds else 0.0
    left = rows["incident"][0].record.deadline - now
    flat[at + 1] = left / DAY if left > 0 else 0.0
    left = rows["delegation"][0].record.expires - now
    flat[at + 2] = left / (2 * DAY) if left > 0 else 0.0
    flat[at + 3] = (turns - used_turns) / turns if turns > used_turns else 0.0
    flat[at + 4] = (calls - used_calls) / calls if calls > used_calls else 0.0
    if used_attempts or not used_turns:
        flat[at + 5] = (retries - used_retries) / retries if retries > used_retries else 0.0
        flat[at + 6] = (attempts - used_attempts) / attempts if attempts > used_attempts else 0.0
    if rows["approval"]:
        for row in rows["proposal"]:
            flat[at + 6 + row.position] = _approval_left(view, row.id, now)


def _approval_left(view: View, proposal: str, now: int) -> float:
    ends = [
        row.record.expires
        for row in view.rows["approval"]
        if row.record.proposal == proposal and row.record.disposition == "approved"
    ]
    return max(0.0, (max(ends) - now) / rules.APPROVAL_SECONDS) if ends else 0.0


CLOCK = Panel(
    _fields(
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
    ),
    write_clock,
)


def write_situation(view: View, flat: Any, at: int) -> None:
    """What is known that is about no single record."""
    note, rows = seat_note(view), view.rows
    told = [kind for _, kind in note.told]
    unresolved = sum([proposal_note(view, row.id).sent in ("open", "stale") for row in rows["proposal"]])
    flat[at : at + 5 + len(KINDS_TOLD)] = (
        yes(view.restarted),
        yes(note.journal),
        yes(machine(view) is not None),
        yes(len(rows["person"]) > 1),
        unresolved / PROPOSALS,
        *[1.0 if kind in told else 0.0 for kind in KINDS_TOLD],
    )


SITUATION = Panel(
    _fields(
        ("restarted", "this process was started again after a crash"),
        ("journal", "the journal was read"),
        ("revision_known", "the registry was read"),
        ("directory", "the directory was read"),
        ("open", "dispatches without a known outcome, over the number of proposals there can be"),
        *((f"told_{kind}", f"somebody was told: {kind}") for kind in KINDS_TOLD),
    ),
    write_situation,
    frozenset({"equipment", "person", "proposal"}),
)


def write_nothing(view: View, flat: Any, at: int) -> None:
    """People's seats have no panels."""


NO_PANEL = Panel((), write_nothing)


def absorb(view: View, call: ToolCall, reply: Reply) -> Sequence[str] | None:
    """Note what a reply says beyond records; return the tables whose features that may change, None if nothing was noted."""
    noter = NOTERS.get(type(reply.facts))
    if noter is not None:
        return noter(view, reply.facts)
    if call.tool == "reserve" and reply.code in LOST:
        _note(view, dict(call.args).get("proposal", ""), sent=LOST[reply.code], sent_by=view.now)
        return ("proposal",)
    return None


LOST: dict[str, str] = {Code.TIMEOUT: "open", Code.NOT_SENT: "not_sent", Code.CONFLICT: "conflict"}
"""What a dispatch is known to be after an answer that is no success."""

DRAFTED = {"part": ("part",), "slot": ("slot",), "citation": ("manual",), "alternative": ("part",)}
"""Tables whose rows show whether they are in the draft, by the draft's field."""


def _dispatched(view: View, facts: Dispatched) -> Sequence[str]:
    _note(view, facts.proposal, sent="known", reservation=facts.reservation)
    return ("proposal",)


def _read_back(view: View, facts: ReadBack) -> Sequence[str]:
    view.notes[facts.reservation] = facts
    return ("reservation", "part", "slot")


def _asked(view: View, facts: Asked) -> Sequence[str] | None:
    if facts.about not in view.by_id:
        return None
    note = proposal_note(view, facts.about)
    _note(view, facts.about, asked=(*note.asked, facts.person))
    return ("proposal", "person")


def _told(view: View, facts: Told) -> Sequence[str] | None:
    note = seat_note(view)
    if tuple(facts) in note.told:
        return None
    view.notes[SEAT] = SeatNote(note.journal, (*note.told, tuple(facts)))
    return ()


def _drafted(view: View, facts: Drafted) -> Sequence[str]:
    return DRAFTED[facts.field]


def _note(view: View, proposal: str, **fields: Any) -> None:
    view.notes[proposal] = proposal_note(view, proposal)._replace(**fields)


def _reconciled(view: View, facts: Reconciled) -> Sequence[str]:
    note = proposal_note(view, facts.proposal)
    if facts.found:
        _note(view, facts.proposal, sent="known", reservation=facts.reservation)
    elif note.sent in ("open", "stale", "absent", ""):
        _note(view, facts.proposal, sent="absent" if facts.as_of >= note.sent_by else "stale")
    return ("proposal",)


def _journal(view: View, facts: Journal) -> Sequence[str]:
    """Take up from the journal what the crash took away."""
    told = seat_note(view).told
    for kind, record, at in facts.entries:
        if kind == "intended:reserve":
            _note(view, record, sent="open", sent_by=max(at, proposal_note(view, record).sent_by))
        elif kind == "recorded":
            row = view.row(record)
            if row is not None:
                _note(view, row.record.proposal, sent="known", reservation=record)
        elif kind in ("answered:not_sent", "answered:conflict"):
            _note(view, record, sent=kind.removeprefix("answered:"))
        elif kind.startswith("asked:"):
            note = proposal_note(view, record)
            _note(view, record, asked=(*note.asked, kind.removeprefix("asked:")))
        elif kind.startswith("intended:notify:"):
            told = (*told, (record, kind.removeprefix("intended:notify:")))
    view.notes[SEAT] = SeatNote(journal=True, told=told)
    return ("proposal", "person")


NOTERS: dict[type, Callable[[View, Any], Sequence[str] | None]] = {
    Dispatched: _dispatched,
    ReadBack: _read_back,
    Asked: _asked,
    Told: _told,
    Drafted: _drafted,
    Reconciled: _reconciled,
    Journal: _journal,
}
"""What is noted of each kind of facts."""


def opening(scenario: Scenario, world: World) -> tuple[Showing, ...]:
    """Return what the brief shows: the incident, the machine in brief, its family, the requester, the delegation."""
    roles = scenario.roles
    shown = (("incident", "incident"), ("equipment", "equipment"), ("family", "family"), ("person", "requester"))
    pairs = [(table, roles[role][0]) for table, role in shown]
    pairs.append(("delegation", roles["delegation"][0]))
    return tuple([Showing(table, world.tables[table][key], 0, world.version(table, key)) for table, key in pairs])


def deliver(world: World, request: Request) -> tuple[Showing, ...]:
    """Return what a request shows to the person it is put before."""
    if request.kind != "approval":
        return (Showing("message", world.tables["message"][request.ref], 0, world.version("message", request.ref)),)
    asked = world.tables["request"][request.ref]
    plan = world.tables["proposal"][asked.proposal]
    return (
        Showing("request", asked, 0, world.version("request", asked.id)),
        Showing("proposal", plan, 0, world.version("proposal", plan.id)),
    )


def nothing_noted(view: View, call: ToolCall, reply: Reply) -> None:
    """People keep no notes beyond what they were shown."""


LAYOUTS: dict[str, Layout] = {
    rules.LEAD: Layout(tuple(TOOLS[rules.LEAD].values()), TABLES, CLOCK, SITUATION, absorb),
    **{
        seat: Layout(tuple(tools.values()), PERSON_TABLES, NO_PANEL, NO_PANEL, nothing_noted)
        for seat, tools in TOOLS.items()
        if seat != rules.LEAD
    },
}
"""The layout of each seat's view."""
