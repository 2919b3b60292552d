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
    """An audit. `version` is the package's, `pack` the digest of the tasks, `form` 'quick' or 'full'.

    `listed` are lines on what is quarantined or retired.
    """

    format: str
    version: str
    pack: str
    agents: str
    form: str
    sections: tuple[Section, ...]
    listed: tuple[str, ...] = ()

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
        """Return the report as Markdown: sections, what falls short, what shortcuts satisfy, what mutations came to."""
        lines = [f"# Audit of pack {self.pack[:8]}", "", _identity(self), "", "| section | holds | seen | bound |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [f"| {s.name} | {_word(s.holds)} | {s.summary} | {s.bound} |" for s in self.sections]
        for section in self.sections:
            if section.short:
                lines += ["", f"## Short in {section.name}", ""]
                lines += [f"- {row.subject}: {row.text}" for row in section.short]
        for section in self.sections:
            lines += _shares(section) + _mutations(section) + _known(section)
        lines += ["", *(f"- {line}" for line in self.listed)] if self.listed else []
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
    for line in report.listed:
        console.print(Text(line))
    console.print(Text(f"not covered: {', '.join(NOT_COVERED)}"))


def _shares(section: Section) -> list[str]:
    """Return the table of what an average would have paid each shortcut."""
    rows = [row for row in section.rows if "share_of_checks" in row.figures]
    if not rows:
        return []
    head = ["", "## What an average would have paid", "", "| agent | fails | checks satisfied there | stands for |"]
    return [*head, "| --- | --- | --- | --- |", *map(_share_line, rows)]


def _share_line(row: Row) -> str:
    figures = row.figures
    share = float(figures["share_of_checks"])
    return f"| {row.subject} | {figures['failed']} of {figures['runs']} | {share:.0%} | {figures['stands_for']} |"


def _mutations(section: Section) -> list[str]:
    """Return the table of mutations by group, the shares that are bounded, and every reason for which one went unnoticed."""
    rows = [row for row in section.rows if "mutants" in row.figures]
    if not rows:
        return []
    lines = [
        "",
        "## Mutations",
        "",
        "| group | kinds | mutants | killed | excused | survived |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for group in dict.fromkeys(str(row.figures["group"]) for row in rows):
        own = [row.figures for row in rows if row.figures["group"] == group]
        made, killed, survived = (sum(int(each[name]) for each in own) for name in ("mutants", "killed", "survived"))
        lines.append(f"| {group} | {len(own)} | {made} | {killed} | {made - killed - survived} | {survived} |")
    lines += ["", *(f"- {row.subject[1:-1]}: {row.text}" for row in section.rows if "share" in row.figures)]
    reasons = dict.fromkeys(why for row in rows for why in str(row.figures["excuses"]).split("; ") if why)
    return [*lines, "- excused were those of which:", *(f"    - {why}" for why in sorted(reasons))]


def _known(section: Section) -> list[str]:
    """Return what splits may share, as the rows on contamination have it."""
    if section.name != "contamination" or not section.rows:
        return []
    rows = [row for row in section.rows if not row.subject.startswith("memory")]
    return ["", "## What may be known beforehand", "", *(f"- {row.subject}: {row.text}" for row in rows)]


def _identity(report: AuditReport) -> str:
    return f"fieldops_gym {report.version}, pack {report.pack[:8]}, agents {report.agents}, {report.form} form"


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"
