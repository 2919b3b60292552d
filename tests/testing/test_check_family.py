"""The conformance suite: green on every family in every form, red on each wrong family by the rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gymnasium
import pytest

from agents.reference import Reference
from fieldops_gym import ENVIRONMENTS
from fieldops_gym.testing import RULES, FamilyError, check_family
from fieldops_gym.wrappers import BudgetLimit, CallMenu, FaultInjection, JsonCalls, ShapedReward, UserTurns
from tests.counts import FULL, count
from tests.support import spread
from tests.testing.wrong_families import WRONG, Wrong

Wrap = Callable[[gymnasium.Env], gymnasium.Env]

FORMS: dict[str, Wrap] = {
    "CallMenu": CallMenu,
    "JsonCalls": JsonCalls,
    "ShapedReward": ShapedReward,
    "FaultInjection": lambda env: FaultInjection(env, ["commit_then_timeout"]),
    "BudgetLimit": lambda env: BudgetLimit(env, {"turns": 50}),
    "UserTurns": lambda env: UserTurns(env, {"colleague": "colleague.insisting"}),
    "a learner's": lambda env: CallMenu(ShapedReward(UserTurns(FaultInjection(env, ["slow_reconcile"]), {}))),
    "a model's": lambda env: JsonCalls(BudgetLimit(FaultInjection(env, ["not_sent"], mode="append"), {"retries": 2})),
}


FAMILIES = [row.id for row in ENVIRONMENTS if row.family != "all"]

FEW = {
    "FieldOps-Evidence-v0": ["E-02"], "FieldOps-Proposal-v0": ["P-02"], "FieldOps-Authority-v0": ["A-03"],
    "FieldOps-Effect-v0": ["X-05"], "FieldOps-Recovery-v0": ["R-04"],
}  # fmt: skip
"""A card of each family, for the quick form of tests that make many environments."""


@pytest.mark.parametrize("env_id", [row.id for row in ENVIRONMENTS])
def test_every_family_is_sound(env_id: str) -> None:
    cards = ["E-01", "P-01", "A-05", "X-03", "R-02"] if env_id == "FieldOps-Relay-v0" and not FULL else None
    check_family(env_id, make_agent=Reference, episodes=count(1, 20), cards=cards)


@pytest.mark.parametrize(("form", "env_id"), spread(list(FORMS), FAMILIES * (1 if FULL else 2)))
def test_every_form_of_it_is_sound(env_id: str, form: str) -> None:
    cards = None if FULL else FEW[env_id]
    check_family(f"fieldops_gym:{env_id}", make_agent=Reference, wrap=FORMS[form], episodes=count(1, 3), cards=cards)


@pytest.fixture
def family(request: pytest.FixtureRequest) -> Iterator[tuple[Wrong, str]]:
    """Register a wrong family for the time of a test."""
    wrong: Wrong = request.param
    name = f"FieldOps-Wrong{wrong.rule.replace('.', '').replace('_', '').title()}-v0"
    gymnasium.register(name, entry_point=wrong.entry_point)
    yield wrong, name
    del gymnasium.registry[name]


@pytest.mark.parametrize("family", WRONG, ids=lambda wrong: wrong.rule, indirect=True)
def test_a_wrong_family_is_told_what_is_wrong(family: tuple[Wrong, str]) -> None:
    wrong, name = family
    with pytest.raises(FamilyError) as caught:
        check_family(name, make_agent=Reference, cards=["X-01"])
    found = {problem.rule for problem in caught.value.problems}
    assert wrong.rule in found, caught.value
    assert found - {wrong.rule} <= wrong.too | {"form.page"}, caught.value
    message = str(caught.value)
    assert name in message
    for problem in caught.value.problems:
        assert problem.where in message
        assert problem.what in message
        assert problem.fix in message


def test_every_rule_has_a_wrong_family_and_says_what_it_demands() -> None:
    assert [wrong.rule for wrong in WRONG] == [rule.name for rule in RULES]
    for rule in RULES:
        assert rule.demands.endswith("."), rule.name


def test_what_is_no_family_is_said_to_be_none() -> None:
    with pytest.raises(TypeError, match="a family is a subclass of FieldOpsEnv, which CartPoleEnv is not"):
        check_family("CartPole-v1")


def test_an_id_that_is_not_there_is_gymnasiums_error() -> None:
    with pytest.raises(gymnasium.error.NameNotFound, match="FieldOps-Nothing"):
        check_family("FieldOps-Nothing-v0")
