"""A rule-abiding run is not failed for a budget that cannot be kept: what it takes is counted as it is."""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym import grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.support import episode_of, play


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("A-04:requester_then_approver", {"turns": 16}),
        ("A-04:stranger_then_approver", {"turns": 16}),
        ("A-02:absent", {"tool_calls": 19}),
        ("R-06:stands", {"simulated_time": 1500}),
    ],
)
def test_the_reference_is_not_blamed(domain: Domain, pack: Pack, name: str, budget: dict[str, int]) -> None:
    for index in range(10):
        episode = play(episode_of(domain, pack, name, index, merge([{"budget": budget}])), Reference(), index)
        judged = grade(domain, episode.trial())
        assert judged.outcome != "failed", f"{index}: {[(v.invariant, v.expected) for v in judged.broken()]}"
