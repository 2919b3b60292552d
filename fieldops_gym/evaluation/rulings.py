"""Verdicts for people: from a trace, or straight from a grader, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import plain
from fieldops_gym.core.judging import Judged, Severity, Verdict
from fieldops_gym.evaluation.evidence import printable
from fieldops_gym.evaluation.traces import Trace


class Ruling(NamedTuple):
    """A verdict for people. `severity` and `state` are words; `rule` is the text of the policy rule `policy`, if known."""

    invariant: str
    layer: str
    severity: str
    state: str
    policy: str
    rule: str
    expected: str
    actual: str
    events: tuple[int, ...]
    records: tuple[str, ...]

    @property
    def advisory(self) -> bool:
        """Whether it counts for nothing."""
        return self.severity == Severity.ADVISORY.name.lower()

    @property
    def broken(self) -> bool:
        """Whether it is broken, advisory or not."""
        return self.state == Judged.BROKEN.name.lower()


def rulings(trace: Trace) -> tuple[Ruling, ...]:
    """Return the verdicts that a trace holds; none when its trial was not judged."""
    return tuple(_ruling(verdict) for verdict in trace.grade["verdicts"])


def rulings_of(verdicts: Sequence[Verdict], rules: Mapping[str, str]) -> tuple[Ruling, ...]:
    """Return a grader's own verdicts as rulings; `rules` gives the text of each policy rule by its id."""
    named = (
        {
            **plain(v),
            "state": v.state.name.lower(),
            "severity": Severity(v.severity).name.lower(),
            "rule": rules.get(v.policy, ""),
        }
        for v in verdicts
    )
    return tuple(_ruling(verdict) for verdict in named)


def _ruling(verdict: Mapping[str, Any]) -> Ruling:
    text = {name: printable(str(verdict.get(name, ""))) for name in Ruling._fields[:8]}
    return Ruling(
        **text, events=tuple(verdict["events"]), records=tuple(printable(f"{t} {key}") for t, key in verdict["records"])
    )
