"""Vector environments: processes of their own, the three ways to go on after an end, and how info is batched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from fieldops_gym.core.judging import Grade, Outcome
from tests.envs.playing import MODULE_ID, base_of, fingerprint, make, reference_action
from tests.envs.vector_run import gymnasium_trace, sb3_trace

ROOT = Path(__file__).parents[2]


def run_apart(kind: str) -> list[str]:
    """Return the trace that `vector_run` prints from an interpreter of its own."""
    command = [sys.executable, "-m", "tests.envs.vector_run", kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def ended_in(line: str) -> bool:
    """Tell whether an episode ended in a step: its line then has an outcome behind the digest."""
    return any(str(outcome) in line for outcome in Outcome)


def test_gymnasium_workers_play_what_one_process_plays() -> None:
    apart = run_apart("gymnasium:async")
    assert len(set(apart)) > 60, "the run hardly moved"
    assert sum(ended_in(line) for line in apart) >= 3, "no episode ended"
    assert apart == gymnasium_trace("sync")


@pytest.mark.parametrize("start_method", ["forkserver", pytest.param("spawn", marks=pytest.mark.slow)])
def test_stable_baselines_workers_play_what_one_process_plays(start_method: str) -> None:
    apart = run_apart(f"sb3:{start_method}")
    assert sum(ended_in(line) for line in apart) >= 3, "no episode ended"
    assert apart == sb3_trace("dummy")


class Ended(NamedTuple):
    """What an episode returned last, as digests where they are arrays."""

    steps: int
    observation: str
    reward: float
    verdicts: str
    outcome: str
    is_success: bool
    grade: Grade


SEEDS = (0, 1, 2, 5)


def plan(seed: int) -> tuple[list[np.ndarray], Ended]:
    """Play the reference alone; return its actions and the end it came to."""
    env = make()
    env.reset(seed=seed)
    actions: list[np.ndarray] = []
    while True:
        actions.append(reference_action(base_of(env)))
        observation, reward, terminated, _, info = env.step(actions[-1])
        if terminated:
            return actions, ended(len(actions), observation, float(reward), info)


def ended(steps: int, observation: Any, reward: float, info: dict[str, Any]) -> Ended:
    verdicts = info["verdicts"]
    assert verdicts.dtype == np.int8
    row = (str(info["outcome"]), bool(info["is_success"]), info["grade"])
    return Ended(steps, fingerprint(observation), reward, fingerprint(verdicts), *row)


def rows_of(batch: Any, index: int) -> Any:
    """Return environment `index`'s part of a batch, fields that it does not have left out."""
    if isinstance(batch, dict):
        present = [key for key in batch if f"_{key}" not in batch or batch[f"_{key}"][index]]
        return {key: rows_of(batch[key], index) for key in present if not key.startswith("_")}
    return batch[index].copy() if isinstance(batch[index], np.ndarray) else batch[index]


def endings_by(envs: VectorEnv, mode: AutoresetMode, plans: list[list[np.ndarray]]) -> list[Ended]:
    """Play the plans side by side until each has ended once; idle environments take the first call of the catalogue."""
    envs.reset(seed=list(SEEDS))
    found: dict[int, Ended] = {}
    for step in range(max(map(len, plans))):
        idle = np.zeros_like(plans[0][0])
        actions = np.stack([actions[step] if step < len(actions) else idle for actions in plans])
        observations, rewards, terminated, truncated, info = envs.step(actions)
        assert not truncated.any()
        for index in np.flatnonzero(terminated).tolist():
            last = info["final_obs"][index] if mode == AutoresetMode.SAME_STEP else rows_of(observations, index)
            said = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
            found.setdefault(index, ended(step + 1, last, float(rewards[index]), rows_of(said, index)))
        if mode == AutoresetMode.DISABLED and terminated.any():
            envs.reset(options={"reset_mask": terminated.copy()})
    return [found[index] for index in range(len(plans))]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("workers", ["sync", pytest.param("async", marks=pytest.mark.slow)])
def test_the_end_is_recovered_the_same_in_every_autoreset_mode(mode: AutoresetMode, workers: str) -> None:
    alone = [plan(seed) for seed in SEEDS]
    assert len({end.steps for _, end in alone}) > 1, "all end at once, which tests less"
    assert all(end.outcome == "passed" and end.reward == 1.0 for _, end in alone)
    settings: dict[str, Any] = {"autoreset_mode": mode}
    if workers == "async":
        settings["context"] = "spawn"
    envs = gymnasium.make_vec(MODULE_ID, len(SEEDS), vectorization_mode=workers, vector_kwargs=settings)
    together = endings_by(envs, mode, [actions for actions, _ in alone])
    envs.close()
    assert together == [end for _, end in alone]


@pytest.mark.parametrize("verdicts", ["end", "every_step"])
def test_batched_info_keeps_its_types(verdicts: str) -> None:
    envs = gymnasium.make_vec(MODULE_ID, 3, vectorization_mode="sync", verdicts=verdicts, budget={"turns": 4})
    base = base_of(make())
    masks, invariants = sum(base.layout.catalogue.nvec), len(base.invariants)
    _, info = envs.reset(seed=0)
    seen_end = False
    for _ in range(9):
        assert (info["action_mask"].dtype, info["action_mask"].shape) == (np.dtype(bool), (3, masks))
        assert (info["verdicts"].dtype, info["verdicts"].shape) == (np.dtype(np.int8), (3, invariants))
        assert info["_action_mask"].all()
        assert info["_verdicts"].all()
        _, rewards, terminated, truncated, info = envs.step(np.zeros((3, len(base.layout.catalogue.nvec)), dtype=np.int64))
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)
        assert ("is_success" in info) == bool(terminated.any())
        if terminated.any():
            seen_end = True
            assert info["is_success"].dtype == np.bool_
            assert all(isinstance(grade, Grade) for grade in info["grade"])
            assert list(info["outcome"]) == [grade.outcome for grade in info["grade"]]
    assert seen_end


def test_every_environment_of_a_vector_plays_an_episode_of_its_own() -> None:
    envs = gymnasium.make_vec(MODULE_ID, 4, vectorization_mode="sync")
    for seed in (0, None):
        envs.reset(seed=seed)
        episodes = [env.unwrapped.episode.coordinates.seeds for env in envs.envs]  # type: ignore[attr-defined]
        assert len(set(episodes)) == 4
    unseeded = gymnasium.make_vec(MODULE_ID, 4, vectorization_mode="sync")
    unseeded.reset()
    episodes = [env.unwrapped.episode.coordinates.seeds for env in unseeded.envs]  # type: ignore[attr-defined]
    assert len(set(episodes)) == 4, "environments without a seed all play the same episode"


def test_reset_options_reach_every_environment() -> None:
    envs = gymnasium.make_vec(MODULE_ID, 3, vectorization_mode="sync")
    envs.reset(seed=0, options={"card": "X-02", "variant": "timeout", "budget": {"turns": 9}})
    for env in envs.envs:  # type: ignore[attr-defined]
        at = env.unwrapped.episode.coordinates
        assert (at.card, at.variant, at.overrides.budget) == ("X-02", "timeout", (("turns", 9),))
