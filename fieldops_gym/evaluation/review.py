"""The review in Markdown: each sampled run as a reviewer has to see it, hidden contract included, beside the sheet to fill in.

What an agent may have written is put between fences, in lines that cannot end one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Status
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.world import tables_digest
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation import show
from fieldops_gym.evaluation.evidence import printable
from fieldops_gym.evaluation.results import trace_name
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, Answer, empty_sheet, untouched
from fieldops_gym.evaluation.sampling import Sample, Sampled, SampleError
from fieldops_gym.evaluation.show_source import Shown, load
from fieldops_gym.evaluation.showings import Heard, became, heard
from fieldops_gym.evaluation.timeline import Row, RowKind
from fieldops_gym.evaluation.traces import Trace, read_trace
from fieldops_gym.evaluation.trials import PACK_DIGITS
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.wrappers.json_calls import brief_of

WIDTH = 118
"""Columns of a fenced line, in characters."""

UNKNOWN = "Not known here: this version makes another start of the same coordinates. The timeline names the records."
"""What stands in place of values that only the start has."""

READING, SHEET = "review.md", "review.yaml"


class Review(NamedTuple):
    """The two files of a review: to read, and to fill in."""

    reading: Path
    sheet: Path


class _Run(NamedTuple):
    """A sampled run with all that is told of it. `start` is None where its start cannot be made again here."""

    lead: str
    sampled: Sampled
    trace: Trace
    shown: Shown
    start: Episode | None


def write_review(sample: Sample, pack: Pack, tasks: Path | None, out: Path) -> Review:
    """Write a review's two files into a directory, which is made if need be. `tasks` is where `pack` was read from.

    Raises `SampleError` when a sheet there was filled in or changed, or a trace is missing or not its trial's; `TraceError`
    when one was changed; `OSError`.
    """
    review = Review(out / READING, out / SHEET)
    if review.sheet.exists() and not untouched(review.sheet):
        raise SampleError(
            f"{review.sheet}: it was filled in or changed, so it is not overwritten; move it, or give another --out"
        )
    runs = [_run(sample, sampled, pack, tasks) for sampled in sample.runs]
    results = sample.results
    named = [(run.sampled.row.trial, run.trace.digests.log, run.sampled.row.outcome) for run in runs]
    page = "\n".join(_page(sample, pack, runs))
    sheet = empty_sheet(results.env, results.agent, results.pack, sample.seed, named)
    out.mkdir(parents=True, exist_ok=True)
    _write(review.reading, page)
    _write(review.sheet, sheet)
    return review


def _run(sample: Sample, sampled: Sampled, pack: Pack, tasks: Path | None) -> _Run:
    row, results = sampled.row, sample.results
    path = results.directory / "traces" / trace_name(row.trial)
    if not path.is_file():
        raise SampleError(f"{path}: the trace of trial '{row.trial}' is missing; put it back, or run the trial again")
    shown, trace = load(path, tasks), read_trace(path)
    # `load` holds a trace against the line of its own trial, which a file put in another's place names, too.
    if trace.header["trial"] != row.trial or row.digests != trace.digests:
        raise SampleError(f"{path}: it is the trace of trial '{trace.header['trial']}', not of '{row.trial}'")
    start = Episode(DOMAINS[results.domain], pack, Coordinates.of(trace.header["coordinates"]))
    same = tables_digest(start.world.start) == trace.digests.start
    return _Run(start.lead, sampled, trace, shown, start if same else None)


def _page(sample: Sample, pack: Pack, runs: Sequence[_Run]) -> Iterator[str]:
    results = sample.results
    yield f"# Review of {len(runs)} runs: {results.agent} on {results.env}\n"
    yield from _privileged(pack, runs)
    yield f"Tasks {results.pack[:PACK_DIGITS]}, drawn with seed {sample.seed}, questionnaire {QUESTIONNAIRE}.\n"
    yield from _how()
    yield "## What was drawn\n"
    yield from _drawn(sample)
    yield from _index(runs)
    for number, run in enumerate(runs, start=1):
        yield from _section(number, run, pack)
    yield from _legend(results.domain, runs)


def _privileged(pack: Pack, runs: Sequence[_Run]) -> Iterator[str]:
    cards = dict.fromkeys(run.sampled.row.card for run in runs)
    held_out = [name for name in cards if pack.splits[name].split == "held_out"]
    yield f"> **PRIVILEGED.** This file holds the hidden contracts of {len(cards)} cards: variants, faults, truth and verdicts."
    yield "> It is for reviewers. Put neither it nor the sheet before an agent, into a prompt, or into training data."
    yield f"> Held-out cards in it: {', '.join(held_out) or 'none'}.\n"


def _how() -> Iterator[str]:
    yield "## How to review\n"
    yield "Read each run, passed ones as closely as failed ones: a grader that is too kind shows only in passes. Answer the"
    yield f"same questions for each, in a copy of `{SHEET}`, by {', '.join(Answer)}; say in the note which event (#) decided"
    yield "it. Answer by yourself: where reviewers differ, both answers are kept. No answer changes an outcome.\n"
    for question in QUESTIONS:
        yield f'- `{question.id}`: {question.text} *"{question.finding}" is a finding.*'
    yield "\nThen store the answers: `fieldops judge DIR SHEET`. To see all that were given: `fieldops judge DIR --list`.\n"


def _drawn(sample: Sample) -> Iterator[str]:
    yield "| family | passed | failed | void | agent raised | not judged | drawn |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for counts in sample.counts:
        drawn = sum(run.family == counts.family for run in sample.runs)
        yield f"| {' | '.join(map(str, (*counts, drawn)))} |"
    yield "\nNot drawn, since there is no judgement to review: void runs (the fault never struck), runs in which the agent"
    yield "raised an error, and runs that the harness could not judge.\n"
    if sample.notes:
        yield from (*(f"- {note}" for note in sample.notes), "")


def _index(runs: Sequence[_Run]) -> Iterator[str]:
    yield "| run | trial | family | outcome | broken |"
    yield "| --- | --- | --- | --- | --- |"
    for number, run in enumerate(runs, start=1):
        row = run.sampled.row
        cells = (number, row.trial, run.sampled.family, row.outcome, ", ".join(row.broken) or "nothing")
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
    yield ""


def _section(number: int, run: _Run, pack: Pack) -> Iterator[str]:
    row = run.sampled.row
    heading, timeline, verdicts = _parts(run.shown)
    yield f"## Run {number}: {_cell(row.trial)}, {row.outcome}\n"
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


def _hidden(run: _Run, pack: Pack) -> Iterator[str]:
    row = run.sampled.row
    card = pack.cards[row.card]
    variant = card.variants[row.variant]
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


def _what_was_shown(run: _Run) -> str:
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
    died = "its process died, and was " if reply.status == Status.RESTARTED else ""
    yield f"#{reply.call or reply.seq} {asked}{died}{reply.status} at {reply.at} s"
    if reply.error:
        yield f"  error {printable(reply.error)}"
    if reply.facts is not None:
        yield f"  facts {_fields(reply.facts) if isinstance(reply.facts, Mapping) else _value(reply.facts)}"
    for record in reply.records:
        yield f"  {record.table}{'' if record.detail else ' (in brief)'} {_fields(record.fields)}"


def _world_left(run: _Run) -> str:
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


def _account(run: _Run) -> str:
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


def _legend(domain: str, runs: Sequence[_Run]) -> Iterator[str]:
    """Return what each invariant asks, for those that judged one of the runs."""
    named = {ruling.invariant for run in runs for ruling in run.shown.rulings}
    yield "## What the invariants ask\n"
    for invariant in sorted(INVARIANTS[domain], key=lambda known: known.id):
        if invariant.id in named:
            asks = " ".join((invariant.check.__doc__ or "").split("\n\n")[0].split())
            yield f"- `{invariant.id}` ({invariant.policy}): {asks}"
    yield ""


def _fields(fields: Mapping[str, Any]) -> str:
    return printable(", ".join(f"{name}={_value(value)}" for name, value in fields.items()))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) or " " in value or not value else value


def _fenced(text: str) -> Iterator[str]:
    yield "~~~~text"
    yield from ("" if not line.strip() else line if not line.startswith("~") else f" {line}" for line in text.split("\n"))
    yield "~~~~\n"


def _cell(value: object) -> str:
    return printable(str(value)).replace("|", "\\|")


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("utf-8"))
    part.replace(path)
