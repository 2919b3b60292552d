"""What a seat notes of replies beyond the records they show: who was asked and told, and what became of each dispatch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code, Reply, Status, ToolCall
from fieldops_gym.core.layout import SITUATION
from fieldops_gym.core.view import View
from fieldops_gym.domains.field_service.handlers import Asked, Journal, Listed, Told
from fieldops_gym.domains.field_service.policies import NAMING
from fieldops_gym.domains.field_service.proposing import REVIEW, Drafted, Migrated
from fieldops_gym.domains.field_service.service import Compensated, Dispatched, ReadBack, Reconciled

SENT_STATES = ("not_sent", "open", "stale", "absent", "known", "refused", "conflict")
"""What the seat knows of a proposal's dispatch: not sent; open (no answer came); still open after a read too old to tell;
known not to have arrived; known to have taken effect; refused, as things stand; its key is known with other content."""


class ProposalNote(NamedTuple):
    """What replies said of a proposal beyond its record. `sent_by` is a second by which its last dispatch had been sent.

    `fresh_at` is the second from which a register as far behind as it was last seen to be covers that dispatch.
    """

    asked: tuple[str, ...] = ()
    asked_at: int = 0
    outdated: bool = False
    sent: str = ""
    sent_by: int = 0
    fresh_at: int = 0
    reservation: str = ""


class SeatNote(NamedTuple):
    """What replies said that is about no record.

    The journal was read; who was told what; what was listed; who was asked about what, in order; the delegation has ended;
    which reservations were to be undone without an answer.
    """

    journal: bool = False
    told: tuple[tuple[str, str], ...] = ()
    listed: tuple[str, ...] = ()
    asked: tuple[tuple[str, str], ...] = ()
    ended: bool = False
    undoing: tuple[str, ...] = ()


NO_PROPOSAL_NOTE = ProposalNote()
NO_SEAT_NOTE = SeatNote()
SEAT = "seat"


def proposal_note(view: View, proposal: str) -> ProposalNote:
    """Return what the seat has noted of a proposal."""
    return view.notes.get(proposal, NO_PROPOSAL_NOTE)


def seat_note(view: View) -> SeatNote:
    """Return what the seat has noted of itself."""
    return view.notes.get(SEAT, NO_SEAT_NOTE)


def absorb(view: View, call: ToolCall, reply: Reply) -> Sequence[str]:
    """Note what a reply says beyond records; return the sections of the observation that it may change."""
    noter = NOTERS.get(type(reply.facts))
    if noter is not None:
        return noter(view, reply.facts)
    if reply.code == Code.DENIED:
        return _denied(view, call, reply)
    if call.tool == "request_review" and reply.code == Code.CONFLICT:
        note = seat_note(view)
        view.notes[SEAT] = note._replace(asked=(*note.asked, ("", REVIEW)))
        return (SITUATION,)
    if call.tool == "compensate" and reply.status == Status.UNKNOWN:
        return _undoing(view, dict(call.args).get("reservation", ""), True)
    if call.tool == "compensate" and reply.code == Code.CONFLICT:
        return _undoing(view, dict(call.args).get("reservation", ""), False)
    if call.tool == "read_policy" and dict(call.args).get("operation") in NAMING:
        return NAMED
    if call.tool == "reserve" and reply.code in LOST:
        _note(view, dict(call.args).get("proposal", ""), sent=LOST[reply.code], sent_by=view.now)
        return ("proposal",)
    return ()


def _denied(view: View, call: ToolCall, reply: Reply) -> Sequence[str]:
    """Note what a denial says of the delegation, or of a proposal's workflow."""
    if reply.expected.endswith("(P-20)"):
        view.notes[SEAT] = seat_note(view)._replace(ended=True)
        return (SITUATION,)
    if call.tool == "reserve" and reply.expected.endswith("(P-21)"):
        _note(view, dict(call.args).get("proposal", ""), outdated=True)
        return ("proposal",)
    return ()


def _undoing(view: View, reservation: str, open_: bool) -> Sequence[str]:
    note = seat_note(view)
    others = tuple(key for key in note.undoing if key != reservation)
    view.notes[SEAT] = note._replace(undoing=(*others, reservation) if open_ else others)
    return ("reservation",)


def _compensated(view: View, facts: Compensated) -> Sequence[str]:
    return _undoing(view, facts.reservation, False)


def _migrated(view: View, facts: Migrated) -> Sequence[str]:
    before = proposal_note(view, facts.proposal)
    _note(view, facts.now, asked=before.asked, asked_at=before.asked_at)
    return ("proposal", "person")


NAMED = (SITUATION, "manual", "part")
"""What a rule that names something bears on."""

