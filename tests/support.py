"""Small things that many tests need: playing an episode to its end, and every card with every variant."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fieldops_gym import ENVIRONMENTS, Coordinates, Episode, evaluation_seeds, load_tasks
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from tests.counts import FULL

PACK = load_tasks()
VARIANTS = tuple(f"{card.id}:{variant}" for card in PACK.cards.values() for variant in card.variants)
"""Every card with every variant."""


def asks_for(name: str) -> str:
    """Return what is to be done in `card:variant`: 'answer', 'plan', 'reservation', or 'refusal' where control is all."""
    card, variant = name.split(":")
    steps = {step.step: step.with_ for step in PACK.cards[card].variants[variant].setup}
    refused = not steps.get("asks_control", {"repair": True})["repair"] or not steps.get("asks_plan", {"plan": True})["plan"]
    return "refusal" if refused else PACK.cards[card].items[0].checks


def spread(kinds: Sequence[Any], names: Sequence[str] = VARIANTS) -> list[tuple[Any, str]]:
    """Return every kind with every name in the full form; else each name with one kind, every kind in turn."""
    if FULL:
        return list(itertools.product(kinds, names))
    return [(kinds[position % len(kinds)], name) for position, name in enumerate(names)]


def evidence_of(name: str) -> tuple[str, ...]:
    """Return the calls that show what decides `card:variant`."""
    card, variant = name.split(":")
    return PACK.cards[card].variants[variant].evidence


REPAIRS = tuple(name for name in VARIANTS if asks_for(name) == "reservation")
"""Those in which a repair is asked for."""


def env_id_of(name: str) -> str:
    """Return the id of the environment that has `card:variant`."""
    family = PACK.cards[name.split(":")[0]].family
    return next(row.id for row in ENVIRONMENTS if row.family == family)


def episode_of(domain: Domain, pack: Pack, name: str, index: int, overrides: Overrides = Overrides()) -> Episode:
    """Return a new episode of `card:variant` on frozen evaluation seeds number `index`."""
    card, variant = name.split(":")
    return Episode(domain, pack, Coordinates(card, variant, evaluation_seeds(index), overrides))


def play(episode: Episode, agent: Any, seed: int = 0, each: Callable[[Episode], None] | None = None) -> Episode:
    """Let `agent` play `episode` to its end; `each` is called after every call."""
    agent.start(episode.brief, seed)
    result = None
    while not episode.ended:
        result = episode.call(agent.act(episode.view(), result))
        if each is not None:
            each(episode)
    return episode


def play_fresh(episode: Episode, make: Callable[[], Any], seed: int = 0) -> Episode:
    """Let a fresh instance of an agent make every single call."""
    result = None
    while not episode.ended:
        agent = make()
        agent.start(episode.brief, seed)
        result = episode.call(agent.act(episode.view(), result))
    return episode
