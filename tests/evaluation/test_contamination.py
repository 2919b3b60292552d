"""The section on contamination: it holds for what is shipped, and every planted defect turns just its own rows red."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldops_gym import evaluation_seeds
from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.scenario import Coordinates, build_scenario
from fieldops_gym.evaluation.audit import Bench, load_suite
from fieldops_gym.evaluation.audit.contamination import contamination
from fieldops_gym.evaluation.audit.exposure import author_texts, spans
from tests.counts import count
from tests.evaluation.planted import only

section_module = importlib.import_module("fieldops_gym.evaluation.audit.contamination")
"""The module: the package has the section of the same name."""


@pytest.fixture(scope="module")
def few(pack: Pack) -> Pack:
    """Train and other splits, reservations, answers and requests to refuse."""
    return only(pack, "E-01", "E-02", "E-05", "X-01", "X-02", "X-05")


def red(domain: Domain, pack: Pack) -> list[str]:
    found = contamination(Bench(domain, pack, load_suite("agents.suite"), quick=True))
    return [row.subject for row in found.short]


def with_card(pack: Pack, card: Card, split: str) -> Pack:
    row = next(iter(pack.splits.values())).model_copy(update={"card": card.id, "split": split})
    return pack._replace(cards={**pack.cards, card.id: card}, splits={**pack.splits, card.id: row})


def reworded(card: Card, name: str, **requests: str) -> Card:
    """The card under another id, with other words for all that it says, and, where given, other requests by variant."""
    kept = [key for key in card.variants if key in requests or not requests]
    words = {
        key: {"recovery": f"{key} as {name} has it", "requests": tuple(requests.get(key, "").splitlines())} for key in kept
    }
    variants = {key: card.variants[key].model_copy(update=words[key]) for key in kept}
    new = {"id": name, "lineage": f"lineage-of-{name}", "claim": f"What {name} is about.", "why": f"Because of {name}."}
    return card.model_copy(update=new | {"variants": variants})


def of_other_machines(card: Card, families: tuple[str, ...]) -> Card:
    setup = [step.model_copy(update={"with_": {"families": [*families]}}) if step.step == "equipment" else step
             for step in card.setup]  # fmt: skip
    return card.model_copy(update={"equipment_families": families, "setup": tuple(setup)})


def test_what_is_shipped_holds(domain: Domain, pack: Pack) -> None:
    found = contamination(Bench(domain, pack, load_suite("agents.suite"), quick=count(1, 0) == 1))
    assert [f"{row.subject}: {row.text}" for row in found.short] == []
    assert {row.subject for row in found.rows if row.subject.startswith("memory")} == {
        f"memory, {card}" for card, row in pack.splits.items() if row.split != "train"
    }


def test_a_few_cards_hold_too(domain: Domain, few: Pack) -> None:
    assert red(domain, few) == []


def test_a_copy_of_a_train_card(domain: Domain, few: Pack) -> None:
    copied = few.cards["X-01"].model_copy(update={"id": "X-91", "lineage": "clean-copy"})
    assert red(domain, with_card(few, copied, "held_out")) == ["long spans across splits", "variants under another name"]


def test_a_copy_in_other_words(domain: Domain, few: Pack) -> None:
    copied = of_other_machines(reworded(few.cards["X-01"], "X-91"), ("press", "kiln"))
    assert red(domain, with_card(few, copied, "development")) == ["variants under another name"]


def test_a_train_card_that_uses_a_held_out_wording(domain: Domain, pack: Pack) -> None:
    few = only(pack, "X-01", "X-02", "X-06")
    asked = few.cards["X-06"].variants["control"].requests[0]
    taught = few.cards["X-01"].model_copy(update={"requests": (*few.cards["X-01"].requests, asked)})
    assert red(domain, few) == []
    assert red(domain, with_card(few, taught, "train")) == ["wordings of requests"]


def test_a_sentence_that_one_train_card_alone_has(domain: Domain, few: Pack) -> None:
    own = few.cards["E-05"]
    note = few.cards["E-01"].variants["remembered"].setup[-1]
    variants = {**own.variants, "own": own.variants["own"].model_copy(update={"setup": (*own.variants["own"].setup, note)})}
    assert red(domain, with_card(few, own.model_copy(update={"variants": variants}), "held_out")) == ["sentences in records"]


def test_a_card_that_memory_passes(domain: Domain, pack: Pack) -> None:
    """Refusing takes two calls about the only rows there are, so a train card of it teaches the whole of it."""
    own = pack.cards["X-06"]
    kept = {name: own.variants[name] for name in ("control", "control_pressed")}
    taught = reworded(own, "X-90", control="Now {control} at {family} {serial}.", control_pressed="For {serial}: {control}!")
    asked = with_card(only(pack, "E-01"), own.model_copy(update={"variants": kept}), "held_out")
    assert red(domain, asked) == []
    assert red(domain, with_card(asked, taught, "train")) == ["sentences in records", "memory, X-06"]


def test_seeds_that_overlap(domain: Domain, few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section_module, "training_seeds", evaluation_seeds)
    assert red(domain, few) == ["record ids"]


def test_an_agent_that_is_told_the_card(domain: Domain, few: Pack) -> None:
    def build(card: Any, *rest: Any) -> Any:
        made = domain.build(card, *rest)
        return made._replace(request=f"{made.request} ({card.id})")

    assert red(replace(domain, build=build), few) == ["author ids"]


@pytest.mark.parametrize("where", ["README.md", "examples/prompt.py"])
def test_texts_that_give_away(domain: Domain, few: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    file = tmp_path / where
    file.parent.mkdir(exist_ok=True)
    monkeypatch.setattr(section_module, "checkout", lambda: tmp_path)
    scenario = build_scenario(domain, few, Coordinates("X-05", "landed", evaluation_seeds(0)))
    file.write_text(f"For instance {next(iter(scenario.start['incident']))}.")
    assert red(domain, few) == ["record ids in texts"]
    file.write_text(f"Hint: {few.cards['X-05'].variants['landed'].recovery}.")
    assert red(domain, few) == ["long spans in texts"]


def test_an_installed_package_says_what_it_did_not_look_at(domain: Domain, few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section_module, "checkout", lambda: None)
    found = contamination(Bench(domain, few, load_suite("agents.suite"), quick=True))
    assert found.holds
    assert sum("README and examples are not installed" in row.text for row in found.rows) == 2
    assert author_texts(None) == []


def test_spans_are_of_words_whatever_stands_in_their_slots() -> None:
    text = "Please have {family} 7 repaired within {hours} hours, and tell us what it was."
    assert spans(text, 12) == spans(text.replace("{family}", "{machine}").replace("7", "9").upper(), 12) != set()
    assert spans("ask for the edition", 12) == set()
    assert spans("reconcile finds nothing and so it is sent again", 12) == {"reconcile finds nothing and so it is sent again"}
