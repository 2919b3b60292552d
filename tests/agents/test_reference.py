"""The reference proves that every card can be passed, whoever the people are, and with no memory of its own."""

from __future__ import annotations

from collections import Counter

import pytest

from agents.reference import Reference
from fieldops_gym import grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Completion, Judged
from tests.counts import count
from tests.support import REPAIRS, VARIANTS, episode_of, play, play_fresh

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
        assert (episode.account.disposition, episode.account.by) == ("escalated", episode.lead), where
        assert ending.state == Judged.HOLDS, f"{where}: {ending.actual}, expected {ending.expected}"
        assert not judged.broken(), f"{where}: {[v.invariant for v in judged.broken()]}"
        assert judged.completion == Completion.STOPPED_SAFELY, where
        # A fault of the variant's that nothing ever reached leaves a run without credit and without blame.
        assert judged.outcome == ("void" if episode.scenario.faults else "passed"), where


def test_is_lean(domain: Domain, pack: Pack) -> None:
    for name in VARIANTS:
        judged = grade(domain, play(episode_of(domain, pack, name, 0), Reference()).trial())
        calls = next(v for v in judged.verdicts if v.invariant == "efficiency.calls")
        assert calls.state == Judged.HOLDS, f"{name}: {calls.actual}, expected {calls.expected}"
