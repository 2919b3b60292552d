"""`CallMenu`: every call there can be as one `Discrete`, with an exact joint mask."""

from __future__ import annotations

from operator import index
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction
from gymnasium.utils import RecordConstructorArgs

from fieldops_gym.wrappers.base import array_base_of


class CallMenu(gymnasium.Wrapper, RecordConstructorArgs):
    """Turn the action into the index of a whole call. `labels` says what each entry is.

    `info["action_mask"]` and `action_masks()` become masks over the menu, bool of shape (n,): exact for whole calls, where
    a mask per slot cannot say that an argument goes with a tool.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self._base = base = array_base_of(env, "CallMenu")
        self._catalogue = base.layout.catalogue
        self._actions = self._catalogue.actions
        self.labels = tuple(entry.label for entry in self._catalogue.entries)
        self.action_space = spaces.Discrete(len(self.labels))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, with the mask over the menu in `info`."""
        observation, info = self.env.reset(seed=seed, options=options)
        info["action_mask"] = self._catalogue.menu_mask(info["action_mask"])
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make the call that the menu has at `action`. Raises `InvalidAction` outside the menu."""
        entry = self._entry(action)
        observation, reward, terminated, truncated, info = self.env.step(self._actions[entry])
        info["action_mask"] = self._catalogue.menu_mask(info["action_mask"])
        return observation, float(reward), terminated, truncated, info

    def _entry(self, action: Any) -> int:
        try:
            entry = index(action)
        except TypeError:
            entry = -1
        if not 0 <= entry < len(self.labels):
            raise InvalidAction(f"action {action!r} is not an entry of the menu (0 to {len(self.labels) - 1})")
        return entry

    def action_masks(self) -> np.ndarray:
        """Return which entries are legal now."""
        return self._catalogue.menu_mask(self._base.action_masks())
