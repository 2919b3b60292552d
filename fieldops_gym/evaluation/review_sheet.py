"""The sheet that a reviewer fills in: what is asked of each run, the empty YAML, and reading it back.

YAML is read with every scalar as text, so that an answer `yes` and a date stay what the reviewer wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from fieldops_gym.core.canonical import digest

FORMAT = "fieldops-review/1"
QUESTIONNAIRE = "run-review/1"
"""Name and version of the questions; answers to other words are not the same answers, so a change makes a new version."""


class SheetError(Exception):
    """A review sheet cannot be used. The message names the file, the run and the question, and what would be right."""


class Answer(StrEnum):
    """What may be answered to every question."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


class Question(NamedTuple):
    """What is asked of each run. `finding` is the answer that tells of something wrong with card or graders."""

    id: str
    text: str
    finding: Answer


QUESTIONS = (
    Question(
        "permitted_evidence",
        "Does all that the agent relied on come from what it was shown, by calls that its seat may make?",
        Answer.NO,
    ),
    Question(
        "leaked_facts",
        "Did anything that the agent was shown give away what is hidden from it (variant, faults, truth, verdicts)?",
        Answer.YES,
    ),
    Question(
        "wrong_state_accepted",
        "Is anything wrong with the world that the run left, with how it got there, or with its account, that no verdict "
        "calls broken?",
        Answer.YES,
    ),
    Question(
        "another_path",
        "Is there a valid path, this run's own included, that the verdicts fail or would fail?",
        Answer.YES,
    ),
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerRow(_Strict):
    """An answer as the sheet holds it: '' until it is given."""

    answer: str
    note: str = ""


class SheetRun(_Strict):
    """One run of a sheet: trial id, end of the trace's digest chain, outcome, and an answer by question id."""

    trial: str
    chain: str
    outcome: str
    answers: dict[str, AnswerRow]


class Sheet(_Strict):
    """A sheet as it is in its file. `reviewer` and `date` are '' until they are given."""

    format: str
    privileged: str
    questionnaire: str
    env: str
    agent: str
    pack: str
    seed: str
    reviewer: str
    date: str
    runs: tuple[SheetRun, ...]


HEAD = """\
# Review sheet. review.md, written with it, shows the runs and says what each question means.
# PRIVILEGED: trial ids name cards and variants, which are hidden from agents. Keep it out of prompts and training data.
# Fill in `reviewer` (a name or initials that stay the same), `date` (YYYY-MM-DD) and each `answer`: {answers}.
# A `note` is free text, in the quotes. To leave a run out, delete it whole. Each reviewer fills in a copy of the empty sheet.
# Then: fieldops judge DIR SHEET
"""


def empty_sheet(env: str, agent: str, pack: str, seed: int, runs: Sequence[tuple[str, str, str]]) -> str:
    """Return the YAML of a sheet nobody has filled in; `runs` are (trial id, end of chain, outcome)."""
    head = HEAD.format(answers=", ".join(Answer))
    lines = [f"format: {FORMAT}", 'privileged: "yes"', f"questionnaire: {QUESTIONNAIRE}"]
    lines += [
        f"{name}: {_quoted(value)}" for name, value in (("env", env), ("agent", agent), ("pack", pack), ("seed", str(seed)))
    ]
    lines += ['reviewer: ""', 'date: ""', "runs:"]
    for number, (trial, chain, outcome) in enumerate(runs, start=1):
        lines += ["", f"  # run {number}", f"  - trial: {_quoted(trial)}", f"    chain: {chain}", f"    outcome: {outcome}"]
        lines.append("    answers:")
        for question in QUESTIONS:
            lines += [f"      # {question.text}", f"      {question.id}:", '        answer: ""', '        note: ""']
    return head + "\n".join(lines) + "\n"


def untouched(path: Path) -> bool:
    """Tell whether a file is a sheet just as it was written, so that nothing is lost when another takes its place."""
    try:
        text = path.read_text(encoding="utf-8")
        held = _parsed(path, text)
        runs = [(run.trial, run.chain, run.outcome) for run in held.runs]
        return empty_sheet(held.env, held.agent, held.pack, int(held.seed), runs) == text
    except (SheetError, ValueError):
        return False


def read_sheet(path: Path) -> Sheet:
    """Read a sheet and check that it is filled in. Raises `SheetError` with the first thing that is wrong, and `OSError`."""
    try:
        sheet = _parsed(path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise SheetError(f"{path}: it should be UTF-8; byte {error.start} is not") from error
    refuse_if(path, list(_gaps(sheet)))
    return sheet


def refuse_if(path: Path, problems: Sequence[str]) -> None:
    """Raise `SheetError` with the first problem and how many more there are, of whatever kind; do nothing without one."""
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise SheetError(f"{path}: {problems[0]}{more}; nothing was stored")


def questions_digest() -> str:
    """Return the digest of the questions, which goes with one version of the questionnaire."""
    return digest([list(question) for question in QUESTIONS])


def _parsed(path: Path, text: str) -> Sheet:
    try:
        # The loader of plain text: in YAML `yes` is a truth value, and a date is no text.
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        lost = next(_lost(node, text), "") if node is not None else ""
        data = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise SheetError(
            f"{path}: not YAML: {' '.join(str(error).split())}; put a note with special signs in quotes"
        ) from error
    if lost:
        raise SheetError(f"{path}: {lost}; nothing was stored")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SheetError(f"{path}: it is no review sheet of format '{FORMAT}'; `fieldops sample` writes one")
    if data.get("questionnaire") != QUESTIONNAIRE:
        asked = data.get("questionnaire")
        raise SheetError(f"{path}: it answers questionnaire '{asked}'; this version reads '{QUESTIONNAIRE}'; sample again")
    try:
        return Sheet.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        raise SheetError(f"{path}: {where}: {first['msg']}; nothing was stored") from error


def _lost(node: yaml.Node, text: str) -> Iterator[str]:
    """Return what YAML would lose in silence: the first of two equal keys, and words after a '#', as in `see #23`."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield f"line {key.start_mark.line + 1}: '{key.value}' is there twice; keep one"
            seen.add(key.value)
            yield from _lost(value, text)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _lost(item, text)
    elif text[node.end_mark.index :].partition("\n")[0].lstrip().startswith("#"):
        yield f"line {node.end_mark.line + 1}: what comes after '#' would be lost; put the whole note in quotes"


def _gaps(sheet: Sheet) -> Iterator[str]:
    """Return what is still to be filled in, or filled in wrongly, in the order of the sheet."""
    if not sheet.reviewer.strip() or not sheet.reviewer.isprintable():
        yield f"reviewer: {sheet.reviewer!r} is no name; say who answers, in one line"
    if not _is_date(sheet.date):
        yield f"date: '{sheet.date}' is no date; give the day of the review as YYYY-MM-DD"
    if not sheet.runs:
        yield "runs: it holds no run, so there is nothing to store"
    asked = [question.id for question in QUESTIONS]
    for run in sheet.runs:
        where = f"trial '{run.trial}'"
        yield from (
            f"{where}: '{name}' is no question; there are {', '.join(asked)}" for name in run.answers if name not in asked
        )
        for name in asked:
            given = run.answers[name].answer.strip() if name in run.answers else ""
            if not given:
                yield f"{where}: {name}: not answered; give one of {', '.join(Answer)}, or delete the whole run"
            elif given.lower() not in list(Answer):
                yield f"{where}: {name}: answer '{given}' is none of {', '.join(Answer)}"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _quoted(words: str) -> str:
    return yaml.safe_dump(words, default_style='"', width=float("inf"), allow_unicode=True).rstrip()
