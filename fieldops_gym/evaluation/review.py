"""A review's two files: Markdown to read, which tells what to do and shows each sampled run, and the sheet to fill in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.world import tables_digest
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.quarantine import quarantine_of, seed_number
from fieldops_gym.evaluation.results import trace_name
from fieldops_gym.evaluation.review_run import ReviewedRun, cell, section
from fieldops_gym.evaluation.review_sheet import QUESTIONNAIRE, QUESTIONS, Answer, empty_sheet, untouched
from fieldops_gym.evaluation.sampling import Sample, Sampled, SampleError
from fieldops_gym.evaluation.show_source import load
from fieldops_gym.evaluation.traces import read_trace
from fieldops_gym.evaluation.trials import PACK_DIGITS
from fieldops_gym.graders import INVARIANTS

READING, SHEET = "review.md", "review.yaml"


class Review(NamedTuple):
    """The two files of a review: to read, and to fill in."""

    reading: Path
    sheet: Path


def write_review(sample: Sample, pack: Pack, out: Path) -> Review:
    """Write a review's two files into a directory, which is made if need be. `pack` is the one that was sampled with.

    Raises `SampleError` when a sheet there was filled in or changed, or a trace is missing or not its trial's; `TraceError`
    when one was changed; `QuarantineError` when the list of what is set apart is wrong; `OSError`.
    """
    review = Review(out / READING, out / SHEET)
    if review.sheet.exists() and not untouched(review.sheet):
        raise SampleError(
            f"{review.sheet}: it was filled in or changed, so it is not overwritten; move it, or give another --out"
        )
    runs = [_run(sample, sampled, pack) for sampled in sample.runs]
    results = sample.results
    named = [(run.sampled.row.trial, run.trace.digests.log, run.sampled.row.outcome) for run in runs]
    page = "\n".join(_page(sample, pack, runs))
    sheet = empty_sheet(results.env, results.agent, results.pack, sample.seed, named)
    out.mkdir(parents=True, exist_ok=True)
    _write(review.reading, page)
    _write(review.sheet, sheet)
    return review


def _run(sample: Sample, sampled: Sampled, pack: Pack) -> ReviewedRun:
    row, results = sampled.row, sample.results
    path = results.directory / "traces" / trace_name(row.trial)
    if not path.is_file():
        raise SampleError(f"{path}: the trace of trial '{row.trial}' is missing; put it back, or run the trial again")
    shown, trace = load(path, pack.directory), read_trace(path)
    # `load` holds a trace against the line of its own trial, which a file put in another's place names, too.
    if trace.header["trial"] != row.trial or row.digests != trace.digests:
        raise SampleError(f"{path}: it is the trace of trial '{trace.header['trial']}', not of '{row.trial}'")
    start = Episode(DOMAINS[results.domain], pack, Coordinates.of(trace.header["coordinates"]))
    same = tables_digest(start.world.start) == trace.digests.start
    entries, number = quarantine_of(pack, results.domain).entries, seed_number(row)
    apart = tuple(entry.told for entry in entries if entry.covers(row.card, row.variant, number))
    return ReviewedRun(start.lead, sampled, trace, shown, start if same else None, apart)


def _page(sample: Sample, pack: Pack, runs: Sequence[ReviewedRun]) -> Iterator[str]:
    results = sample.results
    yield f"# Review of {len(runs)} runs: {results.agent} on {results.env}\n"
    yield from _privileged(pack, runs)
    yield f"Tasks {results.pack[:PACK_DIGITS]}, drawn with seed {sample.seed}, questionnaire {QUESTIONNAIRE}.\n"
    yield from _how()
    yield "## What was drawn\n"
    yield from _drawn(sample)
    yield from _index(runs)
    for number, run in enumerate(runs, start=1):
        yield from section(number, run, pack)
    yield from _legend(results.domain, runs)


def _privileged(pack: Pack, runs: Sequence[ReviewedRun]) -> Iterator[str]:
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


def _index(runs: Sequence[ReviewedRun]) -> Iterator[str]:
    yield "| run | trial | family | outcome | broken |"
    yield "| --- | --- | --- | --- | --- |"
    for number, run in enumerate(runs, start=1):
        row = run.sampled.row
        outcome = f"{row.outcome}{' (quarantined)' if run.apart else ''}"
        cells = (number, row.trial, run.sampled.family, outcome, ", ".join(row.broken) or "nothing")
        yield f"| {' | '.join(cell(value) for value in cells)} |"
    yield ""


def _legend(domain: str, runs: Sequence[ReviewedRun]) -> Iterator[str]:
    """Return what each invariant asks, for those that judged one of the runs."""
    named = {ruling.invariant for run in runs for ruling in run.shown.rulings}
    yield "## What the invariants ask\n"
    for invariant in sorted(INVARIANTS[domain], key=lambda known: known.id):
        if invariant.id in named:
            asks = " ".join((invariant.check.__doc__ or "").split("\n\n")[0].split())
            yield f"- `{invariant.id}` ({invariant.policy}): {asks}"
    yield ""


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("utf-8"))
    part.replace(path)
