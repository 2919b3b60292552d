"""What several tests of the kernel share: an agent that gets far and then does odd things, and starts of episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.random_agent import RandomAgent
from agents.reference import Reference
from fieldops_gym import Brief, Coordinates, Episode, Seeds, ToolCall, ToolResult, View
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.streams import Stream


class Mixed:
    """Makes the reference's call most of the time and a random legal one else, so that effects happen in odd orders.

    A random `finish` is made once in a while only, or nearly all episodes would be over at once. Stateless, like the
    reference: every draw is keyed by the seed and the turn.
    """

    def __init__(self, steady: int = 75) -> None:
        self.steady = steady
        self.reference, self.random = Reference(), RandomAgent()

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        self._stream = Stream(seed, "mixed agent")
        self.reference.start(brief, seed, restarted)
        self.random.start(brief, seed, restarted)

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        draw = self._stream.draw(view.meters.turns)
        if draw.below(100) < self.steady:
            return self.reference.act(view, result)
        call = self.random.act(view, result)
        if call.tool == "finish" and draw.below(10):
            return ToolCall.of("read_journal")
        return call


def start_at(domain: Domain, pack: Pack, name: str, seeds: Seeds, overrides: Overrides = Overrides()) -> Episode:
    """Return a new episode of `card:variant` on any seeds."""
    card, variant = name.split(":")
    return Episode(domain, pack, Coordinates(card, variant, seeds, overrides))


class Player:
    """An agent at an episode, to be let play a few calls at a time. `result` is the last that it heard."""

    def __init__(self, episode: Episode, agent: Any, seed: int = 0) -> None:
        self.episode, self.agent = episode, agent
        self.result: ToolResult | None = None
        agent.start(episode.brief, seed)

    def step(self, times: int = 1) -> None:
        """Make at most so many calls."""
        for _ in range(times):
            if not self.episode.ended:
                self.result = self.episode.call(self.agent.act(self.episode.view(), self.result))

    def crash(self) -> None:
        """Let the agent's process die, and start the agent again."""
        self.result = self.episode.crash()
        self.agent.start(self.episode.brief, 0, restarted=True)


def run_until(episode: Episode, agent: Any, done: Callable[[Episode], bool], at_most: int = 60) -> Episode:
    """Let `agent` play until `done`; fails when that does not come."""
    player = Player(episode, agent)
    for _ in range(at_most):
        if done(episode):
            return episode
        player.step()
    raise AssertionError(f"'{done.__name__}' did not come within {at_most} calls")


def has_proposal(episode: Episode) -> bool:
    """Tell whether a proposal has been frozen."""
    return bool(episode.view().rows["proposal"])


def has_approval(episode: Episode) -> bool:
    """Tell whether an approval has been shown."""
    return bool(episode.view().rows["approval"])


def has_reservation(episode: Episode) -> bool:
    """Tell whether a reservation has been shown."""
    return bool(episode.view().rows["reservation"])
