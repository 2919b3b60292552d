"""Families that are wrong in one way each, so that each rule of the conformance suite can be seen to fail."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np

from fieldops_gym.core.cards import Card
from fieldops_gym.core.world import Write
from fieldops_gym.envs import EffectEnv
from fieldops_gym.testing.probe import running

LATE = 3
"""From this step on, so that a checker that looks at the first steps only would miss it."""


class Late(EffectEnv):
    """Returns something wrong from some step on."""

    def reset(self, **kwargs: Any) -> Any:
        self.made = 0
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        answer = super().step(action)
        self.made += 1
        return self.changed(*answer) if self.made >= LATE else answer

    def changed(self, observation: Any, reward: float, terminated: bool, truncated: bool, info: Any) -> Any:
        """Return what the step returns instead."""
        raise NotImplementedError


class OutOfBounds(Late):
    def changed(self, observation: Any, *rest: Any) -> Any:
        observation["clock"][0] = 2.0
        return observation, *rest


class OtherVerdicts(Late):
    def changed(self, observation: Any, reward: float, terminated: bool, truncated: bool, info: Any) -> Any:
        return observation, reward, terminated, truncated, info | {"verdicts": info["verdicts"].astype(np.int64)}


class PaysForTrying(Late):
    def changed(self, observation: Any, reward: float, terminated: bool, truncated: bool, info: Any) -> Any:
        return observation, 0.5, terminated, truncated, info


class LooksAtTheWeather(Late):
    """Shows the state of a global random generator."""

    def changed(self, observation: Any, *rest: Any) -> Any:
        observation["clock"][0] = random.getstate()[1][1] % 97 / 97
        return observation, *rest


class MovesTheDice(Late):
    def changed(self, *answer: Any) -> Any:
        random.random()
        return answer


class WritesBesideTheLog(Late):
    def changed(self, *answer: Any) -> Any:
        tables = running(self).world.tables
        tables["note"]["not-here"] = next(iter(tables["part"].values()))
        return answer


class WritesOnRefusal(Late):
    def changed(self, *answer: Any) -> Any:
        world = running(self).world
        if self.result is not None and self.result.reply.status == "refused" and not answer[2]:
            seq = max(event.seq for event in world.log if event.kind == "call")
            part = next(iter(world.tables["part"].values()))
            world.emit(world.now, "service", "commit", seq, (Write("part", part.id, part),), "refused")
        return answer


class AllowsAll(EffectEnv):
    def step(self, action: Any) -> Any:
        running(self).lead_view.mask[:] = True
        answer = super().step(action)
        running(self).lead_view.mask[:] = True
        return answer


class TakesAnything(EffectEnv):
    def step(self, action: Any) -> Any:
        if isinstance(action, np.ndarray):
            most = np.array(self.layout.catalogue.nvec) - 1
            action = np.minimum(np.resize(action, len(most)), most)
        return super().step(action)


class OtherSpace(EffectEnv):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        spaces = dict(self.observation_space.spaces)
        self.observation_space = gymnasium.spaces.Dict({**spaces, "more": gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)})

    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        return self._more(observation), info

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        return self._more(observation), *rest

    def _more(self, observation: Any) -> Any:
        return dict(sorted((observation | {"more": np.zeros(1, dtype=np.float32)}).items()))


class NoPage(EffectEnv):
    pass


class NoRate(EffectEnv):
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}


class OneVariant(EffectEnv):
    def _coordinates(self, given: Any) -> Any:
        found = super()._coordinates(given)
        first = next(iter(self.pack.cards[found.card].variants))
        return found if given.get("variant") else found._replace(variant=first)


class DeafToSeeds(EffectEnv):
    def _coordinates(self, given: Any) -> Any:
        return super()._coordinates({name: value for name, value in given.items() if name != "seeds"})


class NotTheSameAgain(EffectEnv):
    """Every second one plays other episodes."""

    made: ClassVar[int] = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).made += 1
        self.number = type(self).made

    def _coordinates(self, given: Any) -> Any:
        found = super()._coordinates(given)
        return (
            found if given.get("seeds") else found._replace(seeds=found.seeds._replace(entity=found.seeds.entity + self.number))
        )


class HoldsALock(EffectEnv):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lock = threading.Lock()


class StartsUnsound(EffectEnv):
    def reset(self, **kwargs: Any) -> Any:
        answer = super().reset(**kwargs)
        parts = running(self).world.start["part"]
        first = next(iter(parts.values()))
        parts[first.id] = first._replace(quantity=-1)
        return answer


class TellsTheCard(EffectEnv):
    def _info(self, judged: Any) -> dict[str, Any]:
        return super()._info(judged) | {"task": running(self).coordinates.card}


class Recarded(EffectEnv):
    """Plays its cards with something changed in each."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        cards = {card.id: self.recard(card) for card in self.pack.cards.values()}
        self.pack = self.pack._replace(cards=cards)
        self.cards = tuple(cards[card.id] for card in self.cards)

    def recard(self, card: Card) -> Card:
        """Return the card as it is played."""
        raise NotImplementedError


