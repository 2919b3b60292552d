"""The audit: it holds for what is shipped, and one planted defect per section turns just that section red."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.alternatives import ALTERNATIVES, TakesItsTime, VerifiesTwice, combined
from agents.reference import Reference
from agents.shortcuts import DoNothing, KeyHopper, RefuseEverything
from fieldops_gym import DOMAINS, ToolCall, evaluation_seeds
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Ending
from fieldops_gym.core.judging import Finding, Judged
from fieldops_gym.core.streams import Stream
from fieldops_gym.domains.field_service.handlers import Waited
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation import audit as audit_module
from fieldops_gym.evaluation import lock as lock_module
from fieldops_gym.evaluation.audit import Bench, agents_on_trial, audit, load_suite, mutants_on_trial, suite_of
from fieldops_gym.evaluation.audit.sections import Section
from fieldops_gym.evaluation.lock import lock_of
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.graders.evidence import OWNER, SOURCE
from fieldops_gym.graders.mutations import KINDS
from tests.counts import count

NAME = "field_service"


def suite(**other: Any) -> Any:
    """A small suite; what is given takes the place of its own."""
    own: dict[str, Any] = {
        "__name__": "planted", "REFERENCE": Reference, "ALTERNATIVES": (TakesItsTime, VerifiesTwice),
        "SHORTCUTS": (DoNothing, KeyHopper), "combined": combined,
    }  # fmt: skip
    return suite_of(SimpleNamespace(**own | other))  # type: ignore[arg-type]


MOST_VARIANTS = 2
"""Of each card that a planted audit plays."""


@pytest.fixture(scope="module")
def few(pack: Pack) -> Pack:
    """The pack with one card per family and split and few variants of each, from no directory, so that audits are quick."""
    kept = (
        "E-01", "E-05", "E-04", "P-01", "P-02", "P-04", "A-03", "A-05", "A-02", "X-01", "X-04", "X-05", "R-01", "R-03", "R-05",
    )  # fmt: skip
    cards = {name: card.model_copy(update={"variants": dict([*card.variants.items()][:MOST_VARIANTS])})
             for name, card in pack.cards.items() if name in kept}  # fmt: skip
    return pack._replace(cards=cards, splits={name: pack.splits[name] for name in kept}, directory=None)


@pytest.fixture
def fewer_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every eighth kind of mutation: enough to turn red, and quick."""
    monkeypatch.setattr(mutants_on_trial, "KINDS", KINDS[::8])


def short(section: str, pack: Pack, agents: Any) -> list[str]:
    """Return the subjects that fall short in one section."""
    found = dict(audit_module.SECTIONS)[section](Bench(DOMAINS[NAME], pack, agents, quick=True))
    return [row.subject for row in found.short] or ([] if found.holds else [section])


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


@pytest.mark.usefixtures("fewer_kinds")
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
@pytest.mark.usefixtures("fewer_kinds")
def test_a_reference_that_fails_is_unsolved(few: Pack, broken: Any) -> None:
    """What rests on its runs falls short with it; what does not, does not."""
    found = red(few, small(few, REFERENCE=broken))
    assert found[0] == "solvability"
    assert not {"alternatives", "shortcuts", "splits", "label leakage", "lock", "world invariants"} & set(found)


