"""The base environment: tool calls as actions, a view as observation, verdicts in `info`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.catalogue import Planned
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.judging import Grade, Outcome
from fieldops_gym.core.overrides import KEYS, OverrideError, merge
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.scenario import Coordinates, check_overrides
from fieldops_gym.core.streams import Seeds, Stream, evaluation_seeds, training_seeds
from fieldops_gym.core.view import View
from fieldops_gym.domains import DOMAINS
from fieldops_gym.envs.arguments import ARGUMENTS, OPTIONS
from fieldops_gym.envs.render import render_text
from fieldops_gym.envs.spaces import action_space, observation_space, split_mask
from fieldops_gym.graders import grade, invariants_of, judge_so_far
from fieldops_gym.packs import load_tasks

LOGGER = logging.getLogger("fieldops_gym")

MOST_PLANS = 1024
"""How many actions an environment remembers taken apart."""

VERDICTS = ("end", "every_step")
KNOWN = tuple(term.name for term in OPTIONS)
"""The options that `reset` knows."""


class FieldOpsEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    """A family of cards as a Gymnasium environment. Families are subclasses that set `domain_name` and `family`.

    Arguments (`fieldops_gym.envs.arguments` has them one by one): `split` or `cards` (author ids) choose what is played;
    `tasks` is a directory of one's own; `faults`, `budget`, `people` and `entities` override cards as reset options of
    the same names do; `verdicts` 'every_step' judges all along, which is privileged; `render_mode` is None or 'ansi'.

    ## Observation

    A `Dict` of 1-D float32 arrays in [-1, 1], the same for every family of the domain: `clock` (time and budget, each as the
    share left), `situation`, `last` (the last result), and one array per table of the view, row after row. Predicates are 1
    for yes, -1 for no, 0 for not known; a row that is not there is all 0. They tell what this seat has been shown, as it was
    shown: a stale read stays stale until it is read again. `info["action_mask"]` holds what is legal now, bool, slot after
    slot, as `env.unwrapped.action_masks()` does for MaskablePPO and `sample_mask()` for `action_space.sample(mask=...)`.

    ## Action

    A `MultiDiscrete`: the tool, then one slot per table that tools refer to (a position in the view, 0 for none) and one per
    other argument. Slots that the tool does not take are ignored. Nothing that lies in the space raises: an illegal call,
    such as one about an empty row, is refused, logged, charged to the budget and takes its time, as is one that policy
    denies. An action outside the space raises `InvalidAction`.

    ## Reward

    1.0 at the end of an episode that passes, else 0.0. It passes when no hard invariant is broken and every fault that was
    armed has fired. `info["verdicts"]` has the invariants one by one, int8: 0 not judged, 1 holds, 2 broken, 3 not
    applicable; `info["grade"]` says why.

    ## Ending

    `terminated` comes with the tool `finish`, which gives the agent's account, or when the turns, tool calls or simulated
    time are used up; the budget is in the observation. `truncated` is never set. What others still owe then happens up to the
    card's horizon before anything is judged.

    ## Example

    ```python
    import gymnasium
    import fieldops_gym

    env = gymnasium.make("FieldOps-Effect-v0")
    env.action_space.seed(7)
    observation, info = env.reset(seed=7)
    terminated = False
    while not terminated:
        action = env.action_space.sample(mask=env.unwrapped.sample_mask())
        observation, reward, terminated, truncated, info = env.step(action)
    print(reward, [verdict.invariant for verdict in info["grade"].broken()])
    ```
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  (Gymnasium declares it so)
    domain_name: ClassVar[str] = "field_service"
    family: ClassVar[str] = ""

    def __init__(
        self,
        split: str = "train",
        cards: Sequence[str] | None = None,
        tasks: str | Path | None = None,
        faults: Any = None,
        budget: Mapping[str, int] | None = None,
        people: Mapping[str, str] | None = None,
        entities: int | None = None,
        verdicts: str = "end",
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            named, known = ", ".join(map(repr, sorted(unknown))), ", ".join(term.name for term in ARGUMENTS)
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {named}; there are {known}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode: {render_mode!r} is none of {self.metadata['render_modes']} or None")
        if verdicts not in VERDICTS:
            raise ValueError(f"verdicts: {verdicts!r} is none of {VERDICTS}")
        self.render_mode = render_mode
        self.verdicts_mode = verdicts
        self.domain = DOMAINS[self.domain_name]
        self.pack = load_tasks(tasks, self.domain_name)
        self.split = split
        self.cards = self.pack.select(self.family, split, cards)
        self._base = {"faults": faults, "budget": budget, "people": people, "entities": entities}
        overrides = merge([self._base])
        for card in self.cards:
            check_overrides(self.pack, card, overrides)
        self.layout = self.domain.layouts[self.domain.lead]
        self.invariants = tuple(invariant.id for invariant in invariants_of(self.domain))
        self.action_space = action_space(self.layout)
        self.observation_space = observation_space(self.layout)
        self._plans: dict[bytes | None, Planned] = {}
        self._no_verdicts = np.zeros(len(self.invariants), dtype=np.int8)
        self._root: int | None = None
        self._draws = 0
        self.episode: Episode | None = None
        self.result: ToolResult | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start an episode. `seed` fixes card, variant and seeds of this and all later ones, but for what `options` sets.

        Without a seed the series goes on; an environment that never had one draws its own. Options: `card`, `variant`,
        `seeds` (a mapping of 'entity', 'interaction', 'fault'), `faults`, `budget`, `people`, `entities`. Unknown ones are
        ignored with a log line. Raises `OverrideError` or `CardError` for wrong ones.
        """
        super().reset(seed=seed)
        if seed is not None or self._root is None:
            self._root, self._draws = self.np_random_seed, 0
        given = dict(options or {})
        for name in sorted(set(given) - set(KNOWN)):
            LOGGER.warning("reset: option %r is not known and ignored; known are %s", name, ", ".join(KNOWN))
        self.episode = Episode(self.domain, self.pack, self._coordinates(given))
        self._draws += 1
        self.result = None
        return self.episode.lead_view.observation(), self._info(None)

    def _coordinates(self, given: Mapping[str, Any]) -> Coordinates:
        # Keyed draws, one for each part, so that an option moves nothing but what it sets.
        assert self._root is not None
        stream, named = Stream(self._root, "reset"), given.get("variant")
        cards = self.cards if given.get("card") is None else self.pack.select(self.family, "all", (str(given["card"]),))
        cards = tuple(card for card in cards if named is None or named in card.variants) or cards
        card = stream.draw(self._draws, "card").pick(cards)
        variant = stream.draw(self._draws, "variant").pick(tuple(card.variants)) if named is None else str(named)
        number = stream.draw(self._draws, "seeds").below(2**31)
        seeds = training_seeds(number) if self.split == "train" else evaluation_seeds(number)
        own = {name: given[name] for name in KEYS if name in given}
        overrides = merge([self._base, *given.get("layers", ()), own])
        return Coordinates(card.id, variant, _with(seeds, given.get("seeds")), overrides)

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Make one call. Reward is 1.0 when the episode ends passed, else 0.0; a visible budget's end is `terminated`.

        `action` is an element of the action space, or a `ToolCall` from a face that speaks in calls. Raises `InvalidAction`
        for an action outside the space and `ResetNeeded` after the end: both are defects of the caller. A call that makes
        no sense is not: it is refused, logged and charged.
        """
        episode = self.episode
        if episode is None or episode.ended:
            raise ResetNeeded("the episode has ended or never began: call reset() before step()")
        if isinstance(action, ToolCall):
            return self._finish_step(episode.call(action))
        key = action.tobytes() if isinstance(action, np.ndarray) and action.dtype == np.int64 and action.ndim == 1 else None
        call, values = episode.lead_view.decoded.get(key) or self._decode(action, key, episode.lead_view)
        return self._finish_step(episode.send(call, episode.lead, values))

    def _decode(self, action: Any, key: bytes | None, view: View) -> tuple[ToolCall, tuple[Any, ...] | None]:
        """Return the call that an action comes to, and remember it while its rows keep their places."""
        planned = self._plans.get(key) or self._plan(action, key)
        call, values = self.layout.catalogue.decode(planned, view.rows)
        if values is not None and key is not None and planned.fixed:
            view.decoded[key] = (call, values)
        return call, values

    def _plan(self, action: Any, key: bytes | None) -> Planned:
        """Take an action apart, and remember it: policies come back to the same few hundred."""
        sizes = self.layout.catalogue.nvec
        try:
            choice = [index(part) for part in action]
        except TypeError:
            choice = []
        if len(choice) != len(sizes) or not all(0 <= n < size for n, size in zip(choice, sizes, strict=True)):
            raise InvalidAction(f"action {action!r} does not lie in MultiDiscrete({list(sizes)})")
        planned = self.layout.catalogue.plan(choice)
        if key is not None and len(self._plans) < MOST_PLANS:
            self._plans[key] = planned
        return planned

    def _finish_step(self, result: ToolResult) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        episode = self.episode
        assert episode is not None
        self.result = result
        if not episode.ended:
            return episode.lead_view.observation(), 0.0, False, False, self._info(None)
        judged = grade(self.domain, episode.trial())
        reward = 1.0 if judged.outcome == Outcome.PASSED else 0.0
        return episode.lead_view.observation(), reward, True, False, self._info(judged)

    def _info(self, judged: Grade | None) -> dict[str, Any]:
        episode = self.episode
        assert episode is not None
        info: dict[str, Any] = {"action_mask": episode.lead_view.mask.copy()}
        if judged is not None:
            info["verdicts"] = np.array([v.state for v in judged.verdicts], dtype=np.int8)
            info["is_success"] = judged.outcome == Outcome.PASSED
            info["outcome"] = str(judged.outcome)
            info["grade"] = judged
        elif self.verdicts_mode == "every_step":
            states = [verdict.state for verdict in judge_so_far(self.domain, episode.trial())]
            info["verdicts"] = np.array(states, dtype=np.int8)
        else:
            info["verdicts"] = self._no_verdicts.copy()
        return info

    def action_masks(self) -> np.ndarray:
        """Return the legal values of each slot, concatenated: bool of shape (sum(nvec),), as MaskablePPO takes it."""
        assert self.episode is not None, "call reset() first"
        return self.episode.lead_view.mask.copy()

    def sample_mask(self) -> tuple[np.ndarray, ...]:
        """Return the same mask as `action_space.sample(mask=...)` takes it: a tuple of int8 arrays."""
        return split_mask(self.layout, self.action_masks())

    def render(self) -> str | None:  # type: ignore[override]
        """Return what the seat sees as text in mode 'ansi'; None without a mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; make the environment with render_mode='ansi'")
            return None
        if self.episode is None:
            raise ResetNeeded("there is nothing to render before reset()")
        return render_text(self.episode, self.result)


def _with(seeds: Seeds, given: Any) -> Seeds:
    """Return `seeds` with those of `given` in place of their own."""
    if given is None:
        return seeds
    wrong = not isinstance(given, Mapping) or set(given) - set(Seeds._fields)
    if wrong or any(type(value) is not int or value < 0 for value in given.values()):
        raise OverrideError(f"seeds: {given!r} is not a mapping of some of {', '.join(Seeds._fields)} to integers >= 0")
    return seeds._replace(**given)
