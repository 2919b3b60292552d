"""Why a change need not be noticed: facts about the run before and after, never what a grader says of it."""

from __future__ import annotations

from collections.abc import Callable

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.judging import Made
from fieldops_gym.domains.field_service.plans import fitting_parts
from fieldops_gym.domains.field_service.rules import GIVE_UP_SECONDS, LEAD
from fieldops_gym.graders.evidence import UNREAD, bookings
from fieldops_gym.graders.mutations.evidence import answers, cited, plans_put
from fieldops_gym.graders.mutations.model import Base
from fieldops_gym.graders.mutations.surgery import own_calls, places

Reason = Callable[[Base, int, Base], str]
"""Gives, for a run, the place of the step that was changed and what came of it, why that is as good; '' if it is not."""

FROM_HERE = "the delegation ended before anything was put to anybody"
NOT_RESTED_ON = "nothing in the run rests on it"
REFUSED = "it was refused in the run as it was, so nothing had come of it"
REMAINS = "another call of the same kind about the same record remains"
TIME_OVER = "the time was over or the answer was no, and the harness says what was left to say"
GIVEN_UP = "the plan was not carried out, in the run as it was or as it is"
NEVER_SENT = "nothing was ever sent on what they might say"
SAME_PLAN = "the plan that was put forward is the same"
NO_PLAN = "no plan came of it in the run as it was"
NOT_ASKED = "it was refused before it was asked of the world"
SAME_ANSWERS = "every call after it was answered as before"
GUESSED = "the variants of the card differ in what the rule says, and a guess is wrong in another"
SHOWN_OTHERWISE = "another answer showed the record as it was at the end"
CUT_OFF = "the time was over before it could be done"
CUT_SHORT = "a message cut the wait short"
WRITTEN_LATER = "a later event writes the same record whole"
DECLARED = "a fault that fired is declared to break it"
NAMED = "what is open or stands is named, and nothing is claimed of it"


RULES = {"part": "W-6", "slot": "W-7", "incident": "W-8", "audit": "W-9"}
"""The world invariant that each of the four records of a reservation is under."""


def any_of(*reasons: Reason) -> Reason:
    """Return the first reason that there is."""

    def reason(base: Base, place: int, changed: Base) -> str:
        return next((found for each in reasons if (found := each(base, place, changed))), "")

    return reason


def none(base: Base, place: int, changed: Base) -> str:
    """Return no reason: every such change has to be noticed."""
    return ""


def made_at(base: Base, place: int) -> Made:
    """Return the call that the step at a place made."""
    return own_calls(base)[places(base).index(place)]


def unput(base: Base, place: int, changed: Base) -> str:
    """Nothing was put to anybody, nothing answered, and it was not said that no plan does."""
    account = base.trial.account
    over = account is not None and account.disposition == "handed_over" and not plans_put(base)
    return FROM_HERE if over else ""


def not_rested_on(base: Base, place: int, changed: Base) -> str:
    """The edition is not what the run rests on."""
    account, call = base.trial.account, base.steps[place].call
    looked = account is not None and account.disposition == "escalated" and base.trial.scenario.checks == "plan"
    return NOT_RESTED_ON if dict(call.args).get("manual") not in cited(base) and not looked else ""


def was_refused(base: Base, place: int, changed: Base) -> str:
    """The call had been refused."""
    reply = made_at(base, place).reply
    return REFUSED if reply is not None and reply.status == "refused" else ""


def remains(base: Base, place: int, changed: Base) -> str:
    """The same call is made at another place, and nothing came of either."""
    call, tables = base.steps[place].call, base.trial.world.tables
    asked = {key for key, request in tables["request"].items() if request.proposal == dict(call.args).get("proposal")}
    again = any(base.steps[i].call == call for i in places(base, call.tool) if i != place)
    return REMAINS if again and not any(given.request in asked for given in tables["approval"].values()) else ""


def time_over(base: Base, place: int, changed: Base) -> str:
    """What was left to say was that the time is over, or that the answer was no."""
    account, tables = base.trial.account, base.trial.world.tables
    if account is None or account.disposition not in ("escalated", "failed_effect_unknown"):
        return ""
    said_no = any(given.disposition not in ("approved", "declined") for given in tables["approval"].values())
    return TIME_OVER if (in_vain(base) or said_no) and base.trial.scenario.checks == "reservation" else ""


def in_vain(base: Base) -> bool:
    """Whether the seat went on until the time was nearly over."""
    account = base.trial.account
    return account is not None and base.trial.scenario.limits.simulated_time - account.at < GIVE_UP_SECONDS


def given_up(base: Base, place: int, changed: Base) -> str:
    """What was drafted otherwise is neither in an effect nor in the plan that the account is about."""
    account, value = changed.trial.account, dict(changed.steps[place].call.args).get("ref")
    tables = changed.trial.world.tables
    done = any(value in (booked.entry.part, booked.entry.slot) for booked in bookings(changed.trial))
    plan = tables["proposal"].get(account.subject) if account is not None and account.disposition == "proposed" else None
    proposed = plan is not None and value in (plan.part, plan.slot, *plan.citations)
    return "" if done or proposed or time_over(base, place, changed) or not _as_before(base, changed) else GIVEN_UP


def not_put(base: Base, place: int, changed: Base) -> str:
    """No plan that cites it was put to anybody."""
    value = dict(changed.steps[place].call.args).get("ref")
    cites = any(value in plan.citations for plan in plans_put(changed)) or answers(changed)
    return "" if cites else NOT_RESTED_ON


