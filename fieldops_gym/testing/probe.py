"""A family under test: how its environments are made, wrapped, and played with legal calls at random."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.streams import Stream, evaluation_seeds
from fieldops_gym.envs.tool_call_env import FieldOpsEnv


class Problem(NamedTuple):
    """What is wrong with a family: the rule, where it shows, what is so, and what to do about it."""

    rule: str
    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: {self.what}. To fix: {self.fix}"


class Found(NamedTuple):
    """What a rule's check found, before it is put down as a problem of that rule."""

    where: str
    what: str
    fix: str


class Moment(NamedTuple):
    """What one step returned, with the number of the step (0 for the reset) and the menu's entry that was taken."""

    step: int
    entry: int
    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: dict[str, Any]


class Probe:
    """Makes environments of one id, bare or wrapped. `episodes` says how many of each variant are played."""

    def __init__(
        self,
        env_id: str,
        make_agent: Callable[[], Any] | None,
        wrap: Callable[[gymnasium.Env], gymnasium.Env] | None,
        episodes: int,
        kwargs: Mapping[str, Any],
    ) -> None:
        self.env_id, self.make_agent, self.episodes = env_id, make_agent, episodes
        self.wrapped = wrap is not None
        self._wrap = wrap or (lambda env: env)
        self._kwargs: dict[str, Any] = {"split": "all"} | dict(kwargs)
        self._variants = [(card.id, variant) for card in base_of(self.make()).cards for variant in card.variants]

    def make(self, **kwargs: Any) -> gymnasium.Env:
        """Return a new environment, wrappers and all."""
        given: Any = self._kwargs | kwargs
        return self._wrap(gymnasium.make(self.env_id, **given))

    def variants(self) -> list[tuple[str, str]]:
        """Return every card with every variant."""
        return self._variants

    def chosen(self, card: str, variant: str, index: int) -> dict[str, Any]:
        """Return reset options that fix an episode."""
        return {"card": card, "variant": variant, "seeds": evaluation_seeds(index)._asdict()}

    def played(
        self, env: gymnasium.Env, seed: int, options: dict[str, Any] | None = None, *, finish: bool = True
    ) -> Iterator[Moment]:
        """Reset, and make legal calls at random to the end; without `finish`, none that ends the run early."""
        observation, info = env.reset(seed=seed, options=options)
        base, stream = base_of(env), Stream(seed, "conformance")
        episode = running(base)
        yield Moment(0, -1, observation, 0.0, False, False, info)
        number, done = 0, False
        while not done:
            number += 1
            entry = self._pick(base, episode, stream.draw(number), finish)
            observation, reward, terminated, truncated, info = env.step(self.action(env, entry))
            yield Moment(number, entry, observation, reward, terminated, truncated, info)
            done = bool(terminated) or bool(truncated)

    def _pick(self, base: FieldOpsEnv, episode: Episode, draw: Any, finish: bool) -> int:
        entries = base.layout.catalogue.entries
        legal = np.flatnonzero(episode.lead_view.menu_mask()).tolist()
        others = [entry for entry in legal if entries[entry].tool != "finish"]
        return draw.pick(legal if finish and draw.below(8) == 0 else others or legal)

    def action(self, env: gymnasium.Env, entry: int) -> Any:
        """Return the action that takes an entry of the menu, in the form that the wrapped environment takes."""
        base = base_of(env)
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            return entry
        if isinstance(env.action_space, gymnasium.spaces.Text):
            return call_of(base, entry).to_json()
        return base.layout.catalogue.actions[entry].copy()


def base_of(env: gymnasium.Env) -> FieldOpsEnv:
    """Return the environment under the wrappers. Raises `TypeError` for one that is not of this package's kind."""
    base = env.unwrapped
    if not isinstance(base, FieldOpsEnv):
        raise TypeError(f"a family is a subclass of FieldOpsEnv, which {type(base).__name__} is not")
    return base


def running(base: FieldOpsEnv) -> Episode:
    """Return the episode that is being played, or was played last. Raises `RuntimeError` when there is none."""
    if base.episode is None:
        raise RuntimeError("reset() left no episode behind; it has to set `self.episode`")
    return base.episode


def call_of(base: FieldOpsEnv, entry: int) -> ToolCall:
    """Return the call that an entry of the menu stands for now."""
    catalogue = base.layout.catalogue
    return catalogue.decode(catalogue.plan(catalogue.entries[entry].action), running(base).lead_view.rows)[0]


def fingerprint(moment: Moment) -> str:
    """Return a digest of all that a step returned."""
    digest = hashlib.sha256(repr((moment.reward, bool(moment.terminated), bool(moment.truncated))).encode())
    for name, value in sorted(_leaves("observation", moment.observation)) + sorted(_leaves("info", moment.info)):
        digest.update(f"{name}={value}".encode())
    return digest.hexdigest()


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}", item)
    elif isinstance(value, np.ndarray):
        yield name, f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    else:
        yield name, repr(value)


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Yield every array in what a step returned."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from arrays_in(item)
