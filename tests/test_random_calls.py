"""Random calls under random faults, budgets and people: nothing raises, refusals write nothing, the world stays sound."""

from __future__ import annotations

import pytest

from agents.random_agent import RandomAgent
from fieldops_gym import Episode, grade, merge
from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.streams import Stream
from tests.core.helpers import Mixed
from tests.counts import count
from tests.support import VARIANTS, episode_of, play

EPISODES = -(-count(340, 10_000) // len(VARIANTS))
"""Episodes of each variant, so that all of them together are at least as many as promised."""


def some_overrides(pack: Pack, card: Card, index: int) -> Overrides:
    """Return overrides at random: none, faults of the whole catalogue, people whom the contract admits, a small budget."""
    draw, contract = Stream(index, "overrides").draw(card.id), pack.contracts[card.contract]
    layer: dict[str, object] = {}
    if draw.below(2):
        uses = [{"fault": name, "nth": draw.between(1, 2)} for name in draw.shuffled(sorted(pack.faults))[: draw.below(4)]]
        layer["faults"] = {"append": uses}
    if draw.below(2):
        layer["people"] = {seat: draw.pick(names) for seat, names in contract.personas.items()}
    if draw.below(3) == 0:
        meter = draw.pick(sorted(contract.budget))
        layer["budget"] = {meter: draw.below(contract.budget[meter] + 1)}
    return merge([layer])


def unsound(domain: Domain, episode: Episode) -> set[str]:
    """Return the rules of world invariants that are broken and that no fired fault is declared to break."""
    fired = {event.data.fault for event in episode.world.log if event.kind == "fault"}
    declared = {rule for fault in episode.scenario.faults if fault.id in fired for rule in fault.breaks}
    return {item.rule for item in domain.broken(episode.world.tables, episode.world.start)} - declared


def writes_of_refused_calls(episode: Episode) -> list[str]:
    """Return the tables, the harness's meters apart, that calls wrote to which were refused."""
    log = episode.world.log
    refused = {event.ref for event in log if event.kind == "result" and event.data.reply.status == "refused"}
    caused = [event for event in log if event.seq in refused or (event.kind == "commit" and event.ref in refused)]
    return [write.table for event in caused for write in event.writes if write.table != "meters"]


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_gives_way(domain: Domain, pack: Pack, name: str) -> None:
    card = pack.cards[name.split(":")[0]]
    for index in range(EPISODES):
        episode = episode_of(domain, pack, name, index, some_overrides(pack, card, index))
        play(episode, RandomAgent() if index % 2 else Mixed(50 + index % 5 * 10), index)
        where = f"{name}, seeds {index}, {episode.coordinates.overrides}"
        assert not writes_of_refused_calls(episode), where
        assert not unsound(domain, episode), where
        grade(domain, episode.trial())


def test_refused_calls_and_effects_do_occur(domain: Domain, pack: Pack) -> None:
    """Else the test above would say nothing."""
    seen = set()
    for index in range(30):
        episode = play(episode_of(domain, pack, VARIANTS[index % len(VARIANTS)], index), Mixed(60), index)
        seen |= {event.data.reply.code for event in episode.world.log if event.kind == "result"}
        seen |= {write.table for event in episode.world.log for write in event.writes}
    assert {"denied", "conflict", "reservation", "ledger", "approval"} <= seen
