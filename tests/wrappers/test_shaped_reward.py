"""`ShapedReward`: each milestone is paid once, nothing after a violation, and the sum of a right run is known."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agents.reference import Reference
from agents.shortcuts import ClaimSuccess, RetryBlindly, SkipApproval
from fieldops_gym import ToolCall
from fieldops_gym.wrappers import CallMenu, ShapedReward
from tests.counts import count
from tests.envs.playing import base_of, episode_of, legal_actions, make, play_reference, reference_call
from tests.support import VARIANTS, env_id_of


def rewards_of(env: gymnasium.Env, agent: Any, **reset: Any) -> tuple[list[float], list[int], dict[str, Any]]:
    """Let an agent play; return the reward and the count of milestones after every step, and the last info."""
    env.reset(**reset)
    episode = episode_of(env)
    agent.start(episode.brief, 0)
    rewards, reached, info = [], [], {}
    while not episode.ended:
        _, reward, _, _, info = env.step(agent.act(episode.view(), base_of(env).result))
        assert type(reward) is float
        rewards.append(reward)
        reached.append(info["milestones"])
    return rewards, reached, info


def options_of(name: str) -> dict[str, str]:
    card, variant = name.split(":")
    return {"card": card, "variant": variant}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_right_run_is_paid_the_weight_and_the_final_reward(name: str, weight: float) -> None:
    """The reference is paid a share of the weight for each milestone, and 1.0; where it can complete, all of the weight."""
    env = ShapedReward(gymnasium.make(env_id_of(name), split="all"), weight=weight)
    for seed in range(count(3, 100)):
        rewards, reached, info = rewards_of(env, Reference(), seed=seed, options=options_of(name))
        assert info["is_success"]
        assert sum(rewards) == pytest.approx(weight * reached[-1] / len(env.names) + 1.0)
        assert len(env.reached()) == reached[-1] > 0
        if name.split(":")[0] in ("X-01", "X-02", "X-03"):
            assert env.reached() == env.names


def test_each_milestone_is_paid_once_and_by_its_share() -> None:
    env = ShapedReward(make())
    share = 1.0 / len(env.names)
    rewards, reached, _ = rewards_of(env, Reference(), seed=0)
    rewards[-1] -= 1.0
    before = 0
    for reward, after in zip(rewards, reached, strict=True):
        assert reward == pytest.approx(share * (after - before))
        before = after


def test_doing_it_again_pays_nothing() -> None:
    env = ShapedReward(make())
    env.reset(seed=0)
    first = reference_call(base_of(env))
    assert env.step(first)[1] > 0  # type: ignore[arg-type]
    assert [env.step(first)[1] for _ in range(3)] == [0.0, 0.0, 0.0]  # type: ignore[arg-type]


def test_a_reset_forgets() -> None:
    env = ShapedReward(make())
    first, _ = play_reference(env, seed=0)
    _, info = env.reset(seed=0)
    assert info["milestones"] == 0
    assert env.reached() == ()
    again, _ = play_reference(env, seed=0)
    assert again == first


def test_nothing_is_paid_after_a_hard_violation() -> None:
    """Reserving before anybody approved breaks a hard invariant: what comes after is right, and pays nothing."""
    env = ShapedReward(make())
    rewards, reached, info = rewards_of(env, SkipApproval(), seed=0, options=options_of("X-01:whole"))
    tools = [step.call.tool for step in episode_of(env).steps]
    fell = tools.index("reserve")
    assert not info["is_success"]
    assert sum(rewards[:fell]) > 0
    assert rewards[fell:] == [0.0] * len(rewards[fell:])
    assert len(rewards[fell:]) > 4
    assert set(reached[fell:]) == {reached[fell - 1]}


@pytest.mark.parametrize(("agent", "name"), [(RetryBlindly, "X-03:immediate"), (ClaimSuccess, "X-01:whole")])
def test_a_wrong_run_is_paid_less_than_a_right_one(agent: Any, name: str) -> None:
    right, wrong = ShapedReward(make()), ShapedReward(make())
    most = sum(rewards_of(right, Reference(), seed=0, options=options_of(name))[0])
    assert sum(rewards_of(wrong, agent(), seed=0, options=options_of(name))[0]) < most - 1.0


def test_a_prohibited_tool_ends_the_pay() -> None:
    env = ShapedReward(make())
    env.reset(seed=0)
    env.step(ToolCall.of(min(base_of(env).domain.prohibited)))  # type: ignore[arg-type]
    assert [env.step(reference_call(base_of(env)))[1] for _ in range(5)] == [0.0] * 5  # type: ignore[arg-type]


def test_random_runs_are_never_paid_more_than_the_weight() -> None:
    env = ShapedReward(make(), weight=2.0)
    for seed in range(count(15, 300)):
        env.reset(seed=seed)
        actions, total, ended, latest = legal_actions(base_of(env), seed), 0.0, False, 0
        while not ended:
            _, reward, ended, _, info = env.step(next(actions))
            total += float(reward)
            assert reward >= 0.0
            assert info["milestones"] >= latest, "a milestone was lost"
            latest = info["milestones"]
        assert total - info["is_success"] == pytest.approx(2.0 * latest / len(env.names))


def test_milestones_have_names_and_the_weight_may_be_nothing() -> None:
    env = ShapedReward(make(), weight=0.0)
    assert len(set(env.names)) == len(env.names) >= 12
    assert all(isinstance(name, str) and name.isidentifier() for name in env.names)
    assert play_reference(env, seed=0)[0] == 1.0


def test_it_does_not_care_where_in_the_stack_it_sits() -> None:
    inside, outside = CallMenu(ShapedReward(make())), ShapedReward(CallMenu(make()))
    inside.reset(seed=3)
    outside.reset(seed=3)
    for step in range(20):
        entry = int(inside.action_masks().nonzero()[0][step % 3])
        assert inside.step(entry)[1:3] == outside.step(entry)[1:3]


def test_it_wraps_fieldops_environments_only() -> None:
    with pytest.raises(TypeError, match="ShapedReward wraps a FieldOps environment, not CartPoleEnv"):
        ShapedReward(gymnasium.make("CartPole-v1"))