class AsksForNothing(Recarded):
    def recard(self, card: Card) -> Card:
        lax = {"action.nothing_prohibited": {}}
        plain = {name: variant.model_copy(update={"faults": ()}) for name, variant in card.variants.items()}
        return card.model_copy(update={"hidden": card.hidden.model_copy(update={"invariants": lax}), "variants": plain})


class AsksTheImpossible(Recarded):
    def recard(self, card: Card) -> Card:
        strict = {**card.hidden.invariants, "effect.at_most_once": {"limit": 0}}
        return card.model_copy(update={"hidden": card.hidden.model_copy(update={"invariants": strict})})


class PointsToNoTool(Recarded):
    def recard(self, card: Card) -> Card:
        lost = {name: v.model_copy(update={"evidence": (*v.evidence, "telepathy")}) for name, v in card.variants.items()}
        return card.model_copy(update={"variants": lost})


class Wrong(NamedTuple):
    """A wrong family: the rule that has to complain, and those that may complain too."""

    rule: str
    entry_point: str | Callable[..., Any]
    too: frozenset[str] = frozenset()


def _wrong(rule: str, family: type, *too: str) -> Wrong:
    return Wrong(rule, f"{family.__module__}:{family.__name__}", frozenset(too))


WRONG: tuple[Wrong, ...] = (
    Wrong("form.registered", EffectEnv, frozenset({"form.spec"})),
    _wrong("form.spec", NotTheSameAgain, "same.runs", "same.vector", "same.replay", "form.check_env", "same.copies"),
    _wrong("form.spaces", OtherSpace),
    _wrong("form.page", NoPage),
    _wrong("form.tasks", PointsToNoTool),
    _wrong("form.variants", OneVariant),
    _wrong("form.check_env", NoRate),
    _wrong("steps.observation", OutOfBounds),
    _wrong("steps.info", OtherVerdicts),
    _wrong("steps.reward", PaysForTrying),
    _wrong("steps.mask", AllowsAll),
    _wrong("steps.refusal", WritesOnRefusal, "same.replay"),
    _wrong("steps.errors", TakesAnything),
    _wrong("same.runs", LooksAtTheWeather),
    _wrong("same.global_state", MovesTheDice),
    _wrong("same.replay", WritesBesideTheLog, "judged.world"),
    _wrong("same.copies", HoldsALock),
    _wrong("same.options", DeafToSeeds),
    _wrong("same.vector", NotTheSameAgain, "same.runs", "form.spec", "same.replay", "form.check_env", "same.copies"),
    _wrong("judged.world", StartsUnsound, "same.replay", "judged.solvable"),
    _wrong("judged.idle", AsksForNothing),
    _wrong("judged.solvable", AsksTheImpossible),
    _wrong("judged.hidden", TellsTheCard),
)
"""One for each rule."""
