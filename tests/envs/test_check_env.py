"""The checkers of Gymnasium and Stable-Baselines3, rendering, and what wrong arguments are told."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from fieldops_gym import ENVIRONMENTS
from fieldops_gym.core.cards import CardError
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.wrappers import CallMenu, FaultInjection, ShapedReward
from tests.envs.playing import ENV_ID, base_of, make, play_reference, reference_call

IDS = [row.id for row in ENVIRONMENTS]


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("verdicts", ["end", "every_step"])
def test_gymnasium_finds_nothing_in_the_bare_environment(env_id: str, verdicts: str) -> None:
    env = gymnasium.make(env_id, verdicts=verdicts).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_finds_only_its_own_wrappers_in_the_made_environment(env_id: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gymnasium.make(env_id))
    others = [str(w.message) for w in caught if "is different from the unwrapped version" not in str(w.message)]
    assert others == []


def bare(env: gymnasium.Env) -> gymnasium.Env:
    return env.unwrapped


def stacked(env: gymnasium.Env) -> gymnasium.Env:
    return CallMenu(ShapedReward(FaultInjection(env, ["not_sent"])))


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("wrap", [bare, gymnasium.Wrapper, CallMenu, ShapedReward, stacked])
def test_stable_baselines_finds_nothing(env_id: str, wrap: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb3_check_env(wrap(gymnasium.make(env_id)))


def test_ansi_shows_what_the_seat_sees() -> None:
    env = make(render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded):
        base_of(env).render()
    env.reset(seed=0, options={"card": "X-01", "variant": "whole"})
    base = base_of(env)
    assert base.episode is not None
    before = env.render()
    assert isinstance(before, str)
    assert base.episode.brief.request in before
    assert "last:" not in before
    while not base.episode.ended:
        call = reference_call(base)
        env.step(call)  # type: ignore[arg-type]
        text = env.render()
        assert isinstance(text, str)
        assert f"last: {call.tool}" in text
        assert f"t = {base.episode.lead_view.now} s" in text
    assert "ended: finished" in str(env.render())


def test_ansi_shows_no_record_that_the_seat_was_not_shown() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=0, options={"card": "X-01", "variant": "partial"})
    episode = base_of(env).episode
    assert episode is not None
    text = str(env.render())
    unread = [key for table in ("manual", "part", "slot", "technician") for key in episode.world.tables[table]]
    assert len(unread) > 20
    assert [key for key in unread if key in text] == []


def test_a_list_of_frames_comes_from_gymnasium() -> None:
    env = make(render_mode="ansi_list")
    play_reference(env, seed=0)
    frames = env.render()
    assert isinstance(frames, list)
    assert len(frames) > 5
    assert all(isinstance(frame, str) for frame in frames)


def test_render_without_a_mode_warns_and_gives_nothing() -> None:
    env = make()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert base_of(env).render() is None


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"render_mode": "hologram"}, ValueError, "render_mode: 'hologram' is none of"),
        ({"verdicts": "sometimes"}, ValueError, "verdicts: 'sometimes' is none of"),
        ({"split": "trian"}, CardError, "no card in split 'trian'.*X-01 .train."),
        ({"cards": ["X-99"]}, CardError, "'X-99'.*X-01"),
        ({"cards": "X-01"}, CardError, "cards: 'X-01' is not a sequence"),
        ({"cards": []}, CardError, "cards:"),
        ({"tasks": "no/such/folder"}, CardError, "no such directory"),
        ({"faults": "not_sent"}, OverrideError, "faults: 'not_sent' is not a list"),
        ({"faults": [{"nth": 1}]}, OverrideError, "faults:"),
        ({"faults": {"prepend": []}}, OverrideError, "append"),
        ({"budget": {"turns": -1}}, OverrideError, "budget.turns: -1"),
        ({"budget": {"turns": 1.5}}, OverrideError, "budget.turns: 1.5"),
        ({"budget": 12}, OverrideError, "budget: 12 is not a mapping"),
        ({"people": ["approver"]}, OverrideError, "people:"),
        ({"entities": "many"}, OverrideError, "entities: 'many'"),
    ],
)
def test_wrong_arguments_are_told_what_is_wrong(arguments: dict[str, Any], kind: type[Exception], says: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=says):
            gymnasium.make(ENV_ID, **arguments)
