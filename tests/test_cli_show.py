"""`fieldops show`: what a reader gets of one episode, and one clear line for whatever is no whole and unaltered trace."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from agents.reference import Reference
from agents.shortcuts import DoNothing, RetryBlindly
from fieldops_gym import merge
from fieldops_gym.cli import app
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation import read_trace, show
from fieldops_gym.evaluation.show_source import load
from tests.counts import count
from tests.evaluation.support import Garbage, RaisesInAct, RaisesInStart, run_with

Store = Callable[..., Path]


@pytest.fixture(scope="session")
def store(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a function that runs one trial of a card and gives the path of its trace."""

    def kept(make: Callable[[], Any], card: str, **layer: Any) -> Path:
        out = tmp_path_factory.mktemp("run") / "out"
        run_with(pack, make, 1, out, cards=(card,), overrides=merge([layer]))
        return next((out / "traces").glob("*.jsonl"))

    return kept


@pytest.fixture(scope="session")
def blind(store: Store) -> Path:
    """The trace of an agent that sends again without looking first."""
    return store(RetryBlindly, "X-03")


@pytest.fixture
def alone(blind: Path, tmp_path: Path) -> Path:
    """The same trace without the results beside it."""
    path = tmp_path / "some" / "trace.jsonl"
    path.parent.mkdir()
    path.write_bytes(blind.read_bytes())
    return path


def invoke(path: Path, *args: str, columns: str = "80") -> Result:
    return CliRunner(env={"COLUMNS": columns}).invoke(app, ["show", str(path), *args])


