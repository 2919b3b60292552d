"""A run's report in a terminal: counts per card and segment, then each kind of failure with its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fieldops_gym.evaluation.evidence import Breach, printable
from fieldops_gym.evaluation.quarantine import NOTHING, Quarantine, listing
from fieldops_gym.evaluation.summary import (
    CardTally,
    Failure,
    Report,
    SegmentTally,
    advisories,
    by_card,
    by_segment,
    counted,
    tally,
)
from fieldops_gym.evaluation.trials import TrialRow, TrialStatus

SEVERITIES = {"harm": "harm or authority", "wrong": "wrong outcome"}
EVENTS = 6
"""Events shown per broken invariant; the trace has them all."""


def render(console: Console, report: Report, limit: int) -> None:
    """Print a report; at most `limit` kinds of failure in full (0 for all of them)."""
    console.print(_title(report), end="\n\n")
    console.print(tally_table(report.rows, report.quarantine))
    console.print()
    notes = [*_notes(report), *listing(report.quarantine, report.retired, report.segments)]
    console.print(Text("\n".join(notes), style="dim"), end="\n\n")
    _print_failures(console, report.failures, limit)
    console.print(_where(report))


def tally_table(rows: Sequence[TrialRow], quarantine: Quarantine = NOTHING) -> Table:
    """Return the table of counts: a row per card, then one per segment that has more than one card or is invalid."""
    apart = any(quarantine.covers(row) for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("card", "segment"):
        table.add_column(name, overflow="fold")
    for name in ("passed", "failed", "void", "not judged", *(("quarantined",) if apart else ()), "of n"):
        table.add_column(name, justify="right", no_wrap=True)
    for card in by_card(rows, quarantine):
        table.add_row(Text(card.card), Text(card.segment), *_counts(card, apart))
    table.add_section()
    for segment in by_segment(rows, quarantine):
        if len(segment.cards) > 1 or segment.invalid:
            name = f"{segment.segment} (INVALID)" if segment.invalid else segment.segment
            table.add_row(Text(_plural(len(segment.cards), "card")), Text(name), *_counts(segment, apart))
    return table


def _title(report: Report) -> Text:
    settings = report.settings
    cards = "1 card" if len(settings.cards) == 1 else f"{len(settings.cards)} cards"
    seeds = "1 seed" if settings.seeds == 1 else f"{settings.seeds} seeds"
    which = "named cards" if settings.split == "named" else f"split {settings.split}"
    faults = [use[0] for use in settings.overrides.extra_faults + (settings.overrides.faults or ())]
    title = Text(settings.env, style="bold")
    title.append(f"  {settings.agent}", style="not bold")
    title.append(f"\nfamily {settings.family}, {which}: {cards} x {seeds}", style="not bold dim")
    if faults:
        title.append(f", with fault {', '.join(faults)}", style="not bold dim")
    if not settings.lock:
        title.append("\nunlocked: the tasks have no lock.json, nothing holds them to what they were", style="not bold yellow")
    if settings.held_out:
        title.append(f"\nheld-out cards opened: {', '.join(settings.held_out)}", style="not bold yellow")
    return title


def _counts(of: CardTally | SegmentTally, apart: bool) -> tuple[Text, ...]:
    styles = (("passed", "green"), ("failed", "red"), ("void", "yellow"), ("errors", "magenta"))  # of the tally
    counts = []
    for name, style in styles:
        count = getattr(of.tally, name)
        counts.append(Text(str(count), style=style if count else "dim"))
    counts += [Text(str(of.quarantined), style="yellow" if of.quarantined else "dim")] if apart else []
    return (*counts, Text(str(of.tally.n + of.quarantined)))


def _notes(report: Report) -> list[str]:
    rows = report.rows
    left = counted(rows, report.quarantine)
    total = tally(left)
    notes = []
    if len(left) < len(rows):
        notes.append(f"{len(rows) - len(left)} quarantined: played and shown, and counted neither as passed nor as failed")
    if total.raised:
        notes.append(f"{total.raised} of the failed: the agent raised an error (agent_error)")
    if total.void:
        notes.append(f"{total.void} void: nothing broke, but a fault that was armed never struck; neither credit nor blame")
    if total.errors:
        notes.append(f"{total.errors} not judged: the harness could not (infra_error); they say nothing of the agent")
    for invariant, count in advisories(rows).items():
        notes.append(f"advisory, counts for nothing: {invariant} broken in {count} of {len(rows)}")
    return notes


def _print_failures(console: Console, failures: Sequence[Failure], limit: int) -> None:
    shown = failures if limit == 0 else _spread(failures, limit)
    for failure in shown:
        _print_failure(console, failure)
    rest = [failure for failure in failures if failure not in shown]
    if rest:
        trials = sum(failure.count for failure in rest)
        kinds = "kind" if len(rest) == 1 else "kinds"
        text = f"and {len(rest)} more {kinds} of failure, in {_plural(trials, 'trial')}: --failures 0 shows all"
        console.print(Text(text, style="bold"), end="\n\n")


def _spread(failures: Sequence[Failure], limit: int) -> list[Failure]:
    """Return so many kinds of failure: the most frequent of each card and variant before the next of any."""
    ranks: dict[tuple[str, str], int] = {}
    ranked = []
    for place, failure in enumerate(failures):
        name = (failure.key.card, failure.key.variant)
        ranks[name] = ranks.get(name, 0) + 1
        ranked.append((ranks[name], place))
    return [failures[place] for place in sorted(place for _, place in sorted(ranked)[:limit])]


def _print_failure(console: Console, failure: Failure) -> None:
    key, example = failure.key, failure.example
    head = Text(f"{key.card}:{key.variant}", style="bold")
    if failure.quarantined:
        head.append(f"  {failure.quarantined} quarantined,", style="yellow")
    head.append(f"  {failure.count} of {_plural(failure.of, 'trial')}", style="bold red")
    head.append(f", for example {example.trial}", style="not bold dim")
    if key.status == TrialStatus.COMPLETED:
        head.append(f": {example.ending}, {example.completion}", style="not bold dim")
    console.print(head)
    if key.status != TrialStatus.COMPLETED:
        who = "the agent raised" if key.status == TrialStatus.AGENT_ERROR else "the harness could not judge"
        console.print(Padding(_lines([(key.status, f"{who}: {printable(key.error)}")]), (0, 0, 0, 2), expand=False))
    for breach in failure.breaches:
        console.print(Padding(_breach_head(breach), (0, 0, 0, 2), expand=False))
        console.print(Padding(_breach(breach), (0, 0, 0, 4), expand=False))
    console.print()


def _breach_head(breach: Breach) -> Text:
    head = Text(breach.invariant, style="red")
    head.append(f"  {SEVERITIES.get(breach.severity, breach.severity)}", style="dim")
    return head


def _breach(breach: Breach) -> Table:
    lines = [("rule", f"{breach.policy}: {breach.rule}" if breach.rule else breach.policy)]
    lines += [("expected", breach.expected), ("actual", breach.actual)]
    for number, event in enumerate(breach.events[:EVENTS]):
        text = f"#{event.seq} at {event.at} s, {event.actor} {event.kind}: {event.text}"
        lines.append(("" if number else "proof", text))
    if len(breach.events) > EVENTS:
        lines.append(("", f"and {len(breach.events) - EVENTS} more events, in the trace"))
    if breach.records:
        lines.append(("records", ", ".join(breach.records)))
    return _lines(lines)


def _lines(pairs: Sequence[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim", min_width=8)
    grid.add_column(overflow="fold")
    for label, text in pairs:
        grid.add_row(label, Text(text))
    return grid


def _where(report: Report) -> Text:
    trials = _plural(len(report.rows), "trial")
    if report.out is None:
        return Text(f"{trials}. Nothing was written; --out DIR keeps results and traces.")
    return Text(f"{trials}. Results in {report.out / 'results.jsonl'}, traces in {report.out / 'traces'}.")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
