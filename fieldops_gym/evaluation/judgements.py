"""Judgements: what reviewers say of runs, kept in a sidecar beside the results, which they cannot change.

`judgements.jsonl` has one line per answer, keyed by the trial and the end of its digest chain. Lines are only ever appended:
reviewers who disagree are both kept, and so is whoever answers again; what counts is the last answer of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from fieldops_gym.core.canonical import plain
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, Answer, Sheet, read_sheet, refuse_if
from fieldops_gym.evaluation.sampling import RunResults

FORMAT = "fieldops-judgement/1"
SIDECAR = "judgements.jsonl"
HUMAN = "human"


class JudgementError(Exception):
    """A sidecar of judgements cannot be used. The message names file and line, and what would be right."""


class Calibration(NamedTuple):
    """Whose word a judgement is, and of what kind: `source` 'human', the questions' name and version, the reviewer, the day.

    `date` is what the reviewer wrote, as YYYY-MM-DD; no clock is read.
    """

    source: str
    questionnaire: str
    reviewer: str
    date: str


class Judgement(NamedTuple):
    """One answer to one question about one run. Advisory: it stands beside the run's grade and changes no outcome."""

    format: str
    trial: str
    chain: str
    question: str
    answer: str
    note: str
    calibration: Calibration


class Agreement(NamedTuple):
    """How far reviewers agree on a question of a questionnaire.

    Each reviewer's last answer on a run counts. `agree` and `disagree` count pairs of reviewers over the same run; `unsure`
    agrees with `unsure` only.
    """

    questionnaire: str
    question: str
    yes: int
    no: int
    unsure: int
    agree: int
    disagree: int

    @property
    def percent(self) -> float | None:
        """Agreeing pairs in a hundred; None where no two reviewers answered."""
        pairs = self.agree + self.disagree
        return 100 * self.agree / pairs if pairs else None


class Disagreement(NamedTuple):
    """The reviewers' last answers to one question about one run, where they differ, in the order in which they were stored."""

    trial: str
    question: str
    answers: tuple[Judgement, ...]


class Filed(NamedTuple):
    """The answers of a sheet, and whether they were stored: `new` is false when each is its reviewer's last word already."""

    answers: tuple[Judgement, ...]
    new: bool


def judge(results: RunResults, path: Path) -> Filed:
    """Store the answers of a filled sheet beside the results, unless they are there already, and return them.

    Raises `SheetError` for a sheet that is not filled in or is of other results, `JudgementError` for a sidecar that cannot
    be gone on with, `OSError`; then nothing is stored.
    """
    sheet = read_sheet(path)
    refuse_if(path, list(_misfits(sheet, results)))
    given = tuple(_judgements(sheet))
    if set(given) <= set(last_answers(read_judgements(results))):
        return Filed(given, new=False)
    lines = "".join(f"{json.dumps(plain(judgement))}\n" for judgement in given).encode("ascii")
    sidecar = results.directory / SIDECAR
    # Unbuffered, so that the lines of a sheet are one write.
    with sidecar.open("ab", buffering=0) as file:
        size = file.tell()
        if file.write(lines) != len(lines):
            os.truncate(sidecar, size)
            raise JudgementError(f"{sidecar}: the answers could not be written whole, so none was; make room")
    return Filed(given, new=True)


def read_judgements(results: RunResults) -> tuple[Judgement, ...]:
    """Return the judgements stored beside results, none where there is no sidecar. Raises `JudgementError`, `OSError`."""
    sidecar = results.directory / SIDECAR
    if not sidecar.exists():
        return ()
    content = sidecar.read_bytes()
    if content and not content.endswith(b"\n"):
        raise JudgementError(f"{sidecar}: its last line is torn; end it, or remove it")
    return tuple(_judgement(sidecar, number, line, results) for number, line in enumerate(content.splitlines(), start=1))


