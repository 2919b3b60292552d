"""Results and traces: what they hold, that they agree with the run and with replay, and that a run can be gone on with."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.random_agent import RandomAgent
from agents.reference import Reference
from agents.shortcuts import FreshKeyRetry
from fieldops_gym import Coordinates, Step, ToolCall, load_tasks, replay
from fieldops_gym.core.calls import Foreign
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.world import tables_digest
from fieldops_gym.evaluation import ResultsError, TraceError, by_card, by_segment, read_rows, read_trace, trace_name, trial_id
from fieldops_gym.evaluation.results import ResultsDir
from fieldops_gym.evaluation.summary import failures
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import ENV, Garbage, RaisesInAct, contents, run_with

SEEDS = 6


@pytest.fixture(scope="module")
def mixed(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of an agent that passes some variants and fails others."""
    out = tmp_path_factory.mktemp("runs") / "mixed"
    run_with(pack, FreshKeyRetry, SEEDS, out)
    return out


def test_nothing_is_written_without_a_directory(pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_with(pack, FreshKeyRetry, 2)
    assert contents(tmp_path) == {}


def test_a_line_of_results_has_what_was_promised(mixed: Path, pack: Pack) -> None:
    lines = [json.loads(line) for line in (mixed / "results.jsonl").read_text().splitlines()]
    assert [line["card"] for line in lines] == ["X-01"] * SEEDS + ["X-02"] * SEEDS + ["X-03"] * SEEDS
    for line in lines:
        keys = {"trial", "card", "variant", "segment", "seeds", "agent", "status", "outcome", "ending", "completion"}
        assert keys | {"broken", "digests"} <= set(line)
        assert set(line["seeds"]) == {"entity", "interaction", "fault"}
        assert set(line["digests"]) == {"start", "log", "world", "pack"}
        assert line["digests"]["pack"] == pack.digest
        assert (line["outcome"] == "failed") == bool(line["broken"])
    assert {line["outcome"] for line in lines} == {"passed", "failed"}


def test_the_tables_can_be_counted_again_from_the_file(mixed: Path, pack: Pack) -> None:
    report = run_with(pack, FreshKeyRetry, SEEDS)
    rows = read_rows(mixed / "results.jsonl")
    assert by_card(rows) == by_card(report.rows)
    assert by_segment(rows) == by_segment(report.rows)
    kinds = [(kind.key, kind.count, kind.of, kind.example.trial) for kind in failures(rows, {})]
    assert kinds == [(kind.key, kind.count, kind.of, kind.example.trial) for kind in report.failures]


def test_a_trace_is_anchored_and_replays_to_the_same_digests(mixed: Path, domain: Domain, pack: Pack) -> None:
    for row in read_rows(mixed / "results.jsonl"):
        trace = read_trace(mixed / "traces" / trace_name(row.trial))
        where = Coordinates.of(trace.header["coordinates"])
        assert (where.card, where.variant, where.seeds) == (row.card, row.variant, row.seeds)
        calls = [event["data"] for event in trace.events if event["kind"] == "call"]
        steps = [Step("dispatcher", ToolCall(call["tool"], tuple(map(tuple, call["args"])))) for call in calls]
        again = replay(domain, pack, where, steps)
        assert row.digests is not None
        assert row.digests.log == again.world.log_digest() == trace.events[-1]["digest"] == trace.grade["digests"]["log"]
        assert row.digests.world == again.world.digest()
        assert row.digests.start == tables_digest(again.world.start)
        assert trace.grade["outcome"] == row.outcome


def test_a_trace_names_every_event_in_order_and_ends_with_the_grade(mixed: Path, pack: Pack) -> None:
    path = mixed / "traces" / trace_name(trial_id(pack.digest, "X-02", "timeout", 1))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["line"] == "header"
    assert lines[0]["pack"] == pack.digest
    assert {"format", "version", "coordinates", "agent", "agent_seed"} <= set(lines[0])
    assert [line["seq"] for line in lines[1:-1]] == list(range(1, len(lines) - 1))
    assert lines[-1]["line"] == "grade"
    broken = {v["invariant"]: v for v in lines[-1]["verdicts"] if v["state"] == "broken"}
    assert set(broken) == {"recovery.reconcile_before_resend", "recovery.same_key"}
    assert broken["recovery.same_key"]["policy"] == "P-5"
    assert "keeps its key" in broken["recovery.same_key"]["rule"]


@pytest.mark.parametrize("make", [RandomAgent, Garbage, RaisesInAct])
def test_two_runs_are_the_same_byte_for_byte(pack: Pack, tmp_path: Path, make: type) -> None:
    run_with(pack, make, 4, tmp_path / "one")
    run_with(pack, make, 4, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 2 + 12


def test_other_processes_write_the_same_bytes(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "fieldops_gym.cli", "run", "--env", ENV, "--seeds", "2"]
        command += ["--agent", "agents.random_agent:RandomAgent", "--out", str(tmp_path / seed)]
        subprocess.run(command, check=True, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_foreign_arguments_are_kept_in_the_trace(pack: Pack, tmp_path: Path) -> None:
    class SendsForeign(Reference):
        def act(self, view, result):
            return {"tool": "wait", "arguments": {"seconds": ["\ud800", 1.5]}} if result is None else super().act(view, result)

    report = run_with(pack, SendsForeign, 1, tmp_path / "out", cards=("X-01",))
    trace = read_trace(tmp_path / "out" / "traces" / trace_name(report.rows[0].trial))
    (name, value) = trace.events[0]["data"]["args"][0]
    assert name == "seconds"
    assert set(value) == set(Foreign._fields)


def test_a_directory_in_use_is_refused(mixed: Path, pack: Pack, tmp_path: Path) -> None:
    before = contents(mixed)
    with pytest.raises(ResultsError, match="--resume"):
        run_with(pack, FreshKeyRetry, SEEDS, mixed)
    with pytest.raises(ResultsError, match=f"seeds {SEEDS}, this one {SEEDS + 1}"):
        run_with(pack, FreshKeyRetry, SEEDS + 1, mixed, resume=True)
    with pytest.raises(ResultsError, match="agent 'FreshKeyRetry', this one 'Reference'"):
        run_with(pack, Reference, SEEDS, mixed, resume=True)
    assert contents(mixed) == before
    (tmp_path / "diary.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(ResultsError, match="holds no run"):
            run_with(pack, Reference, 1, tmp_path, resume=resume)
    with pytest.raises(ResultsError, match="is a file"):
        run_with(pack, Reference, 1, tmp_path / "diary.txt")


@pytest.mark.parametrize("cut", [0, 1, 100, 2000, 5000, -1])
def test_an_interrupted_run_is_gone_on_with_to_the_same_end(mixed: Path, pack: Pack, tmp_path: Path, cut: int) -> None:
    whole = contents(mixed)
    results = whole["results.jsonl"][:cut]
    kept = results.count(b"\n")
    names = [trace_name(json.loads(line)["trial"]) for line in whole["results.jsonl"].splitlines()[: kept + 1]]
    for name, content in whole.items():
        if name == "run.json" or Path(name).name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
    (tmp_path / "results.jsonl").write_bytes(results)
    (tmp_path / "traces" / f".{names[-1]}.part").write_bytes(b"torn")
    played: list[str] = []

    class Noted(FreshKeyRetry):
        def start(self, brief, seed, restarted=False):
            played.append(brief.episode)

    Noted.__name__ = "FreshKeyRetry"
    report = run_with(pack, Noted, SEEDS, tmp_path, resume=True)
    assert contents(tmp_path) == whole
    assert len(played) == 3 * SEEDS - kept
    plain = run_with(pack, FreshKeyRetry, SEEDS)
    assert report.failures == tuple(
        kind._replace(example=kind.example._replace(digests=report.failures[number].example.digests))
        for number, kind in enumerate(plain.failures)
    )
    assert all(kind.breaches for kind in report.failures)


def test_a_finished_run_can_be_looked_at_again(mixed: Path, pack: Pack) -> None:
    before = contents(mixed)
    report = run_with(pack, FreshKeyRetry, SEEDS, mixed, resume=True)
    assert report.rows == read_rows(mixed / "results.jsonl")
    assert contents(mixed) == before


def test_a_spoilt_line_or_trace_is_named(mixed: Path, pack: Pack, tmp_path: Path) -> None:
    lines = (mixed / "results.jsonl").read_bytes().splitlines(keepends=True)
    spoilt = tmp_path / "results.jsonl"
    spoilt.write_bytes(lines[0] + b"{}\n" + lines[1])
    with pytest.raises(ResultsError, match="line 2 is not a result"):
        read_rows(spoilt)
    spoilt.write_bytes(lines[0] + lines[1][:-5])
    first = trial_id(pack.digest, "X-01", "whole", 0)
    assert [row.trial for row in read_rows(spoilt)] == [first]
    trace = (mixed / "traces" / trace_name(first)).read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(trace[:-1]))
    with pytest.raises(TraceError, match="not a whole trace"):
        read_trace(tmp_path / "cut.jsonl")
    store = ResultsDir(tmp_path, ())
    with pytest.raises(ResultsError, match=re.escape(first)):
        store.trace(first)


def test_a_result_out_of_its_place_is_refused(mixed: Path, pack: Pack, tmp_path: Path) -> None:
    lines = (mixed / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.json").write_bytes((mixed / "run.json").read_bytes())
    (tmp_path / "results.jsonl").write_bytes(lines[1] + lines[0])
    with pytest.raises(ResultsError, match=r"line 1 is of trial '[0-9a-f]{8}\.X-01\.partial\.0001'"):
        run_with(pack, FreshKeyRetry, SEEDS, tmp_path, resume=True)


def test_a_traces_name_stays_within_its_directory() -> None:
    assert trace_name("X-01.whole.0000") == "X-01.whole.0000.jsonl"
    for hostile in ("../../x.whole.0000", "/etc/x", "a\\b:c", "a/../b"):
        name = trace_name(hostile)
        assert Path(name).name == name
        assert not set(name) & set("/\\:")
    assert trace_name("a/b") != trace_name("a_b")


def test_packs_that_differ_in_one_byte_have_no_trial_in_common(pack: Pack, tmp_path: Path) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))
    same = load_tasks(tasks)
    path = tasks / "effect" / "x-01.yaml"
    path.write_bytes(path.read_bytes() + b" ")
    other = load_tasks(tasks)
    ids = [{row.trial for row in run_with(each, Reference, 1).rows} for each in (pack, same, other)]
    assert len(ids[0]) == 3
    assert ids[0] == ids[1]
    assert ids[0].isdisjoint(ids[2])
    assert {trial.partition(".")[0] for trial in ids[2]} == {other.digest[:8]}


def test_a_run_is_not_gone_on_with_under_other_tasks(mixed: Path, pack: Pack) -> None:
    before = contents(mixed)
    with pytest.raises(ResultsError, match=f"has pack '{pack.digest}', this one 'f{{64}}'; give another directory"):
        run_with(pack._replace(digest="f" * 64), FreshKeyRetry, SEEDS, mixed, resume=True)
    assert contents(mixed) == before


def test_every_kept_result_names_its_pack_in_id_line_and_file(mixed: Path, pack: Pack) -> None:
    for row in read_rows(mixed / "results.jsonl"):
        assert row.digests is not None
        assert row.digests.pack == pack.digest
        assert row.trial.startswith(f"{pack.digest[:8]}.{row.card}.{row.variant}.")
        assert (mixed / "traces" / f"{row.trial}.jsonl").is_file()
