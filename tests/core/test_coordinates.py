"""Coordinates: each one changes exactly its own part of the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fieldops_gym import Coordinates, Episode, Seeds, ToolCall, evaluation_seeds, merge
from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import OverrideError, Overrides
from fieldops_gym.core.scenario import Scenario
from tests.core.helpers import start_at
from tests.counts import count
from tests.support import VARIANTS, episode_of

PARTS = ("entities", "brief", "roles", "personas", "persona", "faults", "limits", "harness")


def parts_of(scenario: Scenario) -> dict[str, Any]:
    """Take a start apart into what each coordinate may own."""
    start = dict(scenario.start)
    own = {name: start.pop(name) for name in ("persona", "meters", "agenda", "message")}
    return {
        "entities": start,
        "brief": scenario.brief._replace(limits=None),
        "roles": dict(scenario.roles),
        "personas": dict(scenario.personas),
        "persona": own.pop("persona"),
        "faults": scenario.faults,
        "limits": scenario.limits,
        "harness": own,
    }


def changed(one: Episode, other: Episode) -> set[str]:
    """Return the parts in which two starts differ."""
    first, second = parts_of(one.scenario), parts_of(other.scenario)
    assert set(first) == set(PARTS)
    return {part for part in PARTS if first[part] != second[part]}


def shift(seeds: Seeds, **by: int) -> Seeds:
    """Return seeds of which some have been changed."""
    return Seeds(**{name: value + by.get(name, 0) for name, value in seeds._asdict().items()})


@pytest.mark.parametrize("name", VARIANTS)
def test_the_entity_seed_changes_entities_and_nothing_else(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(4, 100)):
        seeds = evaluation_seeds(index)
        one, other = (start_at(domain, pack, name, s) for s in (seeds, shift(seeds, entity=1)))
        # What people say unasked is on the agenda from the start, under ids of the entities' making.
        agenda = {"harness"} if one.scenario.start["agenda"] else set()
        assert changed(one, other) <= {"entities", "brief", "roles"} | agenda
        assert [item.due for item in one.scenario.start["agenda"].values()] == [
            item.due for item in other.scenario.start["agenda"].values()
        ]
        assert one.scenario.start["incident"] != other.scenario.start["incident"]
        assert one.brief.episode != other.brief.episode
        assert not set(one.scenario.start["part"]) & set(other.scenario.start["part"])


@pytest.mark.parametrize("name", VARIANTS)
def test_the_interaction_seed_changes_people_and_nothing_else(domain: Domain, pack: Pack, name: str) -> None:
    differing = 0
    for index in range(count(4, 100)):
        seeds = evaluation_seeds(index)
        one, other = (start_at(domain, pack, name, s) for s in (seeds, shift(seeds, interaction=1)))
        assert changed(one, other) <= {"persona"} | ({"harness"} if one.scenario.start["agenda"] else set())
        differing += one.scenario.start["persona"] != other.scenario.start["persona"]
    assert differing


@pytest.mark.parametrize("name", VARIANTS)
def test_the_fault_seed_changes_the_values_of_faults_and_nothing_else(domain: Domain, pack: Pack, name: str) -> None:
    drawn: set[Any] = set()
    for index in range(count(12, 100)):
        seeds = evaluation_seeds(index)
        one, other = (start_at(domain, pack, name, s) for s in (seeds, shift(seeds, fault=1)))
        assert changed(one, other) <= {"faults"}
        blank = [[fault._replace(values=()) for fault in episode.scenario.faults] for episode in (one, other)]
        assert blank[0] == blank[1]
        drawn |= {fault.values for episode in (one, other) for fault in episode.scenario.faults}
    card, variant = name.split(":")
    uses = pack.cards[card].variants[variant].faults
    free = [p.name for use in uses for p in pack.faults[use.fault].parameters if p.name not in use.values]
    assert (len(drawn - {()}) > 1) == bool(free), "values that the card leaves open are drawn, and no others"


def test_the_variant_changes_what_it_sets_and_nothing_else(domain: Domain, pack: Pack) -> None:
    for card in pack.cards.values():
        for index in range(count(3, 50)):
            starts = {
                variant: start_at(domain, pack, f"{card.id}:{variant}", evaluation_seeds(index)) for variant in card.variants
            }
            first = next(iter(card.variants))
            for variant, other in starts.items():
                assert changed(starts[first], other) <= set_by(card, first) | set_by(card, variant)


def set_by(card: Card, variant: str) -> set[str]:
    """Return the parts of a start that a variant may set."""
    spec, parts = card.variants[variant], set()
    if spec.faults:
        parts.add("faults")
    if spec.setup:
        parts |= {"entities", "roles", "brief"}
    if spec.requests:
        parts.add("brief")
    if spec.people:
        parts |= {"personas", "persona", "harness"}
    return parts


def test_sibling_cards_with_equal_seeds_have_equal_starts_and_briefs(domain: Domain, pack: Pack) -> None:
    siblings = [name for name in VARIANTS if name.split(":")[0] in ("X-02", "X-03")]
    for index in range(count(5, 200)):
        starts = [episode_of(domain, pack, name, index) for name in siblings]
        for other in starts[1:]:
            assert other.scenario.start == starts[0].scenario.start
            assert other.brief == starts[0].brief
            assert changed(starts[0], other) == {"faults"}
            assert other.view().observation().keys() == starts[0].view().observation().keys()
            assert (other.view().flat == starts[0].view().flat).all()


def test_cards_of_one_contract_differ_in_no_more_than_their_own_setup(domain: Domain, pack: Pack) -> None:
    one, other = (episode_of(domain, pack, name, 0) for name in ("X-01:whole", "X-02:timeout"))
    assert one.scenario.start["persona"] == other.scenario.start["persona"]
    assert one.scenario.start["delegation"] == other.scenario.start["delegation"]
    assert one.brief.episode == other.brief.episode, "an episode id that differs by card would name the card"


@pytest.mark.parametrize(
    ("layer", "allowed"),
    [
        ({"budget": {"turns": 30}}, {"limits"}),
        ({"budget": {"simulated_time": 7000, "retries": 0}}, {"limits"}),
        ({"people": {"approver": "approver.deliberate"}}, {"personas", "persona"}),
        ({"people": {"approver": "outside"}}, {"personas", "persona"}),
        ({"faults": []}, {"faults"}),
        ({"faults": ["commit_then_timeout", "slow_reconcile"]}, {"faults"}),
        ({"faults": {"append": ["crash_after_commit"]}}, {"faults"}),
        ({"entities": 500}, {"entities"}),
    ],
)
def test_each_override_changes_its_own_part(domain: Domain, pack: Pack, layer: Mapping[str, Any], allowed: set[str]) -> None:
    for index in range(count(3, 50)):
        plain, other = (episode_of(domain, pack, "X-01:partial", index, o) for o in (Overrides(), merge([layer])))
        assert changed(plain, other) == allowed


def test_more_entities_leave_the_cards_own_records_as_they_were(domain: Domain, pack: Pack) -> None:
    for index in range(count(2, 20)):
        small, large = (episode_of(domain, pack, "X-01:whole", index, merge([{"entities": n}])) for n in (60, 1000))
        assert small.scenario.roles == large.scenario.roles
        for table, rows in small.scenario.start.items():
            assert rows.items() <= large.scenario.start[table].items()
        sizes = [sum(map(len, episode.scenario.start.values())) for episode in (small, large)]
        assert sizes[0] < 80
        assert sizes[1] > 850


def test_overriding_one_person_leaves_the_pace_of_others(domain: Domain, pack: Pack) -> None:
    for index in range(count(5, 100)):
        plain = episode_of(domain, pack, "X-01:whole", index).scenario.start["persona"]
        other = episode_of(domain, pack, "X-01:whole", index, merge([{"people": {"approver": "approver.deliberate"}}]))
        states = other.scenario.start["persona"]
        assert {seat: states[seat] for seat in states if seat != "approver"} == {
            seat: plain[seat] for seat in plain if seat != "approver"
        }


def test_a_fault_added_leaves_the_values_of_the_variants_own(domain: Domain, pack: Pack) -> None:
    for index in range(count(5, 100)):
        plain = episode_of(domain, pack, "X-03:stale", index)
        more = episode_of(domain, pack, "X-03:stale", index, merge([{"faults": {"append": ["partial_effect"]}}]))
        assert more.scenario.faults[: len(plain.scenario.faults)] == plain.scenario.faults


def test_a_smaller_budget_is_seen_in_the_brief_and_a_larger_number_of_effects_is_not_granted(
    domain: Domain, pack: Pack
) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0, merge([{"budget": {"turns": 7, "effect_attempts": 99}}]))
    assert episode.brief.limits.turns == 7
    assert episode.brief.limits.effect_attempts == pack.contracts["effect"].budget["effect_attempts"]
    for _ in range(7):
        episode.call(ToolCall.of("read_journal"))
    assert episode.ended
    assert episode.ending == "budget:turns"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"budget": {"money": 1}}, "there is no meter 'money'; there are effect_attempts"),
        ({"people": {"boss": "outside"}}, "there is no seat 'boss' here; there are approver"),
        ({"people": {"approver": "requester.cooperative"}}, "seat 'approver' admits approver.prompt"),
        ({"faults": ["meteor"]}, "there is no fault 'meteor'; there are approval_delay, asked_again"),
        ({"faults": [{"fault": "slow_reconcile", "values": {"minutes": 3}}]}, "'slow_reconcile' has no parameter 'minutes'"),
    ],
)
def test_overrides_that_do_not_fit_the_card_say_what_would(
    domain: Domain, pack: Pack, layer: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(OverrideError, match=message):
        episode_of(domain, pack, "X-01:whole", 0, merge([layer]))


def test_an_unknown_variant_is_refused_with_those_there_are(domain: Domain, pack: Pack) -> None:
    with pytest.raises(OverrideError, match="card 'X-01' has no variant 'stale'; it has whole, partial"):
        Episode(domain, pack, Coordinates("X-01", "stale", evaluation_seeds(0)))
