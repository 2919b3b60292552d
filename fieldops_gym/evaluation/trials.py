"""Trials as data: what a run consists of, what decides it, and the one line that each trial leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from fieldops_gym import __version__
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.judging import Grade, Judged, Outcome, Severity
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import Seeds
from fieldops_gym.evaluation.access import held_out_cards
from fieldops_gym.registry import EnvRow

FORMAT = "fieldops-results/2"
PACK_DIGITS = 8
"""Hex digits of the pack's digest that a trial id begins with."""


class TrialStatus(StrEnum):
    """Whether a trial says anything, and of whom. Only `INFRA_ERROR` says nothing about the agent."""

    COMPLETED = "completed"
    AGENT_ERROR = "agent_error"
    INFRA_ERROR = "infra_error"


class TrialPlan(NamedTuple):
    """A trial to be run: its id (see `trial_id`), segment and coordinates."""

    trial: str
    segment: str
    coordinates: Coordinates


class RunSettings(NamedTuple):
    """What decides every result of a run but the agent's code. `pack` is the digest of the tasks, `cards` author ids.

    `held_out` are those of the cards that are held out, and so were opened by this run. `lock` is the digest of the lock that
    goes with the tasks, '' for tasks that have none: nothing holds those to what they were.
    """

    format: str
    version: str
    env: str
    domain: str
    family: str
    agent: str
    split: str
    cards: tuple[str, ...]
    held_out: tuple[str, ...]
    seeds: int
    overrides: Overrides
    pack: str
    lock: str = ""

    @classmethod
    def of(
        cls,
        row: EnvRow,
        agent: str,
        split: str,
        cards: tuple[str, ...],
        seeds: int,
        overrides: Overrides,
        pack: Pack,
        lock: str = "",
    ) -> RunSettings:
        """Return settings for an environment, with this package's version."""
        held_out = held_out_cards(pack, cards)
        return cls(
            FORMAT, __version__, row.id, row.domain, row.family, agent,
            split, cards, held_out, seeds, overrides, pack.digest, lock,
        )  # fmt: skip


class Digests(NamedTuple):
    """SHA-256 of the start's tables, of the log (the chain's end), of the final tables, and of the tasks."""

    start: str
    log: str
    world: str
    pack: str


class TrialRow(NamedTuple):
    """One line of `results.jsonl`. `outcome`, `ending` and `completion` are empty where there is none.

    `broken` are the invariants that failed the trial, `advisory` those broken that count for nothing. `error` says what
    was raised. `digests` is None when nothing was kept.
    """

    trial: str
    card: str
    variant: str
    segment: str
    seeds: Seeds
    agent: str
    status: TrialStatus
    outcome: str
    ending: str
    completion: str
    broken: tuple[str, ...]
    advisory: tuple[str, ...]
    error: str
    digests: Digests | None

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(plain(self))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TrialRow:
        """Read a row back from its JSON form."""
        fields = {name: given[name] for name in cls._fields}
        fields |= {name: tuple(given[name]) for name in ("broken", "advisory")}
        fields |= {"seeds": Seeds(**given["seeds"]), "status": TrialStatus(given["status"])}
        fields["digests"] = None if given["digests"] is None else Digests(**given["digests"])
        return cls(**fields)


def trial_id(pack: str, card: str, variant: str, number: int) -> str:
    """Return a trial's id: the first digits of the pack's digest, the card's author id, the variant, the seed number.

    So trials of two packs never have the same id, even where cards, variants and seeds have the same names.
    """
    return f"{pack[:PACK_DIGITS]}.{card}.{variant}.{number:04}"


def outcome_of(status: TrialStatus, grade: Grade | None) -> str:
    """Return a trial's outcome: an agent that raised has failed; where the harness could not judge there is none."""
    if grade is not None:
        return str(grade.outcome)
    return str(Outcome.FAILED) if status == TrialStatus.AGENT_ERROR else ""


def row_of(
    plan: TrialPlan, settings: RunSettings, status: TrialStatus, grade: Grade | None, error: str, digests: Digests | None
) -> TrialRow:
    """Return the row of a trial."""
    card, variant, seeds, _ = plan.coordinates
    ending = completion = ""
    broken: tuple[str, ...] = ()
    advisory: tuple[str, ...] = ()
    if grade is not None:
        ending, completion = grade.ending, grade.completion
        broken = tuple([v.invariant for v in grade.broken()])
        advisory = tuple([v.invariant for v in grade.verdicts if v.state == Judged.BROKEN and v.severity == Severity.ADVISORY])
    return TrialRow(
        plan.trial, card, variant, plan.segment, seeds, settings.agent,
        status, outcome_of(status, grade), ending, completion, broken, advisory, error, digests,
    )  # fmt: skip
