"""Which trials a run has, and what becomes of one: the agent's failures and the harness's are never mixed up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from agents.reference import Reference
from agents.shortcuts import DoNothing
from fieldops_gym import Brief, Coordinates, Seeds, evaluation_seeds, merge
from fieldops_gym.core.cards import Card, CardError, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.evaluation import TrialStatus, agent_seed, plan_trials, run_trial, settings_for
from tests.counts import count
from tests.evaluation.support import ENV, RELAY, Exits, Garbage, RaisesInAct, RaisesInStart, run_with
from tests.support import VARIANTS


def coordinates(name: str = "X-01:whole", index: int = 0, **layer: Any) -> Coordinates:
    card, variant = name.split(":")
    return Coordinates(card, variant, evaluation_seeds(index), merge([layer]))


def test_variants_take_turns_and_seeds_are_frozen(pack: Pack) -> None:
    plans = plan_trials(settings_for(ENV, "any", pack, seeds=7), pack)
    assert [plan.coordinates.card for plan in plans] == ["X-01"] * 7 + ["X-02"] * 7 + ["X-03"] * 7
    for number, plan in enumerate(plans):
        name, index = plan.coordinates.card, number % 7
        variants = list(pack.cards[name].variants)
        assert plan.coordinates.variant == variants[index % len(variants)]
        assert plan.coordinates.seeds == evaluation_seeds(index)
        assert plan.segment == pack.cards[name].segment
    assert len({plan.trial for plan in plans}) == len(plans)


def test_named_cards_run_whatever_their_split_and_unknown_ones_are_refused(pack: Pack) -> None:
    settings = settings_for(ENV, "any", pack, cards=("X-03",), split="held_out")
    assert (settings.cards, settings.split) == (("X-03",), "named")
    with pytest.raises(CardError, match="X-99"):
        settings_for(ENV, "any", pack, cards=("X-99",))
    with pytest.raises(KeyError, match="FieldOps-Effect-v0"):
        settings_for("FieldOps-Nothing-v0", "any", pack)


def test_the_reference_passes_every_variant(pack: Pack) -> None:
    rows = run_with(pack, Reference, count(5, 200), env=RELAY, split="all").rows
    assert {f"{row.card}:{row.variant}" for row in rows} == set(VARIANTS)
    assert {(row.status, row.outcome, row.error) for row in rows} == {("completed", "passed", "")}


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (RaisesInAct, "ValueError: lost my way in <object object at 0x...> (support.py, line"),
        (RaisesInStart, "RuntimeError: no key"),
        (Exits, "SystemExit: 0"),
    ],
)
def test_an_agent_that_raises_has_failed(domain: Domain, pack: Pack, make: Any, error: str) -> None:
    played = run_trial(domain, pack, coordinates(), make)
    assert played.status == TrialStatus.AGENT_ERROR
    assert played.grade is None
    assert played.error.startswith(error)
    row = run_with(pack, make, 1, cards=("X-01",)).rows[0]
    assert (row.status, row.outcome, row.broken) == ("agent_error", "failed", ())


def test_garbage_is_an_agents_bad_play_and_no_error(domain: Domain, pack: Pack) -> None:
    played = run_trial(domain, pack, coordinates(), Garbage)
    assert played.status == TrialStatus.COMPLETED
    assert played.grade is not None
    assert played.grade.outcome == "failed"
    assert played.grade.ending.startswith("budget:")


def test_an_interrupt_is_not_the_agents_failure(domain: Domain, pack: Pack) -> None:
    class Interrupted(Reference):
        def act(self, view: Any, result: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(domain, pack, coordinates(), Interrupted)


def test_a_grader_that_cannot_judge_is_no_failure_of_the_agent(domain: Domain, pack: Pack) -> None:
    card: Card = pack.cards["X-01"]
    hidden = card.hidden.model_copy(update={"invariants": {"task.no_such_thing": {}}})
    spoilt = pack._replace(cards={**pack.cards, "X-01": card.model_copy(update={"hidden": hidden})})
    for make in (Reference, DoNothing):
        played = run_trial(domain, spoilt, coordinates(), make)
        assert played.status == TrialStatus.INFRA_ERROR
        assert played.grade is None
        assert "task.no_such_thing" in played.error


def test_a_world_that_is_unsound_at_reset_is_not_played(domain: Domain, pack: Pack) -> None:
    def build(*args: Any) -> Any:
        built = domain.build(*args)
        key, part = next(iter(built.tables["part"].items()))
        built.tables["part"][key] = part._replace(quantity=-1)
        return built

    def make() -> Any:
        raise AssertionError("no agent should have been made")

    played = run_trial(replace(domain, build=build), pack, coordinates(), make)
    assert played.status == TrialStatus.INFRA_ERROR
    assert "unsound at reset" in played.error
    assert "W-1" in played.error
    assert played.episode is not None
    assert played.episode.world.log == []


def test_coordinates_that_do_not_fit_are_the_harness_s_error(domain: Domain, pack: Pack) -> None:
    played = run_trial(domain, pack, coordinates("X-01:nothing"), Reference)
    assert (played.status, played.episode) == (TrialStatus.INFRA_ERROR, None)
    assert "nothing" in played.error


class Counted(Reference):
    """The reference, noting each start of an instance."""

    starts: ClassVar[list[tuple[int, Brief, int, bool]]] = []

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        self.starts.append((id(self), brief, seed, restarted))
        super().start(brief, seed, restarted)


def test_a_crash_brings_a_new_instance_with_the_same_brief(domain: Domain, pack: Pack) -> None:
    Counted.starts.clear()
    kept: list[Any] = []

    def make() -> Counted:
        kept.append(Counted())
        return kept[-1]

    played = run_trial(domain, pack, coordinates(faults={"append": ["crash_after_commit"]}), make)
    (one, brief, seed, first), (two, again, seed_again, second) = Counted.starts
    assert one != two
    assert (brief, seed) == (again, seed_again)
    assert (first, second) == (False, True)
    assert played.grade is not None
    assert played.grade.outcome == "passed"
    assert played.grade.fired == ("crash_after_commit",)


def test_an_agents_seed_is_the_same_for_siblings_and_its_own_otherwise(pack: Pack) -> None:
    numbers = [agent_seed(evaluation_seeds(index)) for index in range(200)]
    assert len(set(numbers)) == 200
    assert all(0 <= number < 2**31 for number in numbers)
    assert agent_seed(Seeds(1, 5, 2)) == agent_seed(Seeds(3, 5, 4))
