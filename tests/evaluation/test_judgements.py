"""Judgements: answers of people, kept beside results that they cannot change, whoever else says otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.reference import Reference
from agents.shortcuts import SkipApproval
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation.judgements import (
    SIDECAR,
    JudgementError,
    agreement,
    disagreements,
    findings,
    judge,
    read_judgements,
)
from fieldops_gym.evaluation.review import Review
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, SheetError
from fieldops_gym.evaluation.sampling import read_results
from tests.evaluation.reviewing import SOUND, drawn, filled, lines_of, rewrite, written
from tests.evaluation.support import RELAY, contents, run_with

CARDS = ("A-01", "E-01", "X-01")


@pytest.fixture(scope="module")
def played(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three families, in two of which every run passes and in one of which every run fails."""
    out = tmp_path_factory.mktemp("played") / "run"
    run_with(pack, SkipApproval, 1, out, env=RELAY, cards=CARDS)
    return out


@pytest.fixture
def copy(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "run"))


def test_answers_are_stored_beside_results_that_stay_as_they_are(copy: Path, pack: Pack) -> None:
    review = written(copy, pack)
    sheet = filled(review, "R1", note='"see #23: ok"')
    before = contents(copy)
    results = read_results(copy)
    given = judge(results, sheet).answers
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


def test_a_run_that_is_gone_on_with_keeps_its_judgements(copy: Path, pack: Pack) -> None:
    judge(read_results(copy), filled(written(copy, pack), "R1"))
    before = contents(copy)
    run_with(pack, SkipApproval, 1, copy, resume=True, env=RELAY, cards=CARDS)
    assert contents(copy) == before


def test_reviewers_who_disagree_are_both_kept_and_counted(copy: Path, pack: Pack) -> None:
    review, results = written(copy, pack), read_results(copy)
    runs = len(drawn(copy, pack, 1, 0).runs)
    first = judge(results, filled(review, "R1")).answers
    kept = (copy / SIDECAR).read_bytes()
    other = {**SOUND, "leaked_facts": "yes", "another_path": "unsure"}
    second = judge(results, filled(review, "R2", other, "the title names the fault")).answers
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
    assert (row.yes, row.no, row.agree, row.disagree) == (0, 2 * runs, runs, 0)
    assert disagreements(stored) == findings(stored) == ()


def test_a_sheet_that_is_stored_already_is_not_stored_again(copy: Path, pack: Pack) -> None:
    review, results = written(copy, pack), read_results(copy)
    first = judge(results, filled(review, "R1"))
    once = (copy / SIDECAR).read_bytes()
    assert judge(results, filled(review, "R1")) == (first.answers, False)
    assert (copy / SIDECAR).read_bytes() == once
    # Who comes back to an earlier answer says something new.
    assert judge(results, filled(review, "R1", {**SOUND, "leaked_facts": "yes"})).new
    assert judge(results, filled(review, "R1")).new
    assert len(read_judgements(results)) == 3 * len(first.answers)
    assert not findings(read_judgements(results))


def test_one_reviewer_alone_has_no_rate_of_agreement(copy: Path, pack: Pack) -> None:
    results = read_results(copy)
    judge(results, filled(written(copy, pack), "R1"))
    assert {row.percent for row in agreement(read_judgements(results))} == {None}


def test_runs_that_a_reviewer_deletes_are_left_out(copy: Path, pack: Pack) -> None:
    sheet = filled(written(copy, pack), "R1")
    head, _, rest = sheet.read_text(encoding="utf-8").partition("\n  # run 1\n")
    sheet.write_text(head + "\n  # run 2\n" + rest.partition("\n  # run 2\n")[2], encoding="utf-8")
    judged = {judgement.trial for judgement in judge(read_results(copy), sheet).answers}
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
    with pytest.raises(SheetError, match="it is there twice; keep one; and 1 more; nothing was stored"):
        judge(read_results(copy), sheet)
    assert not (copy / SIDECAR).exists()


def test_a_sheet_of_another_run_is_refused(copy: Path, pack: Pack, tmp_path: Path) -> None:
    run_with(pack, Reference, 1, tmp_path / "other", env=RELAY, cards=("X-01",))
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
    assert "12 answers on 3 runs stored" in text
    again = invoke("judge", copy, filled(review, "R1"))
    assert again == (0, "nothing new: R1's 12 answers on 3 runs are stored already\n")
    told = invoke("judge", copy, filled(review, "R2", {**SOUND, "leaked_facts": "yes"}, "another title"), "--list")[1]
    assert "another title" in told
    assert "disagreements: 3" in told
    assert "graders are wrong: 3" in told
    status, text = invoke("judge", copy, "--list")
    assert "24 answers on 3 runs by R1, R2; advisory" in text
    assert "disagreements: 3" in text
    assert "graders are wrong: 3" in text
    assert "yes, R2 (human, 2026-01-31): another title" in text
    assert "): a title" not in text
    (row,) = [line.split() for line in text.splitlines() if line.startswith("leaked_facts ")]
    assert row[1:] == ["3", "3", "0", "0", "3", "0%"]


def test_a_wrong_command_ends_with_status_two_and_one_line(copy: Path, tmp_path: Path) -> None:
    invoke("sample", copy)
    (tmp_path / "empty").mkdir()
    wrong = [
        (("sample", tmp_path / "nothing"), "holds no run.json"),
        (("sample", copy, "--passes", 0, "--failures", 0), "ask for at least one run"),
        (("sample", copy, "--tasks", tmp_path / "empty"), "give its own with --tasks DIR"),
        (("judge", copy), "give a SHEET to store, or --list"),
        (("judge", copy, tmp_path / "no.yaml"), "no.yaml: there is no such file; give a sheet of `fieldops sample`"),
        (("judge", copy, tmp_path), "there is no such file"),
        (
            ("judge", copy, copy / "review" / "review.yaml"),
            "reviewer: '' is no name; say who answers, in one line; and 13 more; nothing was",
        ),
    ]
    for words, says in wrong:
        status, text = invoke(*words)
        assert (status, says in text, text.count("\n")) == (2, True, 1), text
