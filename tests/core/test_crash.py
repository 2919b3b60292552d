"""Crash and restart: what is lost, what is kept, and that a rule-abiding agent gets through from any boundary."""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, ToolResult, grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.view import View
from tests.counts import count
from tests.support import VARIANTS, episode_of, play

CRASHES = ("crash_before_dispatch", "crash_after_commit")


def reference_steps(domain: Domain, pack: Pack, name: str, index: int) -> Episode:
    return play(episode_of(domain, pack, name, index), Reference())


def go_on(episode: Episode) -> Episode:
    """Let a fresh reference take over after a restart, and play to the end; it is started again at each crash."""
    agent = Reference()
    agent.start(episode.brief, 0, restarted=True)
    result: ToolResult | None = None
    while not episode.ended:
        result = episode.call(agent.act(episode.view(), result))
        if result.reply.status == "restarted":
            agent = Reference()
            agent.start(episode.brief, 0, restarted=True)
    return episode


def contents(view: View) -> dict[str, list[str]]:
    return {table: [row.id for row in rows] for table, rows in view.rows.items() if rows}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_reference_passes_after_a_crash_at_any_boundary(domain: Domain, pack: Pack, name: str) -> None:
    failed = []
    for index in range(count(1, 20)):
        steps = len(reference_steps(domain, pack, name, index).steps)
        for at in range(steps):
            episode = reference_steps(domain, pack, name, index).branch(at)
            episode.crash()
            result = grade(domain, go_on(episode).trial())
            # Where hardly more time is given than the work takes, nobody can restart and still do it.
            tight = episode.scenario.limits.simulated_time <= 2 * episode.scenario.contract.restart_delay
            if result.outcome != "passed" and not (tight and result.ending == "budget:simulated_time"):
                failed.append((index, at, result.ending, [verdict.invariant for verdict in result.broken()]))
    assert not failed


@pytest.mark.parametrize("name", VARIANTS)
def test_a_crash_leaves_the_brief_and_nothing_else(domain: Domain, pack: Pack, name: str) -> None:
    whole = reference_steps(domain, pack, name, 0)
    start = episode_of(domain, pack, name, 0)
    for at in range(len(whole.steps)):
        episode = whole.branch(at)
        clock, tables = episode.gateway.clock, {k: dict(v) for k, v in episode.world.tables.items()}
        result = episode.crash()
        view = episode.view()
        assert result.reply.status == "restarted"
        assert result.elapsed == episode.scenario.contract.restart_delay == episode.gateway.clock - clock
        assert contents(view) == contents(start.view())
        assert view.brief == start.brief
        assert view.restarted
        assert not start.view().restarted
        assert view.notes == {}
        for table in ("proposal", "request", "reservation", "ledger", "intent", "draft", "meters"):
            assert tables[table].items() <= episode.world.tables[table].items(), (
                "others may add to it while the process is down"
            )


