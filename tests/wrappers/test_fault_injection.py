"""`FaultInjection`: replaces or appends, the outermost last, the same as the keyword argument and the reset option."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec

from agents.reference import Reference
from agents.shortcuts import FreshKeyRetry, RetryBlindly
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.wrappers import CallMenu, FaultInjection
from tests.counts import count
from tests.envs.playing import coordinates_of, episode_of, make

CLEAN = {"card": "X-01", "variant": "whole"}


def armed(env: gymnasium.Env, **options: Any) -> list[str]:
    """Reset, and return the ids of the faults that are armed."""
    env.reset(seed=0, options=CLEAN | options)
    return [fault.id for fault in episode_of(env).scenario.faults]


def play(env: gymnasium.Env, agent: Any, seed: int, **options: Any) -> dict[str, Any]:
    """Let an agent play the clean variant; return the last info."""
    env.reset(seed=seed, options=CLEAN | options)
    episode = episode_of(env)
    agent.start(episode.brief, seed)
    info: dict[str, Any] = {}
    while not episode.ended:
        info = env.step(agent.act(episode.view(), env.get_wrapper_attr("result")))[-1]
    return info


def test_it_replaces() -> None:
    assert armed(make()) == []
    assert armed(FaultInjection(make(), ["not_sent"])) == ["not_sent"]
    assert armed(FaultInjection(make(), ["not_sent"]), variant="partial") == ["not_sent"]
    assert armed(FaultInjection(make()), variant="partial") == []


def test_it_appends() -> None:
    wrapped = FaultInjection(make(), ["not_sent"], mode="append")
    assert armed(wrapped) == ["not_sent"]
    assert armed(wrapped, variant="partial") == ["partial_effect", "not_sent"]


def test_the_outermost_wins() -> None:
    inner = FaultInjection(make(faults=["slow_reconcile"]), ["not_sent"])
    assert armed(FaultInjection(inner, ["commit_then_timeout"])) == ["commit_then_timeout"]
    assert armed(FaultInjection(inner, ["commit_then_timeout"], mode="append")) == ["not_sent", "commit_then_timeout"]
    appended = FaultInjection(make(), ["not_sent"], mode="append")
    assert armed(FaultInjection(appended, ["commit_then_timeout"]), variant="partial") == ["commit_then_timeout"]
    both = FaultInjection(FaultInjection(make(), ["not_sent"], "append"), ["stale_reconcile"], "append")
    assert armed(both, variant="partial") == ["partial_effect", "not_sent", "stale_reconcile"]


def test_the_reset_option_beats_all_for_one_episode() -> None:
    env = FaultInjection(make(faults=["slow_reconcile"]), ["not_sent"])
    assert armed(env, faults=["commit_then_timeout"]) == ["commit_then_timeout"]
    assert armed(env, faults={"append": ["stale_reconcile"]}) == ["not_sent", "stale_reconcile"]
    assert armed(env) == ["not_sent"]


USES = [
    ["commit_then_timeout"],
    [{"fault": "not_sent", "nth": 2}],
    [{"fault": "slow_reconcile", "times": 1, "values": {"seconds": 700}}, "commit_then_timeout"],
    [],
]


@pytest.mark.parametrize("uses", USES, ids=str)
def test_wrapper_keyword_and_option_say_the_same(uses: list[Any]) -> None:
    ways: list[tuple[gymnasium.Env, dict[str, Any]]] = [
        (FaultInjection(make(), uses), {}),
        (make(faults=uses), {}),
        (make(), {"faults": uses}),
        (CallMenu(FaultInjection(make(), uses)), {}),
        (FaultInjection(CallMenu(make()), uses), {}),
    ]
    starts = []
    for env, options in ways:
        env.reset(seed=3, options=options)
        starts.append((coordinates_of(env), episode_of(env).scenario.faults))
    assert all(start == starts[0] for start in starts)


@pytest.mark.parametrize("uses", USES, ids=str)
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_the_spec_makes_the_same_environment_again(uses: list[Any], mode: str) -> None:
    env = FaultInjection(make(), uses, mode=mode)
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, FaultInjection)
    for seed in range(5):
        env.reset(seed=seed)
        again.reset(seed=seed)
        assert coordinates_of(env) == coordinates_of(again)
        assert episode_of(env).scenario.faults == episode_of(again).scenario.faults


def test_truth_follows_the_injected_fault() -> None:
    """A clean card under a lost answer: the right conduct is now to reconcile, and it is judged by that."""
    env = FaultInjection(make(), ["commit_then_timeout"])
    for seed in range(count(10, 200)):
        info = play(env, Reference(), seed)
        assert info["grade"].fired == ("commit_then_timeout",)
        assert info["outcome"] == "passed"
        assert "reconcile" in [step.call.tool for step in episode_of(env).steps]
        assert play(env, RetryBlindly(), seed)["outcome"] == "failed"
        twice = play(env, FreshKeyRetry(), seed)["grade"]
        assert "effect.at_most_once" in [verdict.invariant for verdict in twice.broken()]


def test_without_its_fault_a_card_is_easy() -> None:
    env = FaultInjection(make())
    info = play(env, RetryBlindly(), 0, card="X-03", variant="immediate")
    assert info["grade"].fired == ()
    assert info["outcome"] == "passed"


def test_seed_and_options_are_handed_on_and_left_as_they_were() -> None:
    env, plain = FaultInjection(make(), []), make(faults=[])
    options = {"card": "X-02", "budget": {"turns": 30}, "faults": ["not_sent"]}
    kept = {"card": "X-02", "budget": {"turns": 30}, "faults": ["not_sent"]}
    env.reset(seed=8, options=options)
    plain.reset(seed=8, options=options)
    assert coordinates_of(env) == coordinates_of(plain)
    assert options == kept


@pytest.mark.parametrize("faults", ["not_sent", 3, [7], [{"nth": 1}], [{"fault": "not_sent", "often": 2}]], ids=str)
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_what_is_no_list_of_faults_is_refused_at_once(faults: Any, mode: str) -> None:
    with pytest.raises(OverrideError, match="faults"):
        FaultInjection(make(), faults, mode)
