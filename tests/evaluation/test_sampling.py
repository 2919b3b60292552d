"""Human review: runs drawn, a sheet to fill in, and answers kept beside results that they cannot change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.reference import Reference
from agents.shortcuts import SkipApproval
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.evaluation import ResultsError, TraceError, TrialPlan, TrialStatus, settings_for, trace_name
from fieldops_gym.evaluation.judgements import (
    SIDECAR,
    JudgementError,
    agreement,
    disagreements,
    findings,
    judge,
    read_judgements,
)
from fieldops_gym.evaluation.review import Review, write_review
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, SheetError, questions_digest
from fieldops_gym.evaluation.sampling import Sample, SampleError, read_results, sample
from fieldops_gym.evaluation.showings import became, heard
from fieldops_gym.evaluation.traces import trace_of
from fieldops_gym.graders import grade
from tests.evaluation.support import RELAY, Escapes, RaisesInAct, contents, run_with
from tests.support import VARIANTS, env_id_of, episode_of, play_fresh

SOUND = {"permitted_evidence": "yes", "leaked_facts": "no", "wrong_state_accepted": "no", "another_path": "no"}
"""The answers of a reviewer who finds nothing wrong."""


@pytest.fixture(scope="module")
def played(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results over every family, with passes and failures; tests that change files change a copy."""
    out = tmp_path_factory.mktemp("played") / "run"
    run_with(pack, SkipApproval, 2, out, env=RELAY, split="all")
    return out


@pytest.fixture
def copy(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "run"))


def drawn(directory: Path, pack: Pack, passes: int = 1, failures: int = 1, seed: int = 0) -> Sample:
    return sample(read_results(directory), pack, passes, failures, seed)


def written(directory: Path, pack: Pack, passes: int = 1, failures: int = 0, out: Path | None = None) -> Review:
    return write_review(drawn(directory, pack, passes, failures), pack, None, out or directory / "review")


def filled(review: Review, name: str, answers: Mapping[str, str] = SOUND, note: str = "", day: str = "2026-01-31") -> Path:
    """Fill in a copy of a sheet as a reviewer does, in an editor: words put where there are none, without quotes."""
    out, question = [], ""
    for line in review.sheet.read_text(encoding="utf-8").splitlines():
        key = line.strip().rstrip(":")
        question = key if key in answers else question
        given = {'answer: ""': f"answer: {answers.get(question, '')}", 'note: ""': f"note: {note}"}
        given |= {'reviewer: ""': f"reviewer: {name}", 'date: ""': f"date: {day}"}
        out.append(line.replace(line.strip(), given.get(line.strip(), line.strip())) if line.strip() else line)
    path = review.sheet.with_name(f"{name or 'nobody'}.yaml")
    path.write_text("\n".join(out) + "\n", encoding="utf-8")
    return path


def lines_of(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="ascii").splitlines()]


