"""The audit: it holds for what is shipped, and one planted defect per section turns just that section red."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.alternatives import ALTERNATIVES, TakesItsTime, VerifiesTwice, combined
from agents.reference import Reference
from agents.shortcuts import DoNothing, KeyHopper, RefuseEverything
from fieldops_gym import DOMAINS, ToolCall
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Ending
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation import audit as audit_module
from fieldops_gym.evaluation.audit import audit, load_suite, suite_of
from fieldops_gym.evaluation.audit.sections import Section
from fieldops_gym.graders import INVARIANTS
from tests.counts import count

NAME = "field_service"


def suite(**other: Any) -> Any:
    """A small suite; what is given takes the place of its own."""
    own: dict[str, Any] = {
        "__name__": "planted", "REFERENCE": Reference, "ALTERNATIVES": (TakesItsTime, VerifiesTwice),
        "SHORTCUTS": (DoNothing, KeyHopper), "combined": combined,
    }  # fmt: skip
    return suite_of(SimpleNamespace(**own | other))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def few(pack: Pack) -> Pack:
    """The pack with one card per family and split or so, so that the planted audits are quick."""
    kept = (
        "E-01", "E-05", "E-04", "P-01", "P-02", "P-04", "A-03", "A-05", "A-02", "X-01", "X-04", "X-05", "R-01", "R-03", "R-05",
    )  # fmt: skip
    return pack._replace(cards={name: pack.cards[name] for name in kept}, splits={name: pack.splits[name] for name in kept})


def red(pack: Pack, agents: Any) -> list[str]:
    return [section.name for section in audit(NAME, pack, agents, quick=True).sections if not section.holds]


def declared_within(pack: Pack, agent: Any) -> Any:
    """An agent that declares no more than the pack has."""
    names = {f"{card.id}:{variant}" for card in pack.cards.values() for variant in card.variants}
    return type(
        agent.__name__, (agent,), {"__doc__": agent.__doc__, "FAILS": {k: v for k, v in agent.FAILS.items() if k in names}}
    )


def small(pack: Pack, **other: Any) -> Any:
    return suite(**{"SHORTCUTS": tuple(declared_within(pack, agent) for agent in (DoNothing, KeyHopper))} | other)


def test_what_is_shipped_holds(pack: Pack) -> None:
    report = audit(NAME, pack, load_suite("agents.suite"), quick=count(1, 0) == 1)
    assert {section.name: [f"{row.subject}: {row.text}" for row in section.short] for section in report.sections} == {
        section.name: [] for section in report.sections
    }
    assert report.holds
    styles = next(section for section in report.sections if section.name == "alternatives")
    assert len(styles.rows) == len(ALTERNATIVES) + 1


def test_a_few_cards_hold_too(few: Pack) -> None:
    assert red(few, small(few)) == []


class Forgetful(Reference):
    """Does nothing but finish."""

    def act(self, view: Any, result: Any) -> ToolCall:
        return ToolCall.of("finish", disposition="escalated", subject=view.rows["incident"][0].id)


class Brittle(Reference):
    """Raises at its third call."""

    def act(self, view: Any, result: Any) -> ToolCall:
        if view.meters.turns == 2:
            raise RuntimeError("no more")
        return super().act(view, result)


@pytest.mark.parametrize("broken", [Forgetful, Brittle])
def test_a_reference_that_fails_is_unsolved(few: Pack, broken: Any) -> None:
    assert red(few, small(few, REFERENCE=broken))[0] == "solvability"
    assert not {"alternatives", "shortcuts", "splits", "world invariants"} & set(red(few, small(few, REFERENCE=broken)))


def test_a_style_that_is_not_honest(few: Pack) -> None:
    assert red(few, small(few, ALTERNATIVES=(TakesItsTime, Forgetful))) == ["alternatives"]
    assert red(few, small(few, ALTERNATIVES=())) == ["alternatives"]


def test_shortcuts_that_declare_wrongly(few: Pack) -> None:
    names = dict(declared_within(few, DoNothing).FAILS)
    one = next(iter(names))
    for planted in (
        {name: why for name, why in names.items() if name != one},  # it fails where it does not declare it
        {**names, one: "effect.at_most_once"},  # it fails there by something else
        {**names, "Z-01:none": "task.accepted_ending"},  # there is no such variant
    ):
        lazy = type("Lazy", (DoNothing,), {"__doc__": "Lazy.", "FAILS": planted})
        assert red(few, small(few, SHORTCUTS=(lazy,))) == ["shortcuts"], planted
    working = type("Working", (Reference,), {"__doc__": "It does the work.", "FAILS": {}})
    assert red(few, small(few, SHORTCUTS=(working,))) == ["shortcuts"]


def test_a_truth_that_names_what_does_not_exist(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[NAME]

    def dangling(trial: Any) -> tuple[Ending, ...]:
        return (*domain.truth.accepted(trial), Ending("escalated", ("res-0000000000",), "planted"))

    planted = type(domain)(**{**vars(domain), "truth": domain.truth._replace(accepted=dangling)})
    monkeypatch.setitem(audit_module.DOMAINS, NAME, planted)
    assert red(few, small(few)) == ["truth references"]


def test_a_lineage_in_two_splits(few: Pack) -> None:
    torn = few.cards["X-05"].model_copy(update={"lineage": few.cards["X-01"].lineage})
    assert red(few._replace(cards={**few.cards, "X-05": torn}), small(few)) == ["splits"]


def test_a_family_missing_from_a_split(few: Pack) -> None:
    moved = few.splits["X-05"].model_copy(update={"split": "regression"})
    assert red(few._replace(splits={**few.splits, "X-05": moved}), small(few)) == ["splits"]


def test_starts_that_are_unsound(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[NAME]
    planted = type(domain)(**{**vars(domain), "broken": lambda tables, start: ["planted: no start is good enough"]})
    worlds = audit_module.SECTIONS[-1][1]
    assert worlds.__name__ == "world_invariants"

    def on_planted(bench: Any) -> Section:
        return worlds(bench._replace(domain=planted))

    monkeypatch.setattr(audit_module, "SECTIONS", (*audit_module.SECTIONS[:-1], ("world invariants", on_planted)))
    assert red(few, small(few)) == ["world invariants"]


def test_twice_is_the_same(few: Pack) -> None:
    one, other = (audit(NAME, few, small(few), quick=True) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert one.to_markdown() == other.to_markdown()


def test_the_page_tells_what_an_average_would_have_paid(few: Pack) -> None:
    report = audit(NAME, few, small(few), quick=True)
    shares = {
        row.subject: row.figures for section in report.sections for row in section.rows if "share_of_checks" in row.figures
    }
    assert list(shares) == ["DoNothing", "KeyHopper"]
    assert 0 < float(shares["DoNothing"]["share_of_checks"]) < 1
    for name, figures in shares.items():
        assert (
            f"| {name} | {figures['failed']} of {figures['runs']} | {figures['share_of_checks']:.0%} |" in report.to_markdown()
        )


def test_a_module_without_agents_is_refused() -> None:
    with pytest.raises(AgentLoadError, match=r"it has no REFERENCE, a class that does the work"):
        load_suite("agents.shortcuts")
    with pytest.raises(AgentLoadError, match="cannot be imported"):
        load_suite("agents.nowhere")


def invoke(*args: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(args))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "SECTIONS", [row for row in audit_module.SECTIONS if row[0] == "splits"])
    files = [tmp_path / "audit.json", tmp_path / "audit.md"]
    result = invoke("audit", "--agents", "agents.suite", "--quick", "--json", str(files[0]), "--markdown", str(files[1]))
    assert result.exit_code == 0, result.output
    body = json.loads(files[0].read_text())
    assert body["holds"] is True
    assert body["form"] == "quick"
    assert body["sections"][0]["holds"] is True
    assert "| splits | yes |" in files[1].read_text()
    assert "not covered: mutations" in result.stdout
    wrong = invoke("audit", "--agents", "agents.nowhere")
    assert (wrong.exit_code, wrong.stdout) == (2, "")


def test_the_command_fails_when_a_section_does(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Section("splits", "there are cards", "none", ())
    monkeypatch.setattr(audit_module, "SECTIONS", [("splits", lambda bench: empty)])
    assert invoke("audit", "--agents", "agents.suite", "--quick").exit_code == 1


def test_invariants_are_listed_with_their_papers() -> None:
    lines = CliRunner(env={"COLUMNS": "600"}).invoke(app, ["invariants"]).stdout.splitlines()
    for row in INVARIANTS[NAME]:
        line = next(line for line in lines if line.startswith(f"{row.id} "))
        assert all(words in line for words in (row.owner, str(row.layer), row.policy, row.rationale, row.source)), row.id


def test_a_shortcut_says_what_it_stands_for() -> None:
    assert all(shortcut.stands_for for shortcut in load_suite("agents.suite").shortcuts)
    assert RefuseEverything.__name__ in {shortcut.name for shortcut in load_suite("agents.suite").shortcuts}
