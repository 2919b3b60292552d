"""`CallMenu`: one `Discrete` over all calls, with an exact joint mask."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded

from fieldops_gym.core.streams import Stream
from fieldops_gym.wrappers import CallMenu, JsonCalls, ShapedReward
from tests.counts import count
from tests.envs.playing import base_of, episode_of, fingerprint, make, reference_choice


def drawn(mask: np.ndarray, step: int) -> int:
    return Stream(0, "menu").draw(step).pick(np.flatnonzero(mask).tolist())


def entries_of(env: gymnasium.Env) -> int:
    assert isinstance(env.action_space, gymnasium.spaces.Discrete)
    return int(env.action_space.n)


def test_the_space_is_the_menu() -> None:
    env = CallMenu(make())
    assert entries_of(env) == len(env.labels)
    assert env.action_space.start == 0
    assert len(set(env.labels)) == len(env.labels) < 200
    assert env.observation_space == base_of(env).observation_space


def test_every_entry_makes_the_call_that_its_label_says() -> None:
    env = CallMenu(make())
    for entry, label in enumerate(env.labels):
        env.reset(seed=0)
        env.step(entry)
        assert episode_of(env).steps[-1].call.tool == label.split()[0]


@pytest.mark.parametrize(
    "options",
    [
        {"card": "X-01", "variant": "whole"},
        {"card": "X-02", "variant": "timeout"},
        {"card": "X-03", "variant": "immediate", "budget": {"effect_attempts": 1}},
        {"card": "X-02", "variant": "not_sent", "budget": {"effect_attempts": 1}},
        {"card": "X-01", "variant": "partial", "budget": {"effect_attempts": 0}},
    ],
    ids=str,
)
def test_the_mask_is_exact(options: dict[str, Any]) -> None:
    """An entry is legal exactly when its call is not refused for its form, its references or the budget."""
    env, unlawful = CallMenu(make()), {"invalid_arguments", "not_found", "unknown_tool", "malformed", "budget_exhausted"}
    _, info = env.reset(seed=1, options=options)
    episode, catalogue = episode_of(env), base_of(env).layout.catalogue
    judged = []
    while not episode.ended:
        mask, step = info["action_mask"], len(episode.steps)
        assert (mask.dtype, mask.shape) == (np.dtype(bool), (entries_of(env),))
        assert (mask == env.action_masks()).all()
        for entry in range(step % count(11, 1), len(mask), count(11, 1)):
            tried = episode.branch(step)
            call, _ = catalogue.decode(catalogue.plan(catalogue.entries[entry].action), tried.lead_view.rows)
            result = tried.call(call)
            assert mask[entry] == (result.reply.code not in unlawful), (step, env.labels[entry], result.reply)
            judged.append(bool(mask[entry]))
        others = [entry for entry in np.flatnonzero(mask).tolist() if catalogue.entries[entry].tool != "finish"]
        # Where the reference would stop at once, some other calls come first.
        wandering = episode.scenario.limits.effect_attempts == 0 and step < 12
        info = env.step(others[step * 7 % len(others)] if wandering else reference_choice(base_of(env)))[-1]
    assert judged.count(True) > 20
    assert judged.count(False) > 20


def test_the_mask_in_info_is_the_callers_own() -> None:
    env = CallMenu(make())
    _, info = env.reset(seed=0)
    want = info["action_mask"].copy()
    info["action_mask"][...] = True
    env.action_masks()[...] = True
    assert (env.action_masks() == want).all()
    assert not want.all()


def test_wherever_it_sits_the_mask_that_trainers_ask_for_is_the_menus() -> None:
    for env in (CallMenu(ShapedReward(make())), ShapedReward(CallMenu(make()))):
        env.reset(seed=0)
        assert env.get_wrapper_attr("action_masks")().shape == (entries_of(env),)


def test_menu_and_array_give_the_same_answers() -> None:
    menu, plain = CallMenu(make()), make()
    _, info = menu.reset(seed=2)
    plain.reset(seed=2)
    for step in range(60):
        entry = drawn(info["action_mask"], step)
        observation, reward, terminated, truncated, info = menu.step(entry)
        theirs = plain.step(base_of(menu).layout.catalogue.actions[entry])
        theirs[-1]["action_mask"] = info["action_mask"]
        assert fingerprint((observation, reward, terminated, truncated, info)) == fingerprint(theirs)
        assert type(reward) is float
        if terminated:
            break
    assert episode_of(menu).world.log_digest() == episode_of(plain).world.log_digest()


@pytest.mark.parametrize("action", [-1, 10**6, 0.5, None, "3", np.array([1, 2]), np.float32(1), [0]], ids=str)
def test_what_is_no_entry_raises(action: Any) -> None:
    env = CallMenu(make())
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="not an entry of the menu"):
        env.step(action)
    assert episode_of(env).steps == []


@pytest.mark.parametrize("action", [0, np.int64(0), np.int32(0), np.uint8(0), np.array(0)], ids=repr)
def test_integers_of_every_kind_are_entries(action: Any) -> None:
    env = CallMenu(make())
    env.reset(seed=0)
    env.step(action)
    assert len(episode_of(env).steps) == 1


def test_after_the_end_it_raises() -> None:
    env = CallMenu(make(budget={"turns": 1}))
    _, info = env.reset(seed=0)
    assert env.step(drawn(info["action_mask"], 0))[2] is True
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_it_goes_around_array_actions_of_fieldops_only() -> None:
    with pytest.raises(TypeError, match="CallMenu wraps a FieldOps environment, not CartPoleEnv"):
        CallMenu(gymnasium.make("CartPole-v1"))
    with pytest.raises(TypeError, match="CallMenu goes around the array face, not around CallMenu, which"):
        CallMenu(CallMenu(make()))
    for env in (JsonCalls(make()), ShapedReward(JsonCalls(make()))):
        with pytest.raises(
            TypeError, match=r"^CallMenu goes around the array face, not around JsonCalls, which takes its place$"
        ):
            CallMenu(env)
