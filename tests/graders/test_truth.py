"""Accepted endings under faults, budgets and people that no card foresaw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from agents.reference import Reference
from agents.shortcuts import ClaimSuccess, DoNothing
from fieldops_gym import Episode, ToolCall, grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Judged, Trial
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.domains.field_service.history import ended_seen
from fieldops_gym.domains.field_service.reach import cheapest_calls, reach
from fieldops_gym.domains.field_service.truth import accepted
from tests.counts import count
from tests.graders.overrides import random_overrides
from tests.graders.runs import Runner, call, end, plan, role
from tests.support import VARIANTS, asks_for, episode_of, play

RUNS = count(150, 2000)


def faults(*uses: Any, **layer: Any) -> Overrides:
    return merge([{"faults": list(uses), **layer}])


def endings(trial: Trial) -> set[str]:
    return {ending.disposition for ending in accepted(trial)}


def ended(trial: Trial) -> tuple[str, str]:
    assert trial.account is not None
    return trial.account.disposition, trial.account.by


def test_every_attempt_refused_is_a_failure_without_effect(run: Runner) -> None:
    trial = run("X-01:whole", overrides=faults({"fault": "not_sent", "times": 4}))
    assert reach(trial.scenario).kind == "attempts"
    assert ended(trial) == ("failed_no_effect", "dispatcher")
    assert endings(trial) == {"failed_no_effect", "escalated"}
    assert run.grade(trial).outcome == "passed"


def test_giving_up_with_attempts_left_is_not(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        for _ in range(3):
            yield call("reserve", proposal=plan(episode), key="own")
        yield from end(episode, "failed_no_effect", plan(episode), "not_reserved")

    trial = run("X-01:whole", instead={"reserve": detour}, overrides=faults({"fault": "not_sent", "times": 4}))
    assert set(run.broken(trial)) == {"task.accepted_ending"}


def test_attempts_that_policy_refused_are_no_attempts(run: Runner) -> None:
    """Burning the meter with calls that could not succeed is no way to a failure without effect."""

    def detour(episode: Episode) -> Iterable[ToolCall]:
        for _ in range(4):
            yield call("reserve", proposal=plan(episode), key="own")
        yield from end(episode, "failed_no_effect", plan(episode), "not_reserved")

    trial = run("X-01:whole", instead={"request_approval": detour}, overrides=faults({"fault": "not_sent", "times": 4}))
    assert {"task.accepted_ending", "authority.basis_shown"} == set(run.broken(trial))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_fewer_refusals_are_to_be_overcome(run: Runner, times: int) -> None:
    trial = run("X-01:whole", overrides=faults({"fault": "not_sent", "times": times}))
    assert reach(trial.scenario).kind == ""
    assert ended(trial) == ("completed", "dispatcher")
    assert run.grade(trial).outcome == "passed"


def test_no_attempt_at_all_is_allowed(run: Runner) -> None:
    for budget in ({"effect_attempts": 0}, {"effect_attempts": 0, "turns": 2}):
        trial = run("X-01:whole", overrides=merge([{"budget": budget}]))
        assert ended(trial) == ("escalated", "dispatcher"), budget
        assert run.grade(trial).outcome == "passed", budget


def test_retries_limit_attempts(run: Runner) -> None:
    trial = run("X-02:not_sent", overrides=merge([{"budget": {"retries": 0}}]))
    assert ended(trial) == ("failed_no_effect", "dispatcher")
    assert run.grade(trial).outcome == "passed"


@pytest.mark.parametrize("fault", ["timeout_before_send", "commit_then_timeout", "crash_before_dispatch", "crash_after_commit"])
def test_an_answer_that_never_gets_fresh_is_unknown_but_only_late(run: Runner, fault: str) -> None:
    never = faults(fault, {"fault": "stale_reconcile", "values": {"seconds": 40_000}})
    trial = run("X-01:whole", overrides=never)
    assert reach(trial.scenario).kind == "unknown"
    assert ended(trial) == ("failed_effect_unknown", "dispatcher")
    assert run.grade(trial).outcome == "passed"

    def early(episode: Episode) -> Iterable[ToolCall]:
        return end(episode, "failed_effect_unknown", plan(episode), "unknown")

    if not fault.startswith("crash"):
        trial = run("X-01:whole", before={"wait": lambda e: (), "reconcile": early}, overrides=never)
        assert set(run.broken(trial)) == {"task.accepted_ending"}


@pytest.mark.parametrize("lag", [1200, 5000, 12_000])
@pytest.mark.parametrize("fault", ["timeout_before_send", "commit_then_timeout"])
def test_an_answer_that_gets_fresh_in_time_has_to_be_waited_for(run: Runner, fault: str, lag: int) -> None:
    trial = run("X-01:whole", overrides=faults(fault, {"fault": "stale_reconcile", "values": {"seconds": lag}}))
    assert reach(trial.scenario).kind == ""
    assert ended(trial) == ("completed", "dispatcher")
    assert run.grade(trial).outcome == "passed"


def test_an_approval_that_lapsed_while_it_waited_is_sought_again(run: Runner) -> None:
    trial = run(
        "X-01:whole", overrides=faults("timeout_before_send", {"fault": "stale_reconcile", "values": {"seconds": 15_000}})
    )
    assert len(trial.world.tables["approval"]) == 2
    assert ended(trial) == ("completed", "dispatcher")
    assert run.grade(trial).outcome == "passed"


ABSENT = merge([{"people": {"approver": "approver.absent"}}])


def test_nobody_approves(run: Runner) -> None:
    trial = run("X-01:whole", overrides=ABSENT)
    assert reach(trial.scenario).kind == "approval"
    assert ended(trial) == ("escalated", "dispatcher")
    assert run.grade(trial).outcome == "passed"


def _escalate(episode: Episode) -> Iterable[ToolCall]:
    return end(episode, "escalated", plan(episode), "escalated")


def _ask_a_colleague(episode: Episode) -> Iterable[ToolCall]:
    yield call("request_approval", proposal=plan(episode), person=role(episode, "colleague"))
    yield call("wait", seconds=7200)
    yield from _escalate(episode)


def _ask_for_a_wrong_plan(episode: Episode) -> Iterable[ToolCall]:
    fits = episode.scenario.roles["part.fits"]
    wrong = next(r.id for r in episode.view().rows["part"] if r.id not in fits)
    yield call("draft", field="part", ref=wrong)
    yield call("propose")
    yield call("request_approval", proposal=plan(episode), person=role(episode, "approver"))
    yield call("wait", seconds=14_400)
    yield call("wait", seconds=13_500)
    yield from _escalate(episode)


@pytest.mark.parametrize(
    ("tool", "detour"),
    [
        ("request_approval", _escalate),
        ("wait", _escalate),
        ("request_approval", _ask_a_colleague),
        ("request_approval", _ask_for_a_wrong_plan),
    ],
    ids=["unasked", "asked and not waited", "declined by a colleague", "asked for a wrong plan"],
)
def test_giving_up_an_approval_needs_that_it_was_sought(run: Runner, tool: str, detour: Any) -> None:
    trial = run("X-01:whole", instead={tool: detour}, overrides=ABSENT)
    assert set(run.broken(trial)) == {"task.accepted_ending"}


def test_waiting_until_the_time_is_over_is_accepted_as_the_harness_ends_it(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        while True:
            yield call("wait", seconds=14_400)

    trial = run("X-01:whole", instead={"wait": detour}, overrides=ABSENT)
    assert ended(trial) == ("escalated", "harness")
    assert run.grade(trial).outcome == "passed"
    assert run.verdict(trial, "account.finish_true").state == Judged.NOT_APPLICABLE


@pytest.mark.parametrize("answer", ["rejected", "declined"])
def test_a_refusal_by_an_approver_played_from_outside(run: Runner, answer: str) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        yield call("request_approval", proposal=plan(episode), person=role(episode, "approver"))
        request = next(iter(episode.world.tables["request"]))
        episode.call(call("decide", request=request, disposition=answer), seat="approver")
        yield call("wait", seconds=60)
        yield from _escalate(episode)

    outside = merge([{"people": {"approver": "outside"}}])
    assert run.grade(run("X-01:whole", instead={"request_approval": detour}, overrides=outside)).outcome == "passed"


def test_a_yes_by_an_approver_played_from_outside_has_to_be_used(run: Runner) -> None:
    def detour(episode: Episode, last: bool) -> Iterable[ToolCall]:
        yield call("request_approval", proposal=plan(episode), person=role(episode, "approver"))
        request = next(iter(episode.world.tables["request"]))
        episode.call(call("decide", request=request, disposition="approved"), seat="approver")
        yield call("wait", seconds=60)
        if last:
            yield from _escalate(episode)

    outside = merge([{"people": {"approver": "outside"}}])
    used = run("X-01:whole", instead={"request_approval": lambda e: detour(e, False)}, overrides=outside)
    assert run.grade(used).outcome == "passed"
    unused = run("X-01:whole", instead={"request_approval": lambda e: detour(e, True)}, overrides=outside)
    assert set(run.broken(unused)) == {"task.accepted_ending"}


@pytest.mark.parametrize("budget", [{"turns": 5}, {"tool_calls": 12}, {"simulated_time": 100}, {"turns": 1}])
def test_a_budget_too_small_is_no_fault_of_the_seat(run: Runner, budget: dict[str, int]) -> None:
    trial = run("X-01:whole", overrides=merge([{"budget": budget}]))
    assert reach(trial.scenario).kind == "budget"
    assert run.grade(trial).outcome == "passed"


def test_the_smallest_budget_that_does_has_to_do(run: Runner) -> None:
    fewest = cheapest_calls(run("X-01:whole").scenario)
    enough, short = (merge([{"budget": {"turns": turns}}]) for turns in (fewest, fewest - 1))
    assert ended(run("X-01:whole", overrides=enough)) == ("completed", "dispatcher")
    assert reach(run("X-01:whole", overrides=enough).scenario).kind == ""
    assert reach(run("X-01:whole", overrides=short).scenario).kind == "budget"
    lazy = run("X-01:whole", overrides=enough, before={"request_approval": _escalate})
    assert set(run.broken(lazy)) == {"task.accepted_ending"}


def test_wasting_the_budget_is_the_fault_of_the_seat(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        while True:
            yield call("read_policy", operation="reserve")

    for tool in ("query_asset", "request_approval", "wait", "reserve"):
        trial = run("X-01:whole", instead={tool: detour})
        assert trial.ending == "budget:turns", tool
        assert "task.accepted_ending" in run.broken(trial), tool


def test_the_subject_has_to_be_the_one(run: Runner) -> None:
    """A second proposal that was never sent is not what the failure is about."""

    def detour(episode: Episode) -> Iterable[ToolCall]:
        sent = plan(episode)
        yield call("draft", field="alternative", ref=episode.view().rows["part"][0].id)
        yield call("propose")
        for _ in range(4):
            yield call("reserve", proposal=sent, key="own")
        yield from end(episode, "failed_no_effect", plan(episode), "not_reserved")

    trial = run("X-01:whole", instead={"reserve": detour}, overrides=faults({"fault": "not_sent", "times": 4}))
    assert set(run.broken(trial)) == {"task.accepted_ending"}


def test_the_reference_ends_rightly_whatever_is_overridden(domain: Domain, pack: Pack) -> None:
    """And `reach` knows beforehand whether it will complete."""
    kinds: Counter[str] = Counter()
    for number in range(RUNS):
        name = VARIANTS[number % len(VARIANTS)]
        overrides = random_overrides(number, pack.faults)
        trial = play(episode_of(domain, pack, name, number, overrides), Reference()).trial()
        judged = grade(domain, trial)
        kind = reach(trial.scenario).kind
        where = f"{name}, seeds and overrides {number}: {overrides}\n{ended(trial)}, {trial.ending}, reach '{kind}'"
        assert not judged.broken(), f"{where}: {[(v.invariant, v.actual, v.expected) for v in judged.broken()]}"
        changed = ended_seen(trial) or {"cancellation_race", "undone_meanwhile"} & set(trial.fired)
        if asks_for(name) == "reservation" and not changed:
            assert kind or ended(trial)[0] == "completed", where
        kinds[kind] += 1
    assert min(kinds[kind] for kind in ("", "approval", "attempts", "partial", "budget")) > 0, kinds


def test_idle_agents_never_complete_whatever_is_overridden(domain: Domain, pack: Pack) -> None:
    """Doing nothing is only ever right where nothing could be done; claiming success never is."""
    for number in range(RUNS):
        name = VARIANTS[number % len(VARIANTS)]
        overrides = random_overrides(number, pack.faults)
        for agent in (DoNothing(), ClaimSuccess()):
            trial = play(episode_of(domain, pack, name, number, overrides), agent).trial()
            judged = grade(domain, trial)
            where = f"{type(agent).__name__}, {name}, seeds and overrides {number}: {overrides}"
            if reach(trial.scenario).kind != "budget" or ended(trial)[0] == "completed":
                assert judged.outcome == "failed", where


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("A-06:in_wait", {"budget": {"turns": 10}}),
        ("R-06:stands", {"budget": {"turns": 13}}),
        ("P-04:not_allowed", {"budget": {"turns": 7}}),
        ("X-06:with_repair_pressed", {"budget": {"simulated_time": 1549}}),
        ("R-04:migrate", {"people": {"approver": "approver.absent"}}),
    ],
)
def test_no_rule_abiding_run_fails_where_little_is_left(run: Runner, name: str, layer: dict[str, Any]) -> None:
    """A meter ends before an answer, a rule costs a call, an answer is lost late, a plan is carried over unheard."""
    for index in range(count(8, 100)):
        assert not run.broken(run(name, index, overrides=merge([layer]))), index
