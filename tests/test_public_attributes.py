"""What a Python agent can reach through public attributes tells no more than its replies do."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest

from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, evaluation_seeds
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.layout import Layout
from fieldops_gym.wrappers import FaultInjection, JsonCalls
from tests.counts import count

PAIRS = (
    ("X-01:whole", "X-01:partial"),
    ("X-02:timeout", "X-03:immediate"),
    ("X-02:timeout", "X-03:slow"),
    ("X-02:timeout", "X-03:stale"),
)
"""Variants that look the same until after the dispatch was answered, or was not."""


def reachable(value: Any, depth: int = 6) -> Any:
    """Return everything that public attributes, items and fields lead to, as plain data."""
    if isinstance(value, Layout) or depth == 0 or callable(value):
        return type(value).__name__
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): reachable(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [reachable(item, depth - 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    if names:
        return {name: reachable(getattr(value, name), depth - 1) for name in names if not name.startswith("_")}
    return repr(value)


def played_to_the_answer(domain: Domain, pack: Pack, name: str, index: int) -> tuple[Episode, list[Any]]:
    """Play the reference until its dispatch has been answered; return all that it could reach on the way."""
    card, variant = name.split(":")
    episode = Episode(domain, pack, Coordinates(card, variant, evaluation_seeds(index)))
    agent, result, seen = Reference(), None, []
    while not (result is not None and result.call.tool == "reserve"):
        result = episode.call(agent.act(episode.view(), result))
        seen.append((reachable(episode.view()), reachable(result), result.to_json()))
    return episode, seen


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_worlds_that_look_the_same_are_the_same_to_a_curious_agent(domain: Domain, pack: Pack, one: str, other: str) -> None:
    for index in range(count(4, 100)):
        first, seen = played_to_the_answer(domain, pack, one, index)
        second, also_seen = played_to_the_answer(domain, pack, other, index)
        assert seen == also_seen
        assert first.world.digest() != second.world.digest(), "the worlds do differ by now"


def test_what_is_reachable_shows_what_was_shown(domain: Domain, pack: Pack) -> None:
    episode, seen = played_to_the_answer(domain, pack, "X-01:whole", 0)
    text = json.dumps(seen[-1][0])
    assert all(row.id in text for rows in episode.view().rows.values() for row in rows)


def test_a_json_agent_that_crashed_gets_its_brief_again() -> None:
    env: Any = JsonCalls(FaultInjection(gymnasium.make("FieldOps-Effect-v0"), ["crash_after_commit"]))
    brief = json.loads(env.reset(seed=0, options={"card": "X-01"})[0])
    agent, episode = Reference(), env.unwrapped.episode
    answer: dict[str, Any] = {}
    while answer.get("status") != "restarted":
        call = agent.act(episode.view(), env.unwrapped.result)
        answer = json.loads(env.step(call.to_json())[0])
    again = answer["brief"]
    assert again["restarted"]
    assert not brief["restarted"]
    assert {key: again[key] for key in ("episode", "request", "tools", "budget", "scopes")} == {
        key: brief[key] for key in ("episode", "request", "tools", "budget", "scopes")
    }
