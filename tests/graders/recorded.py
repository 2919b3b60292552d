"""Finished runs of every variant, passing and failing ones, for tests of what must not matter to a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from agents.reference import Reference
from agents.shortcuts import DEFECTIVE, IDLE
from fieldops_gym import DOMAINS, Episode, Trial, grade
from fieldops_gym.core.judging import Judged
from tests.counts import count
from tests.support import PACK, VARIANTS, episode_of, play

DOMAIN = DOMAINS["field_service"]
ADVISORY = "efficiency.calls"
"""The one invariant that counts calls, and so may see more of them."""


class Run(NamedTuple):
    """A finished run and who made it."""

    who: str
    name: str
    episode: Episode

    @property
    def told(self) -> str:
        """Which run it is, for a failing test."""
        return f"{self.who} on {self.name}"


def states(trial: Trial) -> tuple[str, dict[str, Judged]]:
    """Return the outcome and the state of every verdict but the one that counts calls."""
    judged = grade(DOMAIN, trial)
    return str(judged.outcome), {v.invariant: v.state for v in judged.verdicts if v.invariant != ADVISORY}


def agents_on(name: str, number: int) -> Iterator[Any]:
    """Yield the reference, an agent that does nothing of the work, and one with a defect that shows on a variant, in turn."""
    yield Reference
    for kind in (IDLE, DEFECTIVE):
        failing = [agent for agent in kind if name in agent.FAILS]
        if failing:
            yield failing[number % len(failing)]


@cache
def recorded() -> tuple[Run, ...]:
    """Return runs of every variant by whoever is to play it. They have ended, and nobody goes on with them."""
    return tuple(
        Run(agent.__name__, name, play(episode_of(DOMAIN, PACK, name, number + again), agent()))
        for again in range(count(1, 10))
        for number, name in enumerate(VARIANTS)
        for agent in agents_on(name, number + again)
    )
