"""What an environment costs to keep: memory over many episodes, nothing alive after its end, open to those who look."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from typing import Any

import gymnasium
import pytest

from fieldops_gym.wrappers import CallMenu, FaultInjection, JsonCalls, ShapedReward
from tests.counts import count
from tests.envs.playing import base_of, legal_actions, make, play_reference, reference_choice

MEGABYTE = 1_000_000


def stack(env: gymnasium.Env) -> gymnasium.Env:
    return CallMenu(ShapedReward(FaultInjection(env, ["not_sent"])))


def spin(env: gymnasium.Env, episodes: int) -> None:
    """Reset and make a few calls, many times."""
    actions = legal_actions(base_of(env), 0)
    for _ in range(episodes):
        env.reset()
        for _ in range(3):
            if env.step(next(actions))[2]:
                break


def test_memory_does_not_grow_with_episodes() -> None:
    env = make()
    env.reset(seed=0)
    tracemalloc.start()
    try:
        spin(env, 100)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        spin(env, count(600, 5000))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < MEGABYTE


@pytest.mark.parametrize("wrap", [lambda env: env, stack, JsonCalls])
def test_nothing_stays_alive_after_its_end(wrap: Any) -> None:
    env = wrap(make())
    env.reset(seed=0)
    env.step(env.action_space.sample())
    base = base_of(env)
    left = [weakref.ref(env), weakref.ref(base), weakref.ref(base.episode)]
    env.close()
    del env, base
    gc.collect()
    assert [ref() for ref in left] == [None, None, None]


def test_an_episode_does_not_outlive_the_next_reset() -> None:
    env = make()
    env.reset(seed=0)
    old = weakref.ref(base_of(env).episode)
    env.reset()
    gc.collect()
    assert old() is None


PUBLIC = ("action_masks", "cards", "domain", "episode", "invariants", "layout", "pack", "result", "sample_mask", "split",
          "verdicts_mode")  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_reached_through_the_wrappers(name: str) -> None:
    env = stack(make())
    env.reset(seed=0)
    assert env.has_wrapper_attr(name)
    assert env.get_wrapper_attr(name) is not None or name == "result"


def test_the_list_of_public_attributes_is_whole() -> None:
    env = make()
    env.reset(seed=0)
    base = base_of(env)
    ours = {name for name in vars(base) | vars(type(base).__mro__[1]) if not name.startswith("_")}
    gymnasiums = set(dir(gymnasium.Env)) | {"action_space", "observation_space", "spec", "render_mode", "domain_name", "family"}
    assert ours - gymnasiums == set(PUBLIC)


def test_wrappers_look_nothing_up_while_stepping(monkeypatch: pytest.MonkeyPatch) -> None:
    env = stack(make())
    env.reset(seed=0)
    base = base_of(env)
    looked: list[str] = []
    original = gymnasium.Wrapper.unwrapped.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(gymnasium.Wrapper, "unwrapped", property(lambda self: looked.append("unwrapped") or original(self)))
    monkeypatch.setattr(gymnasium.Wrapper, "get_wrapper_attr", lambda self, name: looked.append(name))
    for _ in range(12):
        env.step(reference_choice(base))
    assert looked == []
    assert env.unwrapped is base
    assert looked, "the probe itself sees nothing"


def test_closing_twice_is_harmless_and_a_closed_environment_is_gone_for_nobody_else() -> None:
    env, other = make(), make()
    env.close()
    env.close()
    assert play_reference(other, seed=0)[1]["is_success"]
