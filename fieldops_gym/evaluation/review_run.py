"""One run as a reviewer has to see it, in Markdown: hidden contract, events, what was shown, what was left, verdicts.

What an agent may have written is put between fences, in lines that cannot end one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Status
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.episode import Episode
from fieldops_gym.evaluation import show
from fieldops_gym.evaluation.evidence import printable
from fieldops_gym.evaluation.review_sheet import QUESTIONS
from fieldops_gym.evaluation.sampling import Sampled
from fieldops_gym.evaluation.show_source import Shown
from fieldops_gym.evaluation.showings import Heard, became, heard
from fieldops_gym.evaluation.timeline import Row, RowKind
from fieldops_gym.evaluation.traces import Trace
from fieldops_gym.wrappers.json_calls import brief_of

WIDTH = 118
"""Columns of a fenced line, in characters."""

UNKNOWN = "Not known here: this version makes another start of the same coordinates. The timeline names the records."
"""What stands in place of values that only the start has."""


class ReviewedRun(NamedTuple):
    """A sampled run with all that is told of it.

    `lead` is the seat under test, `start` an episode before its first call, None where that cannot be made again here, and
    `apart` why the run is quarantined, a line for each entry.
    """

    lead: str
    sampled: Sampled
    trace: Trace
    shown: Shown
    start: Episode | None
    apart: tuple[str, ...]


def section(number: int, run: ReviewedRun, pack: Pack) -> Iterator[str]:
    """Return the lines of the section of run `number`; `pack` is the one that it was played on."""
    row = run.sampled.row
    heading, timeline, verdicts = _parts(run.shown)
    yield f"## Run {number}: {cell(row.trial)}, {row.outcome}\n"
    yield f"End of its digest chain: `{run.trace.digests.log}`\n"
    yield from _fenced(heading)
    yield "### The hidden contract\n"
    yield from _hidden(run, pack)
    yield "### What happened\n"
    yield from _fenced(timeline)
    yield "### What the agent was shown\n"
    yield from _fenced(_what_was_shown(run))
    yield "### The world that it left\n"
    yield from _fenced(_world_left(run))
    yield "### Its account\n"
    yield from _fenced(_account(run))
    yield "### What the graders say\n"
    yield from _fenced(verdicts)
    yield f"Now answer for run {number} in the sheet: {', '.join(f'`{question.id}`' for question in QUESTIONS)}.\n"


def _parts(shown: Shown) -> tuple[str, str, str]:
    """Return what `fieldops show` prints: heading, timeline, verdicts. The first two have no empty line in them."""
    heading, timeline, verdicts = "\n".join(line.plain for line in show.lines(shown, 0, WIDTH)).split("\n\n", 2)
    return heading, timeline, verdicts


def _hidden(run: ReviewedRun, pack: Pack) -> Iterator[str]:
    row = run.sampled.row
    card = pack.cards[row.card]
    variant = card.variants[row.variant]
    yield from (f"- **QUARANTINED**, so it counts neither as passed nor as failed: {told}" for told in run.apart)
    yield f"- card {card.id} ({pack.splits[card.id].split}): {card.claim}"
    yield f"- why it exists: {card.why}"
    yield f"- variant `{row.variant}`, decided by {variant.decided_by}"
    yield f"- one path that shows what decides it: {', '.join(variant.evidence)}"
    yield f"- expected recovery: {variant.recovery}"
    if run.start is not None:
        roles = sorted(run.start.scenario.roles.items())
        yield f"- who is who: {'; '.join(' '.join((role, *keys)) for role, keys in roles if keys)}"
    armed = run.shown.background.faults if run.shown.background else ()
    for fault in armed:
        told = pack.faults[fault.fault]
        fired = "fired" if fault.fired else "never fired"
        yield f"- fault `{fault.fault}` on `{fault.tool}`, {fired}: {told.state}"
        yield f"  - to be seen: {told.observation}; to be done: {told.recovery}"
    if not armed:
        yield (
            "- no fault was armed"
            if run.shown.background
            else f"- faults that fired: {', '.join(run.trace.grade['fired']) or 'none'}"
        )
    if card.hidden.notes:
        yield f"- notes: {card.hidden.notes}"
    yield ""


def _what_was_shown(run: ReviewedRun) -> str:
    if run.start is None:
        return UNKNOWN
    lead = run.start.lead
    brief = brief_of(run.start)
    lines = [f"brief: {printable(brief['request'])}", f"  tools: {', '.join(tool['name'] for tool in brief['tools'])}"]
    lines.append(f"  scopes: {', '.join(brief['scopes'])}")
    lines.append(f"  budget: {', '.join(f'{name} {limit}' for name, limit in brief['budget'].items())}")
    lines += [f"  {table} {_fields(record)}" for table, records in brief["records"].items() for record in records]
    texts = {row.seq: row for row in run.shown.rows}
    for reply in heard(run.trace, run.start):
        lines += _reply(reply, texts)
    return "\n".join([f"All that seat '{lead}' was given, in order; values are as they were shown.", *lines])


def _reply(reply: Heard, rows: Mapping[int, Row]) -> Iterator[str]:
    asked = f"{rows[reply.call].text} -> " if reply.call else ""
    got = "its process died, and was restarted with the brief again" if reply.status == Status.RESTARTED else reply.status
    yield f"#{reply.call or reply.seq} {asked}{got} at {reply.at} s"
    if reply.error:
        yield f"  error {printable(reply.error)}"
    if reply.facts is not None:
        yield f"  facts {_fields(reply.facts) if isinstance(reply.facts, Mapping) else _value(reply.facts)}"
    for record in reply.records:
        yield f"  {record.table}{'' if record.detail else ' (in brief)'} {_fields(record.fields)}"


def _world_left(run: ReviewedRun) -> str:
    if run.start is None:
        return UNKNOWN
    lines = []
    for item in became(run.trace, run.start):
        old, new = item.before or {}, item.after or {}
        by = f"(last written in #{item.seq} by {item.actor})"
        if item.before is None or item.after is None:
            lines.append(f"{'new' if item.before is None else 'gone'}: {item.table} {_fields(new or old)} {by}")
        else:
            changed = {name: f"{_value(old.get(name))} -> {_value(now)}" for name, now in new.items() if old.get(name) != now}
            told = ", ".join(f"{name} {words}" for name, words in changed.items())
            lines.append(printable(f"changed: {item.table} {item.key}: {told} {by}"))
    return "\n".join(lines or ["no record is other than at the start"])


def _account(run: ReviewedRun) -> str:
    """Return what the run says of itself: what it told people, and how it ended."""
    rows, lead = {row.seq: row for row in run.shown.rows}, run.lead
    lines = []
    for event in run.trace.events:
        call = rows.get(event["ref"])
        told = any(write["table"] == "message" for write in event["writes"]) and event["kind"] == RowKind.COMMIT
        if told and call is not None and call.actor == lead:
            lines.append(f"#{call.seq} at {call.at} s: {call.text}")
    ends = [f"#{row.seq} at {row.at} s: {row.text}" for row in run.shown.rows if row.kind == RowKind.END]
    return "\n".join([*(lines or ["it told nobody anything"]), *ends])


def _fields(fields: Mapping[str, Any]) -> str:
    return printable(", ".join(f"{name}={_value(value)}" for name, value in fields.items()))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) or " " in value or not value else value


def _fenced(text: str) -> Iterator[str]:
    yield "~~~~text"
    yield from ("" if not line.strip() else line if not line.startswith("~") else f" {line}" for line in text.split("\n"))
    yield "~~~~\n"


def cell(value: object) -> str:
    """Return what a cell of a table, or a heading, may hold."""
    return printable(str(value)).replace("|", "\\|")
