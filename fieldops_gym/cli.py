"""The command line: `fieldops list`, `run`, `show`, `docs`, `world` and `retire`.

Exit status: 0 when the command worked, however bad the agent; 1 when a trial could not be judged, or a start is unsound; 2 when
the command itself, or a file that it was given, is wrong; 130 when it was interrupted.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.core.overrides import OverrideError, Overrides, merge
from fieldops_gym.evaluation import (
    AccessLogError,
    AgentLoadError,
    Report,
    ResultsError,
    RetireError,
    RunSettings,
    TraceError,
    TrialStatus,
    docs,
    load_agent,
    manifest,
    retire,
    run,
    settings_for,
    show,
    worlds_report,
)
from fieldops_gym.evaluation.agents import AgentSource
from fieldops_gym.evaluation.report import render
from fieldops_gym.evaluation.results import write_whole
from fieldops_gym.evaluation.show_source import load
from fieldops_gym.evaluation.trials import PACK_DIGITS
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import ENVIRONMENTS, EVERY_FAMILY, EnvRow, row_of

UNJUDGED, USAGE, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    help="Stateful, policy-bound, fault-injected environments for tool-using agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Split(StrEnum):
    """The splits of cards, and all of them."""

    TRAIN = "train"
    DEVELOPMENT = "development"
    HELD_OUT = "held_out"
    REGRESSION = "regression"
    ALL = "all"


Tasks = Annotated[Path | None, typer.Option(help="A directory of tasks instead of the shipped ones.", metavar="DIR")]


@app.command("list")
def list_command(tasks: Tasks = None) -> None:
    """List the environments, and the cards of each."""
    console = Console(highlight=False)
    environments = _table("environment", "domain", "family")
    for row in ENVIRONMENTS:
        environments.add_row(row.id, row.domain, row.family)
    console.print(environments)
    for row in (row for row in ENVIRONMENTS if row.family != EVERY_FAMILY):
        pack = _pack(row, tasks)
        found = [card for _, card in sorted(pack.cards.items()) if card.family == row.family]
        cards = _table("card", "family", "split", "segment", "variants", "budget")
        for card in found:
            cells = (card.id, card.family, pack.splits[card.id].split, card.segment, ", ".join(card.variants), card.contract)
            cards.add_row(*map(Text, cells))
        console.print()
        console.print(cards)
        for contract in dict.fromkeys(card.contract for card in found):
            limits = docs.budget_words(pack.contracts[contract].budget)
            console.print(Text(f"\nbudget {contract}: {limits}"))


@app.command("run")
def run_command(
    env: Annotated[str, typer.Option(help="The environment's id; `fieldops list` shows them.", metavar="ID")],
    agent: Annotated[str, typer.Option(help="The agent: a class, or a function that makes one.", metavar="MODULE:ATTR")],
    cards: Annotated[str | None, typer.Option(help="Just these cards, whatever their split.", metavar="X-01,...")] = None,
    split: Annotated[Split, typer.Option(help="The cards of this split.")] = Split.TRAIN,
    seeds: Annotated[int, typer.Option(help="Trials per card; its variants take turns.", min=1, metavar="N")] = 20,
    fault: Annotated[list[str] | None, typer.Option(help="Add this fault to every trial (repeatable).", metavar="ID")] = None,
    tasks: Tasks = None,
    out: Annotated[Path | None, typer.Option(help="Keep results and traces in this directory.", metavar="DIR")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that DIR holds.")] = False,
    access_log: Annotated[
        Path | None, typer.Option(help="Append a line to FILE: which held-out cards this run opens.", metavar="FILE")
    ] = None,
    failures: Annotated[int, typer.Option(help="Kinds of failure to show; 0 for all.", min=0, metavar="N")] = 10,
) -> None:
    """Run an agent on the cards of an environment and say what failed, and why.

    Exit status 0: the run worked, however bad the agent is. 1: a trial could not be judged. 2: the command is wrong.
    """
    if resume and out is None:
        _refuse("--resume needs --out DIR, the directory of the run to go on with")
    row = _row(env)
    try:
        pack = _pack(row, tasks)
        overrides = _overrides(pack, fault or [])
        source = load_agent(agent)
        chosen = None if cards is None else _names(cards)
        settings = settings_for(row.id, source.name, pack, chosen, split.value, seeds, overrides)
        report = _watched(settings, pack, source, out, resume, access_log)
    except (AccessLogError, AgentLoadError, CardError, ResultsError, OSError) as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        kept = "nothing was kept" if out is None else f"go on with --out {out} --resume"
        Console(stderr=True).print(Text(f"interrupted; {kept}"))
        raise typer.Exit(INTERRUPTED) from None
    render(Console(highlight=False), report, failures)
    if any(row.status == TrialStatus.INFRA_ERROR for row in report.rows):
        raise typer.Exit(UNJUDGED)


@app.command("show")
def show_command(
    trace: Annotated[Path, typer.Argument(help="A trace that `fieldops run --out DIR` left in DIR/traces.", metavar="TRACE")],
    since: Annotated[int, typer.Option("--from", help="Leave out events before this simulated second.", metavar="SECOND")] = 0,
    tasks: Tasks = None,
) -> None:
    """Show one episode as a timeline: calls, answers, faults, people, what was written, and the verdicts with evidence.

    The trace is checked against its digests, against results.jsonl beside it, and by replaying its calls.
    """
    try:
        shown = load(trace, tasks)
    except (TraceError, ResultsError, CardError, OSError) as error:
        _refuse(" ".join(str(error).split()))
    console = Console(highlight=False)
    wrap = console.is_terminal or "COLUMNS" in os.environ
    show.render(console, shown, since, console.width if wrap else None)


@app.command("docs")
def docs_command(
    env: Annotated[str | None, typer.Argument(help="The environment's id; all of them without one.", metavar="ID")] = None,
    out: Annotated[Path | None, typer.Option(help="Write one file per environment into this directory.", metavar="DIR")] = None,
    tasks: Tasks = None,
) -> None:
    """Write the documentation page of each environment, in Markdown, to standard output or to files."""
    try:
        rows = ENVIRONMENTS if env is None else (_row(env),)
        pages = {row.id: docs.page(row, _pack(row, tasks)) for row in rows}
        if out is None:
            typer.echo("\n".join(pages.values()), nl=False)
            return
        for path in docs.write(out, pages):
            typer.echo(path)
    except OSError as error:
        _refuse(str(error))


@app.command("world")
def world_command(
    card: Annotated[str, typer.Option(help="The card whose start states are made.", metavar="X-01")],
    seeds: Annotated[str, typer.Option(help="Numbers of frozen evaluation seeds.", metavar="0,1,...")],
    variant: Annotated[str | None, typer.Option(help="One variant of it; all of them without this.", metavar="V")] = None,
    tasks: Tasks = None,
    entities: Annotated[int | None, typer.Option(help="About how many records a start has.", min=1, metavar="N")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the manifest to FILE, as JSON.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON, not as tables.")] = False,
) -> None:
    """Make the start states of a card again, and say what is in them, by counts and digests, and what they are drawn from.

    Exit status 0: every start keeps the world invariants. 1: one does not. 2: the command is wrong.
    """
    numbers = [_number(text) for text in seeds.split(",")]
    try:
        domain, pack = _holder(card, tasks)
        made = manifest(domain, pack, card, numbers, variant, merge([{"entities": entities}]))
        if out is not None:
            write_whole(out, made.to_json())
    except (CardError, OverrideError, OSError) as error:
        _refuse(str(error))
    if as_json:
        typer.echo(made.to_json(), nl=False)
    else:
        worlds_report.render(Console(highlight=False), made)
    if not made.sound:
        raise typer.Exit(UNJUDGED)


@app.command("retire")
def retire_command(
    tasks: Annotated[Path, typer.Option(help="The directory of tasks whose splits.yaml is rewritten.", metavar="DIR")],
    reason: Annotated[str, typer.Option(help="Why: one line, kept in the cards' rows.", metavar="TEXT")],
    cards: Annotated[str | None, typer.Option(help="These held-out cards.", metavar="X-05,...")] = None,
    every: Annotated[bool, typer.Option("--all", help="All held-out cards.")] = False,
) -> None:
    """Turn held-out cards that have been used into regression cards: they measure nothing new any more."""
    if (cards is None) != every:
        _refuse("give either --cards X-05,... or --all")
    try:
        done = retire(tasks, None if cards is None else _names(cards), reason)
    except (RetireError, CardError, OSError) as error:
        _refuse(str(error))
    typer.echo(f"{done.manifest}: {', '.join(done.cards)} read split regression now")
    typer.echo(f"pack {done.before[:PACK_DIGITS]} is pack {done.after[:PACK_DIGITS]} now; results from before keep the former")


def main() -> None:
    """Run the command line; the entry point of the `fieldops` script."""
    app()


def _watched(
    settings: RunSettings, pack: Pack, agent: AgentSource, out: Path | None, resume: bool, access_log: Path | None
) -> Report:
    """Run with a progress bar on standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("trials", total=len(settings.cards) * settings.seeds)
        return run(settings, pack, agent, out, resume, lambda _: progress.advance(task), access_log)


