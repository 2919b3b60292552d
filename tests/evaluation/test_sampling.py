"""Human review: runs drawn, a sheet to fill in, and answers kept beside results that they cannot change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.reference import Reference
from agents.shortcuts import SkipApproval
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.evaluation import ResultsError, TraceError, TrialPlan, TrialStatus, settings_for, trace_name
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, questions_digest
from fieldops_gym.evaluation.sampling import SampleError, read_results, sample
from fieldops_gym.evaluation.showings import became, heard
from fieldops_gym.evaluation.traces import trace_of
from fieldops_gym.graders import grade
from fieldops_gym.packs import load_tasks, shipped_tasks
from tests.evaluation.reviewing import SOUND, drawn, lines_of, rewrite, written
from tests.evaluation.support import RELAY, Escapes, RaisesInAct, contents, run_with
from tests.support import VARIANTS, env_id_of, episode_of, play_fresh


@pytest.fixture(scope="module")
def played(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results over every family, with passes and failures; tests that change files change a copy."""
    out = tmp_path_factory.mktemp("played") / "run"
    run_with(pack, SkipApproval, 2, out, env=RELAY, split="all")
    return out


@pytest.fixture
def copy(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "run"))


# Drawing


def test_passes_and_failures_of_each_family_are_drawn_and_all_are_counted(played: Path, pack: Pack) -> None:
    found = drawn(played, pack, 2, 2)
    rows = lines_of(played)
    assert {counts.family for counts in found.counts} == {"authority", "effect", "evidence", "proposal", "recovery"}
    assert sum(sum(counts[1:]) for counts in found.counts) == len(rows) == 60
    for counts in found.counts:
        outcomes = [run.row.outcome for run in found.runs if run.family == counts.family]
        assert (outcomes.count("passed"), outcomes.count("failed")) == (min(2, counts.passed), min(2, counts.failed))
    assert {run.row.outcome for run in found.runs} == {"passed", "failed"}
    assert all(pack.cards[run.row.card].family == run.family for run in found.runs)


def test_a_draw_depends_on_the_seed_and_not_on_the_order_of_lines(copy: Path, pack: Pack) -> None:
    before = drawn(copy, pack, 2, 2)
    rewrite(copy, list(reversed(lines_of(copy))))
    assert drawn(copy, pack, 2, 2)[1:] == before[1:]
    others = [drawn(copy, pack, 2, 2, seed).runs for seed in (1, 2, 3)]
    assert all(runs != before.runs for runs in others)


@pytest.mark.parametrize("seed", range(5))
def test_segments_and_cards_are_spread(played: Path, pack: Pack, seed: int) -> None:
    runs = [run.row for run in drawn(played, pack, 0, 6, seed).runs if run.family == "effect"]
    failed = [row for row in lines_of(played) if pack.cards[row["card"]].family == "effect" and row["outcome"] == "failed"]
    assert {row.segment for row in runs[:6]} == {row["segment"] for row in failed}
    assert len({row.card for row in runs}) == len({row["card"] for row in failed})


def test_where_there_are_fewer_all_are_taken_and_that_is_told(played: Path, pack: Pack) -> None:
    found = drawn(played, pack, 500, 1)
    passed = {row["trial"] for row in lines_of(played) if row["outcome"] == "passed"}
    assert {run.row.trial for run in found.runs if run.row.outcome == "passed"} == passed
    count = next(counts.passed for counts in found.counts if counts.family == "evidence")
    assert f"family evidence: {count} of the 500 passed runs asked for; there are no more" in found.notes
    assert "family evidence: 0 of the 1 failed runs asked for; there are no more" in found.notes


def test_what_no_grader_judged_is_counted_apart_and_never_drawn(played: Path, pack: Pack) -> None:
    results = read_results(played)
    effect = [row for row in results.rows.values() if pack.cards[row.card].family == "effect"]
    void, raised, unjudged, left = effect[0], effect[1], effect[2], effect[3:]
    changed = [
        void._replace(outcome="void"),
        raised._replace(status=TrialStatus.AGENT_ERROR, outcome="failed"),
        unjudged._replace(status=TrialStatus.INFRA_ERROR, outcome=""),
    ]
    found = sample(results._replace(rows={row.trial: row for row in changed + left}), pack, 50, 50)
    (counts,) = found.counts
    assert (counts.void, counts.raised, counts.unjudged) == (1, 1, 1)
    assert counts.passed + counts.failed == len(left)
    assert {run.row.trial for run in found.runs} == {row.trial for row in left}


