"""`fieldops sample` and `fieldops judge`: people review runs, and what they say is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fieldops_gym.cli.common import Tasks, app, plain_table, refuse, told
from fieldops_gym.core.cards import CardError
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.evaluation.evidence import printable
from fieldops_gym.evaluation.judgements import (
    SIDECAR,
    Filed,
    Judgement,
    JudgementError,
    agreement,
    disagreements,
    findings,
    judge,
    last_answers,
    read_judgements,
)
from fieldops_gym.evaluation.quarantine import QuarantineError
from fieldops_gym.evaluation.results import ResultsError
from fieldops_gym.evaluation.review import write_review
from fieldops_gym.evaluation.review_sheet import SheetError
from fieldops_gym.evaluation.sampling import SampleError, read_results, sample
from fieldops_gym.evaluation.traces import TraceError
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import ENVIRONMENTS

Results = Annotated[Path, typer.Argument(help="A directory that `fieldops run --out DIR` wrote.", metavar="DIR")]


@app.command("sample")
def sample_command(
    directory: Results,
    passes: Annotated[int, typer.Option(help="Passed runs to draw from each family.", min=0, metavar="N")] = 2,
    failures: Annotated[int, typer.Option(help="Failed runs to draw from each family.", min=0, metavar="N")] = 2,
    seed: Annotated[int, typer.Option(help="Another seed draws other runs.", min=0, metavar="N")] = 0,
    tasks: Tasks = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; DIR/review without it.", metavar="DIR")] = None,
) -> None:
    """Draw passed and failed runs for people to review; write review.md to read and review.yaml to fill in.

    Both hold what is hidden from agents. `fieldops judge` stores the answers.
    """
    try:
        results = read_results(directory)
        if results.domain not in {row.domain for row in ENVIRONMENTS}:
            refuse(f"{directory}: its run is of domain '{results.domain}', which this version does not have")
        pack = load_tasks(tasks, results.domain)
        drawn = sample(results, pack, passes, failures, seed)
        review = write_review(drawn, pack, directory / "review" if out is None else out)
    except (SampleError, ResultsError, TraceError, CardError, OverrideError, QuarantineError, OSError) as error:
        refuse(told(error))
    console = Console(highlight=False)
    table = plain_table("family", "passed", "failed", "void", "raised", "not judged", "drawn")
    for counts in drawn.counts:
        table.add_row(*map(str, (*counts, sum(run.family == counts.family for run in drawn.runs))))
    console.print(table)
    for note in drawn.notes:
        console.print(Text(note), soft_wrap=True)
    console.print(
        Text(f"{len(drawn.runs)} runs to review. Read {review.reading}, fill in a copy of {review.sheet}."), soft_wrap=True
    )
    console.print(Text("Both are privileged: they hold hidden contracts, and are not for an agent."), soft_wrap=True)


@app.command("judge")
def judge_command(
    directory: Results,
    sheet: Annotated[Path | None, typer.Argument(help="A sheet of `fieldops sample`, filled in.", metavar="SHEET")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show what is stored: agreement, disagreements, findings.")] = False,
) -> None:
    """Store a reviewer's answers beside a run's results, which they do not change, or list those that are there."""
    if sheet is None and not listed:
        refuse("give a SHEET to store, or --list to see what is stored")
    console = Console(highlight=False)
    try:
        results = read_results(directory)
        if sheet is not None:
            if not sheet.is_file():
                refuse(f"{sheet}: there is no such file; give a sheet of `fieldops sample`, filled in")
            console.print(Text(_filed(judge(results, sheet), directory)), soft_wrap=True)
        if listed:
            _list(console, last_answers(read_judgements(results)))
    except (JudgementError, SheetError, ResultsError, OSError) as error:
        refuse(told(error))


def _filed(filed: Filed, directory: Path) -> str:
    runs = len({judgement.trial for judgement in filed.answers})
    what = f"{len(filed.answers)} answers on {runs} {'run' if runs == 1 else 'runs'}"
    if not filed.new:
        return f"nothing new: {filed.answers[0].calibration.reviewer}'s {what} are stored already"
    return f"{what} stored in {directory / SIDECAR}; no outcome changes by them"


def _list(console: Console, judgements: Sequence[Judgement]) -> None:
    reviewers = sorted({judgement.calibration.reviewer for judgement in judgements})
    if not judgements:
        console.print(Text("no judgement is stored"))
        return
    runs = len({judgement.trial for judgement in judgements})
    said = f"{len(judgements)} answers on {runs} {'run' if runs == 1 else 'runs'} by {', '.join(reviewers)}"
    console.print(Text(f"{said}; advisory, no outcome changes by them"), soft_wrap=True)
    for questionnaire in dict.fromkeys(row.questionnaire for row in agreement(judgements)):
        table = plain_table("question", "yes", "no", "unsure", "agree", "disagree", "agreement")
        for row in agreement(judgements):
            if row.questionnaire == questionnaire:
                percent = "-" if row.percent is None else f"{row.percent:.0f}%"
                table.add_row(*map(Text, map(str, (*row[1:], percent))))
        console.print(Text(f"\nquestionnaire {questionnaire}"))
        console.print(table)
    console.print(
        Text("by the last answer of each reviewer; agree, disagree: pairs of reviewers over the same run"), soft_wrap=True
    )
    differing, found = disagreements(judgements), findings(judgements)
    console.print(Text(f"\ndisagreements: {len(differing)}", style="bold"))
    for item in differing:
        console.print(Text(f"{item.trial}: {item.question}"), soft_wrap=True)
        for judgement in item.answers:
            console.print(Text(f"  {_told(judgement)}"), soft_wrap=True)
    console.print(Text(f"\nanswers that say that a card or the graders are wrong: {len(found)}", style="bold"), soft_wrap=True)
    for judgement in found:
        console.print(Text(f"{judgement.trial}: {judgement.question}: {_told(judgement)}"), soft_wrap=True)


def _told(judgement: Judgement) -> str:
    calibration = judgement.calibration
    note = f": {printable(' '.join(judgement.note.split()))}" if judgement.note else ""
    return f"{judgement.answer}, {calibration.reviewer} ({calibration.source}, {calibration.date}){note}"
