"""The contract of `reset` and `step`: types, keys, spaces, fresh data, endings, errors."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded

from fieldops_gym.envs.spaces import split_mask
from tests.counts import count
from tests.envs.playing import base_of, episode_of, fingerprint, legal_actions, make, play_reference

ALWAYS = {"action_mask", "verdicts"}
AT_THE_END = ALWAYS | {"is_success", "outcome", "grade"}
BUDGETS: list[dict[str, int]] = [
    {},
    {"turns": 1},
    {"tool_calls": 1},
    {"simulated_time": 1},
    {"simulated_time": 3600},
    {"turns": 0, "tool_calls": 0, "retries": 0, "effect_attempts": 0, "simulated_time": 0, "model_calls": 0},
    {"retries": 0},
    {"effect_attempts": 0},
    {
        "turns": 10**9,
        "tool_calls": 10**9,
        "retries": 10**9,
        "effect_attempts": 10**9,
        "simulated_time": 10**9,
        "model_calls": 10**9,
    },
]


def check_answer(env: gymnasium.Env, observation: Any, info: dict[str, Any], *, ended: bool) -> None:
    base = base_of(env)
    assert observation in base.observation_space
    assert list(observation) == list(base.observation_space)  # type: ignore[call-overload]
    assert set(info) == (AT_THE_END if ended else ALWAYS)
    mask, verdicts = info["action_mask"], info["verdicts"]
    assert (mask.dtype, mask.shape) == (np.dtype(bool), (sum(base.layout.catalogue.nvec),))
    assert all(part.any() for part in split_mask(base.layout, mask)), "a slot has no legal value"
    assert (verdicts.dtype, verdicts.shape) == (np.dtype(np.int8), (len(base.invariants),))
    assert set(verdicts.tolist()) <= {0, 1, 2, 3}
    if ended:
        assert type(info["is_success"]) is bool
        assert type(info["outcome"]) is str
        assert info["is_success"] == (info["outcome"] == "passed")
        assert info["outcome"] == info["grade"].outcome
        assert verdicts.tolist() == [int(verdict.state) for verdict in info["grade"].verdicts]
        assert base.invariants == tuple(verdict.invariant for verdict in info["grade"].verdicts)
    elif base.verdicts_mode == "end":
        assert not verdicts.any(), "a verdict before the end tells what is hidden"


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: ",".join(f"{k}={v}" for k, v in budget.items()) or "own")
def test_every_step_keeps_the_contract(budget: dict[str, int]) -> None:
    env = make(budget=budget)
    observation, info = env.reset(seed=1)
    check_answer(env, observation, info, ended=False)
    actions, masked = legal_actions(base_of(env), 1), True
    env.action_space.seed(1)
    ends = 0
    for _ in range(count(250, 2000)):
        # Half of the actions are legal as far as slots can say, the other half are anything in the space.
        action = next(actions) if masked else env.action_space.sample()
        masked = not masked
        observation, reward, terminated, truncated, info = env.step(action)
        assert type(reward) is float
        assert type(terminated) is bool
        assert truncated is False
        check_answer(env, observation, info, ended=terminated)
        assert reward == (1.0 if terminated and info["is_success"] else 0.0)
        if terminated:
            ends += 1
            observation, info = env.reset()
            check_answer(env, observation, info, ended=False)
    assert ends > 0


def test_two_thousand_steps_stay_in_the_space() -> None:
    env = make(verdicts="every_step")
    observation, _ = env.reset(seed=2)
    actions = legal_actions(base_of(env), 2)
    for _ in range(2000):
        observation, _, terminated, _, info = env.step(next(actions))
        assert observation in env.observation_space
        assert info["verdicts"].any()
        if terminated:
            env.reset()


def test_a_passed_episode_pays_one_once_and_says_so() -> None:
    env = make()
    total, info = play_reference(env, seed=4)
    assert total == 1.0
    assert info["is_success"] is True
    assert 2 not in info["verdicts"].tolist()
    assert episode_of(env).ending == "finished"


def test_verdicts_at_every_step_agree_with_the_end() -> None:
    env, late = make(verdicts="every_step"), make()
    options = {"card": "X-02", "variant": "not_sent"}
    assert play_reference(env, seed=1, options=options)[1]["verdicts"].tolist() == (
        play_reference(late, seed=1, options=options)[1]["verdicts"].tolist()
    )


def test_stepping_after_the_end_or_before_the_start_raises() -> None:
    env = make(budget={"turns": 1}).unwrapped
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[2] is True
    for _ in range(2):
        with pytest.raises(ResetNeeded, match="call reset"):
            env.step(env.action_space.sample())
    env.reset()
    env.step(env.action_space.sample())


NVEC = np.array(base_of(make()).layout.catalogue.nvec)
OUTSIDE = {
    "too high": NVEC.copy(),
    "negative": np.full_like(NVEC, -1),
    "short": np.zeros(len(NVEC) - 1, dtype=np.int64),
    "long": np.zeros(len(NVEC) + 1, dtype=np.int64),
    "floats": np.zeros(len(NVEC)),
    "half": [0.5] * len(NVEC),
    "booleans": np.zeros(len(NVEC), dtype=bool),
    "a matrix": np.zeros((1, len(NVEC)), dtype=np.int64),
    "a number": 3,
    "numpy number": np.int64(3),
    "zero-dimensional": np.array(3),
    "nothing": None,
    "text": "query_asset",
    "digits": ["0"] * len(NVEC),
    "empty": [],
    "a mapping": {"tool": "wait"},
}


@pytest.mark.parametrize("name", list(OUTSIDE))
def test_an_action_outside_the_space_raises_and_changes_nothing(name: str) -> None:
    env = make()
    env.reset(seed=0)
    before = episode_of(env).world.log_digest()
    with pytest.raises(InvalidAction, match="does not lie in"):
        env.step(OUTSIDE[name])
    assert episode_of(env).world.log_digest() == before
    env.step(np.zeros(len(NVEC), dtype=np.int64))
    with pytest.raises(InvalidAction, match="does not lie in"):
        env.step(OUTSIDE[name])


def test_lists_and_small_integer_types_are_actions_too() -> None:
    answers = []
    for action in (np.zeros(len(NVEC), dtype=np.int64), np.zeros(len(NVEC), dtype=np.uint8), [0] * len(NVEC), (0,) * len(NVEC)):
        env = make()
        env.reset(seed=0)
        answers.append(fingerprint(env.step(action)))  # type: ignore[arg-type]
    assert len(set(answers)) == 1


def arrays_of(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        return [array for item in value.values() for array in arrays_of(item)]
    return [array for item in value for array in arrays_of(item)] if isinstance(value, tuple) else []


@pytest.mark.parametrize("verdicts", ["end", "every_step"])
def test_what_was_returned_stays_as_it_was_and_is_the_callers_own(verdicts: str) -> None:
    env, twin = make(verdicts=verdicts), make(verdicts=verdicts)
    returned = [env.reset(seed=3)]
    assert fingerprint(returned[0]) == fingerprint(twin.reset(seed=3))
    prints = [fingerprint(returned[0])]
    actions = legal_actions(base_of(env), 3)
    for step in range(60):
        action = next(actions)
        answer = env.step(action)
        returned.append(answer)
        prints.append(fingerprint(answer))
        theirs = twin.step(action)
        assert fingerprint(theirs) == prints[-1], f"step {step}: writing into an earlier answer changed this one"
        for array in arrays_of(theirs):
            array[...] = 1
        if answer[2]:
            returned.append(env.reset())
            prints.append(fingerprint(returned[-1]))
            twin.reset()
    assert [fingerprint(answer) for answer in returned] == prints
    arrays = [(number, array) for number, answer in enumerate(returned) for array in arrays_of(answer)]
    shared = [(a, b) for a, one in arrays for b, other in arrays if a < b and np.shares_memory(one, other)]
    assert shared == []
    infos = [answer[-1] for answer in returned]
    assert len({id(info) for info in infos}) == len(infos)


def test_masks_given_out_are_the_callers_own() -> None:
    env = make()
    _, info = env.reset(seed=0)
    base = base_of(env)
    want = info["action_mask"].copy()
    for mask in (info["action_mask"], base.action_masks(), *base.sample_mask()):
        mask[...] = 1
    assert (base.action_masks() == want).all()


def test_the_sample_mask_is_what_gymnasium_takes() -> None:
    env = make()
    env.reset(seed=0)
    base = base_of(env)
    env.action_space.seed(0)
    flat = base.action_masks()
    starts = [slot.start for slot in base.layout.catalogue.slots]
    for _ in range(50):
        action = env.action_space.sample(mask=base.sample_mask())
        assert flat[np.array(starts) + action].all()


def test_a_grade_copies_as_itself_and_cannot_be_written() -> None:
    _, info = play_reference(make(), seed=0)
    grade = info["grade"]
    assert copy.deepcopy(info)["grade"] is grade
    assert copy.copy(grade) is grade
    with pytest.raises(AttributeError):
        grade.outcome = "failed"


@pytest.mark.parametrize(
    ("budget", "ending"),
    [
        ({"turns": 3}, "budget:turns"),
        ({"tool_calls": 3}, "budget:tool_calls"),
        ({"simulated_time": 60}, "budget:simulated_time"),
    ],
)
def test_the_end_of_a_visible_budget_is_terminated(budget: dict[str, int], ending: str) -> None:
    env = make(budget=budget)
    env.reset(seed=0)
    actions = legal_actions(base_of(env), 0)
    for _ in range(200):
        _, reward, terminated, truncated, info = env.step(next(actions))
        if terminated:
            break
    assert (terminated, truncated, reward) == (True, False, 0.0)
    assert episode_of(env).ending == ending
    assert info["grade"].ending == ending


def test_an_outside_limit_is_truncated_and_not_judged() -> None:
    env = gymnasium.make("FieldOps-Effect-v0", max_episode_steps=4)
    env.reset(seed=0)
    for step in range(4):
        _, _, terminated, truncated, info = env.step(np.zeros(len(NVEC), dtype=np.int64))
        assert terminated is False
        assert truncated == (step == 3)
        assert set(info) == ALWAYS
    env.reset()
    assert env.step(np.zeros(len(NVEC), dtype=np.int64))[3] is False
