"""Learners of the field's library train on all families at once, as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from examples import train_maskable_ppo
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


def test_the_example_says_what_it_does_and_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_maskable_ppo, "evaluate", lambda *_: {"X-01:whole": 0.5})
    model = tmp_path / "deep" / "maskable_ppo.zip"
    train_maskable_ppo.main(["--steps", "250", "--envs", "1", "--out", str(model.parent)])
    first, *progress, share, mean, last = capsys.readouterr().out.splitlines()
    assert first == f"250 steps, environments: 1; the model goes to {model}; a line every 25"
    assert [line.split()[:2] for line in progress] == [[str(n), "steps"] for n in range(25, 257, 25)]
    assert (share.split(), mean.split()[2], last) == (["X-01:whole", "50.0%"], "50.0%", f"saved: {model}")
    assert model.is_file()


@pytest.mark.parametrize("steps", [1, 1000, 100_000, 2_500_000, 10**9])
def test_a_line_of_progress_comes_every_twenty_thousand_steps_at_least(steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    progress = train_maskable_ppo.Progress(train_maskable_ppo.steps_between(steps))
    assert 1 <= progress.every <= 20_000
    progress.locals = {"infos": [{}]}
    for steps_done in (progress.every - 1, progress.every, progress.every + 1, 2 * progress.every):
        progress.num_timesteps = steps_done
        assert progress._on_step()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert all(line.endswith("no episode has ended yet") for line in lines)
