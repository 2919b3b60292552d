"""Quarantine and retirement: shown in every report, counted as neither, and a segment that has too much of it is invalid."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from agents.reference import Reference
from agents.shortcuts import DoNothing
from fieldops_gym import load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation import Report, read_rows, retire
from fieldops_gym.evaluation.quarantine import (
    NOTHING,
    QuarantineError,
    listing,
    pack_shares,
    quarantine_of,
    retired_of,
    shares,
)  # fmt: skip
from fieldops_gym.evaluation.report import render
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import run_with

NAME = "field_service"
ENTRY = """\
threshold: {threshold}
entries:
  - card: {card}
    {more}
    category: grader
    date: 2026-01-31
    owner: keeper of the graders
    why: an honest order of reads was failed
    runs: [run-7]
    rerun: undecided
"""


def tasks_with(tmp_path: Path, card: str = "X-01", more: str = "", threshold: float = 0.2) -> Path:
    """A copy of the shipped tasks with one thing set apart."""
    tasks = Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))
    (tasks / "quarantine.yaml").write_text(ENTRY.format(card=card, more=more, threshold=threshold))
    return tasks


def text_of(report: Report, width: int = 120) -> str:
    out = io.StringIO()
    render(Console(file=out, width=width, highlight=False), report, 10)
    return out.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def cells(text: str, start: str) -> list[str]:
    return re.split(r"\s{2,}", next(line for line in text.splitlines() if line.startswith(start)).strip())


def play(*args: str | Path) -> Result:
    command = ["run", "--env", "FieldOps-Effect-v0", "--seeds", "2", "--agent", "agents.reference:Reference", *map(str, args)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, command)


def test_nothing_of_what_is_shipped_is_set_apart(pack: Pack) -> None:
    held = quarantine_of(pack, NAME)
    assert held.entries == ()
    assert 0 < held.threshold < 1
    assert listing(held, retired_of(pack)) == ("quarantined: nothing", "retired: no card")
    assert not any(share.apart or share.invalid for share in pack_shares(pack, held))
    text = text_of(run_with(pack, Reference, 1, cards=("X-01",)))
    assert "quarantined: nothing" in text
    assert "retired: no card" in text


@pytest.mark.parametrize("make", [Reference, DoNothing])
def test_a_quarantined_trial_is_shown_and_counts_neither_as_passed_nor_as_failed(tmp_path: Path, make: Any) -> None:
    pack = load_tasks(tasks_with(tmp_path))
    report = run_with(pack, make, 4, tmp_path / "out")
    assert [row.card for row in read_rows(tmp_path / "out" / "results.jsonl")] == ["X-01"] * 4 + ["X-02"] * 4 + ["X-03"] * 4
    text = text_of(report)
    assert cells(text, "card")[2:] == ["passed", "failed", "void", "not judged", "quarantined", "of n"]
    assert cells(text, "X-01")[2:] == ["0", "0", "0", "0", "4", "4"]
    assert cells(text, "X-02")[-2:] == ["0", "4"]
    assert cells(text, "3 cards")[-2:] == ["4", "12"]
    assert "4 quarantined: played and shown, and counted neither as passed nor as failed" in flat(text)
    why = "X-01: grader, 2026-01-31, decided by the keeper of the graders: an honest order of reads was failed"
    assert f"quarantined: {why}; affects run-7; undecided" in flat(text)
    failed = [kind for kind in report.failures if kind.key.card == "X-01"]
    assert [kind.quarantined for kind in failed] == [kind.count for kind in failed]
    assert bool(re.search(r"^X-01:\w+  \d quarantined,", text, flags=re.MULTILINE)) == bool(failed) == (make is DoNothing)
    assert not re.search(r"^X-0[23]:\w+  \d quarantined", text, flags=re.MULTILINE)


def test_the_report_as_json_says_the_same(tmp_path: Path) -> None:
    tasks, file = tasks_with(tmp_path), tmp_path / "report.json"
    result = play("--tasks", tasks, "--json", file)
    assert result.exit_code == 0, result.output
    body = json.loads(file.read_text())
    assert body["format"] == "fieldops-report/1"
    assert body["locked"] is False
    first = body["cards"][0]
    assert (first["card"], first["quarantined"], first["tally"]["passed"]) == ("X-01", 2, 0)
    assert body["quarantine"]["entries"][0]["owner"] == "keeper of the graders"
    assert body["segments"] == [
        {
            "segment": "approval-required effect", "cards": ["X-01", "X-02", "X-03"], "quarantined": 2, "invalid": True,
            "tally": {"passed": 4, "failed": 0, "void": 0, "errors": 0, "raised": 0},
        }
    ]  # fmt: skip
    assert body["retired"] == []
    assert "unlocked: the tasks have no lock.json" in result.stdout


def test_a_report_that_cannot_be_written_is_still_told(tmp_path: Path) -> None:
    result = play("--cards", "X-01", "--tasks", tasks_with(tmp_path), "--json", tmp_path / "nowhere" / "report.json")
    assert result.exit_code == 2
    assert "2 trials. Nothing was written" in result.stdout
    assert "no such file or directory" in result.stderr


@pytest.mark.parametrize(("threshold", "invalid"), [(0.2, True), (0.4, False), (0.0, True), (1 / 3, False), (1.0, False)])
def test_a_segment_is_invalid_above_the_threshold_and_not_at_it(tmp_path: Path, threshold: float, invalid: bool) -> None:
    report = run_with(load_tasks(tasks_with(tmp_path, threshold=threshold)), Reference, 4)
    (share,) = shares(report.rows, report.quarantine)
    assert (share.apart, share.n, share.invalid) == (4, 12, invalid)
    assert ("approval-required effect is INVALID: 4 of 12 are quarantined" in flat(text_of(report))) == invalid
    assert ("approval-required effect (INVALID)" in text_of(report)) == invalid


@pytest.mark.parametrize(
    ("more", "apart"),
    [("variant: whole", [0, 2]), ("seeds: [1, 2]", [1, 2]), ("{variant: whole, seeds: [1, 2]}", [2])],
)
def test_a_variant_or_some_seeds_can_be_set_apart(tmp_path: Path, more: str, apart: list[int]) -> None:
    lines = "\n    ".join(re.findall(r"\w+: (?:\[[^]]*\]|\w+)", more))
    report = run_with(load_tasks(tasks_with(tmp_path, more=lines)), Reference, 4, cards=("X-01",))
    assert [number for number, row in enumerate(report.rows) if report.quarantine.covers(row)] == apart


def test_retired_cards_are_listed_and_can_be_played_again(tmp_path: Path) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))
    before = run_with(load_tasks(tasks), Reference, 2, cards=("X-05",))
    retire(tasks, ["X-05"], "opened in five runs")
    after = run_with(load_tasks(tasks), Reference, 2, cards=("X-05",))
    assert [(row.outcome, row.seeds) for row in after.rows] == [(row.outcome, row.seeds) for row in before.rows]
    assert [item.card for item in after.retired] == ["X-05"]
    assert "retired: X-05: " in text_of(after)
    assert "opened in five runs" in flat(text_of(after))
    assert json.loads(after.to_json())["retired"][0]["card"] == "X-05"


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("card: X-01", "card: X-99", "entries.0.card: there is no card 'X-99'; there are A-01"),
        (
            "category: grader",
            "variant: none\n    category: grader",
            "entries.0.variant: 'none' is none of its; card 'X-01' has",
        ),
        ("category: grader", "category: mood", "entries.0.category: Input should be 'system', 'harness', 'grader'"),
        ("rerun: undecided", "rerun: maybe", "entries.0.rerun: Input should be 'rerun', 'not rerun' or 'undecided'"),
        ("date: 2026-01-31", "date: soon", "entries.0.date: "),
        ("owner: keeper of the graders", "owner: ''", "entries.0.owner: "),
        ("    owner: keeper of the graders\n", "", "entries.0.owner: Field required"),
        ("category: grader", "seeds: [3, 1]\n    category: grader", "entries.0: Value error, seeds: 3 is above 1"),
        ("threshold: 0.2", "threshold: 2", "threshold: Input should be less than or equal to 1"),
        ("threshold: 0.2\n", "", "threshold: Field required"),
        ("entries:", "entries: [", "not YAML in UTF-8: "),
        ("runs: [run-7]", "runs: [run-7]\n    mood: bad", "entries.0.mood: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_file_is_told_by_field_and_the_run_does_not_begin(tmp_path: Path, was: str, becomes: str, says: str) -> None:
    tasks = tasks_with(tmp_path)
    path = tasks / "quarantine.yaml"
    assert was in path.read_text()
    path.write_text(path.read_text().replace(was, becomes, 1))
    result = play("--tasks", tasks, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.startswith("fieldops: quarantine.yaml: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_pack_without_a_file_has_nothing_set_apart(tmp_path: Path, pack: Pack) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))
    assert quarantine_of(load_tasks(tasks), NAME) == quarantine_of(pack._replace(directory=None), NAME) == NOTHING
    (tasks / "quarantine.yaml").write_text("[]")
    with pytest.raises(QuarantineError, match="the whole file"):
        quarantine_of(load_tasks(tasks), NAME)


def test_of_a_pack_the_share_of_each_segment_is_told(tmp_path: Path) -> None:
    pack = load_tasks(tasks_with(tmp_path, "E-06", threshold=0.1))
    found = {share.segment: share for share in pack_shares(pack, quarantine_of(pack, NAME))}
    segment = pack.cards["E-06"].segment
    assert found[segment].apart == len(pack.cards["E-06"].variants)
    assert sum(share.apart for share in found.values()) == found[segment].apart
    assert sum(share.n for share in found.values()) == sum(len(card.variants) for card in pack.cards.values())


@pytest.mark.parametrize("width", [60, 100])
def test_it_fits_the_terminal(tmp_path: Path, width: int) -> None:
    report = run_with(load_tasks(tasks_with(tmp_path)), DoNothing, 4)
    assert max(len(line) for line in text_of(report, width).splitlines()) <= width