def test_the_observation_after_a_crash_says_that_the_last_result_was_a_restart(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    episode.call(ToolCall.of("read_directory"))
    episode.crash()
    view = episode.view()
    marked = view.observation()["last"].nonzero()[0].tolist()
    assert [view.layout.last[index].name for index in marked] == ["status_restarted"]


def test_a_crash_costs_no_budget_but_time(domain: Domain, pack: Pack) -> None:
    episode = reference_steps(domain, pack, "X-01:whole", 0).branch(6)
    meters = episode.world.tables["meters"]["dispatcher"]
    episode.crash()
    assert episode.view().meters == episode.world.tables["meters"]["dispatcher"] == meters


def test_what_was_shown_before_a_crash_is_foreign_after_it(domain: Domain, pack: Pack) -> None:
    episode = reference_steps(domain, pack, "X-01:whole", 0).branch(9)
    plan = episode.view().rows["proposal"][0].id
    episode.crash()
    assert episode.call(ToolCall.of("read_proposal", proposal=plan)).reply.code == "not_found"
    assert episode.call(ToolCall.of("read_journal")).ok
    assert episode.call(ToolCall.of("read_proposal", proposal=plan)).ok


def test_the_journal_survives_with_all_that_was_frozen_intended_and_seen(domain: Domain, pack: Pack) -> None:
    whole = reference_steps(domain, pack, "X-03:immediate", 0)
    sent = next(n for n, made in enumerate(whole.steps) if made.call.tool == "reserve")
    episode = whole.branch(sent + 1)
    plan, approval = (episode.view().rows[table][0].id for table in ("proposal", "approval"))
    log = list(episode.world.log)
    episode.crash()
    assert episode.world.log[: len(log)] == log
    result = episode.call(ToolCall.of("read_journal"))
    lines = [(entry.kind, entry.record) for entry in result.reply.facts.entries]
    assert lines[0] == ("frozen", plan)
    assert ("approval_seen", approval) in lines
    assert ("intended:reserve", plan) in lines
    assert [entry.at for entry in result.reply.facts.entries] == sorted(entry.at for entry in result.reply.facts.entries)


def test_the_journal_knows_nothing_that_the_seat_could_not_know(domain: Domain, pack: Pack) -> None:
    """After a lost answer the journals of a lost request and of a lost reply are the same."""
    journals = []
    for name in ("X-02:timeout", "X-03:immediate"):
        whole = reference_steps(domain, pack, name, 0)
        sent = next(n for n, made in enumerate(whole.steps) if made.call.tool == "reserve")
        episode = whole.branch(sent + 1)
        episode.crash()
        journals.append(episode.call(ToolCall.of("read_journal")).to_dict())
    assert journals[0] == journals[1]


def test_what_falls_due_during_the_restart_happens(domain: Domain, pack: Pack) -> None:
    whole = reference_steps(domain, pack, "X-01:whole", 0)
    asked = next(n for n, made in enumerate(whole.steps) if made.call.tool == "request_approval")
    episode = whole.branch(asked + 1)
    due = next(iter(episode.world.tables["agenda"].values())).due
    for _ in range(10):
        if episode.world.tables["approval"]:
            break
        episode.crash()
    decided = next(event for event in episode.world.log if event.kind == "act")
    assert decided.at == due
    assert not episode.view().rows["approval"]


@pytest.mark.parametrize("fault", CRASHES)
@pytest.mark.parametrize("name", ["X-01:whole", "X-02:timeout", "X-03:immediate"])
def test_a_crash_around_the_dispatch_leaves_exactly_one_effect(domain: Domain, pack: Pack, name: str, fault: str) -> None:
    for index in range(count(4, 100)):
        episode = go_on(episode_of(domain, pack, name, index, merge([{"faults": [fault]}])))
        result = grade(domain, episode.trial())
        assert result.outcome == "passed"
        assert result.fired == (fault,)
        assert [entry.kind for entry in episode.world.tables["ledger"].values()] == ["reserve"]
        assert len(episode.world.tables["reservation"]) == 1


@pytest.mark.parametrize("fault", CRASHES)
def test_a_crash_on_top_of_the_variants_own_fault(domain: Domain, pack: Pack, fault: str) -> None:
    for name in ("X-02:timeout", "X-02:not_sent"):
        for index in range(count(3, 50)):
            layer = {"faults": {"append": [{"fault": fault, "nth": 2 if fault == "crash_before_dispatch" else 1}]}}
            episode = go_on(episode_of(domain, pack, name, index, merge([layer])))
            result = grade(domain, episode.trial())
            assert result.outcome == "passed", (name, index, result.broken())
            assert len(result.fired) == 2
            assert len(episode.world.tables["ledger"]) == 1


def test_the_intent_is_in_the_journal_before_anything_is_sent(domain: Domain, pack: Pack) -> None:
    episode = run_to_crash(domain, pack, "crash_before_dispatch")
    kinds = [event.kind for event in episode.world.log]
    assert kinds.index("intent") < kinds.index("fault") < kinds.index("crash") < kinds.index("restart")
    assert not episode.world.tables["reservation"]
    lines = [entry.kind for entry in episode.call(ToolCall.of("read_journal")).reply.facts.entries]
    assert "intended:reserve" in lines
    assert "recorded" not in lines


def test_a_crash_after_the_commit_loses_the_answer_and_keeps_the_effect(domain: Domain, pack: Pack) -> None:
    episode = run_to_crash(domain, pack, "crash_after_commit")
    assert len(episode.world.tables["reservation"]) == 1
    assert not episode.view().rows["reservation"]
    crashed = next(event for event in episode.world.log if event.kind == "crash")
    assert not [event for event in episode.world.log if event.kind == "result" and event.ref == crashed.ref]


def run_to_crash(domain: Domain, pack: Pack, fault: str) -> Episode:
    """Let the reference play until the fault has struck."""
    episode, agent = episode_of(domain, pack, "X-01:whole", 0, merge([{"faults": [fault]}])), Reference()
    agent.start(episode.brief, 0)
    result: ToolResult | None = None
    while result is None or result.reply.status != "restarted":
        result = episode.call(agent.act(episode.view(), result))
    return episode


@pytest.mark.parametrize("name", VARIANTS)
def test_a_run_with_crashes_is_replayed_to_the_same_log(domain: Domain, pack: Pack, name: str) -> None:
    episode = episode_of(domain, pack, name, 1, merge([{"faults": {"append": ["crash_after_commit"]}}]))
    agent = Reference()
    agent.start(episode.brief, 0)
    result: ToolResult | None = None
    while not episode.ended:
        result = episode.call(agent.act(episode.view(), result))
        if not episode.ended and len(episode.steps) % 6 == 5:
            result = episode.crash()
    assert sum(made.crash for made in episode.steps) >= (len(episode.steps) - 1) // 6
    again = episode.branch(len(episode.steps))
    assert again.world.log == episode.world.log
    assert again.world.log_digest() == episode.world.log_digest()
    assert (again.view().flat == episode.view().flat).all()


def test_crashing_again_and_again_ends_the_run_by_its_time(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0, Overrides(budget=(("simulated_time", 1000),)))
    while not episode.ended:
        episode.crash()
    assert episode.ending == "budget:simulated_time"
    assert episode.account.by == "harness"
    assert grade(domain, episode.trial()).outcome in ("passed", "failed", "void")
