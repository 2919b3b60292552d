"""Run a vector environment in an interpreter that knows nothing of FieldOps, and print what it returned as digests.

Started by `test_vector.py` as `python -m tests.envs.vector_run KIND`. It imports no FieldOps module on purpose: the id
alone has to be enough, here and in the workers.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import partial
from typing import Any

import gymnasium
import numpy as np

MODULE_ID = "fieldops_gym:FieldOps-Effect-v0"
ENVS = 2
SEED = 11
STEPS = 80
BUDGET = {"turns": 25}


def actions_for(masks: np.ndarray, nvec: np.ndarray, step: int) -> np.ndarray:
    """Return an action per environment that its flat mask allows, the same for the same masks and step."""
    actions = np.zeros((len(masks), len(nvec)), dtype=np.int64)
    ends = np.cumsum(nvec)
    for row, mask in enumerate(masks):
        for slot, (end, size) in enumerate(zip(ends, nvec, strict=True)):
            legal = np.flatnonzero(mask[end - size : end])
            actions[row, slot] = legal[(step * 7 + row * 5 + slot * 3 + step // 3) % len(legal)]
    return actions


def digest_of(*values: Any) -> str:
    """Return a digest of arrays and of dicts of arrays."""
    digest = hashlib.sha256()
    for value in values:
        for key, item in sorted(value.items()) if isinstance(value, dict) else [("", value)]:
            array = np.asarray(item)
            digest.update(f"{key}{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def gymnasium_trace(mode: str) -> list[str]:
    """Play a Gymnasium vector environment, 'sync' or 'async' (spawned workers)."""
    settings = {"context": "spawn"} if mode == "async" else {}
    envs = gymnasium.make_vec(MODULE_ID, ENVS, vectorization_mode=mode, vector_kwargs=settings, budget=BUDGET)
    nvec = envs.single_action_space.nvec  # type: ignore[attr-defined]
    observations, info = envs.reset(seed=SEED)
    trace = [digest_of(observations, info["action_mask"], info["verdicts"])]
    for step in range(STEPS):
        observations, rewards, terminated, truncated, info = envs.step(actions_for(info["action_mask"], nvec, step))
        outcomes = "".join(map(str, info["outcome"])) if "outcome" in info else ""
        arrays = (observations, rewards, terminated, truncated, info["action_mask"], info["verdicts"])
        trace.append(digest_of(*arrays) + outcomes)
    envs.close()
    return trace


def sb3_trace(mode: str) -> list[str]:
    """Play a vector environment of Stable-Baselines3: 'dummy', or processes by 'forkserver' or 'spawn'."""
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    makers = [partial(gymnasium.make, MODULE_ID, budget=BUDGET) for _ in range(ENVS)]
    envs = DummyVecEnv(makers) if mode == "dummy" else SubprocVecEnv(makers, start_method=mode)  # type: ignore[arg-type]
    nvec = envs.action_space.nvec  # type: ignore[attr-defined]
    envs.seed(SEED)
    observations = envs.reset()
    masks = np.stack(envs.env_method("action_masks"))
    trace = [digest_of(observations, masks)]
    for step in range(STEPS):
        observations, rewards, dones, infos = envs.step(actions_for(masks, nvec, step))
        masks = np.stack(envs.env_method("action_masks"))
        ends = [
            (info["outcome"], digest_of(info["terminal_observation"], info["verdicts"])) for info in infos if "outcome" in info
        ]
        trace.append(digest_of(observations, rewards.astype(np.float64), dones, masks) + json.dumps(ends))
    envs.close()
    return trace


if __name__ == "__main__":
    kind, _, how = sys.argv[1].partition(":")
    made = gymnasium_trace(how) if kind == "gymnasium" else sb3_trace(how)
    sys.stdout.write(json.dumps(made))