def _row(env: str) -> EnvRow:
    try:
        return row_of(env)
    except KeyError as error:
        _refuse(error.args[0])


def _pack(row: EnvRow, tasks: Path | None) -> Pack:
    try:
        return load_tasks(tasks, row.domain)
    except CardError as error:
        _refuse(str(error))


def _holder(card: str, tasks: Path | None) -> tuple[str, Pack]:
    """Return the domain and the pack that have a card; the last ones tried, if none has it."""
    packs = [(domain, load_tasks(tasks, domain)) for domain in dict.fromkeys(row.domain for row in ENVIRONMENTS)]
    return next((held for held in packs if card in held[1].cards), packs[-1])


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        _refuse(f"--seeds: '{text}' is not a number >= 0; give for example --seeds 0,1,2")
    return int(text)


def _overrides(pack: Pack, faults: list[str]) -> Overrides:
    for name in faults:
        if name not in pack.faults:
            _refuse(f"there is no fault '{name}'; there are {', '.join(sorted(pack.faults))}")
    return merge([{"faults": {"append": faults}}] if faults else [])


def _names(cards: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in cards.split(","))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", min_width=len("approval-required") if name == "segment" else None)
    return table


def _refuse(why: str) -> NoReturn:
    """End with the exit status of a wrong command, and one line that says why."""
    typer.echo(f"fieldops: {why}", err=True)
    raise typer.Exit(USAGE)


if __name__ == "__main__":
    main()
