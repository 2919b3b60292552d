"""Traces: one file per trial, JSON lines: a header, every event with the chain's digest, and the grade.

A trace says all that replay needs (coordinates, and the calls among its events), and carries no wall clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import plain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.judging import Grade, Judged, Severity, Verdict
from fieldops_gym.core.world import GENESIS, chain_digests, tables_digest
from fieldops_gym.evaluation.trials import Digests, RunSettings, TrialPlan, TrialStatus, outcome_of

FORMAT = "fieldops-trace/1"


class TraceError(Exception):
    """A file is not a whole trace. The message names it and says what is missing."""


class Trace(NamedTuple):
    """The JSON objects of a trace file, one per line: header, events, grade."""

    header: dict[str, Any]
    events: tuple[dict[str, Any], ...]
    grade: dict[str, Any]

    @property
    def digests(self) -> Digests:
        """The digests that anchor this trace in a line of results."""
        return Digests(**self.grade["digests"])

    def to_text(self) -> str:
        """Return the lines of the file."""
        return "".join(f"{json.dumps(line)}\n" for line in (self.header, *self.events, self.grade))


def trace_of(
    plan: TrialPlan,
    settings: RunSettings,
    agent_seed: int,
    episode: Episode | None,
    status: TrialStatus,
    grade: Grade | None,
    error: str,
) -> Trace:
    """Return the trace of a trial, whatever became of it; without an episode it has no events."""
    header = {
        "line": "header",
        "format": FORMAT,
        "version": settings.version,
        "trial": plan.trial,
        "env": settings.env,
        "segment": plan.segment,
        "coordinates": plain(plan.coordinates),
        "agent": settings.agent,
        "agent_seed": agent_seed,
        "pack": settings.pack,
    }
    log = [] if episode is None else episode.world.log
    chain = chain_digests(log)
    events = tuple({"line": "event", **plain(event), "digest": link} for event, link in zip(log, chain, strict=True))
    start, world = ("", "") if episode is None else (tables_digest(episode.world.start), episode.world.digest())
    digests = Digests(start, chain[-1] if chain else GENESIS, world, settings.pack)
    rules = {} if episode is None else rules_of(episode)
    end = {
        "line": "grade",
        "status": str(status),
        "error": error,
        "outcome": outcome_of(status, grade),
        **_grade(grade, rules),
        "digests": plain(digests),
    }
    return Trace(header, events, end)


def read_trace(path: Path) -> Trace:
    """Read a trace file. Raises `TraceError` when it is not whole, `OSError` when it is not there."""
    lines: list[dict[str, Any]] = []
    kinds: list[str] = []
    try:
        for text in path.read_bytes().splitlines():
            line = json.loads(text.decode("ascii"))
            kinds.append(str(line["line"]))
            lines.append(line)
    except (ValueError, KeyError, TypeError) as error:
        if not lines:
            raise TraceError(f"{path}: not a trace; give a file of DIR/traces") from error
        raise TraceError(f"{path}: not a whole trace: line {len(lines) + 1} is not as a trace has them") from error
    if len(kinds) < 2 or kinds[0] != "header" or kinds[-1] != "grade" or set(kinds[1:-1]) - {"event"}:
        raise TraceError(f"{path}: not a whole trace: it should have a header, events, and the grade at its end")
    return Trace(lines[0], tuple(lines[1:-1]), lines[-1])


def _grade(grade: Grade | None, rules: dict[str, str]) -> dict[str, Any]:
    if grade is None:
        return {"ending": "", "completion": "", "fired": [], "verdicts": []}
    verdicts = [_verdict(verdict, rules) for verdict in grade.verdicts]
    return {"ending": grade.ending, "completion": grade.completion, "fired": list(grade.fired), "verdicts": verdicts}


def _verdict(verdict: Verdict, rules: dict[str, str]) -> dict[str, Any]:
    """Return a verdict with words for its numbers and, where it is broken, the text of the rule behind it."""
    words = {"state": verdict.state.name.lower(), "severity": Severity(verdict.severity).name.lower()}
    out = {**plain(verdict), **words}
    return {**out, "rule": rules.get(verdict.policy, "")} if verdict.state == Judged.BROKEN else out


def rules_of(episode: Episode) -> dict[str, str]:
    """Return the text of each policy rule, by its id; a world's rules are records of its table 'policy'."""
    return {record.rule: record.text for record in episode.world.start.get("policy", {}).values()}
