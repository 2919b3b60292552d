"""What wrappers of FieldOps environments share: finding the environment they wrap."""

from __future__ import annotations

import gymnasium

from fieldops_gym.envs.tool_call_env import FieldOpsEnv


def base_of(env: gymnasium.Env, wrapper: str) -> FieldOpsEnv:
    """Return the FieldOps environment under `env`. Raises `TypeError` when there is none."""
    base = env.unwrapped
    if not isinstance(base, FieldOpsEnv):
        raise TypeError(f"{wrapper} wraps a FieldOps environment, not {type(base).__name__}")
    return base


def array_base_of(env: gymnasium.Env, wrapper: str) -> FieldOpsEnv:
    """Return the same for a wrapper that takes the array action's place. Raises `TypeError` when another has taken it."""
    base = base_of(env, wrapper)
    if env.action_space != base.action_space:
        raise TypeError(f"{wrapper} goes around the array face, not around {_taker(env, base)}, which takes its place")
    return base


def _taker(env: gymnasium.Env, base: FieldOpsEnv) -> str:
    """Return the name of the innermost wrapper whose action is not the array."""
    taker = env
    while isinstance(env, gymnasium.Wrapper):
        taker = env if env.action_space != base.action_space else taker
        env = env.env
    return type(taker).__name__