def test_an_agent_that_always_raises_leaves_nothing_to_review(pack: Pack, tmp_path: Path) -> None:
    run_with(pack, RaisesInAct, 1, tmp_path / "run", cards=("X-01",))
    with pytest.raises(SampleError, match="none of its 1 runs is of the kind asked for"):
        drawn(tmp_path / "run", pack)


@pytest.mark.parametrize(("passes", "failures"), [(0, 0), (-1, 2)])
def test_a_sample_of_nothing_is_refused(played: Path, pack: Pack, passes: int, failures: int) -> None:
    with pytest.raises(SampleError, match="at least one run"):
        drawn(played, pack, passes, failures)


def test_results_of_other_tasks_are_refused(played: Path, pack: Pack) -> None:
    with pytest.raises(SampleError, match="these are 00000000; give its own with --tasks DIR"):
        drawn(played, pack._replace(digest="0" * 64))


def break_header(directory: Path) -> None:
    (directory / "run.json").write_text("{}", encoding="ascii")


def drop_header(directory: Path) -> None:
    (directory / "run.json").unlink()


def drop_results(directory: Path) -> None:
    (directory / "results.jsonl").unlink()


def double_a_line(directory: Path) -> None:
    rewrite(directory, [*lines_of(directory), lines_of(directory)[0]])


def break_a_line(directory: Path) -> None:
    (directory / "results.jsonl").write_text("{}\n", encoding="ascii")


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (drop_header, "holds no run.json; give a directory that `fieldops run --out DIR` wrote"),
        (break_header, "run.json: it is not of a run: its field 'env' should be text"),
        (drop_results, "holds no results.jsonl"),
        (double_a_line, "is there twice; each trial has one line"),
        (break_a_line, "line 1 is not a result"),
    ],
)
def test_a_directory_that_is_no_results_is_refused(copy: Path, breaks: Callable[[Path], None], says: str) -> None:
    breaks(copy)
    with pytest.raises(ResultsError, match=says):
        read_results(copy)


# The sheet


def a_trace(directory: Path, pack: Pack) -> Path:
    """Return the trace of the first run that a sample of the directory draws."""
    return directory / "traces" / trace_name(drawn(directory, pack).runs[0].row.trial)


def test_a_missing_trace_is_told(copy: Path, pack: Pack) -> None:
    a_trace(copy, pack).unlink()
    with pytest.raises(SampleError, match=r"the trace of trial '.*' is missing"):
        written(copy, pack)
    assert not (copy / "review").exists()


def test_a_changed_trace_is_told(copy: Path, pack: Pack) -> None:
    path = a_trace(copy, pack)
    path.write_text(path.read_text(encoding="ascii").replace('"at": 5,', '"at": 6,', 1), encoding="ascii")
    with pytest.raises(TraceError, match="not as it was written: its digest does not fit"):
        written(copy, pack)
    assert not (copy / "review").exists()


def test_a_trace_in_anothers_place_is_told(copy: Path, pack: Pack) -> None:
    path = a_trace(copy, pack)
    other = next(found for found in sorted(path.parent.iterdir()) if found != path)
    shutil.copy(other, path)
    with pytest.raises(SampleError, match="it is the trace of trial"):
        written(copy, pack)


def test_the_reading_says_that_it_is_privileged_and_holds_all_that_a_reviewer_needs(copy: Path, pack: Pack) -> None:
    review = written(copy, pack, 2, 2)
    text, runs = review.reading.read_text(encoding="utf-8"), drawn(copy, pack, 2, 2).runs
    assert text.index("PRIVILEGED") < 200
    assert "PRIVILEGED" in review.sheet.read_text(encoding="utf-8")
    held_out = sorted({run.row.card for run in runs if pack.splits[run.row.card].split == "held_out"})
    (told,) = [line for line in text.splitlines() if line.startswith("> Held-out cards in it: ")]
    assert sorted(told.removeprefix("> Held-out cards in it: ").rstrip(".").split(", ")) == held_out != []
    for run in runs:
        card = pack.cards[run.row.card]
        section = text.partition(f": {run.row.trial}, {run.row.outcome}\n")[2].partition("\n## ")[0]
        assert run.row.digests is not None
        assert run.row.digests.log in section
        assert f"path that shows what decides it: {', '.join(card.variants[run.row.variant].evidence)}" in section
        assert "replayed here: the same calls gave the same events" in " ".join(section.split())
        for words in (card.claim, "Verdicts:", "brief:", "account:", "### The world that it left", *run.row.broken):
            assert words in section


