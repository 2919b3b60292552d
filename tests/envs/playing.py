"""Driving the Gymnasium face: legal random actions, the reference through arrays, and what a run showed, as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, ToolCall
from fieldops_gym.core.streams import Stream
from fieldops_gym.envs import FieldOpsEnv

ENV_ID = "FieldOps-Effect-v0"
MODULE_ID = f"fieldops_gym:{ENV_ID}"


def make(**kwargs: Any) -> gymnasium.Env:
    """Return the made environment, wrappers and all."""
    return gymnasium.make(MODULE_ID, **kwargs)


def base_of(env: gymnasium.Env) -> FieldOpsEnv:
    """Return the environment under the wrappers."""
    base = env.unwrapped
    assert isinstance(base, FieldOpsEnv)
    return base


def episode_of(env: gymnasium.Env) -> Episode:
    """Return the episode that is being played, or was played last."""
    episode = base_of(env).episode
    assert episode is not None
    return episode


def coordinates_of(env: gymnasium.Env) -> Coordinates:
    """Return the coordinates of the episode."""
    return episode_of(env).coordinates


def legal_actions(base: FieldOpsEnv, seed: int) -> Iterator[np.ndarray]:
    """Yield drawn actions that are legal when asked for, as far as slots can say, without end."""
    stream, slots = Stream(seed, "test actions"), base.layout.catalogue.slots
    step = 0
    while True:
        mask = base.action_masks()
        draw = stream.draw(step)
        choice = [draw.pick(np.flatnonzero(mask[slot.start : slot.start + slot.size]).tolist()) for slot in slots]
        yield np.array(choice, dtype=np.int64)
        step += 1


def reference_call(base: FieldOpsEnv) -> ToolCall:
    """Return what the reference would do now."""
    agent, episode = Reference(), episode_of(base)
    agent.start(episode.brief, 0)
    return agent.act(episode.view(), base.result)


def reference_choice(base: FieldOpsEnv) -> int:
    """Return the entry of the call menu that stands for what the reference would do now."""
    call, view, catalogue = reference_call(base), episode_of(base).view(), base.layout.catalogue
    for choice in np.flatnonzero(view.menu_mask()).tolist():
        if catalogue.decode(catalogue.plan(catalogue.entries[choice].action), view.rows)[0] == call:
            return choice
    raise AssertionError(f"no entry of the menu stands for {call}")


def reference_action(base: FieldOpsEnv) -> np.ndarray:
    """Return the array action that stands for what the reference would do now."""
    return base.layout.catalogue.actions[reference_choice(base)]


def play_reference(env: gymnasium.Env, **reset: Any) -> tuple[float, dict[str, Any]]:
    """Let the reference play one episode in array actions; return the sum of rewards and the last info."""
    _, info = env.reset(**reset)
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(reference_action(base_of(env)))
        total += float(reward)
        ended = terminated or truncated
    return total, info


def fingerprint(value: Any) -> str:
    """Return a digest of anything an environment returns; equal only for equal types, dtypes, shapes and bytes."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            digest.update(str(key).encode())
            _feed(digest, item)
    elif isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f"{type(value).__name__}{value!r}".encode())
