"""Which runs people review: some passes and some failures of each family, drawn by key from a run's results.

Passes are drawn as failures are, since a grader that is too kind hides in them. A draw depends on the seed and the trial
alone, never on the order of lines; within a family, segments and cards that are not drawn yet come first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.judging import Outcome
from fieldops_gym.core.streams import Stream
from fieldops_gym.evaluation.results import ResultsError, read_rows
from fieldops_gym.evaluation.trials import PACK_DIGITS, TrialRow, TrialStatus

REQUIRED = ("env", "domain", "agent", "pack")
"""The fields of `run.json` that a review needs; each is text."""


class SampleError(Exception):
    """Runs cannot be drawn for review. The message says why and what would be right."""


class RunResults(NamedTuple):
    """A directory that `fieldops run` wrote: environment, domain, agent, digest of the tasks, and the results by trial."""

    directory: Path
    env: str
    domain: str
    agent: str
    pack: str
    rows: Mapping[str, TrialRow]


class FamilyCounts(NamedTuple):
    """What became of a family's runs, in counts. `passed` and `failed` were judged and are drawn from, the others not.

    `void`: the fault never struck. `raised`: the agent raised, so no grader saw the run. `unjudged`: the harness could not.
    """

    family: str
    passed: int
    failed: int
    void: int
    raised: int
    unjudged: int


class Sampled(NamedTuple):
    """A run that was drawn, and its card's family."""

    family: str
    row: TrialRow


class Sample(NamedTuple):
    """What was drawn, by family and trial id. `notes` tell of families that had fewer runs than were asked for."""

    results: RunResults
    seed: int
    runs: tuple[Sampled, ...]
    counts: tuple[FamilyCounts, ...]
    notes: tuple[str, ...]


def read_results(directory: Path) -> RunResults:
    """Read a directory of results, in whatever order its lines are. Raises `ResultsError` and `OSError`."""
    header, results = directory / "run.json", directory / "results.jsonl"
    if not header.is_file():
        raise ResultsError(f"{directory}: it holds no run.json; give a directory that `fieldops run --out DIR` wrote")
    if not results.is_file():
        raise ResultsError(f"{directory}: it holds no results.jsonl, so no trial of its run has ended; go on with it first")
    try:
        settings = json.loads(header.read_text(encoding="utf-8"))
        named = {name: _text(settings, name) for name in REQUIRED}
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{header}: it is not of a run: {error}") from error
    rows: dict[str, TrialRow] = {}
    for row in read_rows(results):
        if row.trial in rows:
            raise ResultsError(f"{results}: trial '{row.trial}' is there twice; each trial has one line")
        rows[row.trial] = row
    return RunResults(directory, rows=rows, **named)


def sample(results: RunResults, pack: Pack, passes: int, failures: int, seed: int = 0) -> Sample:
    """Draw up to so many passed and so many failed runs of each family; where there are fewer, all of them, and a note.

    Raises `SampleError` for counts below 0 or that ask for nothing, for tasks other than the run's, and when no run at all
    can be drawn.
    """
    if min(passes, failures) < 0 or passes + failures == 0:
        raise SampleError(f"{passes} passes and {failures} failures: ask for at least one run of either")
    if pack.digest != results.pack:
        held, given = results.pack[:PACK_DIGITS], pack.digest[:PACK_DIGITS]
        raise SampleError(f"{results.directory}: its run had tasks {held}, these are {given}; give its own with --tasks DIR")
    families = _by_family(results, pack)
    runs: list[Sampled] = []
    notes = []
    for family, rows in families.items():
        for outcome, wanted in ((Outcome.PASSED, passes), (Outcome.FAILED, failures)):
            found = [row for row in rows if row.status == TrialStatus.COMPLETED and row.outcome == outcome]
            runs += [Sampled(family, row) for row in _spread(found, wanted, seed)]
            if len(found) < wanted:
                notes.append(f"family {family}: {len(found)} of the {wanted} {outcome} runs asked for; there are no more")
    if not runs:
        raise SampleError(
            f"{results.directory}: none of its {len(results.rows)} runs is of the kind asked for: nothing to review"
        )
    ordered = tuple(sorted(runs, key=lambda run: (run.family, run.row.trial)))
    counts = tuple(_counts(family, rows) for family, rows in families.items())
    return Sample(results, seed, ordered, counts, tuple(notes))


def _text(settings: Any, name: str) -> str:
    value = settings.get(name) if isinstance(settings, Mapping) else None
    if not isinstance(value, str):
        raise ValueError(f"its field '{name}' should be text")
    return value


def _by_family(results: RunResults, pack: Pack) -> dict[str, list[TrialRow]]:
    families: dict[str, list[TrialRow]] = {}
    for row in results.rows.values():
        card = pack.cards.get(row.card)
        if card is None:
            raise SampleError(f"{results.directory}: trial '{row.trial}': its tasks have no card '{row.card}'")
        families.setdefault(card.family, []).append(row)
    return dict(sorted(families.items()))


def _spread(rows: Sequence[TrialRow], wanted: int, seed: int) -> list[TrialRow]:
    """Draw up to `wanted` rows, each of the segment, then of the card, that has the fewest so far."""
    stream = Stream(seed, "review")
    rest = sorted(rows, key=lambda row: (stream.token(row.trial), row.trial))
    chosen: list[TrialRow] = []

    def drawn_before(row: TrialRow) -> tuple[int, int]:
        return sum(c.segment == row.segment for c in chosen), sum(c.card == row.card for c in chosen)

    while rest and len(chosen) < wanted:
        # `min` takes the first of equals, so that the draw decides.
        best = min(rest, key=drawn_before)
        rest.remove(best)
        chosen.append(best)
    return chosen


def _counts(family: str, rows: Sequence[TrialRow]) -> FamilyCounts:
    judged = [row.outcome for row in rows if row.status == TrialStatus.COMPLETED]
    numbers = (judged.count(outcome) for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.VOID))
    raised, unjudged = (sum(row.status == s for row in rows) for s in (TrialStatus.AGENT_ERROR, TrialStatus.INFRA_ERROR))
    return FamilyCounts(family, *numbers, raised, unjudged)
