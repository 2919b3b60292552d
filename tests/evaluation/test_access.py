"""Held-out cards: a run that opens them says so in its settings, its report, and a log if it is given one."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agents.reference import Reference
from agents.shortcuts import DoNothing
from fieldops_gym import __version__
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation import (
    Access,
    AccessLogError,
    AgentSource,
    Report,
    ResultsError,
    read_accesses,
    record_access,
    run,
    settings_for,
)
from fieldops_gym.evaluation.report import render
from tests.evaluation.support import ENV, RELAY, Exits, contents, run_with

HELD_OUT = ("X-05", "X-06")


def text_of(report: Report) -> str:
    out = io.StringIO()
    render(Console(file=out, width=100, highlight=False), report, 0)
    return out.getvalue()


def logged(pack: Pack, path: Path, out: Path | None = None, resume: bool = False, seeds: int = 1, **chosen: object) -> Report:
    settings = settings_for(ENV, "DoNothing", pack, seeds=seeds, **chosen)  # ty: ignore[invalid-argument-type]
    return run(settings, pack, AgentSource("DoNothing", DoNothing), out, resume, access_log=path)


@pytest.mark.parametrize(
    ("chosen", "opened"),
    [
        ({}, ()),
        ({"split": "development"}, ()),
        ({"split": "held_out"}, HELD_OUT),
        ({"split": "all"}, HELD_OUT),
        ({"cards": ("X-06", "X-01")}, ("X-06",)),
        ({"cards": ("X-01",), "split": "held_out"}, ()),
    ],
)
def test_a_run_says_which_held_out_cards_it_opens(pack: Pack, tmp_path: Path, chosen: dict, opened: tuple[str, ...]) -> None:
    report = run_with(pack, DoNothing, 1, tmp_path / "out", **chosen)
    assert report.settings.held_out == opened
    assert json.loads((tmp_path / "out" / "run.json").read_text())["held_out"] == list(opened)
    assert re.findall(r"^held-out cards opened: (.*)$", text_of(report), re.MULTILINE) == (
        [", ".join(opened)] if opened else []
    )


def test_every_family_counts(pack: Pack) -> None:
    expected = {name for name, row in pack.splits.items() if row.split == "held_out"}
    assert set(settings_for(RELAY, "any", pack, split="all").held_out) == expected
    assert len(expected) > len(HELD_OUT)


def test_settings_of_other_tasks_are_refused(pack: Pack) -> None:
    settings = settings_for(ENV, "any", pack, split="all", seeds=1)
    for wrong in (settings._replace(held_out=()), settings._replace(pack="0" * 64)):
        with pytest.raises(ResultsError, match=r"make the settings by settings_for\(...\) with the same tasks"):
            run(wrong, pack, AgentSource("any", DoNothing))


def test_each_run_leaves_one_line_without_times_and_paths(pack: Pack, tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    logged(pack, log, split="all", seeds=2)
    logged(pack, log)
    lines = [json.loads(line) for line in log.read_text(encoding="ascii").splitlines()]
    common = {"format": "fieldops-access/1", "version": __version__, "env": ENV, "agent": "DoNothing", "pack": pack.digest}
    assert lines == [{**common, "held_out": list(HELD_OUT), "seeds": 2}, {**common, "held_out": [], "seeds": 1}]
    assert read_accesses(log) == tuple(Access(**line | {"held_out": tuple(line["held_out"])}) for line in lines)
    assert str(tmp_path) not in log.read_text()


def test_the_line_stands_before_the_first_trial(pack: Pack, tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"

    class Looks(DoNothing):
        def start(self, *args: object, **kwargs: object) -> None:
            assert log.read_bytes().count(b"\n") == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings_for(ENV, "Looks", pack, seeds=1), pack, AgentSource("Looks", Looks), access_log=log)


def test_a_run_that_is_gone_on_with_keeps_its_one_line(pack: Pack, tmp_path: Path) -> None:
    log, out = tmp_path / "access.jsonl", tmp_path / "out"
    logged(pack, log, split="held_out")
    logged(pack, log, out, split="held_out")
    logged(pack, log, out, resume=True, split="held_out")
    assert len(read_accesses(log)) == 2
    logged(pack, tmp_path / "late.jsonl", out, resume=True, split="held_out")
    assert len(read_accesses(tmp_path / "late.jsonl")) == 1
    logged(pack, log, tmp_path / "fresh", resume=True, split="held_out")
    assert len(read_accesses(log)) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"# Read me\n", "line 1 is not of an access log"),
        (b"{}\n", "it should have format 'fieldops-access/1' and exactly the fields format, version"),
        (b"[1]\n", "line 1 is not of an access log"),
        (b"[" * 10**5 + b"\n", "line 1 is not of an access log"),
        (b"\xff\n", "line 1 is not of an access log"),
        (b'{"format": "fieldops-acc', "its last line is torn"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_runs(pack: Pack, tmp_path: Path, content: bytes, says: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    with pytest.raises(AccessLogError, match=re.escape(says)):
        logged(pack, log, tmp_path / "out")
    assert contents(tmp_path) == {"log": content}


def test_a_wrong_place_is_refused_before_anything_runs(pack: Pack, tmp_path: Path) -> None:
    for path, says in ((tmp_path, "it is not a file"), (tmp_path / "no" / "log", "there is no directory")):
        with pytest.raises(AccessLogError, match=says):
            logged(pack, path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_run_leaves_no_line(pack: Pack, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(ResultsError):
        logged(pack, tmp_path / "log", tmp_path / "diary.txt")
    assert not (tmp_path / "log").exists()


def test_a_line_can_be_left_without_a_run(pack: Pack, tmp_path: Path) -> None:
    settings = settings_for(ENV, "mine", pack, cards=("X-05",), seeds=3)
    record_access(tmp_path / "log", settings)
    assert read_accesses(tmp_path / "log") == (Access.of(settings),)
    assert read_accesses(tmp_path / "none") == ()
    (tmp_path / "diary.txt").write_text("mine\n")
    with pytest.raises(AccessLogError, match="line 1 is not of an access log"):
        record_access(tmp_path / "diary.txt", settings)
    assert (tmp_path / "diary.txt").read_text() == "mine\n"


def test_runs_that_share_a_log_do_not_tear_it(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom fieldops_gym import load_tasks\n"
        "from fieldops_gym.evaluation import record_access, settings_for\n"
        "settings = settings_for('FieldOps-Effect-v0', sys.argv[2], load_tasks(), split='all')\n"
        "for _ in range(200):\n    record_access(Path(sys.argv[1]), settings)\n"
    )
    log = tmp_path / "log"
    root = Path(__file__).parents[2]
    running = [subprocess.Popen([sys.executable, "-c", code, str(log), name * 40], cwd=root, env=os.environ) for name in "ab"]
    assert [process.wait() for process in running] == [0, 0]
    agents = [access.agent for access in read_accesses(log)]
    assert sorted(agents) == ["a" * 40] * 200 + ["b" * 40] * 200


def command(*args: str) -> list[str]:
    return ["run", "--env", ENV, "--seeds", "1", "--agent", "agents.reference:Reference", *args]


def test_the_command_records_and_prints(tmp_path: Path, pack: Pack) -> None:
    log = tmp_path / "log"
    done = CliRunner().invoke(app, command("--split", "held_out", "--access-log", str(log)))
    assert done.exit_code == 0
    assert "held-out cards opened: X-05, X-06" in done.stdout
    (access,) = read_accesses(log)
    assert (access.agent, access.held_out, access.pack) == ("agents.reference:Reference", HELD_OUT, pack.digest)
    log.write_bytes(b"mine\n")
    refused = CliRunner().invoke(app, command("--access-log", str(log)))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"fieldops: {log}: line 1 is not of an access log")
    assert refused.stderr.count("\n") == 1


def test_an_agent_that_fails_has_opened_the_cards_all_the_same(pack: Pack, tmp_path: Path) -> None:
    for make in (Exits, Reference):
        assert run_with(pack, make, 1, cards=HELD_OUT).settings.held_out == HELD_OUT
