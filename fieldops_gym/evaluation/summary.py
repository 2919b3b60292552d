"""Counting results: pure functions over rows, so that a table read back from `results.jsonl` is the table of the run.

Counts stay apart by card and by segment. There is no overall rate: an average over segments would hide what matters.
Trials that are quarantined are counted as that, whatever became of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import plain
from fieldops_gym.core.judging import Outcome
from fieldops_gym.evaluation.evidence import Breach
from fieldops_gym.evaluation.quarantine import NOTHING, Quarantine, RetiredCard, Share, as_data, shares
from fieldops_gym.evaluation.trials import RunSettings, TrialRow, TrialStatus


class Tally(NamedTuple):
    """Counts of trials: passed + failed + void + errors = n.

    `raised` of the failed ones failed since the agent raised; `errors` could not be judged, the harness's fault.
    """

    passed: int = 0
    failed: int = 0
    void: int = 0
    errors: int = 0
    raised: int = 0

    @property
    def n(self) -> int:
        """All trials, whatever became of them."""
        return self.passed + self.failed + self.void + self.errors


class CardTally(NamedTuple):
    """The counts of one card: of its trials that count, and how many are quarantined beside them."""

    card: str
    segment: str
    tally: Tally
    quarantined: int = 0


class SegmentTally(NamedTuple):
    """The counts of all cards of one segment, as of one card. `invalid` when so much is quarantined that it says nothing."""

    segment: str
    cards: tuple[str, ...]
    tally: Tally
    quarantined: int = 0
    invalid: bool = False


class FailureKey(NamedTuple):
    """What makes two failures the same: card, variant, and the broken invariants (or the status and the error)."""

    card: str
    variant: str
    status: str
    broken: tuple[str, ...]
    error: str


class Failure(NamedTuple):
    """One kind of failure: how often it came among the trials of its card and variant, and one example of it.

    `quarantined` of the `count` count for nothing.
    """

    key: FailureKey
    count: int
    of: int
    example: TrialRow
    breaches: tuple[Breach, ...]
    quarantined: int = 0


class Report(NamedTuple):
    """What a run came to. `out` is where its results are, None when nothing was written.

    `quarantine` is what was set apart when the report was made, `retired` the cards of the tasks that are retired.
    """

    settings: RunSettings
    rows: tuple[TrialRow, ...]
    failures: tuple[Failure, ...]
    out: Path | None = None
    quarantine: Quarantine = NOTHING
    retired: tuple[RetiredCard, ...] = ()

    @property
    def segments(self) -> tuple[Share, ...]:
        """How much of each segment is set apart."""
        return shares(self.rows, self.quarantine)

    def to_json(self) -> str:
        """Return the counts and the kinds of failure as JSON text; the trials themselves are in `results.jsonl`."""
        return json.dumps(_data(self), indent=2) + "\n"


def tally(rows: Iterable[TrialRow]) -> Tally:
    """Count rows."""
    passed = failed = void = errors = raised = 0
    for row in rows:
        errors += row.status == TrialStatus.INFRA_ERROR
        raised += row.status == TrialStatus.AGENT_ERROR
        if row.status != TrialStatus.INFRA_ERROR:
            passed += row.outcome == Outcome.PASSED
            failed += row.outcome == Outcome.FAILED
            void += row.outcome == Outcome.VOID
    return Tally(passed, failed, void, errors, raised)


def by_card(rows: Sequence[TrialRow], quarantine: Quarantine = NOTHING) -> tuple[CardTally, ...]:
    """Return counts per card, in the order in which cards come."""
    names = dict.fromkeys((row.card, row.segment) for row in rows)
    return tuple(CardTally(*name, *_apart((r for r in rows if (r.card, r.segment) == name), quarantine)) for name in names)


def by_segment(rows: Sequence[TrialRow], quarantine: Quarantine = NOTHING) -> tuple[SegmentTally, ...]:
    """Return counts per segment, in the order in which segments come."""
    out = []
    for share in shares(rows, quarantine):
        of_it = [row for row in rows if row.segment == share.segment]
        cards = tuple(dict.fromkeys(row.card for row in of_it))
        out.append(SegmentTally(share.segment, cards, *_apart(of_it, quarantine), share.invalid))
    return tuple(out)


def counted(rows: Iterable[TrialRow], quarantine: Quarantine) -> list[TrialRow]:
    """Return the trials that are not set apart."""
    return [row for row in rows if not quarantine.covers(row)]


def _apart(rows: Iterable[TrialRow], quarantine: Quarantine) -> tuple[Tally, int]:
    """Count the rows that are not set apart, and how many are."""
    given = list(rows)
    left = counted(given, quarantine)
    return tally(left), len(given) - len(left)


def advisories(rows: Iterable[TrialRow]) -> Mapping[str, int]:
    """Return how many trials broke each advisory invariant, which counts for nothing."""
    counts: dict[str, int] = {}
    for row in rows:
        for invariant in row.advisory:
            counts[invariant] = counts.get(invariant, 0) + 1
    return dict(sorted(counts.items()))


def failure_key(row: TrialRow) -> FailureKey | None:
    """Return which kind of failure a row is; None when it passed or is void."""
    if row.status == TrialStatus.COMPLETED and row.outcome != Outcome.FAILED:
        return None
    return FailureKey(row.card, row.variant, row.status, row.broken, row.error)


def failures(
    rows: Sequence[TrialRow], examples: Mapping[FailureKey, tuple[Breach, ...]], quarantine: Quarantine = NOTHING
) -> tuple[Failure, ...]:
    """Return the kinds of failure by card and variant, the most frequent first; `examples` has each kind's evidence."""
    first: dict[FailureKey, TrialRow] = {}
    count: dict[FailureKey, int] = {}
    apart: dict[FailureKey, int] = {}
    trials: dict[tuple[str, str], int] = {}
    for row in rows:
        trials[row.card, row.variant] = trials.get((row.card, row.variant), 0) + 1
        key = failure_key(row)
        if key is not None:
            first.setdefault(key, row)
            count[key] = count.get(key, 0) + 1
            apart[key] = apart.get(key, 0) + quarantine.covers(row)
    place = {name: number for number, name in enumerate(trials)}
    kinds = sorted(first, key=lambda key: (place[key.card, key.variant], -count[key], first[key].trial))
    return tuple(
        Failure(key, count[key], trials[key.card, key.variant], first[key], examples.get(key, ()), apart[key]) for key in kinds
    )


REPORT_FORMAT = "fieldops-report/1"


def _data(report: Report) -> dict[str, Any]:
    kinds = [
        {**plain(kind.key), "count": kind.count, "of": kind.of, "quarantined": kind.quarantined, "example": kind.example.trial}
        for kind in report.failures
    ]
    return {
        "format": REPORT_FORMAT,
        "settings": plain(report.settings),
        "locked": bool(report.settings.lock),
        "cards": [plain(row) for row in by_card(report.rows, report.quarantine)],
        "segments": [plain(row) for row in by_segment(report.rows, report.quarantine)],
        "advisories": dict(advisories(report.rows)),
        "failures": kinds,
        "quarantine": as_data(report.quarantine),
        "retired": plain(report.retired),
    }
