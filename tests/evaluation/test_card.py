"""The environment card: what it says traces to what is there, and what is not shown scores nothing."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from agents.alternatives import combined
from agents.reference import Reference
from agents.shortcuts import DoNothing
from fieldops_gym import DOMAINS, __version__, load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation.audit import SECTIONS, AuditReport, Bench, Row, Section, load_suite, suite_of
from fieldops_gym.evaluation.audit import report as audit_report
from fieldops_gym.evaluation.audit.agents_on_trial import solvability
from fieldops_gym.evaluation.audit.report import FORMAT as AUDIT_FORMAT
from fieldops_gym.evaluation.card import EnvironmentCard, EnvironmentCardError, card_of, environment_card, read_audit, tables
from fieldops_gym.evaluation.card.audited import Audited
from fieldops_gym.evaluation.card.coverage import Cell, cells, covers, reached
from fieldops_gym.evaluation.card.grounds import Grounds, checkout
from fieldops_gym.evaluation.card.identity import VERSIONS
from fieldops_gym.evaluation.card.parts import Part
from fieldops_gym.evaluation.card.probes import PROBES
from fieldops_gym.evaluation.card.scores import KINDS, Evidence, answers, scored
from fieldops_gym.evaluation.card.traced import check_traces
from fieldops_gym.evaluation.card.validity import read_changes
from fieldops_gym.evaluation.lock import State, check_lock
from fieldops_gym.graders import invariants_of

NAME = "field_service"
ROOT = Path(__file__).parents[2]
QUESTIONS = tuple(dict.fromkeys([name for name, _ in SECTIONS] + list(getattr(audit_report, "NOT_COVERED", ()))))
"""Every section that an audit has, or is said not to have yet."""


def held(short: str = "") -> tuple[Section, ...]:
    """Every section with a row that holds, but for that of `short`."""
    return tuple(Section(name, "bound", "1 of 1", (Row("it", name != short, "seen"),)) for name in QUESTIONS)


def audited(short: str = "") -> Audited:
    return Audited("agents.suite", "quick", held(short), ())


@pytest.fixture(scope="module")
def given(pack: Pack) -> Grounds:
    """The grounds of the shipped pack's card, unaudited, as if its lock were up to date."""
    made = Grounds(DOMAINS[NAME], pack, load_suite("agents.suite"), None, tables.claims(), checkout())
    made.__dict__["lock"] = made.lock._replace(state=State.LOCKED, differ=())
    return made


@pytest.fixture(scope="module")
def card(given: Grounds) -> EnvironmentCard:
    return card_of(given)


def differing(given: Grounds, **other: Any) -> Grounds:
    """The same grounds, runs included, but for some fields."""
    twin = copy.copy(given)
    for name, value in other.items():
        object.__setattr__(twin, name, value)
    return twin


@pytest.fixture(scope="module")
def whole(given: Grounds) -> EnvironmentCard:
    """The card with an audit in which everything holds."""
    return card_of(differing(given, audit=audited()))


def invariants() -> frozenset[str]:
    return frozenset(i.id for i in invariants_of(DOMAINS[NAME]))


# What it says


def test_json_comes_back_as_it_was(card: EnvironmentCard, whole: EnvironmentCard) -> None:
    for made in (card, whole):
        assert EnvironmentCard.from_json(made.to_json()) == made
    rows = json.loads(card.to_json())["parts"][1]["tables"][0]["rows"]
    assert rows[0]["claim"] == "one-effect"
    for text in ("{", "[]", '{"format": "fieldops-card/0"}', "null"):
        with pytest.raises(EnvironmentCardError, match="no environment card"):
            EnvironmentCard.from_json(text)


