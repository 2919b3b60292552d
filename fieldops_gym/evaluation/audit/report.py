"""The audit's report: for a terminal, as JSON, as Markdown. It says what was not looked at, too."""

from __future__ import annotations

import json
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fieldops_gym.core.canonical import plain
from fieldops_gym.evaluation.audit.sections import Row, Section

FORMAT = "fieldops-audit/1"

NOT_COVERED = ("review by people (fieldops sample)", "likeness to real field service (the card's fidelity register)")
"""Questions that no audit of this kind can answer, and where they are."""


class AuditReport(NamedTuple):
    """An audit. `version` is the package's, `pack` the digest of the tasks, `form` 'quick' or 'full'."""

    format: str
    version: str
    pack: str
    agents: str
    form: str
    sections: tuple[Section, ...]

    @property
    def holds(self) -> bool:
        """Whether every section holds."""
        return bool(self.sections) and all(section.holds for section in self.sections)

    def to_json(self) -> str:
        """Return the report as JSON text."""
        sections = [{**plain(section), "holds": section.holds} for section in self.sections]
        body = {**plain(self), "sections": sections, "holds": self.holds, "not_covered": list(NOT_COVERED)}
        return json.dumps(body, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Return the report as Markdown: sections, whatever falls short, and the shares of checks that shortcuts satisfy."""
        lines = [f"# Audit of pack {self.pack[:8]}", "", _identity(self), "", "| section | holds | seen | bound |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [f"| {s.name} | {_word(s.holds)} | {s.summary} | {s.bound} |" for s in self.sections]
        for section in self.sections:
            if section.short:
                lines += ["", f"## Short in {section.name}", ""]
                lines += [f"- {row.subject}: {row.text}" for row in section.short]
        for section in self.sections:
            shares = [row for row in section.rows if "share_of_checks" in row.figures]
            if shares:
                lines += [
                    "",
                    "## What an average would have paid",
                    "",
                    "| agent | fails | checks satisfied there | stands for |",
                ]
                lines += ["| --- | --- | --- | --- |"]
                lines += [_share_line(row) for row in shares]
        lines += ["", f"Not covered: {', '.join(NOT_COVERED)}."]
        return "\n".join(lines) + "\n"


def render(console: Console, report: AuditReport, most: int = 10) -> None:
    """Print the report; of each section at most `most` rows that fall short."""
    console.print(Text(_identity(report)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("section", "holds", "seen", "bound"):
        table.add_column(column, overflow="fold")
    for section in report.sections:
        table.add_row(section.name, _word(section.holds), section.summary, section.bound)
    console.print(table)
    for section in report.sections:
        for row in section.short[:most]:
            console.print(Text(f"{section.name}: {row.subject}: {row.text}"))
        if len(section.short) > most:
            console.print(Text(f"{section.name}: {len(section.short) - most} more fall short; --json FILE has them all"))
    console.print(Text(f"not covered: {', '.join(NOT_COVERED)}"))


def _share_line(row: Row) -> str:
    figures = row.figures
    share = float(figures["share_of_checks"])
    return f"| {row.subject} | {figures['failed']} of {figures['runs']} | {share:.0%} | {figures['stands_for']} |"


def _identity(report: AuditReport) -> str:
    return f"fieldops_gym {report.version}, pack {report.pack[:8]}, agents {report.agents}, {report.form} form"


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"
