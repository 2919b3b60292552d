"""`fieldops show`, `fieldops docs` and `fieldops world`: looking at episodes, environments and starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fieldops_gym.cli.common import UNJUDGED, Tasks, app, pack_for, refuse, row_named, told
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.core.overrides import OverrideError, merge
from fieldops_gym.evaluation import ResultsError, TraceError, docs, manifest, show, worlds_report
from fieldops_gym.evaluation.results import write_whole
from fieldops_gym.evaluation.show_source import load
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import ENVIRONMENTS


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
        refuse(told(error))
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
    if out is not None and out.exists() and not out.is_dir():
        refuse(f"{out}: it is a file; give a directory, which gets one file per environment")
    try:
        rows = ENVIRONMENTS if env is None else (row_named(env),)
        pages = {row.id: docs.page(row, pack_for(row, tasks)) for row in rows}
        if out is None:
            typer.echo("\n".join(pages.values()), nl=False)
            return
        for path in docs.write(out, pages):
            typer.echo(path)
    except OSError as error:
        refuse(told(error))


@app.command("world")
def world_command(
    card: Annotated[str, typer.Option(help="The card whose start states are made.", metavar="X-01")],
    seeds: Annotated[str, typer.Option(help="Numbers of frozen evaluation seeds.", metavar="0,1,...")],
    variant: Annotated[str | None, typer.Option(help="One variant of it; all of them without this.", metavar="V")] = None,
    tasks: Tasks = None,
    entities: Annotated[
        int | None, typer.Option(help="About how many records to ask for, policy not counted.", min=1, metavar="N")
    ] = None,
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
        refuse(told(error))
    if as_json:
        typer.echo(made.to_json(), nl=False)
    else:
        worlds_report.render(Console(highlight=False), made)
    if not made.sound:
        raise typer.Exit(UNJUDGED)


def _holder(card: str, tasks: Path | None) -> tuple[str, Pack]:
    """Return the domain and the pack that have a card; the last ones tried, if none has it."""
    packs = [(domain, load_tasks(tasks, domain)) for domain in dict.fromkeys(row.domain for row in ENVIRONMENTS)]
    return next((held for held in packs if card in held[1].cards), packs[-1])


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        refuse(f"--seeds: '{text}' is not a number >= 0; give for example --seeds 0,1,2")
    return int(text)