def never_sent(base: Base, place: int, changed: Base) -> str:
    """The plan that was put before them was never sent, before or after."""
    plan = dict(base.steps[place].call.args).get("proposal")
    sent = any(dict(base.steps[i].call.args).get("proposal") == plan for i in places(base, "reserve"))
    return "" if sent or time_over(base, place, changed) or not _as_before(base, changed) else NEVER_SENT


def same_plan(base: Base, place: int, changed: Base) -> str:
    """The run ended with the same plan, or without one either way."""
    before, after = _content(base), _content(changed)
    return "" if before != after or base.trial.scenario.checks != "plan" else SAME_PLAN if before else NO_PLAN


def _content(base: Base) -> tuple[object, ...]:
    account = base.trial.account
    plan = base.trial.world.tables["proposal"].get(account.subject) if account is not None else None
    return () if plan is None else (plan.part, plan.slot, plan.citations, plan.alternatives)


def not_asked(base: Base, place: int, changed: Base) -> str:
    """The call that was added was refused before it was asked of the world."""
    added = own_calls(changed)[places(base).index(place) + 1 :][:1]
    reply = added[0].reply if added else None
    return NOT_ASKED if reply is not None and reply.code in UNREAD else ""


def not_claimed(base: Base, place: int, changed: Base) -> str:
    """The account names what was in question and claims nothing of it, and nobody was told that it is reserved."""
    account, call = base.trial.account, dict(base.steps[place].call.args)
    if account is None or account.disposition not in ("escalated", "failed_effect_unknown", "handed_over"):
        return ""
    told = any(m.call.tool == "notify" and m.arg("kind") == "reserved" for m in own_calls(base))
    looks = [i for i in places(base, "read_reservation", "reconcile") if i != place]
    named = account.subject in (call.get("reservation"), call.get("proposal"))
    return "" if told or not (named or looks) else NAMED


def _as_before(base: Base, changed: Base) -> bool:
    """Whether as many effects were made, and the account says the same."""
    then, now = base.trial.account, changed.trial.account
    same = then is not None and now is not None and then.disposition == now.disposition and now.by == LEAD
    return same and len(bookings(base.trial)) == len(bookings(changed.trial))


def same_result(base: Base, place: int, changed: Base) -> str:
    """Whatever was left out, the calls after it were answered as they were, and no answer was to be grounded on it."""
    return (
        SAME_ANSWERS
        if base.trial.scenario.checks != "answer" and _answers_after(base, place) == _answers_after(changed, place, 1)
        else ""
    )


def guessed(base: Base, place: int, changed: Base) -> str:
    """The calls after it were answered as they were, and what the rule says is not the same in every variant of the card."""
    return GUESSED if _answers_after(base, place) == _answers_after(changed, place, 1) else ""


def no_part(base: Base, place: int, changed: Base) -> str:
    """Slots are of no use where no part does."""
    tables, roles = base.trial.world.tables, base.trial.scenario.roles
    useless = base.trial.scenario.checks == "plan" and not fitting_parts(tables, roles)
    return NO_PLAN if base.steps[place].call.tool == "list_slots" and useless else ""


def shown_otherwise(base: Base, place: int, changed: Base) -> str:
    """The reservation was shown in its last version by another answer, and nobody was told that it is reserved."""
    key = dict(base.steps[place].call.args).get("reservation", "")
    version = changed.trial.world.version("reservation", str(key))
    told = any(m.call.tool == "notify" and m.arg("kind") == "reserved" for m in own_calls(changed))
    seen = any(
        shown.table == "reservation" and shown.id == key and shown.version == version
        for m in own_calls(changed)
        for shown in (m.reply.shown if m.reply is not None else ())
    )
    return SHOWN_OTHERWISE if seen and version and not told else ""


def reconciled(base: Base, place: int, changed: Base) -> str:
    """A later call that was to be a read-back, or another reconciliation, told the same."""
    looks = [m for m in own_calls(changed)[place:] if m.call.tool == "reconcile" and m.reply is not None]
    return SHOWN_OTHERWISE if any(m.reply is not None and getattr(m.reply.facts, "found", False) for m in looks) else ""


def cut_off(base: Base, place: int, changed: Base) -> str:
    """The run ended before the step after the added one, or a message cut the added wait short."""
    number = places(base).index(place)
    if len(own_calls(changed)) <= number + 1:
        return CUT_OFF
    waited = own_calls(changed)[number]
    return CUT_SHORT if waited.replied_at - waited.at < dict(waited.call.args)["seconds"] else ""


def named(base: Base) -> str:
    """The account names the reservation, and claims nothing of whose it is."""
    account = base.trial.account
    if account is None or account.disposition not in ("escalated", "handed_over"):
        return ""
    return NAMED if account.disposition == "handed_over" or account.subject in base.trial.world.tables["reservation"] else ""


def hidden_by(base: Base, seq: int, table: str, key: str) -> str:
    """The record is written again later, or a fault that fired is declared to break just that."""
    if any(w.table == table and w.id == key for event in base.trial.world.log[seq:] for w in event.writes):
        return WRITTEN_LATER
    fired = [fault for fault in base.trial.scenario.faults if fault.id in base.trial.fired]
    return DECLARED if any(RULES.get(table) in fault.breaks for fault in fired) else ""


def _answers_after(base: Base, place: int, gone: int = 0) -> list[tuple[ToolCall, str, str]]:
    calls = own_calls(base)[place + 1 - gone :]
    return [(m.call, str(m.reply.status), str(m.reply.code)) if m.reply else (m.call, "", "") for m in calls]
