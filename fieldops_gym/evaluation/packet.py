"""The packet: all that somebody else needs to check an evaluation, as one directory in which every file has its hash.

It holds the hidden contracts of every card, and so is for those who judge, not for those who are judged.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym import __version__
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.card.face import TITLE, EnvironmentCard
from fieldops_gym.evaluation.card.parts import EnvironmentCardError
from fieldops_gym.evaluation.lock import LOCK, State, check_lock
from fieldops_gym.evaluation.lock_parts import FIELDS
from fieldops_gym.evaluation.protocol import claims, papers, protocol
from fieldops_gym.evaluation.quarantine import as_data, pack_shares, quarantine_of, retired_of
from fieldops_gym.evaluation.worlds import distribution, manifest

FORMAT = "fieldops-packet/1"
MANIFEST = "MANIFEST.json"
SEEDS = (0, 1, 2)
"""The frozen evaluation seeds, by number, whose starts a packet describes."""


class PacketError(Exception):
    """A packet cannot be made or read. The message says why and what would be right."""


class Contents(NamedTuple):
    """A packet's manifest: which tasks it is of, whether they are locked, and the SHA-256 (hex) of each file by its path."""

    format: str
    version: str
    domain: str
    pack: str
    lock: str
    state: str
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of the manifest's own file, which stands for the whole packet."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    def to_json(self) -> str:
        """Return the manifest as JSON text."""
        return _json({**self._asdict(), "files": dict(self.files)})


class Damage(NamedTuple):
    """What of a packet is not as its manifest says: paths of files that are changed, gone, or not listed."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """One line per file."""
        return tuple(f"{path}: {word}" for word, paths in zip(self._fields, self, strict=True) for path in paths)


def write_packet(target: Path, domain: str, pack: Pack, reports: Sequence[Path] = (), cards: Sequence[Path] = ()) -> Contents:
    """Write a packet into a new or an empty directory, under a temporary name first, and return its manifest.

    `reports` are files, or directories of results, that go with it; `cards` the files of an environment card. Raises
    `PacketError` when the target is in use, a report or card is not there, is none or has the name of another, or the tasks
    are not as their lock says; as `check_lock` does; `OSError`.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PacketError(f"{target}: it is in use; give a new or an empty directory")
    checked = check_lock(domain, pack)
    if checked.state in (State.DIFFERS, State.MISSING):
        raise PacketError(f"the tasks are not what they were: {checked.told}")
    files = {LOCK: checked.found.to_json().encode("ascii"), **_parts(domain, pack), **_tasks(pack)}
    for path in reports:
        files |= _given(path, f"reports/{path.resolve().name}", files)
    for path in cards:
        if path.is_file() and not _is_card(path):
            raise PacketError(f"{path}: it is not what `fieldops card --markdown FILE` or `--json FILE` writes")
        files |= _given(path, f"card/{path.resolve().name}", files)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    contents = Contents(FORMAT, __version__, domain, pack.digest, checked.found.digest, checked.state, hashes)
    _write(target, {**files, MANIFEST: contents.to_json().encode("ascii")})
    return contents


def check_packet(directory: Path) -> tuple[Contents, Damage]:
    """Hold a packet's files against its manifest. Raises `PacketError` when there is none that can be read, and `OSError`."""
    path = directory / MANIFEST
    if not path.is_file():
        raise PacketError(f"{directory}: it is no packet: it has no {MANIFEST}")
    try:
        data: Any = json.loads(path.read_text(encoding="ascii"))
        contents = Contents(*(data[name] for name in Contents._fields))
        listed = {str(name): str(value) for name, value in contents.files.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PacketError(f"{path}: it is no manifest: {type(error).__name__}: {error}") from error
    if contents.format != FORMAT:
        raise PacketError(f"{path}: its format is '{contents.format}'; it should be '{FORMAT}'")
    there = {name: file for name, file in _walk(directory) if name != MANIFEST}
    changed = [name for name in listed if name in there and _hash(there[name]) != listed[name]]
    missing, extra = listed.keys() - there.keys(), there.keys() - listed.keys()
    return contents, Damage(tuple(sorted(changed)), tuple(sorted(missing)), tuple(sorted(extra)))


def _parts(name: str, pack: Pack) -> dict[str, bytes]:
    """Return the files that are made from the code and the tasks."""
    domain, field = DOMAINS[name], FIELDS[name]
    starts = [manifest(name, pack, card, SEEDS) for card in sorted(pack.cards)]
    quarantine = quarantine_of(pack, name)
    apart = {
        **as_data(quarantine),
        "segments": plain(pack_shares(pack, quarantine)),
        "retired": plain(retired_of(pack)),
    }
    made: dict[str, Any] = {
        "distribution": distribution(name),
        "policy": {"rules": plain(field.rules), "directory_tables": list(field.directory)},
        "personas": {key: plain(row) for key, row in sorted(pack.personas.items())},
        "faults": {key: plain(row) for key, row in sorted(pack.faults.items())},
        "splits": {key: row.model_dump(mode="json") for key, row in pack.splits.items()},
        "graders": plain(papers(domain, pack)),
        "protocol": protocol(domain, pack),
        "claims": plain(claims(pack)),
        "quarantine": apart,
    }
    # One line per start: there are some hundreds.
    lines = "".join(f"{json.dumps(plain(start))}\n" for each in starts for start in each.starts)
    files = {f"{key}.json": _json(value).encode("ascii") for key, value in made.items()}
    return {**files, "starts.jsonl": lines.encode("ascii")}


def _tasks(pack: Pack) -> dict[str, bytes]:
    """Return the files of the tasks as they are."""
    if pack.directory is None:
        raise PacketError("the tasks were not read from a directory, so there are no files of theirs to hand on")
    return {f"tasks/{name}": path.read_bytes() for name, path in _walk(pack.directory) if path.suffix == ".yaml"}


def _given(path: Path, name: str, taken: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the file, or the files of a directory of results, that somebody wants to go with a packet."""
    if path.is_file():
        found = {name: path.read_bytes()}
    elif path.is_dir():
        if not (path / "run.json").is_file() or name.startswith("card/"):
            raise PacketError(f"{path}: it is no directory of results, which has a run.json; name files one by one")
        found = {f"{name}/{inner}": file.read_bytes() for inner, file in _walk(path)}
    else:
        raise PacketError(
            f"{path}: there is no such file; a report is written by `fieldops run --json`, `fieldops audit --json`"
        )
    twice = sorted(set(found) & set(taken))
    if twice:
        raise PacketError(f"{path}: there is another report of that name already, {twice[0]}; rename one")
    return found


def _is_card(path: Path) -> bool:
    """Whether a file is an environment card, in Markdown or in JSON."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if text.startswith(TITLE):
        return True
    try:
        EnvironmentCard.from_json(text)
    except EnvironmentCardError:
        return False
    return True


def _walk(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files under a directory, by their paths within it."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield path.relative_to(directory).as_posix(), path


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    part = target.with_name(f".{target.name}.part")
    if part.exists():
        raise PacketError(f"{part}: it is left of a packet that was interrupted; remove it")
    try:
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if target.exists():
            target.rmdir()
        part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
