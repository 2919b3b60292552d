"""Copies of whole stacks: deep copies, pickles and specs give environments that play on alike and apart."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from fieldops_gym.core.streams import Stream
from fieldops_gym.wrappers import BudgetLimit, CallMenu, FaultInjection, JsonCalls, ShapedReward, UserTurns
from tests.envs.playing import base_of, episode_of, fingerprint, make, reference_call, reference_choice

Build = Callable[[], gymnasium.Env]

STACKS: dict[str, Build] = {
    "none": make,
    "arguments": lambda: make(
        cards=["X-02"], verdicts="every_step", budget={"turns": 40}, people={"approver": "approver.prompt"}
    ),
    "CallMenu": lambda: CallMenu(make()),
    "JsonCalls": lambda: JsonCalls(make()),
    "FaultInjection": lambda: FaultInjection(make(), [{"fault": "slow_reconcile", "values": {"seconds": 700}}], mode="append"),
    "BudgetLimit": lambda: BudgetLimit(make(), {"turns": 30}),
    "UserTurns": lambda: UserTurns(make(), {"approver": "approver.deliberate"}),
    "ShapedReward": lambda: ShapedReward(make(), weight=0.5),
    "learner": lambda: CallMenu(ShapedReward(FaultInjection(make(), ["commit_then_timeout"]))),
    "terms": lambda: CallMenu(
        UserTurns(BudgetLimit(FaultInjection(make(), ["not_sent"]), {"turns": 30}), {"requester": "requester.insisting"})
    ),
    "model": lambda: JsonCalls(FaultInjection(FaultInjection(make(), ["not_sent"]), ["stale_reconcile"], mode="append")),
    "the other way round": lambda: FaultInjection(ShapedReward(JsonCalls(make(verdicts="every_step")))),
    "with a limit": lambda: CallMenu(gymnasium.make("FieldOps-Effect-v0", max_episode_steps=9)),
}


def all_stacks(test: Any) -> Any:
    return pytest.mark.parametrize("build", list(STACKS.values()), ids=list(STACKS))(test)


def action_for(env: gymnasium.Env, step: int, seed: int) -> Any:
    """Return an action that fits the stack: what the reference would do, or now and then any legal call."""
    base, draw = base_of(env), Stream(seed, "copies").draw(step)
    catalogue, legal = base.layout.catalogue, np.flatnonzero(episode_of(env).lead_view.menu_mask()).tolist()
    legal = [entry for entry in legal if catalogue.entries[entry].tool != "finish"]
    entry = draw.pick(legal) if draw.below(4) == 0 else reference_choice(base)
    if isinstance(env.action_space, gymnasium.spaces.Discrete):
        return entry
    if isinstance(env.action_space, gymnasium.spaces.Text):
        return reference_call(base).to_json()
    return catalogue.actions[entry]


def played(env: gymnasium.Env, steps: int, seed: int = 0) -> Iterator[str]:
    """Yield digests of what the next `steps` steps return, on into new episodes."""
    for step in range(steps):
        answer = env.step(action_for(env, step, seed))
        yield fingerprint(answer)
        if answer[2] or answer[3]:
            yield fingerprint(env.reset())


def running(build: Build) -> gymnasium.Env:
    """Return an environment in the middle of its second episode."""
    env = build()
    env.reset(seed=1)
    env.reset()
    assert len(list(played(env, 6))) == 6
    return env


def thawed_by(dump: Callable[[Any], bytes]) -> Callable[[gymnasium.Env], gymnasium.Env]:
    return lambda env: pickle.loads(dump(env))


COPIERS = {"deepcopy": copy.deepcopy, "pickle": thawed_by(pickle.dumps), "cloudpickle": thawed_by(cloudpickle.dumps)}


@all_stacks
@pytest.mark.parametrize("copier", list(COPIERS.values()), ids=list(COPIERS))
def test_a_copy_of_a_running_environment_plays_on_alike(build: Build, copier: Any) -> None:
    env, twin = running(build), running(build)
    other = copier(env)
    assert list(played(other, 40)) == list(played(env, 40)) == list(played(twin, 40))
    assert episode_of(other).world.log_digest() == episode_of(env).world.log_digest()


@all_stacks
def test_a_copy_plays_apart(build: Build) -> None:
    """The copy plays something else first; its original never notices, nor the other way round."""
    env, twin = running(build), running(build)
    other = copy.deepcopy(env)
    kept = copy.deepcopy(env)
    list(played(other, 30, seed=5))
    other.reset(seed=77)
    want = list(played(twin, 30))
    assert list(played(env, 30)) == want
    assert list(played(kept, 30)) == want


@all_stacks
def test_interleaved_copies_do_not_disturb_each_other(build: Build) -> None:
    env = running(build)
    copies = [copy.deepcopy(env) for _ in range(3)]
    traces = list(zip(*(played(each, 25) for each in [env, *copies]), strict=True))
    assert all(len(set(row)) == 1 for row in traces)


@all_stacks
def test_a_copy_shares_no_array_with_its_original(build: Build) -> None:
    env = running(build)
    other = copy.deepcopy(env)
    mine, theirs = episode_of(env), episode_of(other)
    assert mine is not theirs
    assert mine.world is not theirs.world
    assert not np.shares_memory(mine.lead_view.flat, theirs.lead_view.flat)
    assert not np.shares_memory(mine.lead_view.mask, theirs.lead_view.mask)
    assert theirs.view() is theirs.lead_view, "the copy's view is not the one that its gateway writes"


@all_stacks
def test_the_spec_goes_through_json_and_back(build: Build) -> None:
    env = build()
    assert env.spec is not None
    text = env.spec.to_json()
    again = gymnasium.make(EnvSpec.from_json(text))
    assert [type(layer) for layer in layers_of(again)] == [type(layer) for layer in layers_of(env)]
    assert again.spec is not None
    assert again.spec.to_json() == text
    assert fingerprint(env.reset(seed=2)) == fingerprint(again.reset(seed=2))
    assert list(played(env, 30)) == list(played(again, 30))


@all_stacks
def test_a_spec_made_twice_gives_two_environments(build: Build) -> None:
    spec = build().spec
    assert spec is not None
    one, other = gymnasium.make(spec), gymnasium.make(spec)
    one.reset(seed=0)
    list(played(one, 10))
    assert base_of(one) is not base_of(other)
    assert base_of(other).episode is None


def layers_of(env: gymnasium.Env) -> list[gymnasium.Env]:
    layers = [env]
    while isinstance(layers[-1], gymnasium.Wrapper):
        layers.append(layers[-1].env)
    return layers


def test_a_fresh_environment_copies_too() -> None:
    env = CallMenu(make())
    other = copy.deepcopy(env)
    assert fingerprint(env.reset(seed=0)) == fingerprint(other.reset(seed=0))
