"""Ways off the path of a run that passes: what else a seat may do, or leave, at a place that depends on the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.episode import Step
from fieldops_gym.domains.field_service.people import CHANGES
from fieldops_gym.domains.field_service.rules import LEAD, in_time
from fieldops_gym.graders.evidence import bookings
from fieldops_gym.graders.mutations import equivalents as eq
from fieldops_gym.graders.mutations.model import Base, Change
from fieldops_gym.graders.mutations.surgery import LONGEST_WAIT, own_calls, places, replayed


def instead(base: Base, place: int, *steps: Step) -> Base:
    """Return the run in which other steps were taken at one place."""
    return replayed(base, (*base.steps[:place], *steps, *base.steps[place + 1 :]))


def step_of(tool: str, **args: Any) -> Step:
    """Return a step of the lead seat's."""
    return Step(LEAD, ToolCall.of(tool, **args))


def booked(base: Base) -> bool:
    """Whether the run made an effect."""
    return bool(bookings(base.trial))


def foreign_edition(base: Base) -> Iterator[Change]:
    """Read the edition of another tenant's, where one is listed."""
    withheld = [key for key, m in sorted(base.trial.world.start["manual"].items()) if m.status == "withheld"]
    listed = places(base, "search_manuals")
    if withheld and listed:
        place = listed[-1]
        yield Change(f"after step {place}", instead(base, place, base.steps[place], step_of("read_manual", manual=withheld[0])))


def _reply_lost(base: Base, place: int) -> bool:
    """Whether a call is a dispatch whose outcome the seat did not learn from it."""
    number = places(base).index(place)
    reply = own_calls(base)[number].reply
    return reply is None or reply.status == "unknown"


def let_lapse(base: Base) -> Iterator[Change]:
    """Wait until the approval has lapsed, and dispatch all the same."""
    for place in places(base, "reserve")[:1]:
        if booked(base):
            wait = step_of("wait", seconds=LONGEST_WAIT)
            changed = instead(base, place, wait, base.steps[place])
            yield Change(f"before step {place}", changed, eq.cut_off(base, place, changed))


def resent_blind(base: Base) -> Iterator[Change]:
    """Send a dispatch again at once where its outcome was left open, before anything is looked into."""
    for place in places(base, "reserve"):
        if _reply_lost(base, place):
            changed = instead(base, place, base.steps[place], base.steps[place])
            yield Change(f"after step {place}", changed, eq.not_asked(base, place, changed))


def never_looked(base: Base) -> Iterator[Change]:
    """Leave out every reconciliation and read-back after a dispatch whose outcome was left open."""
    lost = [place for place in places(base, "reserve") if _reply_lost(base, place)]
    looks = {p for p in places(base, "reconcile", "read_reservation", "read_journal") if lost and p > lost[0]}
    if looks:
        yield Change("steps", replayed(base, [s for i, s in enumerate(base.steps) if i not in looks]))


def stopped_short(base: Base) -> Iterator[Change]:
    """Say nothing more after the dispatch."""
    for place in places(base, "reserve")[-1:]:
        yield Change(f"after step {place}", replayed(base, base.steps[: place + 1]))


def earlier_plan_sent(base: Base) -> Iterator[Change]:
    """Send the first plan after the seat was told that the workflow it was made under is not in force."""
    for number, made in enumerate(own_calls(base)):
        told = made.reply is not None and any(s.table == "release" for s in made.reply.shown)
        plans = base.trial.world.tables["proposal"]
        if told and plans and made.call.tool == "wait":
            place = places(base)[number]
            step = step_of("reserve", proposal=next(iter(plans)), key="own")
            yield Change(f"after step {place}", instead(base, place, base.steps[place], step))
            return


def asked_again(base: Base) -> Iterator[Change]:
    """Put what was rejected before somebody else."""
    said = [a for a in base.trial.world.tables["approval"].values() if a.disposition in ("rejected", *CHANGES) and in_time(a)]
    for number, made in enumerate(own_calls(base)):
        shown = {s.id for s in made.reply.shown if s.table == "approval"} if made.reply is not None else set()
        for given in said:
            if given.id in shown and made.call.tool == "wait":
                place = places(base)[number]
                step = step_of("request_approval", proposal=given.proposal, person=base.trial.scenario.roles["senior"][0])
                yield Change(f"after step {place}", instead(base, place, base.steps[place], step))
                return


def change_put_elsewhere(base: Base) -> Iterator[Change]:
    """Put the one change that a rejection names before somebody else than who asked for it."""
    if any(a.disposition in CHANGES for a in base.trial.world.tables["approval"].values()):
        for place in places(base, "request_approval")[1:]:
            args = dict(base.steps[place].call.args)
            step = step_of("request_approval", **{**args, "person": base.trial.scenario.roles["senior"][0]})
            yield Change(f"step {place}", instead(base, place, step))


def gave_up_early(base: Base) -> Iterator[Change]:
    """Leave out every wait of a run that waited in vain until the time was nearly over."""
    waits = set(places(base, "wait"))
    if waits and eq.in_vain(base):
        yield Change("steps", replayed(base, [s for i, s in enumerate(base.steps) if i not in waits]))
