"""Train MaskablePPO on the Effect family from scratch, and evaluate it on seeds it has not seen.

    python -m examples.train_maskable_ppo --steps 2500000 --out runs/ppo

Training uses `CallMenu` (one choice among whole calls, exactly masked) and `ShapedReward` (milestones of the truth, each
paid once). The evaluation uses the plain environment on the frozen evaluation seeds. Needs the `train` extra.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from fieldops_gym import evaluation_seeds
from fieldops_gym.wrappers import CallMenu, ShapedReward

ENV_ID = "fieldops_gym:FieldOps-Effect-v0"
MODEL = "maskable_ppo.zip"
EVERY = 20_000
"""Steps between two lines of progress, at most."""


def make_training_env() -> gymnasium.Env:
    """Return the environment that the policy learns in."""
    return Monitor(ShapedReward(CallMenu(gymnasium.make(ENV_ID, disable_env_checker=True))))


class Progress(BaseCallback):
    """Print, every so many steps, how often the last 300 episodes passed and which milestones they reached."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.next = every, every
        self.passed: deque[bool] = deque(maxlen=300)
        self.reached: deque[tuple[str, ...]] = deque(maxlen=300)
        self.began = time.perf_counter()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "is_success" in info:
                self.passed.append(bool(info["is_success"]))
                self.reached.append(info["milestones_reached"])
        if self.num_timesteps >= self.next:
            self.next += self.every
            counts = Counter(name for names in self.reached for name in names)
            shares = " ".join(f"{name}={count / len(self.reached):.2f}" for name, count in counts.items())
            seconds = time.perf_counter() - self.began
            told = f"passed {np.mean(self.passed):.3f}  {shares}" if self.passed else "no episode has ended yet"
            print(f"{self.num_timesteps:>9,} steps  {seconds:5.0f} s  {told}", flush=True)
        return True


def evaluate(model: Any, seeds_per_variant: int) -> dict[str, float]:
    """Return the share of evaluation seeds that the policy passes, by card and variant, playing greedily."""
    env: Any = CallMenu(gymnasium.make(ENV_ID))
    shares = {}
    for card in env.unwrapped.cards:
        for variant in card.variants:
            passed = 0
            for index in range(seeds_per_variant):
                options = {"card": card.id, "variant": variant, "seeds": evaluation_seeds(index)._asdict()}
                observation, info = env.reset(seed=index, options=options)
                ended = False
                while not ended:
                    action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
                    observation, _, ended, _, info = env.step(int(action))
                passed += info["is_success"]
            shares[f"{card.id}:{variant}"] = passed / seeds_per_variant
    return shares


def build(envs: int, seed: int) -> MaskablePPO:
    """Return the learner with the settings that were found to work on a chain of calls like this one."""
    return MaskablePPO(
        "MultiInputPolicy",
        DummyVecEnv([make_training_env] * envs),
        n_steps=256,
        batch_size=512,
        n_epochs=4,
        gamma=0.98,
        learning_rate=5e-4,
        ent_coef=0.02,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
    )


def steps_between(steps: int) -> int:
    """Return the steps between two lines of progress: a tenth of a short training, `EVERY` of a long one."""
    return max(1, min(EVERY, steps // 10))


def main(words: Sequence[str] | None = None) -> None:
    """Train, evaluate, and save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2_500_000, help="environment steps (default 2,500,000)")
    parser.add_argument("--envs", type=int, default=8, help="environments side by side (default 8)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the learner (default 0)")
    parser.add_argument("--eval-seeds", type=int, default=100, help="evaluation seeds per variant (default 100)")
    parser.add_argument("--out", type=Path, default=None, help="directory to save the model in (default: not saved)")
    arguments = parser.parse_args(words)
    model_file = None if arguments.out is None else arguments.out / MODEL
    if model_file is not None:
        model_file.parent.mkdir(parents=True, exist_ok=True)  # now, and not when hours of training are to be saved
    goes = "is not saved; --out DIR keeps it" if model_file is None else f"goes to {model_file}"
    every = steps_between(arguments.steps)
    print(f"{arguments.steps:,} steps, environments: {arguments.envs}; the model {goes}; a line every {every:,}", flush=True)
    torch.set_num_threads(1)
    model = build(arguments.envs, arguments.seed)
    model.learn(arguments.steps, callback=Progress(every))
    shares = evaluate(model, arguments.eval_seeds)
    for name, share in shares.items():
        print(f"{name:<16} {share:6.1%}")
    print(f"{'all variants':<16} {np.mean(list(shares.values())):6.1%} of {arguments.eval_seeds} unseen seeds each")
    if model_file is not None:
        model.save(model_file)
        print(f"saved: {model_file}")


if __name__ == "__main__":
    main()
