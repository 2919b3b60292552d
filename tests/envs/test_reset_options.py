"""Reset options and seeds: each sets what it names and nothing else, for one episode, and says what is wrong."""

from __future__ import annotations

import logging
from typing import Any

import gymnasium
import numpy as np
import pytest

from fieldops_gym import Seeds
from fieldops_gym.core.cards import CardError
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.core.streams import EVALUATION_SEEDS, TRAINING_SEEDS
from tests.envs.playing import base_of, coordinates_of, episode_of, fingerprint, make, play_reference


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


def test_an_unknown_argument_is_told_what_there_is() -> None:
    known = "split, cards, tasks, faults, budget, people, entities, verdicts, render_mode"
    with pytest.raises(TypeError, match=f"got an unexpected keyword argument 'foo'; there are {known}"):
        make(foo=1)
    env = make(cards=["X-01"], entities=100)
    assert env.spec is not None
    assert gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())).spec == env.spec


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
        ({"faults": ["flood"]}, "no fault 'flood'; there are approval_delay"),
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
