"""Features: predicates over what a seat has been shown, 1 for yes, -1 for no, 0 for not known.

None is the code of a family, a tenant or a card, so that unseen ones are not strange numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fieldops_gym.core.layout import Field, Panel
from fieldops_gym.core.view import Row, View
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.notes import SENT_STATES, proposal_note, seat_note
from fieldops_gym.domains.field_service.service import ReadBack
from fieldops_gym.domains.field_service.tools import KINDS_TOLD

PROPOSALS = rules.MAX_PROPOSALS
DAY = 24 * 3600


def yes(value: bool) -> float:
    """Return a known answer as a feature."""
    return 1.0 if value else -1.0


def first(view: View, table: str) -> Row | None:
    """Return the first row of a table, or None."""
    rows = view.rows[table]
    return rows[0] if rows else None


def machine(view: View) -> Any:
    """Return the equipment's registry record with the revision as far as it is known, None before it was read.

    Where the registry holds none, what a person has stated stands in for it.
    """
    row = first(view, "equipment")
    if row is None or row.full is None or row.full.revision:
        return row.full if row else None
    stated = [s.record.value for s in view.rows["statement"] if s.record.topic == "revision" and s.record.equipment == row.id]
    return row.full._replace(revision=stated[-1]) if stated else row.full


def remedy(view: View) -> str:
    """Return the kind of part that an edition in force and read prescribes for the machine, '' before that is known."""
    known = machine(view)
    if known is None:
        return ""
    for row in view.rows["manual"]:
        if row.full is not None and rules.is_current(row.full) and rules.applies(row.full, known.revision):
            return row.full.remedy
    return ""


def policy_value(view: View, operation: str) -> str | None:
    """Return what the rule for an operation names, '' for nothing, None before it was read."""
    return next((row.record.value for row in view.rows["policy"] if row.record.operation == operation), None)


def known(value: str | None) -> float:
    """Return whether a rule names something, as a feature: 0 before it was read."""
    return 0.0 if value is None else yes(bool(value))


def manual_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Editions."""
    known, draft = machine(view), first(view, "draft")
    cited, source = draft.record.citations if draft else (), policy_value(view, "sources")
    revision = known.revision if known is not None else 0
    prescribed = {
        row.full.remedy
        for row in rows
        if row.full is not None and rules.is_current(row.full) and revision and rules.applies(row.full, revision)
    }
    numbers: list[float] = []
    for row in rows:
        edition, full = row.record, row.full
        withheld = edition.status == "withheld"
        covers = 0.0 if not revision or withheld else yes(rules.applies(edition, revision))
        rightful = 0.0 if source is None or full is None else yes(full.source == source)
        differs = 0.0 if full is None or not prescribed else yes(bool(prescribed - {full.remedy}))
        numbers += (
            1.0,
            yes(rules.is_current(edition)),
            covers,
            1.0 if full is not None else -1.0,
            1.0 if row.id in cited else -1.0,
            yes(withheld),
            rightful,
            differs,
            0.0 if full is None else yes(rules.orders(full.remark)),
        )
    return numbers


def part_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Parts."""
    known, draft, incident, kind = machine(view), first(view, "draft"), view.rows["incident"][0].record, remedy(view)
    also = policy_value(view, "depots") or ""
    chosen, alternatives = (draft.record.part, draft.record.alternatives) if draft else ("", ())
    numbers: list[float] = []
    for row in rows:
        part = row.record
        fits = 0.0 if known is None or not known.revision else 1.0 if rules.fits_revision(part, known) else -1.0
        stock = 1.0 if rules.in_stock(part) else -1.0
        near = 1.0 if rules.depot_serves(part, incident, also) else -1.0
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
        numbers += (1.0, yes(row.record.status == "active"), yes(bool(row.record.proposal)))
        numbers += (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0) if back is None else (1.0, *map(yes, back[2:]), yes(all(back[2:])))
    return numbers


def fields(*pairs: tuple[str, str]) -> tuple[Field, ...]:
    """Return (name, meaning) pairs as fields."""
    return tuple(Field(name, meaning) for name, meaning in pairs)


def write_clock(view: View, flat: Any, at: int) -> None:
    """Time and budget, each as the share that is left. Only what time or a call changes is written at every step."""
    now, meters = view.now, view.meters
    turns, calls, retries, attempts, seconds = view.limits
    deadline, expires = view.terms
    flat[at] = (seconds - now) / seconds if now < seconds else 0.0
    flat[at + 1] = (deadline - now) / DAY if now < deadline else 0.0
    flat[at + 2] = (expires - now) / (2 * DAY) if now < expires else 0.0
    flat[at + 3] = (turns - meters[1]) / turns if turns else 0.0
    flat[at + 4] = (calls - meters[2]) / calls if calls else 0.0
    if meters[4] or not meters[1]:
        flat[at + 5] = max(0.0, (retries - meters[3]) / retries) if retries else 0.0
        flat[at + 6] = (attempts - meters[4]) / attempts if attempts else 0.0
    if view.rows["approval"]:
        for row in view.rows["proposal"]:
            flat[at + 6 + row.position] = _approval_left(view, row.id, now)


def terms(view: View) -> tuple[int, int]:
    """Return what the brief says of time: the incident's deadline and the delegation's end, in seconds."""
    return view.rows["incident"][0].record.deadline, view.rows["delegation"][0].record.expires


def _approval_left(view: View, proposal: str, now: int) -> float:
    ends = [
        row.record.expires
        for row in view.rows["approval"]
        if row.record.proposal == proposal and row.record.disposition == "approved"
    ]
    return max(0.0, (max(ends) - now) / rules.APPROVAL_SECONDS) if ends else 0.0


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
    flat[at : at + 16 + len(rules.NAMING) + len(KINDS_TOLD)] = (
        yes(view.restarted),
        yes(note.journal),
        yes(seen is not None),
        yes(seen is not None and bool(seen.revision)),
        yes("manual" in note.listed),
        yes("note" in note.listed),
        yes("revision" in note.asked),
        yes("declined" in acts),
        yes(rules.ANSWER in incident.asks),
        yes(rules.PLAN in incident.asks),
        *[known(named.get(operation)) for operation in rules.NAMING],
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
        ("recalled", "notes from earlier runs were recalled"),
        ("revision_asked", "somebody was asked for the revision"),
        ("declined", "somebody declined to answer"),
        ("asks_answer", "the request is for an answer"),
        ("asks_plan", "the request is for a plan"),
        *((f"names_{operation}", f"the policy on {operation} names something") for operation in rules.NAMING),
        ("directory", "the directory was read"),
        ("open", "dispatches without a known outcome, over the number of proposals there can be"),
        ("asks_repair", "the request is for a repair"),
        ("asks_control", "the request is for control of the machine"),
        ("cancelled", "the request is known to have been cancelled"),
        ("insisted", "somebody has insisted"),
        *((f"told_{kind}", f"somebody was told: {kind}") for kind in KINDS_TOLD),
    ),
    write_situation,
    frozenset({"incident", "equipment", "person", "proposal", "message", "statement"}),
)


def write_nothing(view: View, flat: Any, at: int) -> None:
    """People's seats have no panels."""


NO_PANEL = Panel((), write_nothing)
