"""`fieldops audit` and `fieldops invariants`: what the cards and graders themselves are held to."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fieldops_gym.cli.common import UNJUDGED, Tasks, app, refuse, told
from fieldops_gym.core.cards import CardError
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation.audit import audit, load_suite, render
from fieldops_gym.evaluation.quarantine import QuarantineError
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.packs import load_tasks

DOMAIN = "field_service"

WIDTH = 80
"""Columns of the list of invariants, on a terminal or in a file."""


@app.command("audit")
def audit_command(
    agents: Annotated[str, typer.Option(help="A module of agents; agents.suite is an example.", metavar="MODULE")],
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds: a minute instead of many.")] = False,
    tasks: Tasks = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the report to FILE, as JSON.", metavar="FILE")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the report to FILE, as Markdown.", metavar="FILE")] = None,
) -> None:
    """Put cards and graders on trial: can they be solved, do honest ways pass, do shortcuts fail just where they should.

    Exit status 0: every section holds. 1: one falls short. 2: the command is wrong.
    """
    errors = Console(stderr=True)
    try:
        pack, suite = load_tasks(tasks, DOMAIN), load_suite(agents)
        for path in (json_out, markdown):
            if path is not None and (path.is_dir() or not path.parent.is_dir()):
                refuse(f"{path}: a report cannot be written there; give a file in a directory that is there")
        with errors.status("auditing") as status:
            report = audit(DOMAIN, pack, suite, quick, lambda name: status.update(f"auditing: {name}"))
        for path, text in ((json_out, report.to_json()), (markdown, report.to_markdown())):
            if path is not None:
                path.write_text(text, encoding="utf-8")
    except (AgentLoadError, CardError, QuarantineError, OSError) as error:
        refuse(told(error))
    render(Console(highlight=False), report)
    if not report.holds:
        raise typer.Exit(UNJUDGED)


@app.command("invariants")
def invariants_command() -> None:
    """List the invariants: what is judged, how hard, by which rule, and why."""
    for domain, known in INVARIANTS.items():
        shared = {name for name in ("owner", "source") if len({getattr(row, name) for row in known}) == 1}
        typer.echo(f"{domain}: {len(known)} invariants")
        for name in sorted(shared):
            _line(name, getattr(known[0], name))
        for row in known:
            severity = f"{int(row.severity)} {row.severity.name.lower()}"
            typer.echo(f"\n{row.id}  v{row.version}  {row.layer}  {severity}  {row.policy}")
            _line("what", " ".join((row.check.__doc__ or "").split("\n\n")[0].split()))
            _line("why", row.rationale)
            for name in ("owner", "source"):
                if name not in shared:
                    _line(name, getattr(row, name))


def _line(word: str, text: str) -> None:
    typer.echo(textwrap.fill(text, WIDTH, initial_indent=f"  {word:8}", subsequent_indent=" " * 10))
