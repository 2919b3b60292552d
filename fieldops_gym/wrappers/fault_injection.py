"""`FaultInjection`: play the cards under other faults than their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from fieldops_gym.core.overrides import merge

MODES = ("replace", "append")


class FaultInjection(gymnasium.Wrapper, RecordConstructorArgs):
    """Replace the faults of every variant, or append to them, as the reset option `faults` does.

    `faults` is a sequence of ids of the fault catalogue, or of mappings with `fault` and, if wanted, `nth` (which call,
    from 1), `times` (0: from then on), `values`. Of several wrappers the outermost has the last word; the reset option of
    the same name beats them all. Raises `OverrideError` for what is no list of faults.
    """

    def __init__(self, env: gymnasium.Env, faults: Sequence[Any] = (), mode: str = "replace") -> None:
        if mode not in MODES:
            raise ValueError(f"mode: {mode!r} is none of {MODES}")
        layer = {"faults": faults if mode == "replace" else {"append": faults}}
        merge([layer])
        RecordConstructorArgs.__init__(self, faults=faults, mode=mode)
        gymnasium.Wrapper.__init__(self, env)
        self._layer = layer

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Forward seed and options with this wrapper's layer put under those of the wrappers around it."""
        given = dict(options or {})
        given["layers"] = (self._layer, *given.get("layers", ()))
        return self.env.reset(seed=seed, options=given)