def test_markdown_has_every_part_and_every_table_with_rows(card: EnvironmentCard, given: Grounds) -> None:
    text = card.to_markdown()
    lines = text.splitlines()
    short = card_of(differing(given, audit=audited("shortcuts")))
    assert "| shortcuts | it | seen |" in short.to_markdown().splitlines()
    for part in card.parts:
        assert lines.count(f"## {part.title}") == 1, part.id
        assert not part.empty, part.id
        for table in part.tables:
            assert not table.rows or f"| {' | '.join(table.columns)} |" in lines
    widths = [line.count("|") for line in lines if line.startswith("| ")]
    assert min(widths) > 2
    assert str(ROOT) not in text
    assert str(Path.home()) not in text


def test_each_place_that_needs_an_audit_says_that_there_was_none(card: EnvironmentCard, whole: EnvironmentCard) -> None:
    assert {row[1] for row in card.part("validity").table("audit").rows} == {"not audited"}
    assert ("audit", "not audited") in card.part("identity").table("environment").rows
    assert "Audit: not audited." in card.to_markdown()
    assert {row[1] for row in card.part("evidence").table("claims").rows} == {"structural"}
    assert all("not audited" in str(row[2]) for row in card.part("evidence").table("claims").rows)
    assert "not audited" not in whole.to_markdown()
    assert {row[1] for row in whole.part("evidence").table("claims").rows} == {"mechanics"}


def test_an_audit_that_falls_short_is_told(given: Grounds) -> None:
    made = card_of(differing(given, audit=audited("shortcuts")))
    assert "shortcuts" in {row[0] for row in made.part("validity").table("audit").rows if row[1] == "NO"}
    assert made.part("validity").table("falls short").rows == (("shortcuts", "it", "seen"),)
    assert made.part("evidence").table("claims").rows[0][1] == "structural"


