"""`BudgetLimit` and `UserTurns` beside `FaultInjection`: one layer each, in any order, the outermost with the last word."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.reference import Reference
from fieldops_gym import grade, merge
from fieldops_gym.core.overrides import OverrideError, Overrides
from fieldops_gym.wrappers import BudgetLimit, FaultInjection, UserTurns
from tests.counts import count
from tests.envs.playing import coordinates_of, episode_of, make
from tests.support import play

Wrap = Callable[[gymnasium.Env], gymnasium.Env]

DELIBERATE = {"approver": "approver.deliberate"}
ABSENT = {"approver": "approver.absent"}
WRAPS: dict[str, Wrap] = {
    "faults": lambda env: FaultInjection(env, ["not_sent"]),
    "budget": lambda env: BudgetLimit(env, {"turns": 30, "retries": 2}),
    "people": lambda env: UserTurns(env, DELIBERATE),
}


def overrides(env: gymnasium.Env, **options: Any) -> Overrides:
    """Reset, and return what was merged."""
    env.reset(seed=5, options=options)
    return coordinates_of(env).overrides


@pytest.mark.parametrize("order", list(permutations(WRAPS)), ids="-".join)
def test_any_order_of_wrappers_that_touch_different_things_says_the_same(order: tuple[str, ...]) -> None:
    env = make()
    for name in order:
        env = WRAPS[name](env)
    assert overrides(env) == merge([{"faults": ["not_sent"], "budget": {"turns": 30, "retries": 2}, "people": DELIBERATE}])


@pytest.mark.parametrize(
    ("name", "wrap", "value"),
    [("budget", BudgetLimit, {"turns": 31}), ("people", UserTurns, ABSENT), ("people", UserTurns, {"requester": "outside"})],
)
def test_wrapper_keyword_and_option_give_one_log(name: str, wrap: Any, value: dict[str, Any]) -> None:
    ways = [(wrap(make(), value), {}), (make(**{name: value}), {}), (make(), {name: value})]
    logs = []
    for env, options in ways:
        env.reset(seed=3, options={"card": "X-01", "variant": "whole", **options})
        logs.append((coordinates_of(env), play(episode_of(env), Reference()).world.log_digest()))
    assert logs[0] == logs[1] == logs[2]


def test_the_outermost_wins_and_the_option_beats_it() -> None:
    env = BudgetLimit(BudgetLimit(make(budget={"turns": 50}), {"turns": 40}), {"turns": 30})
    assert overrides(env).budget == (("turns", 30),)
    assert overrides(env, budget={"turns": 20}).budget == (("turns", 20),)
    people = UserTurns(UserTurns(make(), ABSENT), DELIBERATE)
    assert overrides(people).people == (("approver", "approver.deliberate"),)
    assert overrides(people, people=ABSENT).people == (("approver", "approver.absent"),)


def test_appending_leaves_the_others_and_replacing_does_not() -> None:
    inner = BudgetLimit(make(budget={"retries": 1}), {"turns": 40})
    assert overrides(BudgetLimit(inner, {"tool_calls": 20})).budget == (("retries", 1), ("tool_calls", 20), ("turns", 40))
    assert overrides(BudgetLimit(inner, {"tool_calls": 20}, mode="replace")).budget == (("tool_calls", 20),)
    assert overrides(BudgetLimit(inner, mode="replace")).budget == ()
    seats = UserTurns(make(), ABSENT)
    both = (("approver", "approver.absent"), ("colleague", "colleague.insisting"))
    assert overrides(UserTurns(seats, {"colleague": "colleague.insisting"})).people == both
    assert overrides(UserTurns(seats, {"colleague": "colleague.insisting"}, mode="replace")).people == both[1:]


@pytest.mark.parametrize("order", list(permutations(WRAPS)), ids="-".join)
def test_a_stack_survives_its_spec(order: tuple[str, ...]) -> None:
    env = make()
    for name in order:
        env = WRAPS[name](env)
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is type(env)
    assert overrides(again) == overrides(env)


def test_a_small_budget_ends_the_run_where_the_card_says() -> None:
    env = BudgetLimit(make(), {"turns": 4})
    for seed in range(count(3, 30)):
        env.reset(seed=seed)
        episode = play(episode_of(env), Reference())
        assert episode.ending == "budget:turns"
        assert episode.account is not None
        assert episode.account.disposition == episode.scenario.contract.fallback
        assert not grade(episode.domain, episode.trial()).broken(), "nobody can do it in four turns"


def test_the_truth_follows_who_sits_in_a_seat() -> None:
    env = UserTurns(make(), ABSENT)
    for seed in range(count(5, 50)):
        env.reset(seed=seed, options={"card": "X-01", "variant": "whole"})
        episode = play(episode_of(env), Reference())
        assert episode.account is not None
        assert episode.account.disposition == "escalated"
        assert grade(episode.domain, episode.trial()).outcome == "passed"


@pytest.mark.parametrize(
    ("wrap", "value", "match"),
    [
        (BudgetLimit, {"patience": 3}, "no meter 'patience'; there are"),
        (BudgetLimit, {"turns": -1}, "budget.turns: -1 is not an integer >= 0"),
        (BudgetLimit, {"turns": 2.5}, "budget.turns: 2.5 is not an integer >= 0"),
        (UserTurns, {"janitor": "approver.prompt"}, "no seat 'janitor' here; there are"),
        (UserTurns, {"approver": "requester.cooperative"}, "seat 'approver' admits"),
        (UserTurns, {"approver": 3}, "people.approver: 3 is not the id of a persona"),
        (FaultInjection, ["flood"], "no fault 'flood'; there are"),
    ],
)
def test_what_the_cards_do_not_have_is_refused_at_once(wrap: Any, value: Any, match: str) -> None:
    with pytest.raises(OverrideError, match=match):
        wrap(make(), value)


@pytest.mark.parametrize("wrap", [BudgetLimit, UserTurns, FaultInjection])
def test_an_unknown_mode_and_a_foreign_environment_are_refused(wrap: Any) -> None:
    with pytest.raises(ValueError, match="mode: 'prepend' is none of"):
        wrap(make(), mode="prepend")
    with pytest.raises(TypeError, match=f"{wrap.__name__} wraps a FieldOps environment, not CartPoleEnv"):
        wrap(gymnasium.make("CartPole-v1"))


LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "budget": st.dictionaries(st.sampled_from(["turns", "retries"]), st.integers(0, 9)).flatmap(
            lambda d: st.sampled_from([d, {"replace": d}])
        ),
        "people": st.dictionaries(st.sampled_from(["approver", "requester"]), st.sampled_from(["a", "b"])).flatmap(
            lambda d: st.sampled_from([d, {"replace": d}])
        ),
        "faults": st.lists(st.sampled_from(["x", "y"]), max_size=2).flatmap(lambda f: st.sampled_from([f, {"append": f}])),
    },
)


@settings(max_examples=count(60, 600), deadline=None, derandomize=True)
@given(st.lists(LAYERS, max_size=4), LAYERS)
def test_a_layer_that_says_all_beats_whatever_is_under_it(under: list[dict[str, Any]], top: dict[str, Any]) -> None:
    whole = {name: {"replace": top.get(name, {}).get("replace", top.get(name, {}))} for name in ("budget", "people")}
    faults = top.get("faults", [])
    whole["faults"] = faults["append"] if isinstance(faults, dict) else faults
    assert merge([*under, whole]) == merge([whole])
    assert merge([*under, {}]) == merge(under)
    assert merge([*under, top]) == merge([*under, top, {"budget": {}, "people": {}, "faults": {"append": []}}])
