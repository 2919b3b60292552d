"""One episode in a terminal: what it was about, what happened and when, and the verdicts.

Plain lines, so that a pipe gets what a terminal shows without its colours; wrapped only where there is a width to keep.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from fieldops_gym.core.judging import Outcome
from fieldops_gym.evaluation.report import SEVERITIES
from fieldops_gym.evaluation.rulings import Ruling
from fieldops_gym.evaluation.show_source import Background, Heading, Shown
from fieldops_gym.evaluation.timeline import Row, RowKind
from fieldops_gym.evaluation.trials import TrialStatus

LABEL = 10
"""Columns of a label, such as 'request'."""

INDENT = 28
"""Columns before what a row says: the event's number, its second, and who."""

STYLES = {
    RowKind.FAULT: "magenta",
    RowKind.CRASH: "magenta",
    RowKind.RESTART: "magenta",
    RowKind.EXHAUSTED: "yellow",
    RowKind.COMMIT: "cyan",
    RowKind.ASKED: "blue",
    RowKind.ACT: "blue",
    RowKind.AGENDA: "blue",
    RowKind.END: "bold",
}
OUTCOMES = {"passed": "bold green", "failed": "bold red", "void": "bold yellow"}
STATUSES = {"ok": "green", "refused": "yellow", "unknown": "magenta"}


def render(console: Console, shown: Shown, since: int, width: int | None) -> None:
    """Print an episode, its events from simulated second `since` on; `width` None wraps nothing."""
    for line in lines(shown, since, width):
        console.print(line, soft_wrap=True)


def lines(shown: Shown, since: int = 0, width: int | None = None) -> Iterator[Text]:
    """Return what there is to print, line by line."""
    yield from _heading(shown, width)
    yield Text()
    yield Text(f"{'event':>6} {'second':>7}  {'who':<11} what (times are simulated seconds)", style="dim")
    rows = [row for row in shown.rows if row.at >= since]
    if len(rows) < len(shown.rows):
        yield Text(f"{len(shown.rows) - len(rows)} events before second {since} are left out", style="dim")
    yield from _timeline(rows, {row.seq for row in shown.rows if row.kind == RowKind.CALL}, width)
    if shown.heading.error:
        yield from _wrapped("", f"BROKE OFF: {_raised(shown.heading)}", "bold red", width)
    yield Text()
    yield from _verdicts(shown, width)


def _heading(shown: Shown, width: int | None) -> Iterator[Text]:
    head = shown.heading
    yield from _wrapped("", f"{head.trial}  {head.env}  {head.agent}", "bold", width)
    outcome = head.outcome or "not judged"
    yield from _wrapped("", f"{outcome.upper()}{_ending(head)}", OUTCOMES.get(outcome, "bold"), width)
    pairs = [("broken", f"{r.invariant}: {r.actual}") for r in shown.rulings if r.broken and not r.advisory]
    pairs.append(("card", f"{head.card}, variant {head.variant}, {head.segment}"))
    pairs += _background(shown.background, head.fired)
    pairs += [("overrides", head.overrides)] if head.overrides else []
    seeds = ", ".join(f"{name} {seed}" for name, seed in head.seeds._asdict().items())
    pairs.append(("seeds", f"{seeds}; agent {head.agent_seed}"))
    pairs.append(("checked", "; ".join(shown.checks)))
    for label, text in pairs:
        yield from _labelled(label, text, width)


def _background(background: Background | None, fired: Sequence[str]) -> list[tuple[str, str]]:
    if background is None:
        return [("faults", f"fired: {', '.join(fired) or 'none'}")]
    armed = [f"{f.fault} on {f.tool} ({'fired' if f.fired else 'NEVER FIRED'})" for f in background.faults]
    roles = ", ".join(f"{role} {keys[0]}" for role, keys in background.roles)
    pairs = [("request", background.request), ("claim", background.claim), ("faults", ", ".join(armed) or "none")]
    return [*pairs, ("roles", roles)] if roles else pairs


def _ending(head: Heading) -> str:
    if head.error:
        return f": {_raised(head)}"
    void = ": nothing broke, but a fault never fired" if head.outcome == Outcome.VOID else ""
    ending = head.ending.replace("budget:", "budget used up: ")
    return f"{void}; ended: {ending}; work: {head.completion}".replace("_", " ")


def _raised(head: Heading) -> str:
    who = "the agent raised" if head.status == TrialStatus.AGENT_ERROR else "the harness could not judge:"
    return f"{who} {head.error}"


def _timeline(rows: Sequence[Row], calls: set[int], width: int | None) -> Iterator[Text]:
    """Return the rows; an answer that follows its call at once shares the call's line, if there is room for both."""
    told = [row for row in rows if row.kind != RowKind.INTENT or row.cited]
    units: list[tuple[Row, Row | None]] = []
    for row in told:
        if units and _joined(units[-1][0], row):
            units[-1] = (units[-1][0], row)
        else:
            units.append((row, None))
    for _, alike in groupby(enumerate(units), key=lambda numbered: _likeness(*numbered)):
        same = [unit for _, unit in alike]
        yield from _unit(*same[0], calls, width)
        if len(same) > 1:
            last = same[-1][0]
            text = f"and {len(same) - 1} times more the same, until #{last.seq} at {last.at} s"
            yield from _wrapped(" " * INDENT, text, "dim", width)


