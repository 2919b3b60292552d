"""Features: predicates over what a seat has been shown, 1 for yes, -1 for no, 0 for not known.

None is the code of a family, a tenant or a card, so that unseen ones are not strange numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fieldops_gym.core.layout import Field
from fieldops_gym.core.view import Row, View
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.notes import SENT_STATES, proposal_note, seat_note
from fieldops_gym.domains.field_service.people import EVASIVE
from fieldops_gym.domains.field_service.service import ReadBack


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
    stated = [
        s.record.value
        for s in view.rows["statement"]
        if s.record.topic == "revision" and s.record.equipment == row.id and informs(view, s.record.person)
    ]
    return row.full._replace(revision=stated[-1]) if stated else row.full


def informs(view: View, person: str) -> bool:
    """Whether a person is known to have authority to inform about machines of the incident's tenant."""
    row = view.row(person)
    return row is not None and rules.may_inform(row.record, view.rows["incident"][0].record.tenant)


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
    decided = [s.record.value for s in view.rows["statement"] if s.record.topic == "edition"]
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
            yes(row.id in decided),
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
    consulted = seat_note(view).asked
    numbers: list[float] = []
    for row in rows:
        person = row.record
        heard = answers_of(view, row.id)
        numbers += (
            1.0,
            yes(person.tenant == incident.tenant),
            yes("reserve" in person.authority),
            yes(person.id == incident.requester),
            yes(row.id in asked),
            yes(rules.may_inform(person, incident.tenant)),
            yes((row.id, "revision") in consulted),
            yes(len([1 for who, _ in consulted if who == row.id]) > len(heard)),
            yes(bool(heard) and heard[-1] in EVASIVE),
        )
    return numbers


ANSWERS = ("answered", "declined", *EVASIVE)
"""What people say to what they are asked."""


def answers_of(view: View, person: str) -> list[str]:
    """Return what a person answered, oldest first."""
    return [row.record.act for row in view.rows["message"] if row.record.sender == person and row.record.act in ANSWERS]


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
        decisions = [a.record for a in view.rows["approval"] if a.record.proposal == row.id]
        authority = [p.record.id for p in view.rows["person"] if rules.may_approve(p.record, proposal.tenant)]
        rightful = {a.disposition for a in decisions if a.by in authority and rules.in_time(a)}
        part, slot = view.row(proposal.part), view.row(proposal.slot)
        numbers += (
            1.0,
            yes(proposal.status == "frozen"),
            yes(drafted == (proposal.part, proposal.slot, proposal.citations)),
            yes(bool(note.asked)),
            yes(any(key in note.asked for key in authority)) if authority else 0.0,
            yes("approved" in rightful),
            yes(any(a.disposition == "approved" and a.by not in authority for a in decisions)),
            yes("rejected" in rightful or "declined" in rightful),
            yes("change_part" in rightful),
            yes("change_slot" in rightful),
            yes(len(note.asked) > len({a.request for a in decisions if a.request})),
            yes(len(note.asked) >= rules.MAX_REQUESTS_EACH),
            yes(outdated(view, row)),
            0.0 if part is None or slot is None else yes(rules.in_stock(part.record) and slot.record.free > 0),
            yes(draft is not None and draft.record.part == proposal.part),
            yes(draft is not None and draft.record.slot == proposal.slot),
            *[1.0 if note.sent == state else 0.0 for state in SENT_STATES],
        )
    return numbers


def outdated(view: View, row: Row) -> bool:
    """Whether a proposal is known to be of an earlier workflow."""
    release = first(view, "release")
    known = release is not None and release.record.workflow != row.record.workflow
    return known or proposal_note(view, row.id).outdated


def reservation_features(view: View, rows: list[Row]) -> Sequence[float]:
    """Reservations: status, and what the last read-back said of the four records."""
    numbers: list[float] = []
    for row in rows:
        back: ReadBack | None = view.notes.get(row.id)
        numbers += (1.0, yes(row.record.status == "active"), yes(bool(row.record.proposal)))
        numbers += (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0) if back is None else (1.0, *map(yes, back[2:]), yes(all(back[2:])))
        numbers.append(yes(row.id in seat_note(view).undoing))
    return numbers


def fields(*pairs: tuple[str, str]) -> tuple[Field, ...]:
    """Return (name, meaning) pairs as fields."""
    return tuple(Field(name, meaning) for name, meaning in pairs)