LOST: dict[str, str] = {
    Code.TIMEOUT: "open", Code.UNREADABLE: "open", Code.NOT_SENT: "not_sent", Code.CONFLICT: "refused",
    Code.KEY_REUSED: "conflict",
}  # fmt: skip
"""What a dispatch is known to be after an answer that is no success."""

ANSWERED = frozenset(LOST) - {Code.TIMEOUT, Code.UNREADABLE}
"""Codes that settle, in the journal, what became of a dispatch."""

DRAFTED = {"part": ("part",), "slot": ("slot",), "citation": ("manual",), "alternative": ("part",)}
"""Tables whose rows show whether they are in the draft, by the draft's field."""


def _dispatched(view: View, facts: Dispatched) -> Sequence[str]:
    _note(view, facts.proposal, sent="known", reservation=facts.reservation)
    return ("proposal",)


def _read_back(view: View, facts: ReadBack) -> Sequence[str]:
    view.notes[facts.reservation] = facts
    _undoing(view, facts.reservation, False)
    return ("reservation", "part", "slot")


def _asked(view: View, facts: Asked) -> Sequence[str]:
    if facts.about not in view.by_id:
        note = seat_note(view)
        view.notes[SEAT] = note._replace(asked=(*note.asked, (facts.person, facts.about)))
        return (SITUATION, "person")
    note = proposal_note(view, facts.about)
    _note(view, facts.about, asked=(*note.asked, facts.person), asked_at=facts.at)
    return ("proposal", "person")


def _told(view: View, facts: Told) -> Sequence[str]:
    note = seat_note(view)
    if tuple(facts) in note.told:
        return ()
    view.notes[SEAT] = note._replace(told=(*note.told, tuple(facts)))
    return (SITUATION,)


def _listed(view: View, facts: Listed) -> Sequence[str]:
    note = seat_note(view)
    if facts.table in note.listed:
        return ()
    view.notes[SEAT] = note._replace(listed=(*note.listed, facts.table))
    return (SITUATION,)


def _drafted(view: View, facts: Drafted) -> Sequence[str]:
    return DRAFTED[facts.field]


def _note(view: View, proposal: str, **fields: Any) -> None:
    view.notes[proposal] = proposal_note(view, proposal)._replace(**fields)


def _reconciled(view: View, facts: Reconciled) -> Sequence[str]:
    note = proposal_note(view, facts.proposal)
    if facts.reservation:
        _undoing(view, facts.reservation, False)
    if facts.found and not facts.same:
        _note(view, facts.proposal, sent="conflict")
    elif facts.found:
        _note(view, facts.proposal, sent="known", reservation=facts.reservation)
    elif note.sent in ("open", "stale", "absent", ""):
        behind = note.sent_by - facts.as_of
        _note(view, facts.proposal, sent="absent" if behind <= 0 else "stale", fresh_at=view.now + behind)
    return ("proposal", "reservation")


def _journal(view: View, facts: Journal) -> Sequence[str]:
    """Take up from the journal what the crash took away."""
    told, undoing = seat_note(view).told, dict.fromkeys(seat_note(view).undoing)
    for kind, record, at in facts.entries:
        if kind == "intended:reserve":
            _note(view, record, sent="open", sent_by=max(at, proposal_note(view, record).sent_by))
        elif kind == "recorded":
            row = view.row(record)
            if row is not None and row.record.proposal:
                _note(view, row.record.proposal, sent="known", reservation=record)
        elif kind.removeprefix("answered:") in ANSWERED:
            _note(view, record, sent=LOST[kind.removeprefix("answered:")])
        elif kind.startswith("asked:"):
            note = proposal_note(view, record)
            _note(view, record, asked=(*note.asked, kind.removeprefix("asked:")), asked_at=at)
        elif kind.startswith("intended:notify:"):
            told = (*told, (record, kind.removeprefix("intended:notify:")))
        elif kind == "intended:compensate":
            undoing[record] = None
        elif kind == "settled":
            undoing.pop(record, None)
    view.notes[SEAT] = seat_note(view)._replace(journal=True, told=told, undoing=tuple(undoing))
    return (SITUATION, "proposal", "person", "reservation")


NOTERS: dict[type, Callable[[View, Any], Sequence[str]]] = {
    Dispatched: _dispatched,
    Compensated: _compensated,
    Migrated: _migrated,
    ReadBack: _read_back,
    Asked: _asked,
    Told: _told,
    Drafted: _drafted,
    Listed: _listed,
    Reconciled: _reconciled,
    Journal: _journal,
}
"""What is noted of each kind of facts."""


def nothing_noted(view: View, call: ToolCall, reply: Reply) -> Sequence[str]:
    """People keep no notes beyond what they were shown."""
    return ()
