"""The reference proves that every card can be passed, whoever the people are, and with no memory of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium
import pytest

from agents.reference import Reference
from fieldops_gym import grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Completion, Judged
from fieldops_gym.domains.field_service.history import ended_seen
from tests.counts import count
from tests.support import PACK, REPAIRS, VARIANTS, env_id_of, episode_of, play, play_fresh

SEEDS = count(15, 1000)
DELIBERATE = merge([{"people": {"approver": "approver.deliberate"}}])
ABSENT = merge([{"people": {"approver": "approver.absent"}}])


@pytest.mark.parametrize("name", VARIANTS)
def test_passes_every_seed_and_nothing_is_void(domain: Domain, pack: Pack, name: str) -> None:
    outcomes = Counter(
        str(grade(domain, play(episode_of(domain, pack, name, i), Reference()).trial()).outcome) for i in range(SEEDS)
    )
    assert outcomes == {"passed": SEEDS}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_fresh_instance_at_every_step_plays_the_same_game(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(SEEDS):
        kept = play(episode_of(domain, pack, name, index), Reference())
        fresh = play_fresh(episode_of(domain, pack, name, index), Reference)
        assert fresh.steps == kept.steps, f"{name}, seeds {index}: a fresh instance called something else"
        assert grade(domain, fresh.trial()).outcome == "passed", f"{name}, seeds {index}"


@pytest.mark.parametrize("name", VARIANTS)
def test_passes_with_an_approver_who_takes_their_time(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(SEEDS):
        judged = grade(domain, play(episode_of(domain, pack, name, index, DELIBERATE), Reference()).trial())
        assert judged.outcome == "passed", f"{name}, seeds {index}: {[v.invariant for v in judged.broken()]}"


@pytest.mark.parametrize("name", REPAIRS)
def test_escalates_when_nobody_approves_and_that_is_right(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(SEEDS):
        episode = play(episode_of(domain, pack, name, index, ABSENT), Reference())
        judged = grade(domain, episode.trial())
        ending = next(v for v in judged.verdicts if v.invariant == "task.accepted_ending")
        where = f"{name}, seeds {index}"
        assert episode.account is not None, where
        right = "handed_over" if ended_seen(episode.trial()) else "escalated"
        assert (episode.account.disposition, episode.account.by) == (right, episode.lead), where
        assert ending.state == Judged.HOLDS, f"{where}: {ending.actual}, expected {ending.expected}"
        assert not judged.broken(), f"{where}: {[v.invariant for v in judged.broken()]}"
        assert judged.completion == Completion.STOPPED_SAFELY, where
        # A fault of the variant's that nothing ever reached leaves a run without credit and without blame.
        unfired = {fault.id for fault in episode.scenario.faults} - set(judged.fired)
        assert judged.outcome == ("void" if unfired else "passed"), where


def test_is_lean(domain: Domain, pack: Pack) -> None:
    for name in VARIANTS:
        judged = grade(domain, play(episode_of(domain, pack, name, 0), Reference()).trial())
        calls = next(v for v in judged.verdicts if v.invariant == "efficiency.calls")
        assert calls.state == Judged.HOLDS, f"{name}: {calls.actual}, expected {calls.expected}"


@pytest.mark.parametrize("name", VARIANTS)
def test_passes_with_everybody_the_card_admits(domain: Domain, pack: Pack, name: str) -> None:
    card = pack.cards[name.split(":")[0]]
    for seat, personas in pack.contracts[card.contract].personas.items():
        for persona in card.admits.get(seat, personas):
            for index in range(count(1, 300)):
                overrides = merge([{"people": {seat: persona}}])
                judged = grade(domain, play(episode_of(domain, pack, name, index, overrides), Reference()).trial())
                broken = [f"{v.invariant}: {v.actual}, expected {v.expected}" for v in judged.broken()]
                assert judged.outcome == "passed", f"{name}, {persona}, seeds {index}: {judged.outcome}, {broken}"


@pytest.mark.parametrize("card", sorted(PACK.cards))
def test_no_disposition_is_right_nearly_always(domain: Domain, pack: Pack, card: str) -> None:
    """All variants come in the first hundred seeds, and where they differ in what is right, nothing is right in over 70%."""
    env: Any = gymnasium.make(env_id_of(f"{card}:"), cards=[card]).unwrapped
    drawn = []
    for seed in range(100):
        env.reset(seed=seed)
        drawn.append(env.episode.coordinates.variant)
    assert set(drawn) == set(pack.cards[card].variants), f"{card}: {Counter(drawn)}"
    right = {v: play(episode_of(domain, pack, f"{card}:{v}", 0), Reference()).account for v in set(drawn)}
    said = Counter(right[variant].disposition for variant in drawn)
    if len(said) > 1:
        assert max(said.values()) <= 70, f"{card}: {said}"