def shown(path: Path, *args: str) -> str:
    result = invoke(path, *args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def flat(text: str) -> str:
    return " ".join(text.split())


def refused(path: Path) -> str:
    """Return the one line that says what is wrong with a file."""
    result = invoke(path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fieldops: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_failing_run_says_what_went_wrong_first_and_proves_it_last(blind: Path, pack: Pack) -> None:
    text = flat(shown(blind))
    head, _, rest = text.partition(" event second who")
    assert "FAILED; ended: finished; work: complete" in head
    assert "broken recovery.reconcile_before_resend: sent again at" in head
    assert pack.cards["X-03"].claim in head
    assert "Please have it repaired within" in head or "Arrange the repair" in head or "Please reserve" in head
    assert "commit_then_timeout on reserve (fired)" in head
    timeline, _, verdicts = rest.partition("Verdicts: 1 broken")
    places = [timeline.index(words) for words in ("reserve(", "FAULT: commit_then_timeout", "-> unknown after 30 s; timeout")]
    assert places == sorted(places)
    assert timeline.count("^ evidence for broken recovery.reconcile_before_resend") == 2
    order = (
        "BROKEN recovery.reconcile_before_resend",
        " rule P-5: ",
        " expected ",
        " actual sent again",
        " events #",
        " holds ",
    )
    assert [verdicts.index(words) for words in order] == sorted(verdicts.index(words) for words in order)
    assert "efficiency.calls (advisory)" in verdicts


def test_a_passing_run_says_so(store: Store) -> None:
    text = shown(store(Reference, "X-01"))
    assert "PASSED; ended: finished; work: complete\n" in text
    assert "broken" not in text.lower()
    assert re.search(r"^Verdicts: \d+ hold, \d+ not applicable$", text, re.MULTILINE)


def test_a_crash_is_shown_with_the_start_after_it(store: Store) -> None:
    text = flat(shown(store(Reference, "X-01", faults={"append": ["crash_after_commit"]})))
    assert "overrides extra_faults crash_after_commit" in text
    assert "CRASH: the process of the dispatcher dies" in text
    assert text.index("FAULT: crash_after_commit") < text.index("CRASH:") < text.index("restart: started again")
    assert "read_journal() -> ok" in text


def test_an_exhausted_budget_is_shown_and_repeats_are_folded(store: Store) -> None:
    lost = {"fault": "timeout_before_send", "times": 0}
    text = shown(store(RetryBlindly, "X-03", faults=[lost], budget={"retries": 1}))
    assert "ended: budget used up: turns" in text
    assert "EXHAUSTED: no retries left" in text
    assert "EXHAUSTED: no turns left" in text
    assert text.count("budget exhausted: ") <= 4
    assert " times more the same, until #" in text
    assert "BROKEN efficiency.calls (advisory: counts for nothing)" in text
    assert text.index("BROKEN task.accepted_ending") < text.index("BROKEN efficiency.calls")


def test_only_calls_with_their_answers_are_folded(blind: Path) -> None:
    whole = load(blind)
    commit = next(row for row in whole.rows if row.kind == "commit")
    twice = whole._replace(rows=(commit, commit))
    assert sum(commit.text in line.plain for line in show.lines(twice)) == 2


def test_a_fault_that_never_fired_is_pointed_out(store: Store) -> None:
    assert "commit_then_timeout on reserve (NEVER FIRED)" in shown(store(DoNothing, "X-03"))


def test_where_the_agent_raised_the_verdicts_come_from_the_replay(store: Store) -> None:
    text = flat(shown(store(RaisesInAct, "X-01")))
    assert "FAILED: the agent raised ValueError: lost my way" in text
    assert "verdicts below are from the replay, up to where the run broke off" in text
    assert "BROKE OFF: the agent raised ValueError" in text
    assert "not judged task.accepted_ending" in text


def test_a_trial_without_a_single_event_is_shown_as_such(store: Store) -> None:
    text = shown(store(RaisesInStart, "X-01"))
    assert "not replayed: no call was made" in flat(text)
    assert text.endswith("Verdicts: none\n")


@pytest.mark.parametrize("make", [RetryBlindly, Garbage])
def test_it_keeps_to_its_width_and_a_pipe_gets_plain_text(store: Store, make: Callable[[], Any]) -> None:
    text = shown(store(make, "X-03"))
    assert max(map(len, text.splitlines())) <= 80
    assert all(
        char.isascii() and (char.isprintable() or char == "\n") for char in text.replace("\N{REPLACEMENT CHARACTER}", "")
    )
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_a_pipe_without_a_width_gets_one_line_per_call(blind: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "fieldops_gym.cli", "show", str(blind)]
    lines = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    trace = read_trace(blind)
    calls = [event for event in trace.events if event["kind"] == "call"]
    assert [line for line in lines if line.startswith(" ") and line.split()[2:3] == ["dispatcher"] and "(" in line]
    for event in calls:
        assert sum(line.split()[:3] == [str(event["seq"]), str(event["at"]), event["actor"]] for line in lines) == 1
    answered = [line for line in lines if " query_asset(" in line]
    assert [" -> ok after 5 s; shows equipment " in line for line in answered] == [True]


def test_colours_are_only_for_terminals_and_change_no_word(blind: Path) -> None:
    texts = []
    for terminal in (False, True):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, color_system="standard" if terminal else None, highlight=False)
        show.render(console, load(blind), 0, 80)
        texts.append(out.getvalue())
    assert "\x1b[" not in texts[0]
    assert "\x1b[1;31mFAILED" in texts[1]
    assert re.sub(r"\x1b\[[0-9;]*m", "", texts[1]) == texts[0]


def test_from_leaves_out_what_came_before(blind: Path) -> None:
    trace = read_trace(blind)
    second = next(event["at"] for event in trace.events if event["kind"] == "fault")
    left = sum(event["at"] < second for event in trace.events)
    text = shown(blind, "--from", str(second))
    assert f"{left} events before second {second} are left out" in text
    assert "query_asset" not in text
    assert "FAULT: commit_then_timeout" in text
    assert "Verdicts: 1 broken" in text


def test_what_vouches_for_a_trace_is_told(blind: Path, alone: Path) -> None:
    beside, without = flat(shown(blind)), flat(shown(alone))
    assert "results.jsonl beside it has the same digests and outcome" in beside
    assert "no results.jsonl beside it" in without
    for text in (beside, without):
        assert "digest chain" in text
        assert "replayed here: the same calls gave the same events; graded again here: the same verdicts" in text


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the lines of a trace as JSON objects."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_trace_of_other_tasks_is_shown_without_what_a_replay_would_give(alone: Path) -> None:
    def other(lines: list[dict[str, Any]]) -> None:
        lines[0]["pack"] = lines[-1]["digests"]["pack"] = "0" * 64

    rewrite(alone, other)
    text = flat(shown(alone))
    assert "not replayed: it was made with other tasks" in text
    assert "request Our" not in text
    assert "faults fired: commit_then_timeout" in text
    assert "BROKEN recovery.reconcile_before_resend" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda lines: lines[0]["coordinates"].update(card="X-02", variant="not_sent"),
            "not replayed: here its calls lead elsewhere from event",
        ),
        (lambda lines: lines[0]["coordinates"]["seeds"].update(entity=1), "not replayed: its coordinates give another start"),
        (lambda lines: lines[0]["coordinates"].update(card="X-99"), "not replayed: OverrideError: there is no card 'X-99'"),
        (lambda lines: lines[0].update(env="FieldOps-Other-v0"), "not replayed: there is no environment"),
        (lambda lines: lines[-1].update(outcome="passed"), "GRADED OTHERWISE HERE: the outcome"),
        (lambda lines: lines[-1]["verdicts"][0].update(state="broken"), "GRADED OTHERWISE HERE: task.accepted_ending;"),
    ],
)
def test_what_no_digest_covers_is_held_against_a_replay(alone: Path, change: Callable[..., Any], says: str) -> None:
    rewrite(alone, change)
    assert says in flat(shown(alone))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[5]["data"].update(tool="read_policy"), "event 5 (line 6) is not as it was written"),
        (lambda lines: lines[8].update(at=1), "event 8 (line 9) is not as it was written"),
        (
            lambda lines: lines[2]["data"].update(read=lines[2]["data"].pop("reads")),
            "event 2 (line 3) is not as it was written",
        ),
        (lambda lines: lines.pop(7), "event 7 (line 8) is not as it was written"),
        (lambda lines: lines.insert(3, lines[4]), "event 3 (line 4) is not as it was written"),
        (lambda lines: lines.pop(-2), "its events do not end where its last line says"),
        (lambda lines: lines.pop(), "not a whole trace"),
        (lambda lines: lines[4].pop("line"), "not a whole trace: line 5 is not as a trace has them"),
        (lambda lines: lines.pop(0), "not a whole trace"),
        (lambda lines: lines[0].update(format="fieldops-trace/0"), "its format is 'fieldops-trace/0'"),
        (lambda lines: lines[0].update(pack="0"), "its first and its last line name other tasks"),
        (lambda lines: lines[0].pop("coordinates"), "KeyError: 'coordinates'"),
        (lambda lines: lines[-1].update(verdicts=7), "not a trace as this version writes them"),
        (lambda lines: lines[0]["coordinates"].update(seeds=[]), "not a trace as this version writes them"),
        (lambda lines: lines[0]["coordinates"].update(overrides="none"), "not a trace as this version writes them"),
    ],
)
def test_an_altered_trace_is_refused_in_one_line(alone: Path, change: Callable[..., Any], says: str) -> None:
    rewrite(alone, change)
    assert f"{alone}: " in refused(alone)
    assert says in refused(alone)


