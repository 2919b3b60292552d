"""`fieldops retire`: what is done to a pack over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fieldops_gym.cli.common import app, refuse, split_names, told
from fieldops_gym.core.cards import CardError
from fieldops_gym.evaluation import RetireError, retire
from fieldops_gym.evaluation.trials import PACK_DIGITS


@app.command("retire")
def retire_command(
    tasks: Annotated[Path, typer.Option(help="The directory of tasks whose splits.yaml is rewritten.", metavar="DIR")],
    reason: Annotated[str, typer.Option(help="Why: one line, kept in the cards' rows.", metavar="TEXT")],
    cards: Annotated[str | None, typer.Option(help="These held-out cards.", metavar="X-05,...")] = None,
    every: Annotated[bool, typer.Option("--all", help="All held-out cards.")] = False,
) -> None:
    """Turn held-out cards that have been used into regression cards: they measure nothing new any more."""
    if (cards is None) != every:
        refuse("give either --cards X-05,... or --all")
    try:
        done = retire(tasks, None if cards is None else split_names(cards), reason)
    except (RetireError, CardError, OSError) as error:
        refuse(told(error))
    typer.echo(f"{done.manifest}: {', '.join(done.cards)} read split regression now")
    typer.echo(f"pack {done.before[:PACK_DIGITS]} is pack {done.after[:PACK_DIGITS]} now; results from before keep the former")