def test_another_process_writes_the_same_bytes(given: Grounds) -> None:
    command = [sys.executable, "-m", "fieldops_gym.cli", "card", "--agents", "agents.suite"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == card_of(differing(given, lock=check_lock(NAME, given.pack))).to_markdown()


# Claims


def test_every_shipped_claim_traces_to_what_is_there(pack: Pack) -> None:
    check_traces(tables.claims(), pack, invariants())
    assert len(tables.claims().claims) >= 3
    assert len(tables.claims().not_claimed) >= 8


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"cards": ["X-99"]}, "claim 'planted': there is no card 'X-99'"),
        ({"faults": ["earthquake"]}, "claim 'planted': there is no fault 'earthquake'"),
        ({"faults": ["workflow_deployed"]}, "no variant of its cards has fault 'workflow_deployed'"),
        ({"invariants": ["effect.none"]}, "there is no invariant 'effect.none'"),
        ({"invariants": ["trajectory.grounded"]}, "none of its cards asks invariant 'trajectory.grounded'"),
        ({"needs": ["luck"]}, "there is no dimension 'luck'"),
    ],
)
def test_a_claim_that_traces_to_nothing_is_an_error(pack: Pack, tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    claim = {
        "id": "planted", "statement": "It holds.", "conditions": "here", "cards": ["X-03"], "faults": ["commit_then_timeout"],
        "invariants": ["effect.at_most_once"], "needs": ["effect"],
    }  # fmt: skip
    data = yaml.safe_load((tables.DATA / "claims.yaml").read_text())
    for row, wrong in ((claim, ""), (claim | changed, says)):
        path = tmp_path / "claims.yaml"
        path.write_text(yaml.safe_dump(data | {"claims": [row]}))
        if not wrong:
            check_traces(tables.claims(path), pack, invariants())
            continue
        with pytest.raises(EnvironmentCardError, match=wrong):
            environment_card(NAME, pack, load_suite("agents.suite"), claims=path)


def test_claims_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for text in ("claims: 1", "[", "claims: []", "\x00"):
        path.write_text(text)
        with pytest.raises(EnvironmentCardError, match=r"^mine\.yaml: "):
            tables.claims(path)
    with pytest.raises(EnvironmentCardError, match=r"^none\.yaml: "):
        tables.claims(tmp_path / "none.yaml")


# Coverage


def marked(given: Grounds, card: str) -> set[tuple[str, str]]:
    return {(cell.dimension, cell.overlay) for cell in cells(given) if card in cell.cards}


def test_a_cell_disappears_when_its_invariants_are_not_asked(given: Grounds, pack: Pack) -> None:
    gone = {"recovery.reconcile_before_resend", "recovery.same_key", "recovery.workflow_in_force"}
    asked = {i: params for i, params in pack.cards["X-03"].hidden.invariants.items() if i not in gone}
    hidden = pack.cards["X-03"].hidden.model_copy(update={"invariants": asked})
    less = pack._replace(cards={**pack.cards, "X-03": pack.cards["X-03"].model_copy(update={"hidden": hidden})})
    before, after = marked(given, "X-03"), marked(replace(given, pack=less), "X-03")
    assert before - after == {(d, o) for d in ("durability", "recovery") for o in ("single fault", "combined faults")}
    assert not after - before


def test_a_cell_is_not_marked_where_nothing_reached_it(given: Grounds) -> None:
    idle = suite_of(
        SimpleNamespace(__name__="idle", REFERENCE=DoNothing, ALTERNATIVES=(), SHORTCUTS=(), combined=combined)  # type: ignore[arg-type]
    )
    made = replace(given, suite=idle)
    found = {cell.dimension for cell in cells(made)}
    assert found == {"efficiency"}
    # Invariants that hold for whoever does nothing did grade, and still mark nothing.
    assert "effect.at_most_once" in made.graded


@pytest.mark.parametrize(
    ("condition", "there", "not_there"),
    [
        ({"call": "reconcile"}, "X-03:immediate", "X-01:whole"),
        ({"event": "crash"}, "R-01:live", "X-03:immediate"),
        ({"act": "requester.cancel"}, "X-05:landed", "X-03:immediate"),
        ({"fault": "commit_then_timeout"}, "X-03:immediate", "X-02:timeout"),
        ({"writes": "reservation"}, "X-01:whole", "P-01:few_parts"),
        ({"shows": {"table": "manual", "field": "status", "value": "withheld"}}, "E-05:none", "E-01:newest"),
    ],
)
def test_what_a_run_reaches(given: Grounds, condition: dict[str, Any], there: str, not_there: str) -> None:
    asked = tables.Condition.model_validate(condition)
    found = {run.name: reached(run.run.episode.world, asked, given.domain.lead) for run in given.runs if run.run.episode}
    assert (found[there], found[not_there]) == (True, False)


def test_a_way_needs_all_that_it_names(given: Grounds) -> None:
    run = next(run for run in given.runs if run.name == "E-01:newest")
    any_of, more = (
        {"any": [{"call": "query_asset"}, {"call": "reserve"}], "graded": ["task.accepted_ending"]},
        [{"call": "reserve"}],
    )
    for way, covered in ((any_of, True), (any_of | {"all": more}, False), (any_of | {"graded": ["effect.suitable"]}, False)):
        dimension = tables.Dimension.model_validate({"dimension": "d", "asks": "a", "ways": [way]})
        assert covers(run, dimension, given.domain.lead) is covered


def test_a_condition_is_one_thing() -> None:
    for wrong in ({}, {"call": "reserve", "fault": "not_sent"}):
        with pytest.raises(ValueError, match="exactly one of"):
            tables.Condition.model_validate(wrong)


def test_what_the_matrix_says_of_some_cards(given: Grounds, card: EnvironmentCard) -> None:
    made = cells(given)
    assert Cell("effect", "cancellation", "combined faults", ("X-05",)) in made
    assert ("durability", "single fault") in marked(given, "R-01")
    assert ("identity", "nominal") in marked(given, "E-05")
    assert not [cell for cell in made if cell.family in ("evidence", "proposal") and cell.dimension == "effect"]
    empty = dict(card.part("coverage").table("empty").rows)
    assert "effect" in str(empty["evidence"])
    assert "recovery" not in empty


# Audits


def report(tasks: Pack, **other: Any) -> str:
    """What `fieldops audit --json FILE` writes, as far as a card reads it."""
    sections = [{**plain(section), "holds": section.holds} for section in held()]
    body = {"format": AUDIT_FORMAT, "version": __version__, "pack": tasks.digest, "agents": "agents.suite", "form": "quick"}
    return json.dumps({**body, "sections": sections} | other)


def test_an_audits_own_report_is_read(pack: Pack, tmp_path: Path) -> None:
    few = pack._replace(cards={"E-06": pack.cards["E-06"]}, splits={"E-06": pack.splits["E-06"]})
    agents = suite_of(
        SimpleNamespace(__name__="one", REFERENCE=Reference, ALTERNATIVES=(), SHORTCUTS=(), combined=combined)  # type: ignore[arg-type]
    )
    bench = Bench(DOMAINS[NAME], few, agents, quick=True)
    made = AuditReport(AUDIT_FORMAT, __version__, pack.digest, "one", "quick", (solvability(bench),))
    path = tmp_path / "audit.json"
    path.write_text(made.to_json())
    assert read_audit(path, pack.digest).sections == made.sections


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"pack": "0" * 64}, "it is of pack 00000000, these tasks are"),
        ({"version": "0.0.1"}, "it is of version 0.0.1, this is"),
        ({"format": "fieldops-audit/0"}, "its format is 'fieldops-audit/0'"),
    ],
)
def test_an_audit_of_something_else_is_refused(pack: Pack, tmp_path: Path, other: dict[str, Any], says: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(report(pack))
    assert read_audit(path, pack.digest).sections == held()
    path.write_text(report(pack, **other))
    with pytest.raises(EnvironmentCardError, match=says):
        read_audit(path, pack.digest)
    done = CliRunner().invoke(app, ["card", "--agents", "agents.suite", "--audit", str(path)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("fieldops: --audit audit.json: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "fieldops-audit/1"}', "\x80"])
def test_what_is_no_audit_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "audit.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EnvironmentCardError, match="not what `fieldops audit --json FILE` writes"):
        read_audit(path, "")
    with pytest.raises(EnvironmentCardError, match="cannot be read"):
        read_audit(tmp_path / "none.json", "")


def test_a_word_in_an_audit_counts_for_nothing_against_its_rows(pack: Pack, tmp_path: Path) -> None:
    data = json.loads(report(pack))
    data["sections"][0]["rows"][0]["holds"] = False  # and its own "holds" still says true
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(data))
    assert not read_audit(path, pack.digest).sections[0].holds


# Scores


def evidence(given: Grounds, card: EnvironmentCard) -> Evidence:
    return Evidence(given, {part.id: part for part in card.parts})


def needs() -> list[tuple[str, str]]:
    """Every reference of rubric, gates, checklist and claims."""
    rubric = tables.rubric()
    asked = [*rubric.points, *rubric.gates, *tables.checklist()]
    return sorted(
        {tuple(r.split(":", 1)) for each in asked for r in each.needs}
        | {tuple(r.split(":", 1)) for r in tables.claims().mechanics}
    )  # type: ignore[misc]


@pytest.mark.parametrize(("kind", "name"), needs())
def test_every_reference_names_something_that_is_there(given: Grounds, card: EnvironmentCard, kind: str, name: str) -> None:
    known = {
        "audit": set(QUESTIONS), "part": {part.id for part in card.parts}, "probe": set(PROBES), "graded": invariants(),
        "fired": set(given.pack.faults),
    }  # fmt: skip
    assert kind in KINDS
    if kind in known:
        assert name in known[kind]
    else:
        assert evidence(given, card).look(f"{kind}:{name}").holds


def test_points_that_need_an_audit_are_not_given_without_one(card: EnvironmentCard, whole: EnvironmentCard) -> None:
    assert (whole.points, whole.most) == (20, 20)
    assert card.points < 20
    for row in card.part("rubric").table("points").rows:
        assert row[3] == int("NOT SHOWN" not in str(row[4]))


@pytest.mark.parametrize(
    "short", sorted({r.split(":")[1] for point in tables.rubric().points for r in point.needs if r.startswith("audit:")})
)
def test_a_section_that_falls_short_costs_points(given: Grounds, whole: EnvironmentCard, short: str) -> None:
    full, less = (evidence(differing(given, audit=audited(name)), whole) for name in ("", short))
    assert scored(less).total < scored(full).total
    before, after = answers(full), answers(less)
    assert sum(a.answer == "yes" for a in after) <= sum(a.answer == "yes" for a in before)


def test_a_section_that_an_audit_has_not_is_not_shown(given: Grounds, whole: EnvironmentCard) -> None:
    few = differing(given, audit=Audited("agents.suite", "quick", held()[:1], ("others",)))
    look = evidence(few, whole).look
    assert look("audit:solvability").holds
    assert look("audit:shortcuts").text == "the audit does not ask this"
    assert not look("rumour:it works").holds


def test_random_splits_and_large_words_cost_whole_groups(given: Grounds, whole: EnvironmentCard) -> None:
    manifest = given.pack.splits
    moved = {**manifest, "X-02": manifest["X-02"].model_copy(update={"split": "held_out"})}
    mixed = differing(given, audit=audited(), pack=given.pack._replace(splits=moved))
    assert scored(evidence(mixed, whole)).groups["faults and splits"] == (0, 5)
    claim = given.claims.claims[0].model_copy(update={"statement": "Agents that pass are safe in production."})
    loud = differing(given, audit=audited(), claims=given.claims.model_copy(update={"claims": (claim,)}))
    assert scored(evidence(loud, whole)).total == 0


def test_a_fault_that_never_fired_and_a_lock_that_differs_cost_points(given: Grounds, whole: EnvironmentCard) -> None:
    full = scored(evidence(differing(given, audit=audited()), whole)).total
    dull = differing(given, audit=audited())
    dull.__dict__["fired"] = given.fired - {"partial_effect"}
    assert scored(evidence(dull, whole)).total == full - 2  # F1 asks that all fired, F2 asks for this one
    other = differing(given, audit=audited())
    other.__dict__["lock"] = given.lock._replace(state=State.DIFFERS, differ=("cards",))
    assert scored(evidence(other, whole)).total == full - 1


def test_without_the_checkout_tests_are_not_shown(given: Grounds, card: EnvironmentCard, whole: EnvironmentCard) -> None:
    away = differing(given, audit=audited(), root=None)
    assert scored(evidence(away, whole)).total < 20
    assert "installed without its checkout" in evidence(away, whole).why_not("file:LICENSE")
    assert evidence(away, whole).look("file:fieldops_gym/evaluation/runner.py").holds
    assert card_of(away).part("changes") == card.part("changes")


def test_the_checklist_answers_every_item_and_says_why(card: EnvironmentCard, whole: EnvironmentCard) -> None:
    asked = [item.id for item in tables.checklist()]
    wanted = [f"II.{n}" for n in range(1, 10)] + [f"III.{n}" for n in range(1, 14)] + ["I.d.1", "I.f.2", "I.g.1", "I.h.1"]
    assert set(wanted) <= set(asked)
    assert len(set(asked)) == len(asked)
    for made in (card, whole):
        for _, _, answer, shown in made.part("checklist").table("items").rows:
            assert answer in ("yes", "no", "not applicable")
            assert shown
            assert answer != "yes" or "NOT SHOWN" not in str(shown)
    assert dict(whole.answers)["yes"] > dict(card.answers)["yes"]
    assert dict(whole.answers)["no"] >= 4  # what no audit can show


# Data


def test_the_shipped_changes_are_those_of_the_change_log() -> None:
    assert tables.changes() == read_changes(ROOT / "CHANGELOG.md")
    assert tables.changes()[0].version == __version__


def test_an_entry_that_says_nothing_of_earlier_results_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changes\n\n## 9.0.0\n\n- Something new.\n")
    with pytest.raises(EnvironmentCardError, match=r"9\.0\.0: no line says whether"):
        read_changes(path)


def test_layers_and_dependencies_name_modules_and_versions_that_exist() -> None:
    held = tables.surroundings()
    modules = [name for row in held.layers for name in row.modules] + [row.module for row in held.dependencies]
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []
    assert {row.version for row in held.dependencies} == set(VERSIONS)


def test_dimensions_ask_invariants_and_conditions_that_exist(pack: Pack) -> None:
    domain = DOMAINS[NAME]
    for way in (way for dimension in tables.dimensions() for way in dimension.ways):
        assert set(way.graded) <= invariants()
        for condition in (*way.any, *way.all):
            seat, _, tool = condition.act.partition(".")
            assert not condition.act or tool in domain.tools[seat]
            assert not condition.call or condition.call in domain.tools[domain.lead]
            assert not condition.fault or condition.fault in pack.faults
            assert not condition.writes or condition.writes in {*domain.tables, "message"}
            assert condition.shows is None or condition.shows.field in domain.tables[condition.shows.table]._fields  # type: ignore[attr-defined]


def test_generated_rows_are_those_of_the_tasks(card: EnvironmentCard, pack: Pack) -> None:
    def first(part: Part, table: str) -> list[Any]:
        return [row[0] for row in part.table(table).rows]

    domain = DOMAINS[NAME]
    assert first(card.part("tools"), "tools") == list(domain.tools[domain.lead])
    assert first(card.part("faults"), "faults") == list(pack.faults)
    assert first(card.part("people"), "personas") == list(pack.personas)
    assert first(card.part("cards"), "cards") == sorted(pack.cards)
    assert first(card.part("budgets"), "budgets") == sorted(pack.contracts)
    assert first(card.part("invariants"), "invariants") == [i.id for i in invariants_of(domain)]
    gaps = {row.gap for tool in domain.tools[domain.lead].values() for row in tool.fidelity}
    assert {row[2] for row in card.part("boundary").table("fidelity").rows} == gaps


# Packs of one's own, and the command


def test_tasks_without_lock_and_quarantine_have_a_card_too(pack: Pack, tmp_path: Path) -> None:
    assert pack.directory is not None
    mine = tmp_path / "mine"
    shutil.copytree(pack.directory, mine)
    made = environment_card(NAME, load_tasks(mine), load_suite("agents.suite"))
    assert "These tasks have no quarantine.yaml" in made.part("exclusions").lead[0]
    points = {row[0]: row[3] for row in made.part("rubric").table("points").rows}
    assert (points["F5"], points["L5"], points["S3"]) == (0, 0, 1)


def test_the_command_prints_markdown_or_writes_files(pack: Pack, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text(report(pack))
    files = {name: tmp_path / "card" / f"card.{name}" for name in ("json", "markdown")}
    claims = tmp_path / "claims.yaml"
    claims.write_text((tables.DATA / "claims.yaml").read_text().replace("AgentBench", "Ägent“Bench|”"), encoding="utf-8")
    arguments = ["--claims", str(claims)] + [part for name, file in files.items() for part in (f"--{name}", str(file))]
    done = CliRunner().invoke(app, ["card", "--agents", "agents.suite", "--audit", str(path), *arguments])
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    made = EnvironmentCard.from_json(files["json"].read_text(encoding="utf-8"))
    assert files["markdown"].read_text(encoding="utf-8") == made.to_markdown()
    assert made.pack == pack.digest
    assert made.part("reading").table("sources").rows[0][0] == "Ägent“Bench|”"
    assert made.audit.startswith("quick form, agents agents.suite: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--agents", "agents.nowhere"), "agents 'agents.nowhere': there is no module 'agents.nowhere' here"),
        (("--agents", "agents.suite", "--tasks", "nowhere"), "there is no such directory of tasks"),
        (("--agents", "agents.suite", "--claims", "none.yaml"), "none.yaml: it cannot be read"),
        (("--agents", "agents.suite", "--audit", "none.json"), "--audit none.json: it cannot be read"),
    ],
)
def test_a_wrong_command_says_what_would_be_right(arguments: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(app, ["card", *arguments])
    assert done.exit_code == 2
    assert says in done.stderr