@pytest.mark.parametrize("text", ["# caf\xe9\n", "# Read me\n", '{"trial": "x"}\n'])
def test_what_is_no_trace_at_all_is_told_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(text, encoding="utf-8")
    assert refused(path) == f"fieldops: {path}: not a trace; give a file of DIR/traces\n"


@pytest.mark.parametrize("field", ["outcome", "ending", "completion", "error", "status"])
def test_a_grade_that_is_not_the_one_in_the_results_is_refused(store: Store, field: str) -> None:
    path = store(RetryBlindly, "X-03")
    rewrite(path, lambda lines: lines[-1].update({field: "else"}))
    assert f"its {field} is not the one in results.jsonl beside it" in refused(path)


def test_verdicts_and_coordinates_are_held_against_the_results(store: Store) -> None:
    path = store(RetryBlindly, "X-03")
    whole = path.read_text()
    rewrite(path, lambda lines: lines[-1]["verdicts"].clear())
    assert "its broken is not the one in results.jsonl" in refused(path)
    path.write_text(whole)
    rewrite(path, lambda lines: lines[0]["coordinates"]["seeds"].update(fault=5))
    assert "its seeds is not the one in results.jsonl" in refused(path)
    path.write_text(whole)
    (path.parent.parent / "results.jsonl").write_text("not a result\n")
    assert "results.jsonl: line 1 is not a result" in refused(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{}\n{}\n",
        b"\xff\xfe\x00",
        b"\x1f\x8b\x08",
        b"[" * 100_000,
        b"1\n2\n",
        b'"a"\n"b"\n',
        b"{'a': 1}\n",
        "\u00e9\n".encode(),
    ],
)
def test_a_foreign_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert "not a" in refused(path)


def test_a_file_of_results_a_directory_and_nothing_are_refused(blind: Path, tmp_path: Path) -> None:
    assert "not a" in refused(blind.parent.parent / "results.jsonl")
    assert f"a directory; give a trace in it, such as {blind}" in refused(blind.parent.parent)
    assert "there is no such file" in refused(tmp_path / "nothing")


def test_a_torn_trace_is_refused_wherever_it_is_torn(blind: Path, tmp_path: Path) -> None:
    whole = blind.read_bytes()
    path = tmp_path / "torn.jsonl"
    draw = random.Random(5)
    for _ in range(count(40, 400)):
        path.write_bytes(whole[: draw.randrange(len(whole) - 1)])
        assert "not a" in refused(path)


def test_a_trace_changed_anywhere_is_refused_or_still_shown_but_never_raises(blind: Path, alone: Path) -> None:
    lines = blind.read_text().splitlines()
    draw = random.Random(7)
    for _ in range(count(60, 2_000)):
        changed = [json.loads(line) for line in lines]
        place = draw.choice((0, draw.randrange(len(lines)), len(lines) - 1))
        _spoil(changed[place], draw)
        alone.write_text("".join(f"{json.dumps(line)}\n" for line in changed))
        result = invoke(alone)
        assert result.exit_code in (0, 2)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        if 0 < place < len(lines) - 1 and plain(changed) != [json.loads(line) for line in lines]:
            assert result.exit_code == 2


def _spoil(value: Any, draw: random.Random) -> None:
    """Put something else, or nothing, in one place somewhere in a JSON object."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.choice(keys)
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and draw.random() < 0.7:
            value = inner
            continue
        if draw.random() < 0.3:
            del value[key]
        else:
            value[key] = draw.choice((None, -1, 3.5, "x", [], {}, [[1]], {"a": {}}, True))
        return
