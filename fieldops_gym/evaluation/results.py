"""Results on disk: a run's settings, one line per trial in trial order, and one trace per trial.

`run.json` and traces are written under a temporary name and renamed; a line of `results.jsonl` is appended whole. An old
result is never rewritten: to go on with a run, its settings must be the same, and only a torn last line is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from fieldops_gym.core.canonical import plain
from fieldops_gym.evaluation.traces import Trace, TraceError, read_trace
from fieldops_gym.evaluation.trials import RunSettings, TrialRow


class ResultsError(Exception):
    """A results directory cannot be used. The message says why and what would be right."""


def read_rows(path: Path) -> tuple[TrialRow, ...]:
    """Return the whole lines of a `results.jsonl`; a torn last line is left out. Raises `ResultsError`."""
    rows = []
    for number, line in enumerate(_whole(path.read_bytes()).splitlines()):
        try:
            rows.append(TrialRow.of(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: line {number + 1} is not a result: {type(error).__name__}: {error}") from error
    return tuple(rows)


class ResultsDir:
    """A directory of results that a run writes to. `rows` are those it held when it was opened, `resumed` if it held a run."""

    def __init__(self, directory: Path, rows: tuple[TrialRow, ...]) -> None:
        self.directory, self.rows, self.resumed = directory, rows, False
        self.results, self.traces = directory / "results.jsonl", directory / "traces"

    @classmethod
    def open(cls, directory: Path, settings: RunSettings, resume: bool) -> ResultsDir:
        """Begin a run in an empty or new directory, or go on with the same run. Raises `ResultsError`."""
        if directory.exists() and not directory.is_dir():
            raise ResultsError(f"{directory}: it is a file; give a directory")
        rows: tuple[TrialRow, ...] = ()
        header = directory / "run.json"
        if directory.is_dir() and any(directory.iterdir()):
            if not header.is_file():
                raise ResultsError(f"{directory}: it is not empty and holds no run; give a new or an empty directory")
            if not resume:
                raise ResultsError(f"{directory}: it already holds a run; go on with it by --resume, or give another directory")
            _check_same(header, settings)
            rows = _recover(directory / "results.jsonl")
        store = cls(directory, rows)
        store.traces.mkdir(parents=True, exist_ok=True)
        store.resumed = header.exists()
        if not store.resumed:
            write_whole(header, json.dumps(plain(settings), indent=2) + "\n")
        return store

    def keep(self, row: TrialRow, trace: Trace) -> None:
        """Store a trial: its trace first, so that every line of results has one."""
        write_whole(self._path(row.trial), trace.to_text())
        with self.results.open("ab") as file:
            file.write(f"{row.to_json()}\n".encode("ascii"))

    def trace(self, trial: str) -> Trace:
        """Read a trial's trace back. Raises `ResultsError`."""
        try:
            return read_trace(self._path(trial))
        except (OSError, TraceError) as error:
            raise ResultsError(f"the trace of trial '{trial}' cannot be read: {error}") from error

    def _path(self, trial: str) -> Path:
        return self.traces / trace_name(trial)


def trace_name(trial: str) -> str:
    """Return the file name of a trial's trace; names of cards in a private pack may hold anything, a path included."""
    return f"{quote(trial, safe='')}.jsonl"


def _check_same(header: Path, settings: RunSettings) -> None:
    try:
        held = json.loads(header.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultsError(f"{header}: it cannot be read: {error}") from error
    wanted = json.loads(json.dumps(plain(settings)))
    for name, value in wanted.items():
        if not isinstance(held, dict) or held.get(name) != value:
            there = held.get(name) if isinstance(held, dict) else None
            raise ResultsError(
                f"{header.parent}: the run there has {name} {there!r}, this one {value!r}; give another directory"
            )


def _recover(path: Path) -> tuple[TrialRow, ...]:
    """Read the rows of an interrupted run and cut off a torn last line, so that the next one is appended whole."""
    if not path.exists():
        return ()
    content = path.read_bytes()
    whole = len(_whole(content))
    if whole < len(content):
        os.truncate(path, whole)
    return read_rows(path)


def _whole(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def write_whole(path: Path, text: str) -> None:
    """Write ASCII text under a temporary name beside `path`, then rename it. Raises `OSError`."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("ascii"))
    part.replace(path)
