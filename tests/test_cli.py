"""The command line: what it prints, and the exit status that says whether the run worked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from fieldops_gym import __version__
from fieldops_gym.cli import app
from fieldops_gym.cli.common import PIPED
from fieldops_gym.core.cards import Card, Pack, content_hash
from fieldops_gym.core.judging import GraderError
from fieldops_gym.evaluation import read_rows, runner
from fieldops_gym.packs import shipped_tasks
from tests.support import VARIANTS

ENV = "FieldOps-Effect-v0"


def invoke(*args: str, columns: int = 100) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, list(args))


def play(agent: str, *args: str) -> Result:
    return invoke("run", "--env", ENV, "--agent", agent, "--seeds", "2", *args)


def test_list_shows_environments_and_cards(pack: Pack) -> None:
    result = invoke("list", columns=300)
    assert result.exit_code == 0
    assert ENV in result.stdout
    for card in pack.cards.values():
        line = next(line for line in result.stdout.splitlines() if line.startswith(card.id))
        for words in (pack.splits[card.id].split, card.segment, ", ".join(card.variants), card.contract):
            assert words in line
        assert line in result.stdout.partition(f"\nfamily {card.family}\n")[2].partition("\nfamily ")[0]
    for limit in ("60 turns", "60 tool calls", "3 retries", "4 effect attempts", "28800 simulated seconds"):
        assert limit in " ".join(result.stdout.split())


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_list_loses_and_breaks_no_word(pack: Pack, columns: int) -> None:
    lines = invoke("list", columns=columns).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    for card in pack.cards.values():
        first = next(n for n, line in enumerate(lines) if line.startswith(f"{card.id} "))
        row = [lines[first], *takewhile(lambda line: line.startswith(" ") and line.strip(), lines[first + 1 :])]
        words = sorted(word.strip(",") for line in row for word in line.split())
        assert words == sorted(
            (card.id, pack.splits[card.id].split, *card.segment.split(), *card.variants, card.contract)
        )  # fmt: skip


def test_list_away_from_the_checkout_and_in_a_pipe_has_a_fixed_width(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fieldops_gym.cli", "list"]
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert all(name.split(":")[0] in result.stdout for name in VARIANTS)
    assert max(map(len, result.stdout.splitlines())) == PIPED


def test_help_shows_splits_in_words_and_no_type_at_flags() -> None:
    text = invoke("run", "--help", columns=80).stdout
    (line,) = [line for line in text.splitlines() if "--split" in line]
    assert line.split()[1:4] == ["--split", "SPLIT", "The"]
    assert all(name in text for name in ("train", "development", "held_out", "regression"))
    for args in ((), *((command.name,) for command in app.registered_commands)):
        text = invoke(*map(str, args), "--help").stdout.lower()
        assert "--help" in text
        assert "bool" not in text


def test_the_version_is_told() -> None:
    assert invoke("--version").stdout == f"fieldops {__version__}\n"


def test_a_good_and_a_bad_agent_are_both_a_run_that_worked() -> None:
    good, bad = play("agents.reference:Reference"), play("agents.shortcuts:ClaimSuccess")
    assert (good.exit_code, bad.exit_code) == (0, 0)
    assert "account.finish_true" in bad.stdout
    assert "account.finish_true" not in good.stdout
    assert good.stderr == bad.stderr == ""


def test_an_agent_that_raises_is_shown_and_the_run_worked() -> None:
    result = play("tests.evaluation.support:RaisesInStart", "--cards", "X-01")
    assert result.exit_code == 0
    assert "agent_error" in result.stdout
    assert "RuntimeError: no key" in result.stdout


def test_a_run_that_could_not_be_judged_did_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unable(*_: Any) -> None:
        raise GraderError("no evidence to be had")

    monkeypatch.setattr(runner, "grade", unable)
    result = play("agents.reference:Reference", "--cards", "X-01", "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "no evidence to be had" in result.stdout
    rows = read_rows(tmp_path / "out" / "results.jsonl")
    assert [(row.status, row.outcome) for row in rows] == [("infra_error", "")] * 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--agent", "agents.nowhere:Agent"), "no module 'agents.nowhere'"),
        (("--agent", "agents.reference:Nobody"), "its agents are Reference"),
        (("--env", "FieldOps-Nothing-v0"), "there are FieldOps-Evidence-v0"),
        (("--cards", "X-01,X-99"), "X-99"),
        (("--fault", "gremlins"), "commit_then_timeout"),
        (("--tasks", "no/such/place"), "no/such/place"),
        (("--resume",), "--out"),
        (("--seeds", "0"), "--seeds"),
        (("--split", "some"), "held_out"),
    ],
)
def test_a_wrong_command_says_what_would_be_right(args: tuple[str, ...], says: str) -> None:
    result = play("agents.reference:Reference", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
    if result.stderr.startswith("fieldops:"):
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "was", "becomes", "says"),
    [
        ("effect/x-01.yaml", "segment: approval-required effect", "segment: easy", "segment: Input should be 'read-only'"),
        ("effect/x-01.yaml", "contract: effect", "contract: other", "card 'X-01': contract: there is no contract 'other'"),
        ("effect/x-02.yaml", "lost", "l\xf6st", "(the whole file): it should be UTF-8, byte"),
        ("effect/x-03.yaml", "claim:", "claim: [", "not YAML: "),
        ("effect/contract.yaml", "fallback: ", "fallback: x", "contract 'effect': fallback: there is no disposition 'x"),
        ("splits.yaml", "split: train", "split: exam", "row 1: split: Input should be 'train'"),
    ],
)
def test_a_bad_card_is_refused_with_its_file_field_and_reason(
    name: str, was: str, becomes: str, says: str, tmp_path: Path
) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))
    text = (tasks / name).read_text(encoding="utf-8")
    assert was in text
    (tasks / name).write_bytes(text.replace(was, becomes).encode("latin-1"))
    for result in (play("agents.reference:Reference", "--tasks", str(tasks)), invoke("list", "--tasks", str(tasks))):
        assert result.exit_code == 2
        assert result.stderr.startswith(f"fieldops: {name}: ")
        assert says in result.stderr
        assert "Traceback" not in result.output


def test_a_cards_text_that_cannot_be_read_is_no_crash(tmp_path: Path) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))
    path = tasks / "effect" / "x-01.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    data["requests"][0] = "Mend {"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    rows = yaml.safe_load((tasks / "splits.yaml").read_text(encoding="utf-8"))
    rows[0]["content"] = content_hash(Card.model_validate(data))
    (tasks / "splits.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")
    result = play("agents.reference:Reference", "--tasks", str(tasks))
    assert result.exit_code == 2
    assert result.stderr.startswith("fieldops: effect/x-01.yaml: card 'X-01': ")
    assert "Single '{'" in result.stderr


def test_out_keeps_results_that_a_second_run_does_not_touch(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    first = play("agents.shortcuts:SkipApproval", "--out", str(out))
    assert first.exit_code == 0
    flat = "".join(first.stdout.split())
    assert f"6trials.Resultsin{out}/results.jsonl,tracesin{out}/traces." in flat
    assert len(list((out / "traces").glob("*.jsonl"))) == len(read_rows(out / "results.jsonl")) == 6
    before = (out / "results.jsonl").read_bytes()
    second = play("agents.shortcuts:SkipApproval", "--out", str(out))
    assert second.exit_code == 2
    assert "--resume" in second.stderr
    third = play("agents.shortcuts:SkipApproval", "--out", str(out), "--resume")
    assert (third.exit_code, third.stdout) == (0, first.stdout)
    assert (out / "results.jsonl").read_bytes() == before


def test_an_interrupted_run_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "grade", stopped)
    result = play("agents.reference:Reference", "--out", str(tmp_path / "out"))
    assert result.exit_code == 130
    assert "--resume" in result.stderr


def test_a_fault_can_be_added(tmp_path: Path) -> None:
    result = play(
        "agents.reference:Reference", "--cards", "X-01", "--fault", "crash_after_commit", "--out", str(tmp_path / "o")
    )
    assert result.exit_code == 0
    assert "with fault crash_after_commit" in result.stdout
    traces = [path.read_text() for path in (tmp_path / "o" / "traces").glob("*.jsonl")]
    assert all('"kind": "restart"' in text for text in traces)


def test_importing_the_package_does_not_import_the_command_line() -> None:
    names = ("typer", "rich", "agents", "fieldops_gym.evaluation", "fieldops_gym.cli")
    code = f"import sys, fieldops_gym; print([name for name in {names} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
