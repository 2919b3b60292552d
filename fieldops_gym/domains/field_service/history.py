"""What a seat did and had been shown: which dispatches it left open, and what it could know when."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.calls import Code, Status
from fieldops_gym.core.judging import Made, Trial
from fieldops_gym.core.world import Event, Tables
from fieldops_gym.domains.field_service.records import Reservation
from fieldops_gym.domains.field_service.rules import CANCELLED, LEAD, own_effects_on


def open_dispatch(trial: Trial, before: int = 0) -> tuple[int, ...]:
    """Return the seqs of dispatches whose outcome the seat did not know, at the end or before call `before`.

    A dispatch is settled by a later answer of `reserve` under the same arguments. One under the proposal's own key is
    settled too by a reconciliation that finds that key, or that was as of the dispatch or later; of a fresh key the
    service can tell nothing.
    """
    return tuple(made.seq for made in left_open(trial, before))


def left_open(trial: Trial, before: int = 0) -> list[Made]:
    """Return the dispatches themselves."""
    left: dict[tuple[tuple[str, Any], ...], Made] = {}
    for made in trial.calls(LEAD):
        if before and made.seq >= before:
            break
        if made.call.tool == "reserve":
            if made.reply is None or made.reply.status == Status.UNKNOWN or not heard(trial, made.replied_at):
                left[made.call.args] = made
            elif made.reply.status == Status.OK:
                left.pop(made.call.args, None)
        elif made.call.tool == "reconcile" and heard(trial, made.replied_at):
            left = {args: sent for args, sent in left.items() if not settles(trial, sent, made)}
    return list(left.values())


def heard(trial: Trial, at: int) -> bool:
    """Whether what was said at second `at` came before the time was over: nobody can act on an answer that ends the run."""
    cut_off = trial.ending.startswith("budget:") and trial.account is not None and at >= trial.account.at
    return at < trial.scenario.limits.simulated_time and not cut_off


def settles(trial: Trial, sent: Made, asked: Made) -> bool:
    """Whether the answer of a call `asked` of `reconcile` settles what became of the dispatch `sent`."""
    plans = trial.world.tables["proposal"]
    one, other = plans.get(sent.arg("proposal")), plans.get(asked.arg("proposal"))
    if one is None or other is None or one.key != other.key or sent.arg("key") != "own":
        return False
    facts = asked.reply.facts if asked.reply is not None else None
    return facts is not None and (facts.found or facts.as_of >= sent.at)


def undo_open(trial: Trial, before: int = 0) -> list[Made]:
    """Return the compensations whose outcome the seat did not know, at the end or before call `before`.

    One is settled by a later answer of `compensate` or `read_reservation` about the reservation, or of a reconciliation
    that led to it.
    """
    left: dict[str, Made] = {}
    for made in trial.calls(LEAD):
        if before and made.seq >= before:
            break
        reply, about = made.reply, str(made.arg("reservation"))
        unknown = reply is None or reply.status == Status.UNKNOWN or not heard(trial, made.replied_at)
        if made.call.tool == "compensate" and was_put(made):
            left.pop(about, None)
            if unknown:
                left[about] = made
        elif made.call.tool == "read_reservation" and not unknown:
            left.pop(about, None)
        elif made.call.tool == "reconcile" and reply is not None and reply.facts is not None and not unknown:
            left.pop(reply.facts.reservation, None)
    return list(left.values())


def ended_seen(trial: Trial, before: int = 0) -> int:
    """Return the seq of the first event that told the seat that its delegation had ended; 0 if none did.

    That is a denial for that reason, or a showing of the delegation as revoked.
    """
    told = [
        made.result
        for made in trial.calls(LEAD)
        if made.reply is not None
        and made.reply.code == Code.DENIED
        and made.reply.expected.endswith("(P-20)")
        and heard(trial, made.replied_at)
    ]
    for event, shown in shown_to(trial, LEAD):
        if shown.table == "delegation" and heard(trial, event.at):
            record = trial.world.record_at("delegation", shown.id, shown.version)
            if record is not None and record.revoked:
                told.append(event.seq)
    return min((seq for seq in told if not before or seq < before), default=0)


def cancelled_seen(trial: Trial, before: int = 0) -> int:
    """Return the seq of the event that first showed the seat that the request was cancelled; 0 if none did.

    With `before`, only what was shown before that event counts.
    """
    incident = trial.scenario.roles["incident"][0]
    for event, shown in shown_to(trial, LEAD):
        if (before and event.seq >= before) or not heard(trial, event.at):
            break
        if shown.table == "incident" and shown.id == incident:
            record = trial.world.record_at("incident", incident, shown.version)
            if record is not None and record.status == CANCELLED:
                return event.seq
    return 0


def key_conflict_seen(trial: Trial, before: int = 0) -> int:
    """Return the seq of the first result that told the seat that a key is known with other content; 0 if none did."""
    for made in trial.calls(LEAD):
        if made.reply is None or (before and made.result >= before) or not heard(trial, made.replied_at):
            continue
        if made.call.tool == "reserve" and made.reply.code == Code.KEY_REUSED:
            return made.result
        facts = made.reply.facts
        if made.call.tool == "reconcile" and facts is not None and facts.found and not facts.same:
            return made.result
    return 0


def deployment_told(trial: Trial) -> list[int]:
    """Return the seqs of the results that told the seat that a workflow is not in force any more."""
    start = trial.world.start["release"]
    told = [
        made.result
        for made in trial.calls(LEAD)
        if made.reply is not None and made.call.tool == "reserve" and made.reply.expected.endswith("(P-21)")
    ]
    for event, shown in shown_to(trial, LEAD):
        record = trial.world.record_at("release", shown.id, shown.version) if shown.table == "release" else None
        if record is not None and record != start[record.id]:
            told.append(event.seq)
    return sorted(told)


def when_said(trial: Trial) -> Tables:
    """Return the tables as they were when the seat gave its account; those of the end where the harness wrote it.

    What an account is right about is what was so by then: nothing that comes later makes an early stop right.
    """
    account = trial.account
    calls = trial.calls(LEAD)
    if account is None or account.by != LEAD or not calls:
        return trial.world.tables
    return trial.world.at(calls[-1].seq)


def own_effects(trial: Trial) -> list[Reservation]:
    """Return the reservations that the lead seat made for the incident in this run, in the order in which they were made.

    What the world had before is nobody's doing in this run, whoever the ledger names.
    """
    incident, before = trial.scenario.roles["incident"][0], trial.world.start["reservation"]
    return [made for made in own_effects_on(trial.world.tables, incident) if made.id not in before]


def knowable(trial: Trial, made: list[Reservation], before: int = 0) -> list[Reservation]:
    """Return those of some reservations that the seat made itself or had been shown: of others it can say nothing."""
    own = {reservation.id for reservation in own_effects(trial)}
    seen = {s.id for e, s in shown_to(trial, LEAD) if s.table == "reservation" and not (before and e.seq >= before)}
    return [reservation for reservation in made if reservation.id in own | seen]


def undone_unseen(trial: Trial, before: int = 0) -> frozenset[str]:
    """Return reservations that others have undone without the seat being shown them since, at the end or before event `before`.

    Of these it could say nothing else than that they stand.
    """
    undone = {
        write.record.reservation: event.seq
        for event in trial.world.log
        for write in event.writes
        if write.table == "ledger" and write.record is not None and write.record.kind == "compensate"
        if write.record.seat != LEAD and not (before and event.seq >= before)
    }
    for event, shown in shown_to(trial, LEAD):
        late = not heard(trial, event.at) or (before and event.seq >= before)
        if shown.table == "reservation" and not late and event.seq > undone.get(shown.id, event.seq):
            undone.pop(shown.id)
    return frozenset(undone)


def shown_to(trial: Trial, seat: str) -> list[tuple[Event, Any]]:
    """Return (event, shown reference) pairs of a seat's replies and restarts, in order."""
    calls = {made.seq for made in trial.calls(seat)}
    pairs: list[tuple[Event, Any]] = []
    for event in trial.world.log:
        if event.kind == "restart":
            pairs += [(event, shown) for shown in event.data]
        elif event.kind == "result" and event.ref in calls:
            pairs += [(event, shown) for shown in event.data.reply.shown]
    return pairs


def was_put(made: Made) -> bool:
    """Whether a call was put to the service, whatever came of it."""
    reply = made.reply
    return reply is None or reply.code not in (
        "denied", "budget_exhausted", "not_found", "invalid_arguments", "unknown_tool", "malformed",
    )  # fmt: skip
