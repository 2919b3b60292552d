"""Quarantine: cards that are set apart since something other than the agent decides their outcome, and cards that are retired.

A quarantined trial is played and shown like any other; it counts neither as passed nor as failed. Results are never
rewritten: the quarantine is laid over them whenever a report is made. Retired cards have split 'regression' (see `retire`):
they can be played again at any time, and measure nothing new.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fieldops_gym.core.cards import QUARANTINE, Pack
from fieldops_gym.evaluation.retire import RETIRED
from fieldops_gym.evaluation.trials import TrialRow

Line = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^\S[^\r\n]*$")]
Number = Annotated[int, Field(ge=0)]


class QuarantineError(Exception):
    """A quarantine file is wrong. The message names the file and the field, and says what would be right."""


class Category(StrEnum):
    """What decides the outcome in place of the agent."""

    SYSTEM = "system"
    HARNESS = "harness"
    GRADER = "grader"
    TASK = "task"
    UNSUPPORTED = "unsupported observation"


class Rerun(StrEnum):
    """What becomes of the affected runs."""

    RERUN = "rerun"
    NOT_RERUN = "not rerun"
    UNDECIDED = "undecided"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entry(_Strict):
    """One thing set apart: a card, one variant of it, or some frozen seeds of either (first and last number, inclusive).

    `owner` is the role that decides, `runs` names the runs or trials that were affected.
    """

    card: Line
    variant: Line | None = None
    seeds: tuple[Number, Number] | None = None
    category: Category
    date: datetime.date
    owner: Line
    why: Line
    runs: tuple[Line, ...]
    rerun: Rerun

    @model_validator(mode="after")
    def _has_seeds(self) -> Entry:
        if self.seeds is not None and self.seeds[0] > self.seeds[1]:
            raise ValueError(f"seeds: {self.seeds[0]} is above {self.seeds[1]}; give the first number and the last")
        return self

    def covers(self, card: str, variant: str, number: int | None = None) -> bool:
        """Whether the trial of a card, a variant and frozen seeds `number` is set apart; for None, whether any of its is."""
        if self.card != card or self.variant not in (None, variant):
            return False
        return number is None or self.seeds is None or self.seeds[0] <= number <= self.seeds[1]

    @property
    def told(self) -> str:
        """The entry in one line."""
        what = self.card if self.variant is None else f"{self.card}:{self.variant}"
        what += "" if self.seeds is None else f" on seeds {self.seeds[0]} to {self.seeds[1]}"
        runs = f"affects {', '.join(self.runs)}" if self.runs else "affects no run"
        return (
            f"{what}: {self.category}, {self.date.isoformat()}, decided by the {self.owner}: {self.why}; {runs}; {self.rerun}"
        )


class Quarantine(_Strict):
    """All that is set apart. A segment of which a share above `threshold` is set apart is invalid."""

    threshold: Annotated[float, Field(ge=0, le=1)]
    entries: tuple[Entry, ...] = ()

    def covers(self, row: TrialRow) -> bool:
        """Whether a trial is set apart."""
        return any(entry.covers(row.card, row.variant, seed_number(row)) for entry in self.entries)


class RetiredCard(NamedTuple):
    """A card that has been retired, and why."""

    card: str
    reason: str


class Share(NamedTuple):
    """How much of a segment is set apart: `apart` of `n`. `invalid` when that is more than the threshold allows."""

    segment: str
    apart: int
    n: int
    invalid: bool


NOTHING = Quarantine(threshold=0)
"""The quarantine of a pack that has no file of it."""


def quarantine_of(pack: Pack, domain: str) -> Quarantine:
    """Return the quarantine that goes with a pack, `NOTHING` without a file. Raises `QuarantineError` and `OSError`."""
    if pack.directory is None:
        return NOTHING
    path = beside(pack.directory, domain, QUARANTINE)
    return read_quarantine(path, pack) if path.is_file() else NOTHING


def beside(directory: Path, domain: str, name: str) -> Path:
    """Return where a file about a pack lies: in its directory or, as with the shipped tasks, above one named for its domain."""
    own, above = directory / name, directory.absolute().parent / name
    return above if directory.absolute().name == domain and above.is_file() and not own.is_file() else own


def read_quarantine(path: Path, pack: Pack) -> Quarantine:
    """Read a quarantine file. Raises `QuarantineError`, also for cards and variants that the pack does not have; `OSError`."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        held = Quarantine.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(the whole file)"
        raise QuarantineError(f"{path.name}: {field}: {first['msg']}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise QuarantineError(f"{path.name}: not YAML in UTF-8: {' '.join(str(error).split())}") from error
    for number, entry in enumerate(held.entries):
        card = pack.cards.get(entry.card)
        if card is None:
            known = ", ".join(sorted(pack.cards))
            raise QuarantineError(f"{path.name}: entries.{number}.card: there is no card '{entry.card}'; there are {known}")
        if entry.variant not in (None, *card.variants):
            right = f"card '{card.id}' has {', '.join(card.variants)}"
            raise QuarantineError(f"{path.name}: entries.{number}.variant: '{entry.variant}' is none of its; {right}")
    return held


def retired_of(pack: Pack) -> tuple[RetiredCard, ...]:
    """Return the cards that have been retired, in the order of the manifest."""
    return tuple(RetiredCard(row.card, row.reason) for row in pack.splits.values() if row.split == RETIRED)


def seed_number(row: TrialRow) -> int:
    """Return the number of a trial's frozen seeds, which its id ends with."""
    return int(row.trial.rpartition(".")[2])


def shares(rows: Iterable[TrialRow], quarantine: Quarantine) -> tuple[Share, ...]:
    """Return how much of each segment is set apart among some trials, in the order in which segments come."""
    return _shares(((row.segment, quarantine.covers(row)) for row in rows), quarantine.threshold)


def pack_shares(pack: Pack, quarantine: Quarantine) -> tuple[Share, ...]:
    """Return how much of each segment of a pack is set apart, by cards' variants; some seeds of one count as the whole."""
    pairs = (
        (card.segment, any(entry.covers(card.id, variant) for entry in quarantine.entries))
        for _, card in sorted(pack.cards.items())
        for variant in card.variants
    )
    return _shares(pairs, quarantine.threshold)


def _shares(pairs: Iterable[tuple[str, bool]], threshold: float) -> tuple[Share, ...]:
    counts: dict[str, list[int]] = {}
    for segment, apart in pairs:
        count = counts.setdefault(segment, [0, 0])
        count[0] += apart
        count[1] += 1
    return tuple(Share(segment, apart, n, apart / n > threshold) for segment, (apart, n) in counts.items())


def listing(quarantine: Quarantine, retired: Iterable[RetiredCard], segments: Iterable[Share] = ()) -> tuple[str, ...]:
    """Return the lines that every report has: what is set apart, which segments that makes invalid, what is retired."""
    lines = [f"quarantined: {entry.told}" for entry in quarantine.entries] or ["quarantined: nothing"]
    lines += [
        f"segment {share.segment} is INVALID: {share.apart} of {share.n} are quarantined, more than {quarantine.threshold:.0%}"
        for share in segments
        if share.invalid
    ]
    lines += [f"retired: {card}: {reason}" for card, reason in retired] or ["retired: no card"]
    return tuple(lines)


def as_data(quarantine: Quarantine) -> Mapping[str, object]:
    """Return a quarantine as JSON data."""
    return quarantine.model_dump(mode="json")