def test_the_reading_of_a_run_without_held_out_cards_says_so(pack: Pack, tmp_path: Path) -> None:
    run_with(pack, Reference, 1, tmp_path / "run", cards=("X-01",))
    assert "> Held-out cards in it: none." in written(tmp_path / "run", pack).reading.read_text(encoding="utf-8")


def test_what_an_agent_sends_stays_between_the_fences(pack: Pack, tmp_path: Path) -> None:
    run_with(pack, Escapes, 1, tmp_path / "run", cards=("X-01",))
    text = written(tmp_path / "run", pack, 1, 1).reading.read_text(encoding="utf-8")
    assert "request_scope" in text
    assert all(char.isprintable() or char == "\n" for char in text)
    assert [line for line in text.splitlines() if line.startswith("~")] == ["~~~~text", "~~~~"] * 6


@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_told_to_be_shown_is_what_the_agent_got(domain: Domain, pack: Pack, name: str) -> None:
    episode = play_fresh(episode_of(domain, pack, name, 5), Reference)
    settings = settings_for(env_id_of(name), "agent", pack, (episode.coordinates.card,))
    plan = TrialPlan("a trial", "a segment", episode.coordinates)
    trace = trace_of(plan, settings, 0, episode, TrialStatus.COMPLETED, grade(domain, episode.trial()), "")
    again = Episode(domain, pack, episode.coordinates)
    told = list(heard(trace, again))
    for step in episode.steps:
        got, here = again.send(step.call, step.seat).to_dict(), told.pop(0)
        records: dict[str, list[Any]] = {}
        for record in here.records:
            records.setdefault(record.table, []).append(dict(record.fields))
        assert (here.status, records, here.facts) == (got["status"], got.get("records", {}), got.get("facts"))
        assert here.error.startswith(got.get("error", {}).get("message", ""))
    assert told == []
    start = Episode(domain, pack, episode.coordinates)
    for item in became(trace, start):
        now = episode.world.tables[item.table].get(item.key)
        assert (None if now is None else list(now._asdict())) == (None if item.after is None else list(item.after))
        assert item.before != item.after


def test_a_sheet_that_nobody_touched_may_be_written_again_and_is_the_same(copy: Path, pack: Pack) -> None:
    written(copy, pack)
    before = contents(copy)
    written(copy, pack)
    assert contents(copy) == before
    written(copy, pack, 2, 1)
    assert contents(copy) != before
    assert not [name for name in contents(copy) if name.endswith(".part")]


@pytest.mark.parametrize(
    ("old", "new"),
    [('answer: ""', "answer: yes"), ('reviewer: ""', "reviewer: R1"), ("runs:", "runs: ["), ("# run 1", "# mine")],
)
def test_a_sheet_that_was_touched_is_not_overwritten(copy: Path, pack: Pack, old: str, new: str) -> None:
    review = written(copy, pack)
    text = review.sheet.read_text(encoding="utf-8").replace(old, new, 1)
    review.sheet.write_text(text, encoding="utf-8")
    with pytest.raises(SampleError, match="was filled in or changed, so it is not overwritten; move it, or give another --out"):
        written(copy, pack, 2, 2)
    assert review.sheet.read_text(encoding="utf-8") == text


def test_the_questions_are_those_of_their_version() -> None:
    # Other words are another questionnaire: give it a new version, and put the new digest here.
    assert (QUESTIONNAIRE, questions_digest()[:16]) == ("run-review/1", "b3ec2cfb85589e0c")
    assert tuple(question.id for question in QUESTIONS) == tuple(SOUND)


def test_a_quarantined_run_is_told_as_one(copy: Path, pack: Pack, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))
    found = drawn(copy, pack, 1, 0).runs[0].row
    entry = {"card": found.card, "category": "grader", "date": "2026-01-31", "owner": "grader owner", "why": "it is too kind"}
    text = json.dumps({"threshold": 0.2, "entries": [{**entry, "runs": [found.trial], "rerun": "undecided"}]})
    (directory / "quarantine.yaml").write_text(text, encoding="utf-8")
    own = load_tasks(directory)
    assert own.digest == pack.digest
    lines = written(copy, own).reading.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("- **QUARANTINED**") and "it is too kind" in line] != []
    assert [line.split(" | ")[1] for line in lines if "passed (quarantined)" in line] == [found.trial]
