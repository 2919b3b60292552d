"""`fieldops lock` and `fieldops packet`: whether an environment is what it was, and handing it on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fieldops_gym.cli.common import UNJUDGED, Tasks, app, plain_table, refuse, told
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.evaluation.lock import Checked, LockError, State, check_lock, write_lock
from fieldops_gym.evaluation.lock_parts import PARTS
from fieldops_gym.evaluation.packet import MANIFEST, PacketError, check_packet, write_packet
from fieldops_gym.evaluation.quarantine import QuarantineError
from fieldops_gym.packs import load_tasks

DOMAIN = "field_service"
SHORT = 16
"""Hex digits of a digest that a table shows."""


@app.command("lock")
def lock_command(
    tasks: Tasks = None,
    write: Annotated[bool, typer.Option("--write", help="Lock the tasks as they are now.")] = False,
) -> None:
    """Compare every part of the environment with lock.json, or lock it anew.

    Exit status 0: all parts are as they were. 1: one is not, or there is no lock. 2: the command is wrong.
    """
    try:
        pack = load_tasks(tasks, DOMAIN)
        if write:
            _write(pack)
            return
        checked = check_lock(DOMAIN, pack)
    except (CardError, LockError, QuarantineError, OSError) as error:
        refuse(told(error))
    console = Console(highlight=False)
    table = plain_table("part", "what", "digest", "lock")
    for name, digest in checked.found.parts.items():
        table.add_row(name, Text(PARTS[name][0]), digest[:SHORT], _word(checked, name))
    console.print(table)
    console.print(Text(checked.told))
    if checked.state != State.LOCKED:
        raise typer.Exit(UNJUDGED)


@app.command("packet")
def packet_command(
    directory: Annotated[Path, typer.Argument(help="A new or an empty directory.", metavar="DIR")],
    report: Annotated[
        list[Path] | None,
        typer.Option(help="A report, or a directory of results, that goes with it (repeatable).", metavar="FILE"),
    ] = None,
    card: Annotated[
        list[Path] | None, typer.Option(help="An environment card, as `fieldops card` wrote it (repeatable).", metavar="FILE")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Hold the files of a packet against its hashes.")] = False,
    tasks: Tasks = None,
) -> None:
    """Write all that somebody needs to check an evaluation into one directory with hashes. It holds hidden contracts.

    Exit status 0: it is written, or whole. 1: a file of it is not what its manifest says. 2: the command is wrong.
    """
    if check and (report or card or tasks):
        refuse("--check looks at a packet that is there; it takes nothing but DIR")
    try:
        if check:
            _check(directory)
            return
        contents = write_packet(directory, DOMAIN, load_tasks(tasks, DOMAIN), tuple(report or ()), tuple(card or ()))
    except (CardError, LockError, PacketError, QuarantineError, OSError) as error:
        refuse(told(error))
    typer.echo(f"{directory}: {len(contents.files)} files, of tasks that are {contents.state}; pack {contents.pack}")
    typer.echo(f"{MANIFEST}: SHA-256 {contents.digest}")


def _check(directory: Path) -> None:
    contents, damage = check_packet(directory)
    for line in damage.lines:
        typer.echo(line)
    whole = not damage.lines
    typer.echo(f"{directory}: {len(contents.files)} files, {'all' if whole else 'NOT all'} as its manifest says")
    if not whole:
        raise typer.Exit(UNJUDGED)


def _word(checked: Checked, name: str) -> str:
    if checked.held is None:
        return "none"
    return "DIFFERS" if name in checked.differ else "same"


def _write(pack: Pack) -> None:
    path, was = write_lock(DOMAIN, pack)
    if was.held is None:
        typer.echo(f"{path}: written; there was no lock before")
        return
    if not was.differ:
        typer.echo(f"{path}: nothing has changed")
        return
    before, now = was.held.version, was.found.version
    typer.echo(f"{path}: locked anew; changed: {', '.join(was.differ)}")
    typer.echo(
        "A change means a new version of the environment, and a line in the change log on whether earlier results still "
        f"compare: the lock was of {before}, this is {now}."
    )