@pytest.mark.usefixtures("fewer_kinds")
def test_a_reference_that_fails_in_one_variant(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else rests on that one run."""
    play = agents_on_trial.played

    def failing(bench: Any, make: Any, name: str, seed: int) -> Any:
        run = play(bench, make, name, seed)
        unlucky = make is Reference and (name, seed) == ("X-01:whole", 2)
        return run._replace(outcome="failed", broken=("effect.suitable",)) if unlucky else run

    monkeypatch.setattr(agents_on_trial, "played", failing)
    assert short("solvability", few, small(few)) == ["X-01:whole"]
    assert red(few, small(few)) == ["solvability"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_style_that_is_not_honest(few: Pack) -> None:
    assert red(few, small(few, ALTERNATIVES=(TakesItsTime, Forgetful))) == ["alternatives"]
    assert short("alternatives", few, small(few, ALTERNATIVES=())) == ["alternatives"]


@pytest.mark.usefixtures("fewer_kinds")
def test_shortcuts_that_declare_wrongly(few: Pack) -> None:
    names = dict(declared_within(few, DoNothing).FAILS)
    one = next(iter(names))
    for planted in (
        {name: why for name, why in names.items() if name != one},  # it fails where it does not declare it
        {**names, one: "effect.at_most_once"},  # it fails there by something else
        {**names, "Z-01:none": "task.accepted_ending"},  # there is no such variant
    ):
        lazy = type("Lazy", (DoNothing,), {"__doc__": "Lazy.", "FAILS": planted})
        assert short("shortcuts", few, small(few, SHORTCUTS=(lazy,))) == ["Lazy"], planted
    working = type("Working", (Reference,), {"__doc__": "It does the work.", "FAILS": {}})
    assert red(few, small(few, SHORTCUTS=(working,))) == ["shortcuts"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_truth_that_names_what_does_not_exist(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[NAME]

    def dangling(trial: Any) -> tuple[Ending, ...]:
        return (*domain.truth.accepted(trial), Ending("escalated", ("res-0000000000",), "planted"))

    planted(monkeypatch, truth=domain.truth._replace(accepted=dangling))
    assert red(few, small(few)) == ["truth references"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_grader_that_sleeps(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody minds who is told: agents on trial all tell the right person, and only mutations see it."""
    monkeypatch.setattr(mutants_on_trial, "KINDS", tuple(kind for kind in KINDS if kind.group == "account"))
    asleep = tuple(
        row._replace(check=lambda trial, params: Finding(Judged.HOLDS)) if row.id == "account.right_recipient" else row
        for row in INVARIANTS[NAME]
    )
    monkeypatch.setitem(INVARIANTS, NAME, asleep)
    assert red(few, small(few)) == ["mutations"]
    assert set(short("mutations", few, small(few))) - {"(composed)"} == {"told somebody else"}


def test_a_grader_that_breaks_at_everything(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """It notices whatever it is shown, and so tells nothing: verdicts move that have nothing to do with the change."""
    row = next(row for row in INVARIANTS[NAME] if row.id == "authority.within_scope")

    def nervous(trial: Any, params: Any) -> Finding:
        edited = any(event.kind == "removed" for event in trial.world.log) or trial.account.subject == ""
        return Finding(Judged.BROKEN) if edited else row.check(trial, params)

    changed = tuple(each._replace(check=nervous) if each.id == row.id else each for each in INVARIANTS[NAME])
    monkeypatch.setitem(INVARIANTS, NAME, changed)
    monkeypatch.setattr(mutants_on_trial, "KINDS", tuple(kind for kind in KINDS if kind.group == "account"))
    assert set(short("mutations", few, small(few))) - {"(composed)"} == {"(unrelated verdicts)"}


def test_a_run_that_no_grader_can_judge_is_not_noticed(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(trial: Any, params: Any) -> Finding:
        return Finding(Judged.HOLDS) if trial.account.subject else 1 / 0  # type: ignore[return-value]

    changed = tuple(each._replace(check=raises) if each.id == "account.told_true" else each for each in INVARIANTS[NAME])
    monkeypatch.setitem(INVARIANTS, NAME, changed)
    monkeypatch.setattr(mutants_on_trial, "KINDS", tuple(kind for kind in KINDS if kind.name == "about nothing"))
    section = dict(audit_module.SECTIONS)["mutations"](Bench(DOMAINS[NAME], few, small(few), quick=True))
    assert "could not judge: ZeroDivisionError" in section.short[0].text


def planted(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Let the audit find the domain with something changed."""
    monkeypatch.setitem(audit_module.DOMAINS, NAME, replace(DOMAINS[NAME], **changed))


@pytest.mark.usefixtures("fewer_kinds")
def test_a_readme_that_gives_away(few: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("fieldops_gym.evaluation.audit.contamination")
    monkeypatch.setattr(module, "checkout", lambda: tmp_path)
    (tmp_path / "README.md").write_text(f"Hint: {few.cards['X-05'].variants['landed'].recovery}.")
    assert red(few, small(few)) == ["contamination"]


@pytest.mark.usefixtures("fewer_kinds")
def test_an_opening_that_mostly_shows_its_variant(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the first seeds it does not, which are all that the comparison of twins plays in the quick form."""
    build = DOMAINS[NAME].build
    clean = {Stream(evaluation_seeds(number).entity, "entity").token("episode") for number in range(3)}

    def telling(card: Any, variant: Any, contract: Any, entity: Any, *rest: Any) -> Any:
        made = build(card, variant, contract, entity, *rest)
        leaks = variant is few.cards["X-05"].variants["landed"] and entity.token("episode") not in clean
        return made._replace(request=made.request + " Thanks." * leaks)

    planted(monkeypatch, build=telling)
    assert red(few, small(few)) == ["label leakage"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_reply_that_shows_what_is_hidden(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = DOMAINS[NAME].tools
    own = tools["dispatcher"]["query_asset"]

    def telling(context: Any, *values: Any) -> Any:
        facts = Waited(int(context.scenario.coordinates.variant == "not_newest"))
        return own.handler(context, *values)._replace(facts=facts)

    planted(monkeypatch, tools={**tools, "dispatcher": {**tools["dispatcher"], "query_asset": replace(own, handler=telling)}})
    assert red(few, small(few)) == ["non-interference"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_lock_that_does_not_match(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    held = lock_of(NAME, few)
    other = held._replace(parts={**held.parts, "personas": "0" * 64})
    monkeypatch.setattr(lock_module, "held_lock", lambda pack, name: other)
    assert red(few, small(few)) == ["lock"]
    assert short("lock", few, small(few)) == ["personas"]


@pytest.mark.usefixtures("fewer_kinds")
def test_a_lineage_in_two_splits(few: Pack) -> None:
    torn = few.cards["X-05"].model_copy(update={"lineage": few.cards["X-01"].lineage})
    assert red(few._replace(cards={**few.cards, "X-05": torn}), small(few)) == ["splits"]


def test_a_family_missing_from_a_split(few: Pack) -> None:
    moved = few.splits["X-05"].model_copy(update={"split": "regression"})
    found = short("splits", few._replace(splits={**few.splits, "X-05": moved}), small(few))
    assert found == ["each equipment family in one split", "split held_out"]


@pytest.mark.usefixtures("fewer_kinds")
def test_starts_that_are_unsound(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[NAME]
    planted = type(domain)(**{**vars(domain), "broken": lambda tables, start: ["planted: no start is good enough"]})
    worlds = audit_module.SECTIONS[-1][1]
    assert worlds.__name__ == "world_invariants"

    def on_planted(bench: Any) -> Section:
        return worlds(bench._replace(domain=planted))

    monkeypatch.setattr(audit_module, "SECTIONS", (*audit_module.SECTIONS[:-1], ("world invariants", on_planted)))
    assert red(few, small(few)) == ["world invariants"]


@pytest.mark.usefixtures("fewer_kinds")
def test_twice_is_the_same(few: Pack) -> None:
    one, other = (audit(NAME, few, small(few), quick=True) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert one.to_markdown() == other.to_markdown()


@pytest.mark.usefixtures("fewer_kinds")
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


@pytest.mark.usefixtures("fewer_kinds")
def test_the_page_tells_what_became_of_mutants(few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in audit_module.SECTIONS if row[0] in ("mutations", "contamination")]
    monkeypatch.setattr(audit_module, "SECTIONS", rows)
    report = audit(NAME, few, small(few), quick=True)
    made = [row.figures for section in report.sections for row in section.rows if "mutants" in row.figures]
    groups = dict.fromkeys(str(figures["group"]) for figures in made)
    page = report.to_markdown()
    for group in groups:
        own = [figures for figures in made if figures["group"] == group]
        assert f"| {group} | {len(own)} | {sum(int(figures['mutants']) for figures in own)} |" in page
    assert "- unrelated verdicts: " in page
    assert "- quarantined: nothing" in page
    assert "## What may be known beforehand" in page


def test_a_module_without_agents_is_refused() -> None:
    with pytest.raises(AgentLoadError, match=r"it has no REFERENCE, a class that does the work"):
        load_suite("agents.shortcuts")
    with pytest.raises(AgentLoadError, match=r"there is no module 'agents\.nowhere' here or installed"):
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
    assert "not covered: review by people" in result.stdout
    wrong = invoke("audit", "--agents", "agents.nowhere")
    assert (wrong.exit_code, wrong.stdout) == (2, "")


def test_the_command_fails_when_a_section_does(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Section("splits", "there are cards", "none", ())
    monkeypatch.setattr(audit_module, "SECTIONS", [("splits", lambda bench: empty)])
    assert invoke("audit", "--agents", "agents.suite", "--quick").exit_code == 1


def test_invariants_are_listed_with_their_papers() -> None:
    """At 80 columns, each in lines of its own; what all have alike is said once."""
    text = invoke("invariants").stdout
    assert max(map(len, text.splitlines())) <= 80
    blocks = text.split("\n\n")
    assert " ".join(blocks[0].split()) == f"{NAME}: {len(INVARIANTS[NAME])} invariants owner {OWNER} source {SOURCE}"
    for row, block in zip(INVARIANTS[NAME], blocks[1:], strict=True):
        head, *body = block.splitlines()
        assert head.split() == [
            row.id,
            f"v{row.version}",
            row.layer,
            str(int(row.severity)),
            row.severity.name.lower(),
            row.policy,
        ]
        assert row.rationale in " ".join(" ".join(body).split())


def test_a_shortcut_says_what_it_stands_for() -> None:
    assert all(shortcut.stands_for for shortcut in load_suite("agents.suite").shortcuts)
    assert RefuseEverything.__name__ in {shortcut.name for shortcut in load_suite("agents.suite").shortcuts}
