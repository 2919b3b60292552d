"""`fieldops list` and `fieldops run`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fieldops_gym.cli.common import (
    INTERRUPTED,
    UNJUDGED,
    Tasks,
    app,
    list_console,
    longest,
    pack_for,
    plain_table,
    refuse,
    row_named,
    split_names,
    told,
)
from fieldops_gym.core.cards import Card, CardError, Pack
from fieldops_gym.core.overrides import Overrides, merge
from fieldops_gym.evaluation import (
    AccessLogError,
    AgentLoadError,
    Report,
    ResultsError,
    RunSettings,
    TrialStatus,
    docs,
    load_agent,
    plan_trials,
    run,
    settings_for,
)
from fieldops_gym.evaluation.agents import AgentSource
from fieldops_gym.evaluation.lock import LockError
from fieldops_gym.evaluation.quarantine import QuarantineError
from fieldops_gym.evaluation.refusals import RefusedError, check_run
from fieldops_gym.evaluation.report import render
from fieldops_gym.evaluation.results import write_whole
from fieldops_gym.registry import ENVIRONMENTS, EVERY_FAMILY


class Split(StrEnum):
    """The splits of cards, and all of them."""

    TRAIN = "train"
    DEVELOPMENT = "development"
    HELD_OUT = "held_out"
    REGRESSION = "regression"
    ALL = "all"


WRONG = (
    AccessLogError, AgentLoadError, CardError, LockError, QuarantineError, RefusedError, ResultsError, OSError,
)  # fmt: skip
"""What ends a run before it has begun."""

GAP = 3
"""Columns between those of a table."""


@app.command("list")
def list_command(tasks: Tasks = None) -> None:
    """List the environments, and the cards of each."""
    console = list_console()
    environments = plain_table("environment", "domain", "family")
    for row in ENVIRONMENTS:
        environments.add_row(row.id, row.domain, row.family)
    console.print(environments)
    for row in (row for row in ENVIRONMENTS if row.family != EVERY_FAMILY):
        pack = pack_for(row, tasks)
        found = [card for _, card in sorted(pack.cards.items()) if card.family == row.family]
        console.print(Text(f"\nfamily {row.family}", style="bold"))
        console.print(_cards_table(found, pack, console.width))
        for contract in dict.fromkeys(card.contract for card in found):
            limits = docs.budget_words(pack.contracts[contract].budget)
            console.print(Text(f"\nbudget {contract}: {limits}"))


def _cards_table(cards: Sequence[Card], pack: Pack, width: int) -> Table:
    """Return a row per card, so that variants, and then segments, are what is wrapped, between words, to keep a width."""
    table = plain_table("card", "split", "segment", "variants", "budget")
    rows = [(card.id, pack.splits[card.id].split, card.segment, ", ".join(card.variants), card.contract) for card in cards]
    for row in rows:
        table.add_row(*map(Text, row))
    needed = []
    for place, column in enumerate(table.columns):
        texts = [row[place] for row in rows]
        words = texts if column.header not in ("segment", "variants") else " ".join(texts).split()
        column.min_width = longest((str(column.header), *words))
        needed.append(column.min_width)
    _, _, segment, _, _ = table.columns
    whole = longest(["segment", *(row[2] for row in rows)])
    segment.width = whole if sum(needed) - needed[2] + whole + GAP * (len(needed) - 1) <= width else needed[2]
    return table


@app.command("run")
def run_command(
    env: Annotated[str, typer.Option(help="The environment's id; `fieldops list` shows them.", metavar="ID")],
    agent: Annotated[str, typer.Option(help="The agent: a class, or a function that makes one.", metavar="MODULE:ATTR")],
    cards: Annotated[str | None, typer.Option(help="Just these cards, whatever their split.", metavar="X-01,...")] = None,
    split: Annotated[Split, typer.Option(help=f"The cards of this split: {', '.join(Split)}.", metavar="SPLIT")] = Split.TRAIN,
    seeds: Annotated[int, typer.Option(help="Trials per card; its variants take turns.", min=1, metavar="N")] = 20,
    fault: Annotated[list[str] | None, typer.Option(help="Add this fault to every trial (repeatable).", metavar="ID")] = None,
    tasks: Tasks = None,
    out: Annotated[Path | None, typer.Option(help="Keep results and traces in this directory.", metavar="DIR")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that DIR holds.")] = False,
    access_log: Annotated[
        Path | None, typer.Option(help="Append a line to FILE: which held-out cards this run opens.", metavar="FILE")
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the report to FILE, as JSON.", metavar="FILE")] = None,
    failures: Annotated[int, typer.Option(help="Kinds of failure to show; 0 for all.", min=0, metavar="N")] = 10,
) -> None:
    """Run an agent on the cards of an environment and say what failed, and why.

    It is refused when lock.json does not match, a start is unsound, or a grader cannot see what it is to judge.
    Exit status 0: the run worked, however bad the agent is. 1: a trial could not be judged. 2: the command is wrong or refused.
    """
    if resume and out is None:
        refuse("--resume needs --out DIR, the directory of the run to go on with")
    row = row_named(env)
    try:
        pack = pack_for(row, tasks)
        overrides = _overrides(pack, fault or [])
        source = load_agent(agent)
        chosen = None if cards is None else split_names(cards)
        settings = settings_for(row.id, source.name, pack, chosen, split.value, seeds, overrides)
        check_run(settings, pack, plan_trials(settings, pack))
        report = _watched(settings, pack, source, out, resume, access_log)
    except WRONG as error:
        refuse(told(error))
    except KeyboardInterrupt:
        kept = "nothing was kept" if out is None else f"go on with --out {out} --resume"
        Console(stderr=True).print(Text(f"interrupted; {kept}"))
        raise typer.Exit(INTERRUPTED) from None
    render(Console(highlight=False), report, failures)
    if json_out is not None:
        try:
            write_whole(json_out, report.to_json())
        except OSError as error:  # by now the run has been played, and has been told
            refuse(told(error))
    if any(row.status == TrialStatus.INFRA_ERROR for row in report.rows):
        raise typer.Exit(UNJUDGED)


def _watched(
    settings: RunSettings, pack: Pack, agent: AgentSource, out: Path | None, resume: bool, access_log: Path | None
) -> Report:
    """Run with a progress bar on standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("trials", total=len(settings.cards) * settings.seeds)
        return run(settings, pack, agent, out, resume, lambda _: progress.advance(task), access_log)


def _overrides(pack: Pack, faults: list[str]) -> Overrides:
    for name in faults:
        if name not in pack.faults:
            refuse(f"there is no fault '{name}'; there are {', '.join(sorted(pack.faults))}")
    return merge([{"faults": {"append": faults}}] if faults else [])