def last_answers(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Return each reviewer's last answer to each question about each run, in the order in which those were stored."""
    last: dict[tuple[str, str, str, str, str], Judgement] = {}
    for judgement in judgements:
        source, questionnaire, reviewer, _ = judgement.calibration
        key = (source, questionnaire, reviewer, judgement.trial, judgement.question)
        last.pop(key, None)  # so that it takes the place of the later one
        last[key] = judgement
    return tuple(last.values())


def agreement(judgements: Sequence[Judgement]) -> tuple[Agreement, ...]:
    """Return the counts of each question, by the last answer of each reviewer, in the order of the questionnaire."""
    judgements = last_answers(judgements)
    place = {question.id: number for number, question in enumerate(QUESTIONS)}
    asked = {(j.calibration.questionnaire, j.question) for j in judgements}
    order = sorted(asked, key=lambda key: (key[0], place.get(key[1], len(place)), key[1]))
    return tuple(_agreement(key, [j for j in judgements if (j.calibration.questionnaire, j.question) == key]) for key in order)


def disagreements(judgements: Sequence[Judgement]) -> tuple[Disagreement, ...]:
    """Return each run and question on which the last answers of reviewers are not all the same."""
    return tuple(
        Disagreement(trial, question, said)
        for (_, trial, question), said in _by_item(last_answers(judgements)).items()
        if len({judgement.answer for judgement in said}) > 1
    )


def findings(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Return the last answers that tell of something wrong with a card or with graders, whoever else says otherwise."""
    wrong = {(QUESTIONNAIRE, question.id, str(question.finding)) for question in QUESTIONS}
    return tuple(j for j in last_answers(judgements) if (j.calibration.questionnaire, j.question, j.answer) in wrong)


def _misfits(sheet: Sheet, results: RunResults) -> Iterator[str]:
    """Return where a sheet is not of these results."""
    seen: set[str] = set()
    for run in sheet.runs:
        row, where = results.rows.get(run.trial), f"trial '{run.trial}'"
        if run.trial in seen:
            yield f"{where}: it is there twice; keep one"
        elif row is None or row.digests is None:
            yield f"{where}: {results.directory} has no such trial; give the directory that the sheet was drawn from"
        elif run.chain != row.digests.log:
            ends = f"'{run.chain[:8]}...' is not the end of its trace, '{row.digests.log[:8]}...'"
            yield f"{where}: chain: {ends}; the sheet judges another run"
        elif run.outcome != row.outcome:
            yield f"{where}: outcome: it is '{row.outcome}', not '{run.outcome}'; a judgement changes no outcome"
        seen.add(run.trial)


def _judgements(sheet: Sheet) -> Iterator[Judgement]:
    calibration = Calibration(HUMAN, sheet.questionnaire, sheet.reviewer.strip(), sheet.date)
    for run in sheet.runs:
        for question in QUESTIONS:
            given = run.answers[question.id]
            answer = str(Answer(given.answer.strip().lower()))
            yield Judgement(FORMAT, run.trial, run.chain, question.id, answer, given.note.strip(), calibration)


def _judgement(sidecar: Path, number: int, line: bytes, results: RunResults) -> Judgement:
    try:
        given = json.loads(line)
        if set(given) != set(Judgement._fields) or given["format"] != FORMAT:
            raise ValueError(f"it should have format '{FORMAT}' and exactly the fields {', '.join(Judgement._fields)}")
        calibration = Calibration(**given.pop("calibration"))
        judgement = Judgement(**given, calibration=calibration)
        if not all(isinstance(word, str) for word in (*judgement[:-1], *judgement.calibration)):
            raise ValueError("each of its fields should be text")
        Answer(judgement.answer)
    except (ValueError, TypeError, RecursionError) as error:
        raise JudgementError(f"{sidecar}: line {number} is no judgement: {' '.join(str(error).split())}") from error
    row = results.rows.get(judgement.trial)
    if row is None or row.digests is None or row.digests.log != judgement.chain:
        raise JudgementError(
            f"{sidecar}: line {number} judges a run '{judgement.trial}' that the results beside it do not hold"
        )
    return judgement


def _by_item(judgements: Sequence[Judgement]) -> Mapping[tuple[str, str, str], tuple[Judgement, ...]]:
    """Return judgements by questionnaire, trial and question, each in the order in which they were stored."""
    items: dict[tuple[str, str, str], tuple[Judgement, ...]] = {}
    for judgement in judgements:
        key = (judgement.calibration.questionnaire, judgement.trial, judgement.question)
        items[key] = (*items.get(key, ()), judgement)
    return items


def _agreement(key: tuple[str, str], given: Sequence[Judgement]) -> Agreement:
    counts = [sum(judgement.answer == answer for judgement in given) for answer in (Answer.YES, Answer.NO, Answer.UNSURE)]
    agree = disagree = 0
    for said in _by_item(given).values():
        same = [one.answer == other.answer for one, other in combinations(said, 2)]
        agree += same.count(True)
        disagree += same.count(False)
    return Agreement(*key, *counts, agree, disagree)
