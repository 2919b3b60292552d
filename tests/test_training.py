"""Learners of the field's library train on all families at once, as they are."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from fieldops_gym.wrappers import CallMenu

STEPS = 256
POLICY: dict[str, Any] = {"n_steps": 64, "batch_size": 64, "seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [32]}}


def test_ppo_trains_on_structured_actions() -> None:
    torch.set_num_threads(1)
    model = PPO("MultiInputPolicy", gymnasium.make("FieldOps-Relay-v0"), **POLICY).learn(STEPS)
    assert model.num_timesteps >= STEPS
    assert all(torch.isfinite(weights).all() for weights in model.policy.parameters())


def test_maskable_ppo_trains_on_the_call_menu_and_makes_only_legal_calls() -> None:
    torch.set_num_threads(1)
    env: Any = CallMenu(gymnasium.make("FieldOps-Relay-v0"))
    assert env.action_space.n < 200
    model = MaskablePPO("MultiInputPolicy", env, **POLICY).learn(STEPS)
    assert model.num_timesteps >= STEPS
    observation, info = env.reset(seed=1)
    for _ in range(STEPS):
        action, _ = model.predict(observation, action_masks=info["action_mask"])
        assert info["action_mask"][int(np.asarray(action))]
        observation, _, ended, _, info = env.step(int(np.asarray(action)))
        if ended:
            observation, info = env.reset()
