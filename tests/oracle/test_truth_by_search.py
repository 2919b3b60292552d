"""No ending is hard-coded: truth and graders agree with a second opinion over everything that play reaches.

The rulebook and the planner share no code with truth and graders. They are asked about rule-abiding play under overrides at
random, and about whatever few calls can do from the states along the reference's path.
"""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, Trial, grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.streams import Stream
from tests.counts import count
from tests.graders.overrides import random_overrides
from tests.oracle.planner import endings, explore, told_and_finished
from tests.oracle.rulebook import TELLS, Reach, judge
from tests.support import VARIANTS, episode_of, play

RUNS = count(1, 50)

FAULTS = (
    "cancellation_race", "commit_then_timeout", "crash_after_commit", "crash_before_dispatch", "key_taken", "not_sent",
    "partial_effect", "slow_reconcile", "stale_reconcile", "stock_taken", "timeout_before_send",
)  # fmt: skip
"""The faults that the rulebook and the planner know: those of the cards of effects."""

EFFECTS = tuple(name for name in VARIANTS if name.startswith("X-"))
"""The variants that they know."""


def differ(domain: Domain, trial: Trial, reach: Reach) -> str:
    """Return how rulebook and graders differ over a run, '' where they agree."""
    wrong, judged = judge(trial, reach), grade(domain, trial)
    if bool(wrong) == bool(judged.broken()):
        return ""
    calls = [f"{made.call.tool} {dict(made.call.args)}" for made in trial.calls("dispatcher")[9:]]
    broken = [f"{v.invariant}: {v.actual}, expected {v.expected}" for v in judged.broken()]
    return (
        f"rulebook {wrong}; graders {broken}; calls {calls}; {trial.account}; {trial.scenario.faults}; {trial.scenario.limits}"
    )


@pytest.mark.parametrize("name", EFFECTS)
def test_whatever_lawful_play_reaches_is_judged_alike(domain: Domain, pack: Pack, name: str) -> None:
    skipped = 0
    for index in range(RUNS):
        number = index * 101 + len(name) + 5
        episode = episode_of(domain, pack, name, index, random_overrides(number, FAULTS))
        explored = explore(episode)
        reference = play(episode_of(domain, pack, name, index, episode.coordinates.overrides), Reference())
        where = f"{name}, seeds {index}, {episode.coordinates.overrides}, {explored.reach}"
        assert not grade(domain, reference.trial()).broken(), where
        if explored.close:
            skipped += 1
            continue
        assert not differ(domain, reference.trial(), explored.reach), (
            f"{where}: {differ(domain, reference.trial(), explored.reach)}"
        )
        for state in explored.states:
            for trial, _ in endings(state):
                found = differ(domain, trial, explored.reach)
                assert not found, f"{where}: {found}"
    assert skipped <= max(1, RUNS // 5), f"{skipped} of {RUNS} rest on the last minutes"


def some_calls(episode: Episode) -> list[ToolCall]:
    """Return the calls that can matter from here: those that put something forward, undo, ask, wait or tell."""
    view, calls = episode.view(), []
    for plan in view.rows["proposal"]:
        calls += [ToolCall.of("reserve", proposal=plan.id, key=key) for key in ("own", "fresh")]
        calls += [ToolCall.of("reconcile", proposal=plan.id), ToolCall.of("withdraw", proposal=plan.id)]
        calls += [ToolCall.of("request_approval", proposal=plan.id, person=p.id) for p in view.rows["person"][:2]]
    for made in view.rows["reservation"]:
        calls += [ToolCall.of(tool, reservation=made.id) for tool in ("read_reservation", "compensate")]
    calls += [ToolCall.of("wait", seconds=s) for s in (60, 3600)] + [ToolCall.of("read_journal")]
    requester = view.rows["incident"][0]["requester"]
    calls += [ToolCall.of("notify", person=requester, kind=kind) for kind in set(TELLS.values())]
    others = [row.id for row in view.rows["person"] if row.id != requester]
    return calls + [ToolCall.of("notify", person=other, kind="escalated") for other in others[:1]]


@pytest.mark.parametrize("name", EFFECTS)
def test_whatever_three_calls_do_from_the_references_path_is_judged_alike(domain: Domain, pack: Pack, name: str) -> None:
    """Two calls of any kind, then a finish of any kind; in the quick form, a sample of the pairs."""
    index = 7
    explored = explore(episode_of(domain, pack, name, index))
    path = play(episode_of(domain, pack, name, index), Reference())
    draw, judged = Stream(len(name), "pairs"), 0
    for steps in range(len(path.steps)):
        base = path.branch(steps)
        for number, first in enumerate([None, *some_calls(base)]):
            one = base.branch(steps)
            if first is not None:
                one.call(first)
            if one.ended:
                continue
            for other, second in enumerate([None, *some_calls(one)]):
                if draw.draw(steps, number, other).below(count(12 * len(path.steps), 1)):
                    continue
                two = one.branch(len(one.steps))
                if second is not None:
                    two.call(second)
                if two.ended:
                    continue
                for trial in finished(two, draw.draw("finish", steps, number, other).below(4)):
                    judged += 1
                    found = differ(domain, trial, explored.reach)
                    assert not found, f"{name}, seeds {index}, step {steps}, {first}, {second}: {found}"
    assert judged >= 20


def finished(episode: Episode, only: int) -> list[Trial]:
    """Return the episode finished here in each way, of which one in four with words of its own before."""
    found = []
    subjects = [row.id for table in ("incident", "proposal", "reservation") for row in episode.view().rows[table]]
    for number, disposition in enumerate(TELLS):
        for subject in subjects:
            if (number + len(subject)) % 4 == only:
                end = told_and_finished(episode, TELLS[disposition], disposition, subject)
                if end is not None:
                    found.append(end.trial())
            end = episode.branch(len(episode.steps))
            if end.call(ToolCall.of("finish", disposition=disposition, subject=subject)).ok:
                found.append(end.trial())
    return found
