"""What a mutation is: a run that passes, changed in one way that has to be noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode, Step
from fieldops_gym.core.judging import Trial
from fieldops_gym.core.scenario import Coordinates


class MutationError(Exception):
    """A mutation was asked for that cannot be made: the run did not end, or calls were to be changed after the log was."""


class Base(NamedTuple):
    """A run to be mutated. `steps` are its calls; `edited` says that the log is no longer what the calls make."""

    domain: Domain
    pack: Pack
    coordinates: Coordinates
    steps: tuple[Step, ...]
    trial: Trial
    edited: bool = False

    @classmethod
    def of(cls, episode: Episode) -> Base:
        """Take a finished run. Raises `MutationError` for one that goes on."""
        if not episode.ended:
            raise MutationError("the run has not ended, and so has no verdicts that could change; finish it first")
        return cls(episode.domain, episode.pack, episode.coordinates, tuple(episode.steps), episode.trial())


class Change(NamedTuple):
    """A run that was changed at one place. `excuse` is why nothing has to notice it, empty where something has to."""

    site: str
    base: Base
    excuse: str = ""


Make = Callable[[Base], Iterator[Change]]


class Kind(NamedTuple):
    """A kind of mutation, and what it says about the graders.

    One of `breaks` has to break in every mutant that has no excuse. `may` are verdicts that may move too, since the
    change bears on them; all others have to stay as they were. `replays` says that calls are changed and made again, so
    that the world answers them; else the log is changed as it lies. `lean` is for runs that do no more than they need:
    what another run does besides may be left out or done otherwise, and nobody has to notice.
    """

    name: str
    group: str
    text: str
    breaks: tuple[str, ...]
    may: tuple[str, ...]
    make: Make
    replays: bool = False
    lean: bool = False


class Mutant(NamedTuple):
    """One mutant of a run. `kinds` are names of kinds, more than one where they were composed."""

    kinds: tuple[str, ...]
    site: str
    base: Base
    breaks: tuple[str, ...]
    may: tuple[str, ...]
    excuse: str
