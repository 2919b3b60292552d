"""Tools: one definition that serves arrays, menus, JSON, documentation and the world.

A `Tool` says what it takes, what it costs, what its answers mean and what it does. `Catalogue` derives the array forms
from it, `json_schema` the JSON form, and `check_arguments` is the one place where a call's arguments are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code, Problem, ToolCall


class Consequence(StrEnum):
    """What a tool's success means for the world, from harmless to forbidden."""

    INFORMATIONAL = "informational"
    PROPOSAL = "proposal-only"
    REVERSIBLE = "reversible"
    COMPENSATABLE = "compensatable"
    NON_COMPENSATABLE = "non-compensatable"
    PROHIBITED = "prohibited"


EFFECTS = frozenset({Consequence.REVERSIBLE, Consequence.COMPENSATABLE})
"""Classes whose calls are charged to the `effect_attempts` meter."""


class Ref(NamedTuple):
    """A reference to a record that the seat has been shown. Array form: its position in the view; 0 is none.

    `tables` are the tables it may point into. Where they depend on another argument, `by` names that argument and
    `per` gives (option, tables) pairs.
    """

    name: str
    description: str
    tables: tuple[str, ...] = ()
    by: str = ""
    per: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def tables_for(self, option: str) -> tuple[str, ...]:
        """Return the tables allowed when the argument `by` has the value `option`."""
        return dict(self.per).get(option, ()) if self.by else self.tables


class Choice(NamedTuple):
    """One of a closed set of words. Array form: its index."""

    name: str
    description: str
    options: tuple[str, ...]


class Quantity(NamedTuple):
    """A bounded integer with a unit. Array form: an index into `levels`."""

    name: str
    description: str
    low: int
    high: int
    unit: str
    levels: tuple[int, ...]


class Text(NamedTuple):
    """Optional bounded text; no check ever reads it. Array form: an index into authored `templates`."""

    name: str
    description: str
    limit: int
    templates: tuple[str, ...] = ("",)


Argument = Ref | Choice | Quantity | Text


class Latency(NamedTuple):
    """Simulated seconds on the way out and on the way back."""

    outbound: int
    inbound: int


class Semantics(NamedTuple):
    """What a caller may rely on. `errors` gives (code, meaning) pairs."""

    idempotency: str
    freshness: str
    errors: tuple[tuple[str, str], ...] = ()
    irreversible: bool = False
    counterparty: str = ""


class Fidelity(NamedTuple):
    """How the stub differs from a real system. `leaning` is 'stricter', 'more lenient' or 'same'."""

    real: str
    ours: str
    gap: str
    leaning: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a seat. `handler(context, *values)` returns an `Outcome`; values come in the order of `args`.

    `journaled` tools leave their intent in the journal before they are sent, `recorded` ones what came of them. `waits`
    marks the one tool that passes time.
    """

    name: str
    version: str
    description: str
    args: tuple[Argument, ...]
    scope: str
    consequence: Consequence
    latency: Latency
    semantics: Semantics
    fidelity: tuple[Fidelity, ...]
    handler: Callable[..., Outcome]
    journaled: bool = False
    recorded: bool = False
    waits: bool = False


class Shown(NamedTuple):
    """A record that a reply showed: in which version, and whether with its details (1) or in brief (0)."""

    table: str
    id: str
    version: int
    detail: int


AT_COMMIT = -1


class Showing(NamedTuple):
    """What a handler shows: the record itself goes into the view, its reference and version into the log.

    A record that the same outcome writes has the version `AT_COMMIT`; the gateway puts the commit's number there.
    """

    table: str
    record: Any
    detail: int
    version: int


class Request(NamedTuple):
    """Something put before a person's seat, which may answer it later."""

    seat: str
    kind: str
    ref: str


class Outcome(NamedTuple):
    """What a handler did: writes to commit, records shown, facts beyond records, requests to people, or a refusal.

    `reads` names records, as (table, id), that the answer depends on without showing them, absent ones included.
    `ends` closes the episode with `facts` as the seat's account.
    """

    writes: tuple[Any, ...] = ()
    shown: tuple[Showing, ...] = ()
    facts: Any = None
    requests: tuple[Request, ...] = ()
    code: str = ""
    expected: str = ""
    reads: tuple[tuple[str, str], ...] = ()
    ends: bool = False


