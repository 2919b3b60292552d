"""The yardstick: what Gymnasium itself costs with the same spaces. It returns fresh arrays and does nothing else."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from fieldops_gym import DOMAINS
from fieldops_gym.envs.spaces import action_space, observation_space
from fieldops_gym.graders import invariants_of


class NoOpEnv(gymnasium.Env):
    """An environment with the spaces and `info` of field service in which nothing happens."""

    def __init__(self) -> None:
        domain = DOMAINS["field_service"]
        layout = domain.layouts[domain.lead]
        self.action_space = action_space(layout)
        self.observation_space = observation_space(layout)
        self._arrays = {name: np.zeros(box.shape, np.float32) for name, box in self.observation_space.items()}
        self._mask = np.ones(layout.catalogue.size, dtype=bool)
        self._verdicts = np.zeros(len(invariants_of(domain)), dtype=np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Return zeros."""
        super().reset(seed=seed)
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return zeros."""
        return self._observation(), 0.0, False, False, self._info()

    def _observation(self) -> dict[str, np.ndarray]:
        return {name: array.copy() for name, array in self._arrays.items()}

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._mask.copy(), "verdicts": self._verdicts.copy()}


def make_noop() -> gymnasium.Env:
    """Return the no-op environment inside the wrappers that `gymnasium.make` puts on."""
    if "NoOp-v0" not in gymnasium.registry:
        gymnasium.register("NoOp-v0", entry_point=NoOpEnv)
    return gymnasium.make("NoOp-v0")
