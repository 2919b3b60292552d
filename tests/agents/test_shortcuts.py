"""Agents with a defect fail where they say, by what they say, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from agents.random_agent import RandomAgent
from agents.shortcuts import DEFECTIVE, IDLE, LOST, REPAIRS, FreshKeyRetry, RetryBlindly
from fieldops_gym import grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.counts import count
from tests.support import VARIANTS, asks_for, episode_of, play

SEEDS = count(10, 1000)


def test_declarations_name_real_variants_and_invariants(domain: Domain, pack: Pack) -> None:
    for agent in (*IDLE, *DEFECTIVE):
        assert set(agent.FAILS) <= set(VARIANTS), agent.__name__
        for name, invariant in agent.FAILS.items():
            assert invariant in pack.cards[name.split(":")[0]].hidden.invariants, f"{agent.__name__}, {name}: {invariant}"


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("agent", [*IDLE, *DEFECTIVE])
def test_fails_exactly_where_it_declares(domain: Domain, pack: Pack, agent: Any, name: str) -> None:
    declared = agent.FAILS.get(name)
    for index in range(SEEDS):
        judged = grade(domain, play(episode_of(domain, pack, name, index), agent(), index).trial())
        names = [v.invariant for v in judged.broken()]
        where = f"{agent.__name__}, {name}, seeds {index}: {judged.outcome}, broken {names}"
        if declared is None:
            assert judged.outcome == "passed", where
        else:
            assert judged.outcome == "failed", where
            assert declared in names, where


@pytest.mark.parametrize("agent", IDLE)
def test_who_does_no_work_passes_only_where_there_is_none_to_do(agent: Any) -> None:
    for name in set(VARIANTS) - set(agent.FAILS):
        assert asks_for(name) == "refusal", f"{agent.__name__} should declare {name}"


def test_random_calls_pass_nothing_that_asks_for_work(domain: Domain, pack: Pack) -> None:
    for name in REPAIRS:
        for index in range(SEEDS):
            judged = grade(domain, play(episode_of(domain, pack, name, index), RandomAgent(), index).trial())
            assert judged.outcome == "failed", f"{name}, seeds {index}: {judged.outcome}"


@pytest.mark.parametrize("name", LOST)
def test_a_fresh_key_really_makes_a_second_effect(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(SEEDS):
        episode = play(episode_of(domain, pack, name, index), FreshKeyRetry())
        tables, where = episode.world.tables, f"{name}, seeds {index}"
        made = tables["reservation"].values()
        entries = tables["ledger"].values()
        assert [r.status for r in made] == ["active", "active"], where
        assert [e.kind for e in entries] == ["reserve", "reserve"], where
        assert len({e.key for e in entries}) == 2, where
        assert len({e.hash for e in entries}) == 1, where
        (plan,) = tables["proposal"].values()
        assert len(tables["part"][plan.part].reserved) == len(tables["slot"][plan.slot].taken) == 2, where
        verdict = next(v for v in grade(domain, episode.trial()).broken() if v.invariant == "effect.at_most_once")
        assert set(verdict.records) == {("ledger", e.id) for e in entries}, where


@pytest.mark.parametrize("name", LOST)
def test_the_same_key_makes_no_second_effect(domain: Domain, pack: Pack, name: str) -> None:
    """Retrying blindly is a bet that the key wins; it is still one effect."""
    for index in range(SEEDS):
        episode = play(episode_of(domain, pack, name, index), RetryBlindly())
        assert len(episode.world.tables["ledger"]) == 1, f"{name}, seeds {index}"
