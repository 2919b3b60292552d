"""`fieldops card`: the environment card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fieldops_gym.cli.common import Tasks, app, refuse, told
from fieldops_gym.core.cards import CardError
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation.audit import load_suite
from fieldops_gym.evaluation.card import EnvironmentCardError, environment_card
from fieldops_gym.packs import load_tasks

DOMAIN = "field_service"


@app.command("card")
def card_command(
    agents: Annotated[str, typer.Option(help="A module of agents; agents.suite is an example.", metavar="MODULE")],
    audit: Annotated[Path | None, typer.Option(help="What `fieldops audit --json FILE` wrote of it.", metavar="FILE")] = None,
    tasks: Tasks = None,
    claims: Annotated[Path | None, typer.Option(help="Claims for tasks of your own, as YAML.", metavar="FILE")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the card to FILE, as Markdown.", metavar="FILE")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the card to FILE, as JSON.", metavar="FILE")] = None,
) -> None:
    """Write the environment card: what it is, what it may be cited for, what is covered, limited, audited and scored.

    Without a file it is printed, as Markdown. What no audit shows is said to be not audited, and scores nothing.
    """
    errors = Console(stderr=True)
    try:
        pack, suite = load_tasks(tasks, DOMAIN), load_suite(agents)
        with errors.status("making the card") as status:
            card = environment_card(DOMAIN, pack, suite, audit, claims, lambda what: status.update(f"card: {what}"))
        for path, text in ((json_out, card.to_json()), (markdown, card.to_markdown())):
            if path is not None:
                _write(path, text)
    except (AgentLoadError, CardError, EnvironmentCardError, OSError) as error:
        refuse(told(error))
    if markdown is None and json_out is None:
        typer.echo(card.to_markdown(), nl=False)
    else:
        errors.print(f"rubric {card.points} of {card.most}; audit: {card.audit}", markup=False)


def _write(path: Path, text: str) -> None:
    """Write text under a temporary name beside `path`, then rename it; directories are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)
