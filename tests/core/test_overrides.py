"""Overrides: layers merge once into one frozen value, the outermost last; what is wrong is said with what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldops_gym import merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import FaultUse, OverrideError, Overrides, plain_use
from tests.support import episode_of

NAMES = st.sampled_from(["not_sent", "partial_effect", "slow_reconcile"])
USES = st.lists(NAMES | st.fixed_dictionaries({"fault": NAMES, "nth": st.integers(1, 3)}), max_size=3)
LAYERS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "faults": USES | st.fixed_dictionaries({"append": USES}),
            "budget": st.dictionaries(st.sampled_from(["turns", "retries"]), st.integers(0, 9), max_size=2),
            "people": st.dictionaries(st.sampled_from(["approver", "requester"]), st.sampled_from("xy"), max_size=2),
            "entities": st.integers(0, 99),
        },
    ),
    max_size=5,
)


def use(name: str, nth: int = 0, times: int = -1, **values: Any) -> tuple[Any, ...]:
    return name, nth, times, tuple(sorted(values.items()))


def test_nothing_merges_to_the_defaults() -> None:
    assert merge([]) == merge([{}]) == merge([{"faults": None, "budget": None, "people": None}]) == Overrides()
    assert Overrides().faults is None


def test_an_empty_list_of_faults_is_not_the_same_as_none(domain: Domain, pack: Pack) -> None:
    assert merge([{"faults": []}]).faults == ()
    assert episode_of(domain, pack, "X-01:partial", 0).scenario.faults
    assert not episode_of(domain, pack, "X-01:partial", 0, merge([{"faults": []}])).scenario.faults


def test_a_list_of_faults_replaces_what_came_before() -> None:
    layers = [{"faults": ["not_sent"]}, {"faults": {"append": ["slow_reconcile"]}}, {"faults": ["partial_effect"]}]
    assert merge(layers) == Overrides(faults=(use("partial_effect"),))


def test_append_adds_to_what_came_before_or_to_the_variants_own() -> None:
    append = {"faults": {"append": [{"fault": "slow_reconcile", "nth": 2, "values": {"seconds": 9}}]}}
    added = (use("slow_reconcile", 2, seconds=9),)
    assert merge([append]) == Overrides(faults=None, extra_faults=added)
    assert merge([{"faults": ["not_sent"]}, append]) == Overrides(faults=(use("not_sent"),), extra_faults=added)
    assert merge([append, append]).extra_faults == added * 2


def test_appended_faults_come_after_the_variants_own(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-03:slow", 0, merge([{"faults": {"append": ["not_sent"]}}]))
    assert [fault.id for fault in episode.scenario.faults] == ["commit_then_timeout", "slow_reconcile", "not_sent"]


def test_budget_and_people_merge_by_name_and_the_last_layer_wins() -> None:
    inner = {"budget": {"turns": 5, "retries": 1}, "people": {"approver": "a", "requester": "r"}, "entities": 10}
    outer = {"budget": {"turns": 9}, "people": {"approver": "b"}, "entities": 20}
    merged = merge([inner, outer])
    assert merged.budget == (("retries", 1), ("turns", 9))
    assert merged.people == (("approver", "b"), ("requester", "r"))
    assert merged.entities == 20


def test_every_way_to_write_a_use_means_the_same() -> None:
    ways = ["not_sent", {"fault": "not_sent"}, ("not_sent", 0, -1, ()), ["not_sent", 0, -1, []]]
    assert {merge([{"faults": [way]}]) for way in ways} == {Overrides(faults=(use("not_sent"),))}
    assert plain_use(FaultUse("not_sent")) == use("not_sent")
    assert plain_use(FaultUse("x", 2, 0, {"b": 1, "a": 2})) == ("x", 2, 0, (("a", 2), ("b", 1)))


def test_the_order_of_names_in_a_layer_does_not_matter() -> None:
    one = merge([{"budget": {"turns": 1, "retries": 2}, "faults": [{"fault": "f", "values": {"a": 1, "b": 2}}]}])
    other = merge([{"faults": [{"fault": "f", "values": {"b": 2, "a": 1}}], "budget": {"retries": 2, "turns": 1}}])
    assert one == other
    assert hash(one) == hash(other)


@given(layers=LAYERS)
def test_merging_is_hashable_repeatable_and_leaves_the_layers_alone(layers: list[dict[str, Any]]) -> None:
    before = repr(layers)
    assert hash(merge(layers)) == hash(merge(layers))
    assert merge(layers) == merge(iter(layers))
    assert repr(layers) == before


@given(layers=LAYERS)
def test_an_empty_layer_anywhere_changes_nothing(layers: list[dict[str, Any]]) -> None:
    for at in range(len(layers) + 1):
        assert merge([*layers[:at], {}, *layers[at:]]) == merge(layers)


@given(layers=LAYERS, last=LAYERS.filter(bool))
def test_what_the_last_layer_says_is_so(layers: list[dict[str, Any]], last: list[dict[str, Any]]) -> None:
    layer = last[-1]
    merged, alone = merge([*layers, layer]), merge([layer])
    assert set(alone.budget) <= set(merged.budget)
    assert set(alone.people) <= set(merged.people)
    if isinstance(layer.get("faults"), list):
        assert (merged.faults, merged.extra_faults) == (alone.faults, alone.extra_faults)
    if "entities" in layer:
        assert merged.entities == alone.entities


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"faults": {"add": ["not_sent"]}}, r"may only have the key 'append', not \['add'\]"),
        ({"faults": {}}, "may only have the key 'append'"),
        ({"faults": {"append": ["not_sent"], "x": 1}}, "may only have the key 'append'"),
        ({"faults": [7]}, "7 is neither a fault's id nor a mapping"),
        ({"faults": [{"nth": 2}]}, "neither a fault's id nor a mapping with 'fault'"),
        ({"faults": [{"fault": "not_sent", "when": 2}]}, "neither a fault's id nor a mapping"),
        ({"faults": [{"fault": "not_sent", "nth": "2"}]}, "nth: '2' is not an integer >= 0"),
        ({"faults": [{"fault": "not_sent", "times": -3}]}, "times: -3 is not an integer >= 0"),
        ({"faults": "not_sent"}, r"'not_sent' is not a list of uses, such as \['not_sent'\]"),
        ({"faults": {"append": "not_sent"}}, "'not_sent' is not a list of uses"),
        ({"faults": 7}, "7 is not a list of uses"),
        ({"budget": {"turns": -1}}, "turns: -1 is not an integer >= 0"),
        ({"budget": {"turns": 2.5}}, "turns: 2.5 is not an integer >= 0"),
        ({"budget": {"turns": True}}, "turns: True is not an integer >= 0"),
        ({"entities": "many"}, "entities: 'many' is not an integer >= 0"),
    ],
)
def test_a_wrong_layer_is_refused_with_what_would_be_right(layer: Mapping[str, Any], message: str) -> None:
    with pytest.raises(OverrideError, match=message):
        merge([{"budget": {"turns": 3}}, layer])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"table": "ledger"}, "'partial_effect': table: 'ledger' is none of part, slot, incident, audit"),
        ({"table": 3}, "table: 3 is none of"),
        ({"shelf": "part"}, "'partial_effect' has no parameter 'shelf'"),
    ],
)
def test_a_wrong_word_for_a_parameter_is_refused(domain: Domain, pack: Pack, values: Mapping[str, Any], message: str) -> None:
    with pytest.raises(OverrideError, match=message):
        episode_of(domain, pack, "X-01:whole", 0, merge([{"faults": [{"fault": "partial_effect", "values": values}]}]))


@pytest.mark.parametrize("seconds", ["soon", 1.5, -1, True, None])
def test_a_wrong_number_for_a_parameter_is_refused(domain: Domain, pack: Pack, seconds: Any) -> None:
    uses = [{"fault": "slow_reconcile", "values": {"seconds": seconds}}]
    with pytest.raises(OverrideError, match=r"'slow_reconcile': seconds: .* is not an integer >= 0"):
        episode_of(domain, pack, "X-01:whole", 0, merge([{"faults": uses}]))
