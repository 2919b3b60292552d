"""Wrappers that play the cards under other terms: other faults, another budget, other people.

Each says what the keyword argument and the reset option of the same name say. Of several the outermost has the last word,
and the reset option beats them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from fieldops_gym.core.overrides import merge
from fieldops_gym.core.scenario import check_overrides
from fieldops_gym.wrappers.base import base_of

MODES = ("replace", "append")


class Layer(gymnasium.Wrapper, RecordConstructorArgs):
    """A wrapper that puts one layer of overrides on every reset. `layer` is checked against the cards it will meet.

    Raises `OverrideError` for what does not fit them, and `TypeError` around anything but a FieldOps environment.
    """

    def __init__(self, env: gymnasium.Env, layer: dict[str, Any], **arguments: Any) -> None:
        base = base_of(env, type(self).__name__)
        for card in base.cards:
            check_overrides(base.pack, card, merge([layer]))
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)
        self._layer = layer

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Forward seed and options with this wrapper's layer put under those of the wrappers around it."""
        given = dict(options or {})
        given["layers"] = (self._layer, *given.get("layers", ()))
        return self.env.reset(seed=seed, options=given)


class FaultInjection(Layer):
    """Replace the faults of every variant, or append to them, as the reset option `faults` does.

    `faults` is a sequence of ids of the fault catalogue, or of mappings with `fault` and, if wanted, `nth` (which call,
    from 1), `times` (0: from then on), `values`.
    """

    def __init__(self, env: gymnasium.Env, faults: Sequence[Any] = (), mode: str = "replace") -> None:
        layer = {"faults": faults if _known(mode) == "replace" else {"append": faults}}
        super().__init__(env, layer, faults=faults, mode=mode)


class BudgetLimit(Layer):
    """Set limits of the budget, as the reset option `budget` does.

    `budget` maps meters to limits: counts, and simulated seconds for `simulated_time`. With `mode` 'append' the other
    meters stay as they are; with 'replace' they go back to the card's own, whatever wrappers inside this one say.
    """

    def __init__(self, env: gymnasium.Env, budget: Mapping[str, int] | None = None, mode: str = "append") -> None:
        given = dict(budget or {})
        layer = {"budget": given if _known(mode) == "append" else {"replace": given}}
        super().__init__(env, layer, budget=given, mode=mode)


class UserTurns(Layer):
    """Say who sits in a seat, as the reset option `people` does.

    `people` maps seats to personas that the card admits, or to 'outside' for one that code outside plays. With `mode`
    'append' the other seats stay as they are; with 'replace' they go back to the card's own people.
    """

    def __init__(self, env: gymnasium.Env, people: Mapping[str, str] | None = None, mode: str = "append") -> None:
        given = dict(people or {})
        layer = {"people": given if _known(mode) == "append" else {"replace": given}}
        super().__init__(env, layer, people=given, mode=mode)


def _known(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is none of {MODES}")
    return mode
