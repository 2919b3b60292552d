"""Access to held-out cards: which of them a run opens, and a log with one line per run that outlives its results.

A held-out card is worth less with each run that opens it. The log says who opened which, under which tasks; it carries no
wall clock and no paths, so that it can be compared and passed on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from fieldops_gym.core.canonical import plain

try:
    import fcntl
except ImportError:  # not a Unix system
    fcntl = None

if TYPE_CHECKING:
    from fieldops_gym.core.cards import Pack
    from fieldops_gym.evaluation.trials import RunSettings

FORMAT = "fieldops-access/1"


class AccessLogError(Exception):
    """An access log cannot be used. The message names the file, says what is wrong and what would be right."""


class Access(NamedTuple):
    """One line of an access log: a run, by the fields of its settings of the same names.

    `version` is the package's, `pack` the digest of the tasks, `held_out` the author ids of the held-out cards that the run
    opened (none for a run that kept away from them), and `seeds` how many seed numbers each card was played on, from 0.
    """

    format: str
    version: str
    env: str
    agent: str
    pack: str
    held_out: tuple[str, ...]
    seeds: int

    @classmethod
    def of(cls, settings: RunSettings) -> Access:
        """Return the line of a run."""
        return cls(FORMAT, *(getattr(settings, name) for name in cls._fields[1:]))


def held_out_cards(pack: Pack, cards: Iterable[str]) -> tuple[str, ...]:
    """Return those of the cards, by author id, that are held out, in the same order."""
    return tuple(name for name in cards if pack.splits[name].split == "held_out")


def record_access(path: Path, settings: RunSettings, resumed: bool = False) -> None:
    """Append a run's line to an access log, which is made if it is not there.

    A run that is gone on with has its line already, and gets none if so. Raises `AccessLogError` as `read_accesses` does,
    and `OSError`.
    """
    access = Access.of(settings)
    check_access_log(path)
    if resumed and access in read_accesses(path):
        return
    line = f"{json.dumps(plain(access))}\n".encode("ascii")
    # Unbuffered, so that the line is one write; locked, so that another run that reads meanwhile does not see half of it.
    with path.open("ab", buffering=0) as file:
        _lock(file, shared=False)
        if file.write(line) != len(line):
            raise AccessLogError(f"{path}: the run's line could not be written whole; make room, and remove its torn end")


def check_access_log(path: Path) -> None:
    """Raise `AccessLogError` unless a line can be appended: a file of such lines, or a new one in a directory that exists."""
    read_accesses(path)
    place = path if path.exists() else path.absolute().parent
    if not place.exists():
        raise AccessLogError(f"{path}: there is no directory {place}; make it, or give another file")
    if not os.access(place, os.W_OK):
        raise AccessLogError(f"{path}: it may not be written to; give a file that may")


def read_accesses(path: Path) -> tuple[Access, ...]:
    """Return the lines of an access log, none where there is no such file. Raises `AccessLogError` for anything else.

    A torn end is an error, too: a log of who opened what is not cut off in silence.
    """
    if not path.exists():
        return ()
    if not path.is_file():
        raise AccessLogError(f"{path}: it is not a file; give an access log, or a new file")
    with path.open("rb") as file:
        _lock(file, shared=True)
        content = file.read()
    if content and not content.endswith(b"\n"):
        raise AccessLogError(f"{path}: its last line is torn; end it, or remove it")
    return tuple(_access(path, number, line) for number, line in enumerate(content.splitlines(), start=1))


def _lock(file: IO[bytes], shared: bool) -> None:
    """Wait for a file's lock, where the system has such; it ends when the file is closed."""
    if fcntl is not None:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def _access(path: Path, number: int, line: bytes) -> Access:
    try:
        given = json.loads(line)
        if set(given) != set(Access._fields) or given["format"] != FORMAT:
            raise ValueError(f"it should have format '{FORMAT}' and exactly the fields {', '.join(Access._fields)}")
        return Access(**given | {"held_out": tuple(given["held_out"])})
    except (ValueError, TypeError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise AccessLogError(
            f"{path}: line {number} is not of an access log: {why}; give an access log, or a new file"
        ) from error
