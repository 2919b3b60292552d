"""`ShapedReward`: milestones of the truth as reward, for training."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from fieldops_gym.core.judging import Judged, Severity
from fieldops_gym.core.tools import Consequence
from fieldops_gym.graders import judge_so_far
from fieldops_gym.wrappers.base import base_of


class ShapedReward(gymnasium.Wrapper, RecordConstructorArgs):
    """Add `weight` over the number of milestones for each milestone reached, once each.

    Nothing more is paid after a hard violation, the final reward excepted, which that has already decided. It reads the
    hidden truth, so it is for training only; an evaluation does without it. `info["milestones"]` counts those reached, and
    `info["milestones_reached"]` names them at the end.
    """

    def __init__(self, env: gymnasium.Env, weight: float = 1.0) -> None:
        RecordConstructorArgs.__init__(self, weight=weight)
        gymnasium.Wrapper.__init__(self, env)
        self._base = base = base_of(env, "ShapedReward")
        self.names = base.domain.truth.names
        self._each = weight / len(self.names)
        self._reached = [False] * len(self.names)
        self._violated = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset and forget what was reached."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._reached = [False] * len(self.names)
        self._violated = False
        info["milestones"] = 0
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and pay for what was newly reached."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        paid = float(reward)
        if not self._violated:
            self._violated = self._broke_something()
        if not self._violated:
            paid += self._each * self._newly_reached()
        info["milestones"] = sum(self._reached)
        if terminated or truncated:
            info["milestones_reached"] = self.reached()
        return observation, paid, terminated, truncated, info

    def _newly_reached(self) -> int:
        episode = self._base.episode
        assert episode is not None
        now = self._base.domain.truth.milestones(episode.world, episode.lead_view, episode.scenario)
        new = 0
        for index, holds in enumerate(now):
            if holds and not self._reached[index]:
                self._reached[index] = True
                new += 1
        return new

    def _broke_something(self) -> bool:
        episode, result = self._base.episode, self._base.result
        assert episode is not None
        assert result is not None
        domain = self._base.domain
        tool = domain.tools[episode.lead].get(result.call.tool)
        if tool is not None and (tool.consequence == Consequence.INFORMATIONAL or tool.name in domain.truth.unjudged):
            return False
        verdicts = judge_so_far(domain, episode.trial())
        return any(v.state == Judged.BROKEN and v.severity < Severity.ADVISORY for v in verdicts)

    def reached(self) -> tuple[str, ...]:
        """Return the names of the milestones reached in this episode."""
        return tuple(name for name, done in zip(self.names, self._reached, strict=True) if done)