def check_arguments(tool: Tool, call: ToolCall, tables_in_view: Callable[[str], str | None]) -> tuple[Any, ...] | Problem:
    """Return the call's values in the order of `tool.args`, or the first problem.

    `tables_in_view` gives the table of a record that the seat has been shown, None for every other text: an id that is
    hidden and one that does not exist are the same to a caller.
    """
    given = dict(call.args)
    values = []
    for arg in tool.args:
        name = arg.name
        value = given.pop(name, None)
        if isinstance(arg, Ref):
            if type(value) is not str:
                return Problem(Code.INVALID_ARGUMENTS, name, expected_by(arg, given_missing=value is None))
            table = tables_in_view(value)
            if table is None:
                return Problem(Code.NOT_FOUND, name, "an id that a reply has shown you")
            allowed = arg.tables if not arg.by else arg.tables_for(dict(call.args).get(arg.by, ""))
            if table not in allowed:
                return Problem(
                    Code.INVALID_ARGUMENTS, name, f"the id of a record of {' or '.join(allowed)}" if allowed else "nothing here"
                )
        elif isinstance(arg, Choice):
            if type(value) is not str or value not in arg.options:
                return Problem(Code.INVALID_ARGUMENTS, name, expected_by(arg, given_missing=value is None))
        elif isinstance(arg, Quantity):
            if type(value) is not int or not arg.low <= value <= arg.high:
                return Problem(Code.INVALID_ARGUMENTS, name, expected_by(arg, given_missing=value is None))
        else:
            value = "" if value is None else value
            if type(value) is not str or len(value) > arg.limit:
                return Problem(Code.INVALID_ARGUMENTS, name, expected_by(arg, given_missing=False))
        values.append(value)
    if given:
        return Problem(Code.INVALID_ARGUMENTS, min(given), f"only these: {', '.join(arg.name for arg in tool.args) or 'none'}")
    return tuple(values)


def expected_by(arg: Argument, *, given_missing: bool) -> str:
    """Say in words what `arg` takes."""
    if isinstance(arg, Ref):
        tables = arg.tables or tuple(dict.fromkeys(table for _, some in arg.per for table in some))
        text = f"the id (a string) of a record of {' or '.join(tables)}"
    elif isinstance(arg, Choice):
        text = f"one of {', '.join(arg.options)}"
    elif isinstance(arg, Quantity):
        text = f"an integer from {arg.low} to {arg.high} ({arg.unit})"
    else:
        text = f"a string of at most {arg.limit} characters"
    return f"{text}; it is required" if given_missing else text


def json_schema(tool: Tool) -> dict[str, Any]:
    """Return the tool's flat JSON Schema, in the form that function-calling endpoints and MCP share."""
    properties: dict[str, Any] = {}
    for arg in tool.args:
        if isinstance(arg, Choice):
            properties[arg.name] = {"type": "string", "enum": list(arg.options), "description": arg.description}
        elif isinstance(arg, Quantity):
            text = f"{arg.description} Unit: {arg.unit}."
            properties[arg.name] = {"type": "integer", "minimum": arg.low, "maximum": arg.high, "description": text}
        elif isinstance(arg, Text):
            properties[arg.name] = {"type": "string", "maxLength": arg.limit, "description": arg.description}
        else:
            properties[arg.name] = {"type": "string", "description": f"{arg.description} {_points_to(arg)}"}
    required = [arg.name for arg in tool.args if not isinstance(arg, Text)]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": tool.name, "description": describe(tool), "parameters": schema}


def describe(tool: Tool) -> str:
    """Return what a caller is told of a tool: what it does, its consequence, and what its errors mean."""
    semantics = tool.semantics
    parts = [tool.description, f"Consequence: {tool.consequence}.", f"Idempotency: {semantics.idempotency}"]
    parts.append(f"Freshness: {semantics.freshness}")
    parts += [f"Error {code}: {meaning}" for code, meaning in semantics.errors]
    return " ".join(parts)


def _points_to(arg: Ref) -> str:
    if not arg.by:
        return f"Id of a record of {' or '.join(arg.tables)} that a reply has shown."
    rules = "; ".join(f"{option}: {' or '.join(tables)}" for option, tables in arg.per)
    return f"Id of a shown record, by {arg.by} ({rules})."