def rewrite(directory: Path, rows: list[dict[str, Any]]) -> None:
    (directory / "results.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="ascii")


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
    review = written(copy, pack, 6, 6)
    text, runs = review.reading.read_text(encoding="utf-8"), drawn(copy, pack, 6, 6).runs
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


# Judgements


def test_answers_are_stored_beside_results_that_stay_as_they_are(copy: Path, pack: Pack) -> None:
    review = written(copy, pack)
    sheet = filled(review, "R1", note='"see #23: ok"')
    before = contents(copy)
    results = read_results(copy)
    given = judge(results, sheet)
    after = contents(copy)
    assert set(after) - set(before) == {SIDECAR}
    assert {name: after[name] for name in before} == before
    runs = drawn(copy, pack, 1, 0).runs
    assert len(given) == len(runs) * len(QUESTIONS)
    assert read_judgements(read_results(copy)) == given
    ends = {run.row.trial: run.row.digests.log for run in runs if run.row.digests is not None}
    for judgement in given:
        assert judgement.chain == ends[judgement.trial]
        assert (judgement.answer, judgement.note) == (SOUND[judgement.question], "see #23: ok")
        assert judgement.calibration == ("human", QUESTIONNAIRE, "R1", "2026-01-31")
    assert not findings(given)


def test_reviewers_who_disagree_are_both_kept_and_counted(copy: Path, pack: Pack) -> None:
    review, results = written(copy, pack), read_results(copy)
    runs = len(drawn(copy, pack, 1, 0).runs)
    first = judge(results, filled(review, "R1"))
    kept = (copy / SIDECAR).read_bytes()
    other = {**SOUND, "leaked_facts": "yes", "another_path": "unsure"}
    second = judge(results, filled(review, "R2", other, "the title names the fault"))
    assert (copy / SIDECAR).read_bytes().startswith(kept)
    stored = read_judgements(results)
    assert stored == first + second
    assert [(row.question, row.agree, row.disagree, row.percent) for row in agreement(stored)] == [
        ("permitted_evidence", runs, 0, 100),
        ("leaked_facts", 0, runs, 0),
        ("wrong_state_accepted", runs, 0, 100),
        ("another_path", 0, runs, 0),
    ]
    found = disagreements(stored)
    assert {item.question for item in found} == {"leaked_facts", "another_path"}
    assert len(found) == 2 * runs
    assert [(j.calibration.reviewer, j.answer) for j in found[0].answers] == [("R1", "no"), ("R2", "yes")]
    assert [(j.calibration.reviewer, j.question) for j in findings(stored)] == [("R2", "leaked_facts")] * runs


def test_who_answers_again_is_kept_twice_and_counts_by_the_last_answer(copy: Path, pack: Pack) -> None:
    review, results = written(copy, pack), read_results(copy)
    judge(results, filled(review, "R1", {**SOUND, "leaked_facts": "yes"}))
    judge(results, filled(review, "R2"))
    judge(results, filled(review, "R1", day="2026-02-01"))
    stored = read_judgements(results)
    runs = len(drawn(copy, pack, 1, 0).runs)
    assert len(stored) == 3 * runs * len(QUESTIONS)
    row = next(row for row in agreement(stored) if row.question == "leaked_facts")
    assert (row.yes, row.no, row.agree, row.disagree) == (runs, 2 * runs, runs, 0)
    answers = disagreements(stored)[0].answers
    assert [(j.calibration.reviewer, j.answer) for j in answers] == [("R1", "yes"), ("R2", "no"), ("R1", "no")]


def test_one_reviewer_alone_has_no_rate_of_agreement(copy: Path, pack: Pack) -> None:
    results = read_results(copy)
    judge(results, filled(written(copy, pack), "R1"))
    assert {row.percent for row in agreement(read_judgements(results))} == {None}


def test_runs_that_a_reviewer_deletes_are_left_out(copy: Path, pack: Pack) -> None:
    sheet = filled(written(copy, pack), "R1")
    head, _, rest = sheet.read_text(encoding="utf-8").partition("\n  # run 1\n")
    sheet.write_text(head + "\n  # run 2\n" + rest.partition("\n  # run 2\n")[2], encoding="utf-8")
    judged = {judgement.trial for judgement in judge(read_results(copy), sheet)}
    assert judged == {run.row.trial for run in drawn(copy, pack, 1, 0).runs[1:]}


OUTCOME = "outcome: passed"
WRONG = {
    "no reviewer": ("reviewer: R1", 'reviewer: " "', "reviewer: ' ' is no name"),
    "no date": ("date: 2026-01-31", "date:", "date: '' is no date; give the day of the review as YYYY-MM-DD"),
    "a day that is none": ("date: 2026-01-31", "date: 2026-02-30", "date: '2026-02-30' is no date"),
    "another form of date": ("date: 2026-01-31", "date: 20260131", "date: '20260131' is no date"),
    "no answer": ("answer: yes", "answer:", "permitted_evidence: not answered; give one of yes, no, unsure"),
    "another answer": ("answer: yes", "answer: maybe", "permitted_evidence: answer 'maybe' is none of yes, no, unsure"),
    "a question left out": (
        "      permitted_evidence:\n        answer: yes\n        note: \n", "", "permitted_evidence: not answered"
    ),
    "a question of one's own": ("permitted_evidence:", "is_nice:", "'is_nice' is no question"),
    "an unknown trial": ("- trial: \"", "- trial: \"no", "has no such trial; give the directory that the sheet was drawn from"),
    "another chain": ("chain: ", "chain: 0", "is not the end of its trace"),
    "another outcome": (OUTCOME, "outcome: failed", "a judgement changes no outcome"),
    "a key twice": ("answer: yes", "answer: yes\n        answer: no", "'answer' is there twice; keep one"),
    "a note cut off by YAML": ("note: ", "note: see #23", "what comes after '#' would be lost; put the whole note in quotes"),
    "no YAML": ("runs:", "runs: [", "not YAML"),
    "another format": ("fieldops-review/1", "fieldops-review/9", "no review sheet of format 'fieldops-review/1'"),
    "other questions": (QUESTIONNAIRE, "run-review/0", "it answers questionnaire 'run-review/0'"),
    "a field of one's own": ("reviewer:", "mood: good\nreviewer:", "mood: Extra inputs are not permitted"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_sheet_with_anything_wrong_stores_nothing(copy: Path, pack: Pack, kind: str) -> None:
    old, new, says = WRONG[kind]
    results, review = read_results(copy), written(copy, pack)
    judge(results, filled(review, "R2"))
    sheet = filled(review, "R1")
    text = sheet.read_text(encoding="utf-8")
    assert old in text
    sheet.write_text(text.replace(old, new, 1), encoding="utf-8")
    before = contents(copy)
    with pytest.raises(SheetError) as raised:
        judge(results, sheet)
    assert says in str(raised.value)
    assert str(sheet) in str(raised.value)
    assert contents(copy) == before


def test_a_run_judged_twice_in_one_sheet_is_refused(copy: Path, pack: Pack) -> None:
    sheet = filled(written(copy, pack), "R1")
    text = sheet.read_text(encoding="utf-8")
    sheet.write_text(text + text.partition("runs:\n")[2], encoding="utf-8")
    with pytest.raises(SheetError, match="it is there twice; keep one; and 3 more like that; nothing was stored"):
        judge(read_results(copy), sheet)
    assert not (copy / SIDECAR).exists()


def test_a_sheet_of_another_run_is_refused(copy: Path, pack: Pack, tmp_path: Path) -> None:
    run_with(pack, Reference, 2, tmp_path / "other", env=RELAY, cards=("X-01", "A-01"))
    sheet = filled(written(tmp_path / "other", pack, 9), "R1")
    with pytest.raises(SheetError, match="is not the end of its trace"):
        judge(read_results(copy), sheet)


@pytest.mark.parametrize(
    ("line", "says"),
    [("{}", "line 5 is no judgement"), ("nonsense\n", "line 5 is no judgement"), ('{"torn": ', "its last line is torn")],
)
def test_a_sidecar_that_was_changed_is_not_gone_on_with(copy: Path, pack: Pack, line: str, says: str) -> None:
    results, review = read_results(copy), written(copy, pack)
    judge(results, filled(review, "R1"))
    sidecar = copy / SIDECAR
    four = b"".join(sidecar.read_bytes().splitlines(keepends=True)[:4])
    sidecar.write_bytes(four + line.encode("ascii") + (b"\n" if line == "{}" else b""))
    before = sidecar.read_bytes()
    with pytest.raises(JudgementError, match=says):
        judge(results, filled(review, "R2"))
    assert sidecar.read_bytes() == before


def test_a_judgement_of_a_run_that_results_do_not_hold_is_told(copy: Path, pack: Pack) -> None:
    judge(read_results(copy), filled(written(copy, pack), "R1"))
    rewrite(copy, lines_of(copy)[-1:])
    with pytest.raises(JudgementError, match=r"line 1 judges a run '.*' that the results beside it do not hold"):
        read_judgements(read_results(copy))


# The commands


def invoke(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def test_the_commands_lead_from_results_to_a_list_of_judgements(copy: Path) -> None:
    status, text = invoke("sample", copy, "--passes", 1, "--failures", 1)
    assert status == 0, text
    assert "family evidence: 0 of the 1 failed runs asked for" in text
    assert "Both are privileged" in text
    review = Review(copy / "review" / "review.md", copy / "review" / "review.yaml")
    assert invoke("judge", copy, "--list") == (0, "no judgement is stored\n")
    assert invoke("judge", copy, filled(review, "R1"))[0] == 0
    status, text = invoke("judge", copy, filled(review, "R2", {**SOUND, "leaked_facts": "yes"}, "a title"), "--list")
    assert status == 0, text
    assert "28 answers on 7 runs stored" in text
    assert "56 answers on 7 runs by R1, R2; advisory" in text
    assert "7 disagreements" in text
    assert "7 findings" in text
    assert "yes, R2 (human, 2026-01-31): a title" in text
    (row,) = [line.split() for line in text.splitlines() if line.startswith(f"{QUESTIONNAIRE}") and "leaked_facts" in line]
    assert row[2:] == ["7", "7", "0", "0", "7", "0%"]


def test_a_wrong_command_ends_with_status_two_and_one_line(copy: Path, tmp_path: Path) -> None:
    invoke("sample", copy)
    (tmp_path / "empty").mkdir()
    wrong = [
        (("sample", tmp_path / "nothing"), "holds no run.json"),
        (("sample", copy, "--passes", 0, "--failures", 0), "ask for at least one run"),
        (("sample", copy, "--tasks", tmp_path / "empty"), "give its own with --tasks DIR"),
        (("judge", copy), "give a SHEET to store, or --list"),
        (("judge", copy, tmp_path / "no.yaml"), "no.yaml"),
        (("judge", copy, copy / "review" / "review.yaml"), "reviewer: '' is no name"),
    ]
    for words, says in wrong:
        status, text = invoke(*words)
        assert (status, says in text, text.count("\n")) == (2, True, 1), text
