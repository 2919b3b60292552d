"""What a card is made from: tasks, domain, an audit if there is one, and runs of the suite's reference made for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import fieldops_gym
from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Judged, Verdict
from fieldops_gym.core.world import tables_digest
from fieldops_gym.evaluation.audit.playing import Bench, Played, every_variant, played
from fieldops_gym.evaluation.audit.suite import AgentSuite
from fieldops_gym.evaluation.card.audited import Audited
from fieldops_gym.evaluation.card.parts import EnvironmentCardError
from fieldops_gym.evaluation.card.tables import Claims
from fieldops_gym.evaluation.lock import Checked, LockError, check_lock
from fieldops_gym.evaluation.quarantine import Quarantine, QuarantineError, beside, quarantine_of

SEEDS = 2
"""Each variant is played on so many frozen seeds, from number 0."""

DECIDED = (Judged.HOLDS, Judged.BROKEN)
"""States of a verdict that graded something."""


class Print(NamedTuple):
    """The digests of a run: all tables at its start, and its log. Of one that could not begin, '' and why."""

    start: str
    log: str


@dataclass(frozen=True)
class Grounds:
    """What the parts of a card are made from. `root` is the checkout, None where the package is installed without one."""

    domain: Domain
    pack: Pack
    suite: AgentSuite
    audit: Audited | None
    claims: Claims
    root: Path | None

    @cached_property
    def runs(self) -> tuple[Played, ...]:
        """The reference on every variant and seed."""
        return tuple(self._play(name, seed) for name in every_variant(self.pack) for seed in range(SEEDS))

    @cached_property
    def again(self) -> tuple[Played, ...]:
        """The same runs made a second time, the last one first, and put in the order of `runs`."""
        return tuple(reversed([self._play(run.name, run.seed) for run in reversed(self.runs)]))

    @cached_property
    def prints(self) -> tuple[tuple[Print, Print], ...]:
        """The digests of each run, and those of the same run made again."""
        return tuple((print_of(one), print_of(two)) for one, two in zip(self.runs, self.again, strict=True))

    def _play(self, name: str, seed: int) -> Played:
        return played(Bench(self.domain, self.pack, self.suite, quick=True), self.suite.reference, name, seed)

    @cached_property
    def lock(self) -> Checked:
        """The pack held against its lock. Raises `EnvironmentCardError`."""
        try:
            return check_lock(self.domain, self.pack)
        except (LockError, QuarantineError, OSError) as error:
            raise EnvironmentCardError(f"the lock cannot be checked: {error}") from error

    @cached_property
    def quarantine(self) -> Quarantine:
        """What is set apart. Raises `EnvironmentCardError`."""
        try:
            return quarantine_of(self.pack, self.domain.name)
        except (QuarantineError, OSError) as error:
            raise EnvironmentCardError(f"the quarantine cannot be read: {error}") from error

    @cached_property
    def graded(self) -> frozenset[str]:
        """Invariants that held or broke in at least one run."""
        return frozenset(verdict.invariant for run in self.runs for verdict in decided(run))

    @cached_property
    def fired(self) -> frozenset[str]:
        """Faults that fired in at least one run."""
        return frozenset(fault for run in self.runs for fault in fired(run))

    def card_of(self, run: Played) -> Card:
        """Return the card that a run played."""
        return self.pack.cards[run.name.split(":")[0]]

    def beside(self, name: str) -> Path | None:
        """Return where a file about the pack lies, or would; None for a pack that was not read from a directory."""
        return None if self.pack.directory is None else beside(self.pack.directory, self.domain.name, name)


def decided(run: Played) -> tuple[Verdict, ...]:
    """Return the verdicts of a run that held or broke."""
    grade = run.run.grade
    return () if grade is None else tuple(verdict for verdict in grade.verdicts if verdict.state in DECIDED)


def fired(run: Played) -> tuple[str, ...]:
    """Return the faults that fired in a run, each once, sorted."""
    return () if run.run.grade is None else tuple(sorted(set(run.run.grade.fired)))


def print_of(run: Played) -> Print:
    """Return the digests of a run."""
    if run.run.episode is None:
        return Print("", run.run.error)
    return Print(tables_digest(run.run.episode.world.start), run.run.episode.world.log_digest())


def used(card: Card) -> frozenset[str]:
    """Return the faults that a card's variants put to use."""
    return frozenset(use if isinstance(use, str) else use.fault for v in card.variants.values() for use in v.faults)


def checkout() -> Path | None:
    """Return the root of the checkout that the package is run from, None for an installed package."""
    root = Path(fieldops_gym.__file__).parents[1]
    return root if (root / "pyproject.toml").is_file() and (root / "tests").is_dir() else None
