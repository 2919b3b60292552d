"""What the commands share: the app itself, options, and how a wrong command ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from fieldops_gym import __version__
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import EnvRow, row_of

UNJUDGED, USAGE, INTERRUPTED = 1, 2, 130
"""Exit statuses beside 0: see the package."""

PIPED = 120
"""Columns of a list that goes to no terminal."""

app = typer.Typer(
    help="Stateful, policy-bound, fault-injected environments for tool-using agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


Tasks = Annotated[Path | None, typer.Option(help="A directory of tasks instead of the shipped ones.", metavar="DIR")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fieldops {__version__}")
        raise typer.Exit


@app.callback()
def fieldops(
    _: Annotated[bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)] = False,
) -> None:
    """Take what comes before a command."""


def row_named(env: str) -> EnvRow:
    """Return the row of an environment, or end the command."""
    try:
        return row_of(env)
    except KeyError as error:
        refuse(error.args[0])


def pack_for(row: EnvRow, tasks: Path | None) -> Pack:
    """Return the pack of a domain, or end the command."""
    try:
        return load_tasks(tasks, row.domain)
    except CardError as error:
        refuse(str(error))


def split_names(cards: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in cards.split(","))


def plain_table(*columns: str) -> Table:
    """Return an empty table with these columns."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", min_width=len("approval-required") if name == "segment" else None)
    return table


def list_console() -> Console:
    """Return a console as wide as the terminal, or `PIPED` columns wide where there is none."""
    console = Console(highlight=False)
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(highlight=False, width=PIPED)


def longest(texts: Sequence[str]) -> int:
    """Return the columns that the longest of some texts needs, 0 without any."""
    return max(map(len, texts), default=0)


def told(error: BaseException) -> str:
    """Return what an error says in one line; of the system's own errors the file and the words, without the number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return " ".join(str(error).split())


def refuse(why: str) -> NoReturn:
    """End with the exit status of a wrong command, and one line that says why."""
    typer.echo(f"fieldops: {why}", err=True)
    raise typer.Exit(USAGE)
