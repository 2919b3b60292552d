"""Playing for an audit: agents on frozen seeds of every card and variant, and what became of each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Judged, Outcome, Severity
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import evaluation_seeds
from fieldops_gym.evaluation.audit.suite import AgentSuite, Make
from fieldops_gym.evaluation.runner import TrialRun, run_trial
from fieldops_gym.evaluation.trials import outcome_of

NO_OVERRIDES = Overrides()

UNJUDGED = "not judged"


class Bench(NamedTuple):
    """What an audit looks at. `quick` plays few seeds."""

    domain: Domain
    pack: Pack
    suite: AgentSuite
    quick: bool

    def seeds(self, quick: int, full: int) -> int:
        """Return how many seeds are played in this form of the audit."""
        return quick if self.quick else full


class Played(NamedTuple):
    """A run and what became of it. `satisfied` of `asked` hard invariants held, of those that applied."""

    name: str
    seed: int
    run: TrialRun
    outcome: str
    broken: tuple[str, ...]
    satisfied: int
    asked: int

    @property
    def told(self) -> str:
        """Which run it was and why it came out so, in one line."""
        why = ", ".join(self.broken) or self.run.error or "a fault never fired"
        return f"{self.name}, seeds {self.seed}: {self.outcome} ({why})"


def variants(card: Card) -> tuple[str, ...]:
    """Return the variants of a card as `card:variant`."""
    return tuple(f"{card.id}:{variant}" for variant in card.variants)


def every_variant(pack: Pack) -> tuple[str, ...]:
    """Return every card with every variant, in the order of ids."""
    return tuple(name for _, card in sorted(pack.cards.items()) for name in variants(card))


def turns(pack: Pack, number: int) -> Iterator[tuple[str, int]]:
    """Yield `number` seeds of every card, its variants in turn, and at least one of each."""
    for _, card in sorted(pack.cards.items()):
        names = variants(card)
        for seed in range(max(number, len(names))):
            yield names[seed % len(names)], seed


def played(bench: Bench, make: Make, name: str, seed: int) -> Played:
    """Let a fresh agent play `card:variant` on frozen seeds number `seed`."""
    card, variant = name.split(":", 1)
    run = run_trial(bench.domain, bench.pack, Coordinates(card, variant, evaluation_seeds(seed), NO_OVERRIDES), make)
    verdicts = () if run.grade is None else run.grade.verdicts
    hard = [v for v in verdicts if v.severity < Severity.ADVISORY and v.state in (Judged.HOLDS, Judged.BROKEN)]
    broken = tuple(v.invariant for v in hard if v.state == Judged.BROKEN)
    outcome = outcome_of(run.status, run.grade) or UNJUDGED
    return Played(name, seed, run, outcome, broken, len(hard) - len(broken), len(hard))


def right_outcome(name: str, void: frozenset[str]) -> str:
    """Return the outcome that an agent which does right has to have: void where it never meets the variant's fault."""
    return Outcome.VOID if name in void else Outcome.PASSED
