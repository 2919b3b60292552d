"""Rules about sameness: one seed gives one run, in any company, after any copy, and again from its record."""

from __future__ import annotations

import copy
import logging
import pickle
import random
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from fieldops_gym.core.world import fold
from fieldops_gym.testing.probe import Found, Moment, Probe, base_of, fingerprint, running
from fieldops_gym.testing.steps import info_mask_shape


def repeats_itself(probe: Probe) -> Iterator[Found]:
    """The same seed and actions give the same bytes, whatever else runs and whatever state random generators are in."""
    for card, variant in probe.variants():
        options = probe.chosen(card, variant, 0)
        plain = [fingerprint(moment) for moment in probe.played(probe.make(), 1, options)]
        other = probe.played(probe.make(), 2)
        disturbed = []
        before = random.getstate(), np.random.get_state()
        for moment in probe.played(probe.make(), 1, options):
            disturbed.append(fingerprint(moment))
            random.seed(len(disturbed))
            np.random.seed(len(disturbed))
            next(other, None)
        random.setstate(before[0])
        np.random.set_state(before[1])
        if plain != disturbed:
            step = next((n for n, pair in enumerate(zip(plain, disturbed, strict=False)) if pair[0] != pair[1]), len(plain))
            where = f"{card}:{variant}, step {step}"
            fix = "draw from keyed streams alone, and share no state between environments"
            yield Found(where, "two runs of one seed differ", fix)
            return


def leaves_global_state_alone(probe: Probe) -> Iterator[Found]:
    """Playing moves no global random generator."""
    before = random.getstate(), repr(np.random.get_state())
    for _ in probe.played(probe.make(), 3):
        pass
    if (random.getstate(), repr(np.random.get_state())) != before:
        yield Found("a whole episode", "a global random generator has moved", "draw from keyed streams alone")


def plays_again(probe: Probe) -> Iterator[Found]:
    """A run made again from its coordinates and calls has the same log, and its world is the fold of that log."""
    env = probe.make()
    for card, variant in probe.variants():
        for _ in probe.played(env, 5, probe.chosen(card, variant, 1)):
            pass
        episode = running(base_of(env))
        again, where = episode.branch(len(episode.steps)), f"{card}:{variant}, seeds 1"
        if again.world.log_digest() != episode.world.log_digest():
            yield Found(where, "replayed, it has another log", "let nothing decide that is neither a coordinate nor a call")
            return
        if fold(episode.world.start, episode.world.log) != episode.world.tables:
            yield Found(where, "its world is not the fold of its log", "change the world through events alone")
            return


def copies_whole(probe: Probe) -> Iterator[Found]:
    """A deep copy and a pickle in the middle of an episode play on as the original does, and apart from it."""
    for way, copied in (("copy.deepcopy", copy.deepcopy), ("pickle", lambda env: pickle.loads(pickle.dumps(env)))):
        env = probe.make()
        for moment in probe.played(env, 4, finish=False):
            if moment.step == 6:
                break
        try:
            twin = copied(env)
        except Exception as error:  # whatever a copy raises, it is no copy
            yield Found(way, f"it raises {type(error).__name__}: {error}", "hold only what can be copied")
            continue
        entry = moment.entry
        actions = [probe.action(env, entry) for _ in range(3)]
        one, other = ([fingerprint(_moment(place.step(action))) for action in actions] for place in (env, twin))
        if one != other:
            yield Found(way, "the copy plays on differently", "hold the state of a run in the episode alone")


def _moment(answer: tuple[Any, ...]) -> Moment:
    return Moment(0, 0, *answer)


def takes_options(probe: Probe) -> Iterator[Found]:
    """Reset options do what they say, unknown ones are ignored with a log line, and none is changed."""
    env = probe.make()
    base = base_of(env)
    for card, variant in probe.variants():
        options = probe.chosen(card, variant, 2)
        env.reset(seed=0, options=options)
        told = running(base).coordinates
        if (told.card, told.variant, told.seeds._asdict()) != (card, variant, options["seeds"]):
            yield Found(f"options {options}", f"the episode is {told}", "take card, variant and seeds from the options")
            return
    env.reset(seed=0, options={"budget": {"turns": 3}})
    for _ in range(3):
        _, _, terminated, truncated, _ = env.step(probe.action(env, _reading(base)))
    if not terminated or truncated or running(base).ending != "budget:turns":
        yield Found(
            "options {'budget': {'turns': 3}}", "three calls did not end it", "end as `terminated` when a meter is used up"
        )
    given = {"fieldops.unknown": 1}
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # ty: ignore[invalid-assignment]
    logger = logging.getLogger("fieldops_gym")
    logger.addHandler(handler)
    try:
        env.reset(seed=0, options=given)
    finally:
        logger.removeHandler(handler)
    if not records or given != {"fieldops.unknown": 1}:
        yield Found("an unknown option", "it was not logged, or the mapping was changed", "log a warning and leave it alone")


def _reading(base: Any) -> int:
    """Return the first legal entry of the menu that does not end the run."""
    legal = np.flatnonzero(running(base).lead_view.menu_mask()).tolist()
    return next(entry for entry in legal if base.layout.catalogue.entries[entry].tool != "finish")


def goes_in_a_vector(probe: Probe) -> Iterator[Found]:
    """Two of them in a vector return what each returns alone."""
    env = probe.make()
    if isinstance(env.action_space, gymnasium.spaces.Text):
        return
    vector = gymnasium.vector.SyncVectorEnv([probe.make, probe.make])
    observations, info = vector.reset(seed=[6, 7])
    single, told = env.reset(seed=6)
    action = probe.action(env, _reading(base_of(env)))
    shape = info_mask_shape(env, base_of(env))
    same = all(np.array_equal(observations[name][0], array) for name, array in single.items())
    if not same or info["action_mask"].shape != (2, *shape) or not np.array_equal(info["action_mask"][0], told["action_mask"]):
        yield Found("reset of a vector", "it differs from the environment alone", "keep keys, types and shapes of `info` fixed")
    together, rewards, _, _, _ = vector.step(np.stack([action, action]))
    alone, reward, _, _, _ = env.step(action)
    if rewards[0] != reward or not all(np.array_equal(together[name][0], array) for name, array in alone.items()):
        yield Found("step of a vector", "it differs from the environment alone", "share no state between environments")
    vector.close()
