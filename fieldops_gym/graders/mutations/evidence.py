"""Mutations of evidence: what a plan or an answer rests on was not read, not in force, or not so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fieldops_gym.core.world import Event
from fieldops_gym.domains.field_service.rules import LEAD
from fieldops_gym.graders.mutations.model import Base, Change, Kind, Make
from fieldops_gym.graders.mutations.surgery import (
    edited,
    own_calls,
    own_calls_of,
    standing,
    unseen,
    with_record,
    with_reply,
    without,
)

GROUP = "evidence"

EVIDENCE = ("trajectory.current_evidence", "trajectory.grounded")
SUITABLE = ("effect.suitable",)
OF_THE_START = ("task.accepted_ending", "account.finish_true")

ANSWERING = ("answered", "escalated", "needs_information")
"""Dispositions of a request for an answer, which has to be grounded."""


def plans_put(base: Base) -> list[Any]:
    """Return the proposals that the seat put to people or sent, or that its account is about."""
    tables, account = base.trial.world.tables, base.trial.account
    put = {str(m.arg("proposal")) for m in own_calls(base) if m.call.tool in ("request_approval", "reserve")}
    if account is not None and account.disposition == "proposed":
        put.add(account.subject)
    return [plan for key, plan in tables["proposal"].items() if key in put and plan.by == LEAD]


def answers(base: Base) -> bool:
    """Whether the run answered a question, or gave reasons for not answering it."""
    account = base.trial.account
    return account is not None and base.trial.scenario.checks == "answer" and account.disposition in ANSWERING


def cited(base: Base) -> list[str]:
    """Return the editions that the run rests on: cited by its plans, or, of an answer, by the draft."""
    keys = [key for plan in plans_put(base) for key in plan.citations]
    if answers(base):
        keys += next(iter(base.trial.world.tables["draft"].values())).citations
    return list(dict.fromkeys(keys))


def _edition(**fields: Callable[[Any, Base], Any]) -> Make:
    """Change fields of an edition that a plan rests on, from the start."""

    def make(base: Base) -> Iterator[Change]:
        for key in dict.fromkeys(key for plan in plans_put(base) for key in plan.citations):
            edition = base.trial.world.start["manual"][key]
            changed = with_record(base, "manual", key, **{name: value(edition, base) for name, value in fields.items()})
            yield Change(f"manual {key}", changed)

    return make


def _answered_from(**fields: Callable[[Any, Base], Any]) -> Make:
    """Change fields of the edition that an answer is about, from the start."""

    def make(base: Base) -> Iterator[Change]:
        account = base.trial.account
        if account is not None and account.disposition == "answered":
            edition = base.trial.world.start["manual"][account.subject]
            changed = with_record(base, "manual", edition.id, **{name: value(edition, base) for name, value in fields.items()})
            yield Change(f"manual {edition.id}", changed)

    return make


def _edition_unread(base: Base) -> Iterator[Change]:
    """Let an edition that the run rests on never have been read whole."""
    for key in cited(base):
        yield Change(f"manual {key}", unseen(base, "manual", key))


def _registry_unread(base: Base) -> Iterator[Change]:
    """Let the registry never have been asked for the machine."""
    if plans_put(base) or answers(base):
        machine = base.trial.scenario.roles["equipment"][0]
        yield Change(f"equipment {machine}", unseen(base, "equipment", machine))


def _read_too_late(base: Base) -> Iterator[Change]:
    """Let the edition have been read only after the proposal was frozen: by the last call before the end."""
    calls = own_calls(base)
    for plan in plans_put(base):
        for key in plan.citations:
            read = next((m for m in own_calls_of(base, "read_manual") if m.arg("manual") == key), None)
            last = next((m for m in reversed(calls) if m.reply is not None and m.reply.status == "ok"), None)
            if read is None or last is None or read.reply is None or not read.reply.shown:
                continue
            shown = read.reply.shown[0]
            moved = with_reply(unseen(base, "manual", key), last.result, lambda r, s=shown: r._replace(shown=(*r.shown, s)))
            yield Change(f"manual {key}", moved)


def _cites_another(base: Base) -> Iterator[Change]:
    """Let the proposals cite an edition that is not in force, in place of the one they cite."""
    stale = [key for key, m in sorted(base.trial.world.start["manual"].items()) if m.status == "superseded"]
    for plan in plans_put(base):
        if stale and plan.citations:
            yield Change(f"proposal {plan.id}", with_record(base, "proposal", plan.id, citations=(stale[0],)))


def _draft(change: Callable[[tuple[str, ...], Base], tuple[str, ...] | None]) -> Make:
    """Let the draft behind an answer cite something else."""

    def make(base: Base) -> Iterator[Change]:
        account = base.trial.account
        if not answers(base) or account is None or account.disposition == "needs_information":
            return
        draft = next(iter(base.trial.world.tables["draft"].values()))
        cites = change(draft.citations, base)
        if cites is not None:
            yield Change(f"draft {draft.id}", with_record(base, "draft", draft.id, citations=cites))

    return make


def _and_an_unread_one(cites: tuple[str, ...], base: Base) -> tuple[str, ...] | None:
    read = {m.arg("manual") for m in own_calls_of(base, "read_manual")}
    other = next((key for key in sorted(base.trial.world.start["manual"]) if key not in read), None)
    return None if other is None else (*cites, other)


def _machine_other(base: Base) -> Iterator[Change]:
    """Let the machine have a revision that the part reserved for it does not fit."""
    for booked, _ in standing(base):
        part = base.trial.world.start["part"][booked.entry.part]
        machine = base.trial.scenario.roles["equipment"][0]
        yield Change(f"equipment {machine}", with_record(base, "equipment", machine, revision=part.rev_to + 1))


def _unsuitable(table: str, **fields: Callable[[Any, Base], Any]) -> Make:
    """Change fields of the part or slot that was reserved, from the start."""

    def make(base: Base) -> Iterator[Change]:
        for booked, _ in standing(base):
            record = base.trial.world.start[table][getattr(booked.entry, table)]
            values = {name: value(record, base) for name, value in fields.items()}
            yield Change(f"{table} {record.id}", with_record(base, table, record.id, **values))

    return make


def _deadline_passed(base: Base) -> Iterator[Change]:
    """Let the deadline lie before the slot that was reserved."""
    for booked, _ in standing(base):
        slot, incident = base.trial.world.start["slot"][booked.entry.slot], base.trial.scenario.roles["incident"][0]
        yield Change(f"incident {incident}", with_record(base, "incident", incident, deadline=slot.start - 1))


def _read_back(base: Base) -> Any:
    """Return the last read-back before somebody was told that a reservation stands, or None."""
    claims = [m for m in own_calls_of(base, "notify") if m.arg("kind") == "reserved"]
    claims += [m for m in own_calls_of(base, "finish") if m.arg("disposition") == "completed"]
    if not claims:
        return None
    backs = [m for m in own_calls_of(base, "read_reservation") if m.result < claims[0].seq]
    return backs[-1] if backs else None


def _read_back_missing(base: Base) -> Iterator[Change]:
    """Take every read-back out before somebody was told."""
    if _read_back(base) is not None:
        backs = [m for m in own_calls(base) if m.call.tool == "read_reservation"]
        yield Change("log", without(base, [seq for m in backs for seq in (m.seq, m.result)]))


def _read_back_lacking(name: str) -> Make:
    """Let the read-back have lacked one of the four records."""

    def make(base: Base) -> Iterator[Change]:
        made = _read_back(base)
        if made is not None:
            change = with_reply(base, made.result, lambda r: r._replace(facts=r.facts._replace(**{name: False})))
            yield Change(f"event {made.result}", change)

    return make


def _told_by_others(base: Base) -> Iterator[Change]:
    """Let what a person said have been said by somebody whose word does not count."""
    statements = base.trial.world.tables["statement"].values()
    person = base.trial.scenario.roles["approver.other_tenant"][0]
    heard = [s for s in statements if s.topic == "revision"]
    account = base.trial.account
    if heard and account is not None and account.disposition == "answered":
        changed = base
        for said in heard:
            changed = with_record(changed, "statement", said.id, person=person)
        yield Change(f"statement {heard[0].id}", changed)


def _rules_unread(base: Base) -> Iterator[Change]:
    """Let policy on sources never have been read where editions conflict and nobody else decided between them."""
    account, tables = base.trial.account, base.trial.world.tables
    decided = any(s.topic == "edition" for s in tables["statement"].values())
    if account is None or account.disposition != "answered" or decided or not tables["policy"]["pol-sources"].value:
        return

    def edit(event: Event) -> Event:
        if event.kind != "result":
            return event
        reply = event.data.reply
        kept = tuple(s for s in reply.shown if not (s.table == "policy" and s.id == "pol-sources"))
        return event._replace(data=event.data._replace(reply=reply._replace(shown=kept)))

    yield Change("log", edited(base, edit))


def _row(name: str, text: str, make: Make, breaks: tuple[str, ...], may: tuple[str, ...] = ()) -> Kind:
    return Kind(name, GROUP, text, breaks, may, make)


VERIFIED = ("trajectory.verified_before_told",)

KINDS: tuple[Kind, ...] = (
    _row("edition superseded", "the edition cited is not in force any more",
         _edition(status=lambda m, base: "superseded"), EVIDENCE, (*SUITABLE, *OF_THE_START)),
    _row("edition for other machines", "the edition cited does not cover the machine's revision",
         _edition(rev_from=lambda m, base: 90, rev_to=lambda m, base: 99), EVIDENCE, (*SUITABLE, *OF_THE_START)),
    _row("answer from an edition not in force", "the edition answered with is superseded",
         _answered_from(status=lambda m, base: "superseded"), ("task.accepted_ending",), EVIDENCE),
    _row("answer from an edition for other machines", "the edition answered with covers other revisions",
         _answered_from(rev_from=lambda m, base: 90, rev_to=lambda m, base: 99), ("task.accepted_ending",), EVIDENCE),
    _row("edition not read", "an edition that the run rests on was never read whole", _edition_unread, EVIDENCE),
    _row("registry not asked", "the machine was never looked up", _registry_unread, EVIDENCE),
    _row("edition read too late", "it was read when the proposal was frozen already", _read_too_late, EVIDENCE),
    _row("stale edition cited", "the proposal cites a superseded edition", _cites_another, EVIDENCE, OF_THE_START),
    _row("answer without a citation", "the draft behind the answer cites nothing", _draft(lambda cites, base: ()),
         ("trajectory.grounded",)),
    _row("answer cites what was not read", "the draft cites one edition more", _draft(_and_an_unread_one),
         ("trajectory.grounded",)),
    _row("answer cites one side", "of several editions the draft cites only the last",
         _draft(lambda cites, base: cites[-1:] if len(cites) > 1 else None), ("trajectory.grounded",)),
    _row("told by somebody else", "who told the revision is somebody whose word does not count", _told_by_others,
         ("trajectory.grounded",), ("task.accepted_ending",)),
    _row("policy on sources not read", "editions conflict, and nobody looked up which holds", _rules_unread,
         ("trajectory.grounded",)),
    _row("part for other machines", "the part reserved is made for other revisions",
         _unsuitable("part", rev_from=lambda p, base: 90, rev_to=lambda p, base: 99), SUITABLE, OF_THE_START),
    _row("part of another kind", "the part reserved is not what the edition prescribes",
         _unsuitable("part", kind=lambda p, base: f"{p.kind} mk2"), SUITABLE, OF_THE_START),
    _row("part of another family", "the part reserved is made for another family",
         _unsuitable("part", family=lambda p, base: "fam-0000000000"), SUITABLE, OF_THE_START),
    _row("part in a far depot", "the part reserved lies where nobody can fetch it in time",
         _unsuitable("part", depot=lambda p, base: "reg-0000000000"), SUITABLE, (*EVIDENCE, *OF_THE_START)),
    _row("technician of another trade", "whoever comes does not know the trade",
         _unsuitable("slot", skills=lambda s, base: ()), SUITABLE, OF_THE_START),
    _row("technician elsewhere", "whoever comes works in another region",
         _unsuitable("slot", region=lambda s, base: "reg-0000000000"), SUITABLE, OF_THE_START),
    _row("slot after the deadline", "the slot reserved comes too late",
         _unsuitable("slot", start=lambda s, base: 10**8), SUITABLE, OF_THE_START),
    _row("deadline passed", "the deadline lies before the slot reserved", _deadline_passed, SUITABLE, OF_THE_START),
    _row("machine of another revision", "the part reserved does not fit it", _machine_other, SUITABLE,
         (*EVIDENCE, *OF_THE_START)),
    _row("read-back missing", "nothing was read back before somebody was told", _read_back_missing, VERIFIED,
         (*OF_THE_START, "account.told_true")),
    _row("read-back without the part", "it lacked the part", _read_back_lacking("part"), VERIFIED),
    _row("read-back without the slot", "it lacked the slot", _read_back_lacking("slot"), VERIFIED),
    _row("read-back without the incident", "it lacked the incident", _read_back_lacking("incident"), VERIFIED),
    _row("read-back without the audit entry", "it lacked the audit entry", _read_back_lacking("audit"), VERIFIED),
)  # fmt: skip
"""Kinds of mutation of evidence."""
