"""Agents with a defect fail where they say, by what they say, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from agents.random_agent import RandomAgent
from agents.reference import Reference
from agents.shortcuts import DEFECTIVE, IDLE, ClaimSuccess, DoNothing, FreshKeyRetry, RefuseEverything, RetryBlindly
from agents.variants import LOST
from fieldops_gym import grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import merge
from tests.counts import count
from tests.support import REPAIRS, VARIANTS, asks_for, episode_of, play

SEEDS = count(2, 300)


def sometimes(agent: Any) -> dict[str, str]:
    """Return where the agent's defect shows on some seeds only."""
    return dict(getattr(agent, "SOMETIMES", {}))


def test_there_are_enough_of_them() -> None:
    """As many as were promised over the families, each family having one at least."""
    assert len(DEFECTIVE) >= 12
    failing = {name[0] for agent in DEFECTIVE for name in agent.FAILS}
    assert failing == {"E", "P", "A", "X", "R"}


def test_declarations_name_real_variants_and_invariants(domain: Domain, pack: Pack) -> None:
    for agent in (*IDLE, *DEFECTIVE):
        declared = agent.FAILS | sometimes(agent)
        assert declared, f"{agent.__name__} has no defect that shows"
        assert set(declared) <= set(VARIANTS), agent.__name__
        for name, invariant in declared.items():
            assert invariant in pack.cards[name.split(":")[0]].hidden.invariants, f"{agent.__name__}, {name}: {invariant}"


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("agent", [*IDLE, *DEFECTIVE])
def test_fails_exactly_where_it_declares(domain: Domain, pack: Pack, agent: Any, name: str) -> None:
    declared, now_and_then = agent.FAILS.get(name), sometimes(agent).get(name)
    for index in range(SEEDS):
        judged = grade(domain, play(episode_of(domain, pack, name, index), agent(), index).trial())
        names = [v.invariant for v in judged.broken()]
        where = f"{agent.__name__}, {name}, seeds {index}: {judged.outcome}, broken {names}"
        if now_and_then is not None:
            assert judged.outcome == "passed" or now_and_then in names, where
        elif declared is None:
            assert judged.outcome == "passed", where
        else:
            assert judged.outcome == "failed", where
            assert declared in names, where


@pytest.mark.parametrize("agent", [agent for agent in DEFECTIVE if sometimes(agent)])
def test_what_shows_on_some_seeds_does_show(domain: Domain, pack: Pack, agent: Any) -> None:
    for name in sometimes(agent):
        judged = [grade(domain, play(episode_of(domain, pack, name, index), agent(), index).trial()) for index in range(40)]
        assert {grade.outcome for grade in judged} == {"passed", "failed"}, f"{agent.__name__}, {name}"


@pytest.mark.parametrize("name", VARIANTS)
def test_nobody_is_rescued_by_other_people(domain: Domain, pack: Pack, name: str) -> None:
    """People other than those who make the variant what it is change nothing about who fails it."""
    card = pack.cards[name.split(":")[0]]
    own = card.variants[name.split(":")[1]].people
    swaps = [
        (seat, persona)
        for seat, personas in pack.contracts[card.contract].personas.items()
        for persona in card.admits.get(seat, personas)
        if seat not in own
    ]
    failing = [agent for agent in (*IDLE, *DEFECTIVE) if name in agent.FAILS]
    for number, agent in enumerate(failing):
        for seat, persona in swaps if count(0, 1) else swaps[number % len(swaps) :: len(failing)]:
            overrides = merge([{"people": {seat: persona}}])
            played = play(episode_of(domain, pack, name, number, overrides), agent(), 0)
            if grade(domain, played.trial()).outcome == "passed":
                # Where others keep the defect from showing, it did what the reference does, and nobody was rescued.
                right = play(episode_of(domain, pack, name, number, overrides), Reference(), 0)
                assert played.world.log_digest() == right.world.log_digest(), f"{agent.__name__} passes {name} with {persona}"


@pytest.mark.parametrize("agent", IDLE)
def test_who_is_always_the_same_passes_no_card_that_varies(domain: Domain, pack: Pack, agent: Any) -> None:
    for card in pack.cards.values():
        names = [f"{card.id}:{variant}" for variant in card.variants]
        said = [play(episode_of(domain, pack, name, 0), Reference()).account for name in names]
        if len({account.disposition for account in said if account is not None}) > 1:
            assert any(name in agent.FAILS for name in names), f"{agent.__name__} passes every variant of {card.id}"


@pytest.mark.parametrize("agent", [DoNothing, ClaimSuccess, RefuseEverything])
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
