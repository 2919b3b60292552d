"""The contract of `reset` and `step`: types, keys, spaces, fresh data, endings, errors, options."""

from __future__ import annotations

import copy
import logging
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded

from fieldops_gym import Seeds
from fieldops_gym.core.cards import CardError
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.core.streams import EVALUATION_SEEDS, TRAINING_SEEDS
from fieldops_gym.envs.spaces import split_mask
from tests.counts import count
from tests.envs.playing import base_of, coordinates_of, episode_of, fingerprint, legal_actions, make, play_reference

ALWAYS = {"action_mask", "verdicts"}
AT_THE_END = ALWAYS | {"is_success", "outcome", "grade"}
BUDGETS: list[dict[str, int]] = [
    {},
    {"turns": 1},
    {"tool_calls": 1},
    {"simulated_time": 1},
    {"simulated_time": 3600},
    {"turns": 0, "tool_calls": 0, "retries": 0, "effect_attempts": 0, "simulated_time": 0},
    {"retries": 0},
    {"effect_attempts": 0},
    {"turns": 10**9, "tool_calls": 10**9, "retries": 10**9, "effect_attempts": 10**9, "simulated_time": 10**9},
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


def test_options_that_are_empty_or_none_change_nothing() -> None:
    nothing = {"card": None, "variant": None, "seeds": None, "faults": None, "budget": None, "people": None, "entities": None}
    starts = {fingerprint(make().reset(seed=6, options=options)) for options in (None, {}, nothing)}
    assert len(starts) == 1


def test_unknown_options_are_ignored_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    env = make()
    with caplog.at_level(logging.WARNING, logger="fieldops_gym"):
        given = {"options": 1, "kard": "X-01"}
        odd = fingerprint(env.reset(seed=0, options=given))
    assert [name for name in ("'kard'", "'options'", "seeds") if name not in caplog.text] == []
    assert given == {"options": 1, "kard": "X-01"}
    assert odd == fingerprint(make().reset(seed=0))


def test_options_set_what_they_name_and_nothing_else() -> None:
    env = make()
    env.reset(seed=9)
    plain = coordinates_of(env)
    seeds = {"entity": 1, "interaction": 2, "fault": 3}
    for options, want in [
        ({"card": "X-01"}, {"card": "X-01"}),
        ({"card": "X-02", "variant": "timeout"}, {"card": "X-02", "variant": "timeout"}),
        ({"variant": "partial"}, {"card": "X-01", "variant": "partial"}),
        ({"seeds": {"fault": 7}}, {"seeds": plain.seeds._replace(fault=7)}),
        ({"seeds": seeds}, {"seeds": Seeds(1, 2, 3)}),
        ({"budget": {"turns": 5}}, {"overrides": plain.overrides._replace(budget=(("turns", 5),))}),
        ({"people": {"approver": "approver.absent"}},
         {"overrides": plain.overrides._replace(people=(("approver", "approver.absent"),))}),
        ({"entities": 200}, {"overrides": plain.overrides._replace(entities=200)}),
    ]:  # fmt: skip
        env.reset(seed=9, options=options)
        got = coordinates_of(env)
        assert got.seeds == want.get("seeds", plain.seeds), options
        assert got.overrides == want.get("overrides", plain.overrides), options
        if "card" in want or "variant" in want:
            assert (got.card, got.variant) == (want["card"], want.get("variant", got.variant))
        else:
            assert (got.card, got.variant) == (plain.card, plain.variant), options


def test_budget_and_people_and_faults_take_effect() -> None:
    env = make(faults=["not_sent"], budget={"turns": 50})
    options = {"card": "X-01", "variant": "whole", "faults": ["commit_then_timeout"], "budget": {"tool_calls": 40}}
    _, info = play_reference(env, seed=0, options=options)
    episode = episode_of(env)
    assert info["grade"].fired == ("commit_then_timeout",)
    assert (episode.brief.limits.turns, episode.brief.limits.tool_calls) == (50, 40)
    assert info["is_success"]
    env = make(faults=["not_sent"], cards=["X-01"])
    _, absent = play_reference(env, seed=0, options={"people": {"approver": "approver.absent"}})
    assert episode_of(env).scenario.personas["approver"].id == "approver.absent"
    assert absent["grade"].fired == ()
    assert absent["outcome"] == "void", "its fault never fired, and nothing hard broke"


def test_options_last_for_one_episode() -> None:
    env, twin = make(), make()
    env.reset(seed=0, options={"card": "X-01", "budget": {"turns": 2}, "seeds": {"entity": 5}})
    twin.reset(seed=0)
    assert fingerprint(env.reset()) == fingerprint(twin.reset())
    assert coordinates_of(env) == coordinates_of(twin)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"card": "X-99"}, "'X-99' is not in family 'effect'; it has X-01"),
        ({"card": "X-01", "variant": "slow"}, "no variant 'slow'; it has whole, partial"),
        ({"variant": "sideways"}, "no variant 'sideways'"),
        ({"seeds": {"people": 1}}, "seeds: .* entity, interaction, fault"),
        ({"seeds": {"entity": -1}}, "seeds:"),
        ({"seeds": {"entity": 1.0}}, "seeds:"),
        ({"seeds": 3}, "seeds: 3"),
        ({"faults": ["flood"]}, "no fault 'flood'; there are commit_then_timeout"),
        ({"faults": [{"fault": "not_sent", "values": {"depth": 1}}]}, "'not_sent' has no parameter 'depth'"),
        ({"budget": {"patience": 1}}, "no meter 'patience'; there are effect_attempts"),
        ({"people": {"boss": "approver.prompt"}}, "no seat 'boss'; there are|no seat 'boss' here; there are"),
        ({"people": {"approver": "requester.cooperative"}}, "seat 'approver' admits approver.prompt"),
    ],
)
def test_wrong_options_are_told_what_is_wrong(options: dict[str, Any], says: str) -> None:
    env = make()
    with pytest.raises((OverrideError, CardError), match=says):
        env.reset(seed=0, options=options)


def test_seeds_lie_in_the_range_of_their_split() -> None:
    for split, allowed in (("train", TRAINING_SEEDS), ("all", EVALUATION_SEEDS)):
        env = make(split=split)
        env.reset(seed=0)
        for _ in range(20):
            env.reset()
            assert all(seed in allowed for seed in coordinates_of(env).seeds)


def test_all_cards_and_variants_come_up() -> None:
    env = make()
    env.reset(seed=0)
    met = set()
    for _ in range(150):
        env.reset()
        met.add((coordinates_of(env).card, coordinates_of(env).variant))
    assert met == {(card.id, variant) for card in base_of(env).cards for variant in card.variants}
    assert len(met) == 7


@pytest.mark.parametrize("seed", [np.int64(3), 3.0, "3", -1])
def test_a_seed_is_a_python_integer_from_zero_on(seed: Any) -> None:
    # Gymnasium's own rule, for every environment: cast what NumPy drew with `int(...)`.
    with pytest.raises(gymnasium.error.Error, match="Seed must be"):
        make().reset(seed=seed)
