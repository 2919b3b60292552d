"""Faults: typed triggers, one mechanism.

A fault alters the outcome of the call that triggers it, or puts an act of another seat on the agenda. Triggers are tools
and counts, never text, so no wording can switch a fault off. That a fault fired is an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple


class Boundary(StrEnum):
    """How far a call has come when something happens to it, in the gateway's order."""

    PARSE = "parse"
    LISTED = "listed"
    BUDGET = "budget"
    AUTHORITY = "authority"
    BEFORE_COMMIT = "before_commit"
    COMMIT = "commit"
    AFTER_COMMIT = "after_commit"
    ON_REPLY = "on_reply"


class Effect(StrEnum):
    """What a fault does to the call that triggers it."""

    REFUSE = "refuse"
    """Nothing is sent; the caller is told so."""
    LOSE_REQUEST = "lose_request"
    """Nothing arrives; the caller hears nothing until the timeout."""
    LOSE_REPLY = "lose_reply"
    """The call commits; the caller hears nothing until the timeout."""
    DROP_WRITE = "drop_write"
    """The call commits without its write to one table."""
    LAG = "lag"
    """The call reads the world as it was some seconds ago."""
    SLOW = "slow"
    """The answer takes some seconds longer."""
    DENY = "deny"
    """The call is denied for once, and nothing comes of it."""
    GARBLE = "garble"
    """The call does what it does; the caller gets an answer that cannot be read."""
    CRASH = "crash"
    """The agent's process dies here and is started again, some seconds later than the contract says if it has `seconds`."""
    DELAY = "delay"
    """What people will do on account of the call, they do some seconds later."""
    ACT = "act"
    """Another seat acts, at once or some seconds later; the call goes on."""


FATES = frozenset({Effect.REFUSE, Effect.DENY, Effect.LOSE_REQUEST, Effect.LOSE_REPLY, Effect.GARBLE, Effect.CRASH})
"""Effects that decide what becomes of a call. A call has one fate; all else can happen to it together."""


class Parameter(NamedTuple):
    """How a parameter of a fault is drawn from the fault seed: an integer range, or one of some words."""

    name: str
    low: int = 0
    high: int = 0
    options: tuple[str, ...] = ()


class Fault(NamedTuple):
    """One row of a catalogue. `nth` counts calls of `tool` that reach `boundary`, from 1; `times` 0 is without end.

    `given` names a condition of the domain that has to hold for the call; '' is none. It keeps a fault of an answer to
    answers that rest on a record, so that two worlds without that record look the same. `act` names what effect `act`
    does, as 'seat.tool'; that tool takes its arguments from the fault's parameters and from the call.

    The fields from `visibility` on are for people: they document the fault and are reported with it.
    """

    id: str
    tool: str
    boundary: str
    effect: str
    nth: int
    times: int
    parameters: tuple[Parameter, ...]
    given: str
    act: str
    breaks: tuple[str, ...]
    visibility: str
    duration: str
    state: str
    observation: str
    recovery: str


class ArmedFault(NamedTuple):
    """A fault of one episode, its parameters drawn. `values` are (name, value) pairs."""

    id: str
    tool: str
    boundary: str
    effect: str
    nth: int
    times: int
    values: tuple[tuple[str, int | str], ...]
    given: str
    act: str
    breaks: tuple[str, ...]

    def value(self, name: str) -> int | str:
        """Return a parameter's value."""
        return dict(self.values)[name]

    @property
    def seconds(self) -> int:
        """How long it lasts or is put off, in simulated seconds; 0 for a fault without that parameter."""
        return int(dict(self.values).get("seconds", 0))

    def hits(self, tool: str, count: int) -> bool:
        """Tell whether this fault happens to the `count`th call of `tool` that reaches its boundary."""
        return tool == self.tool and count >= self.nth and (self.times == 0 or count < self.nth + self.times)


def striking(
    faults: Iterable[ArmedFault], tool: str, boundary: str, count: int, holds: Callable[[ArmedFault], bool]
) -> tuple[ArmedFault, ...]:
    """Return the faults that happen to the `count`th call of `tool` at `boundary`: of those that are fates, the first.

    `holds(fault)` tells whether the condition of a fault is met.
    """
    found: list[ArmedFault] = []
    fated = False
    for fault in faults:
        if fault.boundary != boundary or not fault.hits(tool, count) or not holds(fault):
            continue
        if fault.effect in FATES:
            if fated:
                continue
            fated = True
        found.append(fault)
    return tuple(found)


OPTIONAL = "?"
"""Marks a parameter that a fault may do without."""

NEEDS: dict[tuple[str, str], str] = {
    (Boundary.BEFORE_COMMIT, Effect.REFUSE): "",
    (Boundary.BEFORE_COMMIT, Effect.DENY): "",
    (Boundary.BEFORE_COMMIT, Effect.LOSE_REQUEST): "",
    (Boundary.BEFORE_COMMIT, Effect.LAG): "seconds",
    (Boundary.BEFORE_COMMIT, Effect.SLOW): "seconds",
    (Boundary.BEFORE_COMMIT, Effect.CRASH): "?seconds",
    (Boundary.COMMIT, Effect.DROP_WRITE): "table",
    (Boundary.AFTER_COMMIT, Effect.LOSE_REPLY): "",
    (Boundary.AFTER_COMMIT, Effect.CRASH): "?seconds",
    (Boundary.AFTER_COMMIT, Effect.DELAY): "seconds",
    (Boundary.ON_REPLY, Effect.GARBLE): "",
    (Boundary.ON_REPLY, Effect.CRASH): "?seconds",
    (Boundary.BEFORE_COMMIT, Effect.ACT): "",
    (Boundary.AFTER_COMMIT, Effect.ACT): "",
}
"""Which effects there are at which boundary, and the one parameter each needs or may have. What an act needs its tool says."""


def misfit(fault: Fault) -> str:
    """Return what keeps a fault from doing what it says, '' when nothing does."""
    needed = NEEDS.get((fault.boundary, fault.effect))
    if needed is None:
        at = [boundary for boundary, effect in NEEDS if effect == fault.effect]
        return f"effect '{fault.effect}' does nothing at boundary '{fault.boundary}'; it does at {', '.join(at)}"
    if (fault.effect == Effect.ACT) != bool(fault.act):
        return "effect 'act', and no other, takes the field 'act', which names seat and tool as 'seat.tool'"
    given, wanted = [parameter.name for parameter in fault.parameters], needed.removeprefix(OPTIONAL)
    optional = needed.startswith(OPTIONAL) and not given
    if fault.effect != Effect.ACT and not optional and given != ([wanted] if wanted else []):
        return f"effect '{fault.effect}' takes {f'the parameter {wanted!r}' if wanted else 'no parameters'}"
    for parameter in fault.parameters:
        if (parameter.name == "seconds") == bool(parameter.options):
            right = "a range of integers" if parameter.name == "seconds" else "a list of words"
            return f"parameter '{parameter.name}' is {right}"
        if parameter.low > parameter.high:
            return f"parameter '{parameter.name}': {parameter.low} is above {parameter.high}"
    return ""


class Fired(NamedTuple):
    """Data of a `fault` event."""

    fault: str
    boundary: str
    effect: str
    values: tuple[tuple[str, int | str], ...]
