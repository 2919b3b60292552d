"""`fieldops audit` and `fieldops invariants`: what the cards and graders themselves are held to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fieldops_gym.cli.common import UNJUDGED, Tasks, app, plain_table, refuse
from fieldops_gym.core.cards import CardError
from fieldops_gym.core.judging import Severity
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation.audit import audit, load_suite, render
from fieldops_gym.evaluation.quarantine import QuarantineError
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.packs import load_tasks

DOMAIN = "field_service"


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
        with errors.status("auditing") as status:
            report = audit(DOMAIN, pack, suite, quick, lambda name: status.update(f"auditing: {name}"))
        for path, text in ((json_out, report.to_json()), (markdown, report.to_markdown())):
            if path is not None:
                path.write_text(text, encoding="utf-8")
    except (AgentLoadError, CardError, QuarantineError, OSError) as error:
        refuse(str(error))
    render(Console(highlight=False), report)
    if not report.holds:
        raise typer.Exit(UNJUDGED)


@app.command("invariants")
def invariants_command() -> None:
    """List the invariants: what is judged, how hard, by which rule, and why."""
    console = Console(highlight=False)
    for domain, known in INVARIANTS.items():
        table = plain_table("id", "version", "owner", "layer", "severity", "rule", "what", "why", "source")
        for row in known:
            what = " ".join((row.check.__doc__ or "").split("\n\n")[0].split())
            severity = f"{int(row.severity)} {Severity(row.severity).name.lower()}"
            cells = (row.id, row.version, row.owner, row.layer, severity, row.policy, what, row.rationale, row.source)
            table.add_row(*map(Text, cells))
        console.print(Text(domain))
        console.print(table)