def _likeness(number: int, unit: tuple[Row, Row | None]) -> tuple[object, ...]:
    """Return what makes calls alike that follow each other, answer included; whatever else there is stands alone."""
    row, answer = unit
    if answer is None or row.cited or answer.cited:
        return (number,)
    return row.actor, row.text, answer.text, answer.status


def _joined(row: Row | None, after: Row) -> bool:
    """Tell whether a row is the answer to the call in the row before it, with nothing in between."""
    return row is not None and after.kind == RowKind.RESULT and after.call == row.seq and not after.cited


def _unit(row: Row, answer: Row | None, calls: set[int], width: int | None) -> Iterator[Text]:
    head = f"{row.seq:>6} {row.at:>7}  {row.actor:<11} "
    words = _words(row, calls)
    if answer is None:
        yield from _wrapped(head, words, _style(row), width)
    elif width is None or len(head) + len(words) + len(_answer(answer)) < width:
        line = Text(f"{head}{words} {_answer(answer)}")
        line.stylize(_style(answer), len(head) + len(words))
        yield line
    else:
        yield from _wrapped(head, words, _style(row), width)
        yield from _wrapped(" " * INDENT, f"  {_answer(answer)}", _style(answer), width)
    for name in row.cited:
        yield from _wrapped(" " * INDENT, f"  ^ evidence for broken {name}", "red", width)


def _words(row: Row, calls: set[int]) -> str:
    if row.kind == RowKind.CALL:
        return row.text
    inside = "  " if row.call in calls and row.kind not in (RowKind.ACT, RowKind.END) else ""
    if row.kind == RowKind.RESULT:
        return f"{inside}{_answer(row)}"
    name = row.kind.upper() if row.kind in (RowKind.FAULT, RowKind.CRASH, RowKind.EXHAUSTED) else row.kind
    return f"{inside}{row.text}" if row.kind == RowKind.OTHER else f"{inside}{name}: {row.text}"


def _answer(row: Row) -> str:
    if row.kind != RowKind.RESULT:
        return ""
    return f"-> {row.status} after {row.seconds} s{'; ' if row.text else ''}{row.text}"


def _style(row: Row) -> str:
    return STATUSES.get(row.status, "") if row.kind == RowKind.RESULT else STYLES.get(row.kind, "")


def _verdicts(shown: Shown, width: int | None) -> Iterator[Text]:
    ruled = shown.rulings
    if not ruled:
        yield Text("Verdicts: none", style="bold")
        return
    broken = [r for r in ruled if r.broken]
    counts = (
        (len([r for r in broken if not r.advisory]), "broken"),
        (len([r for r in broken if r.advisory]), "advisory broken"),
        (len([r for r in ruled if r.state == "holds"]), "hold"),
        (len([r for r in ruled if r.state == "not_applicable"]), "not applicable"),
        (len([r for r in ruled if r.state == "not_judged"]), "not judged"),
    )
    yield Text(f"Verdicts: {', '.join(f'{count} {name}' for count, name in counts if count)}", style="bold")
    rows = {row.seq: row for row in shown.rows}
    answers = {row.call: row for row in shown.rows if row.kind == RowKind.RESULT}
    for ruling in sorted(broken, key=lambda r: r.advisory):
        yield Text()
        yield from _broken(ruling, rows, answers, width)
    yield Text()
    for state in ("holds", "not_judged", "not_applicable"):
        names = [f"{r.invariant}{' (advisory)' if r.advisory else ''}" for r in ruled if r.state == state]
        if names:
            yield from _labelled(state.replace("_", " "), ", ".join(names), width, 16)


def _broken(ruling: Ruling, rows: dict[int, Row], answers: dict[int, Row], width: int | None) -> Iterator[Text]:
    severity = "advisory: counts for nothing" if ruling.advisory else SEVERITIES.get(ruling.severity, ruling.severity)
    yield from _wrapped("", f"BROKEN {ruling.invariant} ({severity})", "yellow" if ruling.advisory else "bold red", width)
    pairs = [("rule", f"{ruling.policy}: {ruling.rule}" if ruling.rule else ruling.policy)]
    pairs += [("expected", ruling.expected), ("actual", ruling.actual)]
    for number, seq in enumerate(ruling.events):
        row = rows.get(seq)
        if row is not None:
            answer = f" {_answer(answers[seq])}" if seq in answers else ""
            pairs.append(("" if number else "events", f"#{seq} at {row.at} s, {row.actor} {row.kind}: {row.text}{answer}"))
    pairs += [("records", ", ".join(ruling.records))] if ruling.records else []
    for label, text in pairs:
        yield from _labelled(f"  {label}", text, width, 12)


def _labelled(label: str, text: str, width: int | None, columns: int = LABEL) -> Iterator[Text]:
    for number, line in enumerate(_wrapped(f"{label:<{columns}}", text, "", width, hang=0)):
        if not number:
            line.stylize("dim", 0, columns)
        yield line


def _wrapped(head: str, text: str, style: str, width: int | None, hang: int = 2) -> Iterator[Text]:
    """Return `text` after `head`, in as many lines as it takes; later ones begin below the text, `hang` columns further in."""
    inner = text.lstrip(" ")
    start = head + text[: len(text) - len(inner)]
    broken = [start + inner]
    if width is not None and len(broken[0]) > width:
        margin = " " * (len(start) + hang)
        room = max(width, len(margin) + 20)
        broken = textwrap.wrap(inner, room, initial_indent=start, subsequent_indent=margin, break_on_hyphens=False)
    for number, line in enumerate(broken):
        out = Text(line.rstrip())
        out.stylize(style, 0 if number else len(head), len(out))
        yield out
