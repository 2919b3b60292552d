"""The lock of an environment: one digest per part, kept beside the tasks, so that a change is seen before it is measured.

A changed part means a new version of the environment, and a line in the change log on whether earlier results still compare.
Digests are equal across processes, platforms, Python versions and hash seeds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym import __version__
from fieldops_gym.core.canonical import digest
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.lock_parts import FIELDS, PACKAGE, PARTS, Subject, part_digests
from fieldops_gym.evaluation.quarantine import Quarantine, beside, quarantine_of
from fieldops_gym.evaluation.results import write_whole
from fieldops_gym.packs import shipped_tasks

FORMAT = "fieldops-lock/1"
LOCK = "lock.json"


class LockError(Exception):
    """A lock cannot be read, made or written. The message says why and what would be right."""


class Lock(NamedTuple):
    """The digests (SHA-256, hex) of an environment's parts, by `PARTS`; `version` is the package's that they were taken of."""

    format: str
    version: str
    domain: str
    parts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One digest of all parts, which stands for the lock in results."""
        return digest(dict(self.parts))

    def to_json(self) -> str:
        """Return the lock as JSON text."""
        return json.dumps({**self._asdict(), "parts": dict(self.parts)}, indent=2) + "\n"


class State(StrEnum):
    """Whether a pack is what its lock says. A pack of one's own may be unlocked; the shipped one may not."""

    LOCKED = "locked"
    UNLOCKED = "unlocked"
    DIFFERS = "differs"
    MISSING = "missing"


class Checked(NamedTuple):
    """A pack held against its lock: `differ` names the parts that are not as the lock says, `found` is what they are."""

    state: State
    differ: tuple[str, ...]
    held: Lock | None
    found: Lock

    @property
    def told(self) -> str:
        """How it came out, in one line."""
        if self.state == State.LOCKED:
            return f"all {len(self.found.parts)} parts are as {LOCK} has them"
        if self.state == State.UNLOCKED:
            return f"the tasks have no {LOCK}: nothing holds them to what they were"
        if self.state == State.MISSING:
            return f"the shipped tasks should have a {LOCK}, and have none; `fieldops lock --write` makes it"
        return (
            f"{LOCK} does not match in {', '.join(self.differ)}; `fieldops lock` tells, `fieldops lock --write` locks them anew"
        )


def lock_of(domain: str | Domain, pack: Pack, quarantine: Quarantine | None = None) -> Lock:
    """Return the lock of a pack as it is now, with what is set apart of it (as its own file says, if None).

    Raises `LockError` when a start cannot be made, `QuarantineError` when the quarantine's file is wrong.
    """
    subject = DOMAINS[domain] if isinstance(domain, str) else domain
    if subject.name not in FIELDS:
        raise LockError(f"domain '{subject.name}': it cannot be locked; {', '.join(FIELDS)} can")
    apart = quarantine_of(pack, subject.name) if quarantine is None else quarantine
    try:
        parts = part_digests(Subject.of(subject, pack, apart))
    except Exception as error:  # whatever a start or a generator raises keeps it from being what it was
        raise LockError(f"the parts cannot be digested: {type(error).__name__}: {error}") from error
    return Lock(FORMAT, __version__, subject.name, parts)


def lock_path(pack: Pack, domain: str) -> Path | None:
    """Return where a pack's lock lies, or would; None for a pack that was not read from a directory."""
    return None if pack.directory is None else beside(pack.directory, domain, LOCK)


def held_lock(pack: Pack, domain: str) -> Lock | None:
    """Read the lock that goes with a pack; None without one. Raises `LockError` and `OSError`."""
    path = lock_path(pack, domain)
    return read_lock(path, domain) if path is not None and path.is_file() else None


def read_lock(path: Path, domain: str) -> Lock:
    """Read a lock. Raises `LockError` when it is none, or of another domain, and `OSError`."""
    try:
        data: Any = json.loads(path.read_text(encoding="ascii"))
        lock = Lock(*(data[name] for name in Lock._fields))
        if lock.format != FORMAT or not all(type(value) is str for pair in lock.parts.items() for value in pair):
            raise TypeError(f"its format should be {FORMAT}, its parts digests by name")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        right = "`fieldops lock --write` makes one"
        raise LockError(f"{path.name}: it is no lock: {type(error).__name__}: {error}; {right}") from error
    if lock.domain != domain:
        raise LockError(f"{path.name}: it is of domain '{lock.domain}'; it should be of '{domain}'")
    return lock


def differences(lock: Lock, found: Lock) -> tuple[str, ...]:
    """Return the parts that differ, or that only one of the two has, in the order of `PARTS`."""
    names = dict.fromkeys((*PARTS, *sorted(lock.parts), *sorted(found.parts)))
    return tuple(name for name in names if lock.parts.get(name) != found.parts.get(name))


def check_lock(domain: str | Domain, pack: Pack) -> Checked:
    """Hold a pack against its lock. Raises as `lock_of` and `held_lock` do."""
    name = domain if isinstance(domain, str) else domain.name
    held, found = held_lock(pack, name), lock_of(domain, pack)
    if held is None:
        return Checked(State.MISSING if is_shipped(pack, name) else State.UNLOCKED, (), None, found)
    differ = differences(held, found)
    return Checked(State.DIFFERS if differ else State.LOCKED, differ, held, found)


def is_shipped(pack: Pack, domain: str) -> bool:
    """Whether a pack is the one that comes with the package."""
    return pack.directory is not None and pack.directory.resolve() == (shipped_tasks() / domain).resolve()


def write_lock(domain: str, pack: Pack) -> tuple[Path, Checked]:
    """Lock a pack as it is now; return the file, and how it compared with the lock that was there before.

    The shipped pack's lock lies above its directory, another's in it. Raises `LockError` for a pack inside the installed
    package or without a directory, and as `lock_of` does; a lock that cannot be read is replaced. `OSError`.
    """
    path = lock_path(pack, domain)
    if path is None or pack.directory is None:
        raise LockError("the tasks were not read from a directory, so there is no place for their lock")
    if path.resolve().is_relative_to(PACKAGE.resolve()):
        raise LockError("the tasks are part of the installed package; give a checkout's or a copy of your own by --tasks DIR")
    if is_shipped(pack, domain):
        path = pack.directory.parent / LOCK
    found = lock_of(domain, pack)
    try:
        held = read_lock(path, domain) if path.is_file() else None
    except LockError:
        held = None
    differ = tuple(PARTS) if held is None else differences(held, found)
    write_whole(path, found.to_json())
    return path, Checked(State.DIFFERS if differ else State.LOCKED, differ, held, found)
