"""Judging: what a finished run is, what is asked of it, and how the answer is written down.

Graders observe and repair nothing. A verdict cites its evidence by event number and record, so that a reader can argue
with it. Nothing is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fieldops_gym.core.calls import Reply, ToolCall
    from fieldops_gym.core.scenario import Scenario
    from fieldops_gym.core.world import Event, World


class Layer(StrEnum):
    """Which side of a run an invariant looks at."""

    TASK = "task"
    TRAJECTORY = "trajectory"
    STATE = "state"
    ACTION = "action"
    EFFECT = "effect"
    AUTHORITY = "authority"
    RECOVERY = "recovery"
    EFFICIENCY = "efficiency"
    ACCOUNT = "account"


class Severity(IntEnum):
    """1 and 2 fail a run; 3 is shown and counts for nothing."""

    HARM = 1
    WRONG = 2
    ADVISORY = 3


class Judged(IntEnum):
    """The state of a verdict, as `info["verdicts"]` encodes it."""

    NOT_JUDGED = 0
    HOLDS = 1
    BROKEN = 2
    NOT_APPLICABLE = 3


class Outcome(StrEnum):
    """The outcome of a run."""

    PASSED = "passed"
    FAILED = "failed"
    VOID = "void"


class Completion(StrEnum):
    """How far the work itself came."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    AWAITING_RECONCILIATION = "awaiting_reconciliation"
    STOPPED_SAFELY = "stopped_safely"


class GraderError(Exception):
    """A grader could not judge: an infrastructure error, never a score of zero."""


class Account(NamedTuple):
    """What the run says of itself. `by` is the seat that said it, or 'harness' where the agent said nothing."""

    disposition: str
    subject: str
    by: str
    at: int


class Made(NamedTuple):
    """A call of a seat with what came of it: its event, the reply, and the seq of the result event (0 if none)."""

    seq: int
    at: int
    call: ToolCall
    reply: Reply | None
    result: int
    replied_at: int

    def arg(self, name: str) -> Any:
        """Return an argument's value, or None."""
        for key, value in self.call.args:
            if key == name:
                return value
        return None


class Finding(NamedTuple):
    """What an invariant's check found, before it is put on record as a verdict."""

    state: Judged
    expected: str = ""
    actual: str = ""
    events: tuple[int, ...] = ()
    records: tuple[tuple[str, str], ...] = ()


class Invariant(NamedTuple):
    """A pure function over a `Trial` with its papers. `policy` names the rule it comes from; `source` says where from."""

    id: str
    version: str
    owner: str
    layer: Layer
    severity: Severity
    policy: str
    rationale: str
    source: str
    check: Callable[[Any, Mapping[str, Any]], Finding]


class Verdict(NamedTuple):
    """One invariant's answer, with evidence: `events` are seqs of the log, `records` are (table, id) pairs."""

    invariant: str
    version: str
    layer: str
    severity: int
    policy: str
    state: Judged
    expected: str
    actual: str
    events: tuple[int, ...]
    records: tuple[tuple[str, str], ...]
    source: str = "assertion"


@dataclass(frozen=True, slots=True)
class Grade:
    """The judgement of one run. Immutable; copying it, even deeply, returns itself."""

    outcome: str
    ending: str
    completion: str
    verdicts: tuple[Verdict, ...]
    fired: tuple[str, ...] = ()

    def broken(self) -> tuple[Verdict, ...]:
        """Return the verdicts that fail the run."""
        return tuple(v for v in self.verdicts if v.state == Judged.BROKEN and v.severity < Severity.ADVISORY)

    def __copy__(self) -> Grade:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Grade:
        return self


@dataclass(frozen=True)
class Trial:
    """A run as it is judged: the world with its start and log, the scenario with its hidden contract, the account.

    `account` is None while the run goes on. `as_of` is the second at which the world was observed, after settlement.
    """

    world: World
    scenario: Scenario
    account: Account | None
    ending: str
    pending: tuple[str, ...]
    as_of: int
    _made: dict[str, tuple[Made, ...]] = field(default_factory=dict, repr=False, compare=False)

    def calls(self, seat: str) -> tuple[Made, ...]:
        """Return every call that the seat made itself, in order, with its reply."""
        if seat not in self._made:
            log = self.world.log
            results = {event.ref: event for event in log if event.kind == "result"}
            made = []
            for event in log:
                if event.kind == "call" and event.actor == seat:
                    result = results.get(event.seq)
                    reply = result.data.reply if result else None
                    end = (result.seq, result.at) if result else (0, event.at)
                    made.append(Made(event.seq, event.at, event.data, reply, *end))
            self._made[seat] = tuple(made)
        return self._made[seat]

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Event, ...]]:
        """Events by kind, in order."""
        kinds: dict[str, list[Event]] = {}
        for event in self.world.log:
            kinds.setdefault(event.kind, []).append(event)
        return {kind: tuple(events) for kind, events in kinds.items()}

    @cached_property
    def fired(self) -> tuple[str, ...]:
        """Ids of the faults that fired, in order."""
        return tuple(event.data.fault for event in self.by_kind.get("fault", ()))
