"""Calls and results: what passes through the gateway, in either direction, whatever face it came from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

MAX_CALL_CHARACTERS = 65_536
"""A longer JSON call is refused unread."""

MAX_DEPTH = 32
"""JSON nested deeper than this is refused unread."""

MAX_ARGUMENTS = 64
"""A call with more arguments is refused."""

BRACKETS = re.compile(r"[\[\]{}]")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)

NOT_A_CALL = 'JSON of the form {"tool": "...", "arguments": {...}}'

JSON_TYPES: dict[type, str] = {
    str: "string", bool: "boolean", type(None): "null", int: "number", float: "number", list: "array", tuple: "array",
    dict: "object",
}  # fmt: skip
"""What JSON calls the types that its values have here."""

MAX_TEXT = 512
"""The longest string argument that is kept; a longer one is foreign."""


class Status(StrEnum):
    """How a call ended for its caller."""

    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    RESTARTED = "restarted"


class Code(StrEnum):
    """Why a call was refused, or why its outcome is unknown."""

    NONE = ""
    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown_tool"
    PROHIBITED = "prohibited"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    BUDGET_EXHAUSTED = "budget_exhausted"
    DENIED = "denied"
    INCOMPLETE = "incomplete"
    CONFLICT = "conflict"
    KEY_REUSED = "key_reused"
    LIMIT = "limit"
    NOT_SENT = "not_sent"
    TIMEOUT = "timeout"
    UNREADABLE = "unreadable"


MESSAGES: dict[str, str] = {
    Code.MALFORMED: "The call could not be read.",
    Code.UNKNOWN_TOOL: "There is no such tool for this seat.",
    Code.PROHIBITED: "This capability is prohibited here. The attempt has been recorded.",
    Code.INVALID_ARGUMENTS: "An argument is missing, unknown or of the wrong kind.",
    Code.NOT_FOUND: "No record with this id has been shown to this seat.",
    Code.BUDGET_EXHAUSTED: "The budget for calls of this kind is used up.",
    Code.DENIED: "Policy does not permit this call now.",
    Code.INCOMPLETE: "Something is missing before this can be done.",
    Code.CONFLICT: "The state of the record does not allow this.",
    Code.KEY_REUSED: "The idempotency key is known with other content.",
    Code.LIMIT: "A limit on how often this may be done has been reached.",
    Code.NOT_SENT: "The request was not sent. Nothing was changed by it.",
    Code.TIMEOUT: "No answer came in time. Whether the request took effect is not known.",
    Code.UNREADABLE: "An answer came that cannot be read. Whether the request took effect is not known.",
}


class Problem(NamedTuple):
    """What is wrong with a call: a code, the argument it is about, and what would be right."""

    code: str
    path: str
    expected: str


class Reply(NamedTuple):
    """What a caller is told: status, code, path, what would be right, records shown, and facts beyond records."""

    status: str
    code: str
    path: str
    expected: str
    shown: tuple[Any, ...]
    facts: Any


class Answered(NamedTuple):
    """Data of a `result` event: the reply, and what its caller is never told: how far the call came, and which records,
    as (table, id), the answer depended on beyond those shown."""

    reply: Reply
    boundary: str
    reads: tuple[tuple[str, str], ...] = ()


class Foreign(NamedTuple):
    """A value that no argument can take, kept as evidence: its JSON type and the start of its text."""

    kind: str
    text: str


class ToolCall(NamedTuple):
    """A call: a tool's name, (argument, value) pairs in the order of names; of one that cannot be read, what was expected."""

    tool: str
    args: tuple[tuple[str, Any], ...] = ()
    malformed: str = ""

    @classmethod
    def of(cls, tool: str, /, **args: Any) -> ToolCall:
        """Build a call: `ToolCall.of("read_manual", manual="man-0123456789")`."""
        return _frozen(tool, args)

    def to_json(self) -> str:
        """Return the call in the JSON form that agents send."""
        return json.dumps({"tool": self.tool, "arguments": dict(self.args)})


def as_call(given: Any) -> ToolCall:
    """Read whatever an agent sent as a call. Never raises: what cannot be read comes back with `malformed` set."""
    try:
        return _read(given)
    # The one place where anything may come in: an agent's object can raise whatever it likes when it is looked at.
    except Exception:
        return _malformed(NOT_A_CALL)


def _read(given: Any) -> ToolCall:
    if isinstance(given, ToolCall):
        return _unreadable(given) if given.malformed else _frozen(given.tool, dict(given.args))
    if isinstance(given, (bytes, bytearray)):
        try:
            given = bytes(given).decode("utf-8")
        except UnicodeDecodeError:
            return _malformed("text in UTF-8")
    if isinstance(given, str):
        if len(given) > MAX_CALL_CHARACTERS:
            return _malformed(f"at most {MAX_CALL_CHARACTERS} characters")
        # Judged before it is parsed: how deep the parser can go depends on who calls it.
        if _depth(given) > MAX_DEPTH:
            return _malformed(f"brackets nested at most {MAX_DEPTH} deep")
        given = json.loads(given)
    return _from_mapping(given)


def _depth(text: str) -> int:
    """Return how deep brackets and braces nest outside of strings."""
    deepest = level = 0
    for mark in BRACKETS.findall(STRINGS.sub("", text)):
        level += 1 if mark in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _from_mapping(given: Any) -> ToolCall:
    if not isinstance(given, Mapping):
        return _malformed("an object with 'tool' and 'arguments'")
    unknown = sorted(str(key) for key in given if key not in ("tool", "arguments"))
    if unknown:
        return _malformed("no keys but 'tool' and 'arguments'")
    tool, args = given.get("tool"), given.get("arguments", {})
    if not isinstance(tool, str):
        return _malformed("a string as 'tool'")
    if not isinstance(args, Mapping):
        return ToolCall(tool[:MAX_TEXT], (), "an object as 'arguments'")
    return _frozen(tool, args)


def _frozen(tool: Any, args: Mapping[Any, Any]) -> ToolCall:
    if not isinstance(tool, str):
        return _malformed("a string as 'tool'")
    if len(args) > MAX_ARGUMENTS:
        return ToolCall(tool[:MAX_TEXT], (), f"at most {MAX_ARGUMENTS} arguments")
    frozen = {str(name)[:MAX_TEXT]: _freeze(value) for name, value in args.items()}
    if len(frozen) < len(args):
        return ToolCall(tool[:MAX_TEXT], (), "arguments with different names")
    return ToolCall(tool[:MAX_TEXT], tuple((name, frozen[name]) for name in sorted(frozen)))


def _freeze(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value if len(value) <= MAX_TEXT else Foreign("string", value[:MAX_TEXT])
    if kind is bool or value is None:
        return Foreign("boolean" if kind is bool else "null", str(value).lower())
    if kind is int:
        return value if -(2**63) <= value < 2**63 else Foreign("number", "out of range")
    if isinstance(value, str):
        return _freeze(str(value))
    if kind is Foreign and type(value.kind) is type(value.text) is str:
        return Foreign(value.kind[:MAX_TEXT], value.text[:MAX_TEXT])
    return Foreign(JSON_TYPES.get(kind, "other"), _outline(value, MAX_DEPTH)[:MAX_TEXT])


def _outline(value: Any, depth: int) -> str:
    """Return the start of a value's text, as evidence: never deeper than `depth`, never longer than it can matter."""
    if isinstance(value, (list, tuple)):
        inside = ",".join(_outline(item, depth - 1) for item in value[:8]) if depth else "..."
        return f"[{inside}]"
    if isinstance(value, dict):
        pairs = list(value.items())[:8] if depth else []
        return "{" + ",".join(f"{_outline(key, 0)}:{_outline(item, depth - 1)}" for key, item in pairs) + "}"
    if isinstance(value, str):
        return json.dumps(value[:MAX_TEXT])
    return repr(value) if isinstance(value, (int, float)) and abs(value) < 2**63 else JSON_TYPES.get(type(value), "other")


def _unreadable(given: ToolCall) -> ToolCall:
    """Return a call that says of itself that it is malformed; what it holds may be anything."""
    tool, reason = given.tool, given.malformed
    return ToolCall(
        tool[:MAX_TEXT] if type(tool) is str else "",
        (),
        reason[:MAX_TEXT] if type(reason) is str else "a call that can be read",
    )


def _malformed(expected: str) -> ToolCall:
    return ToolCall("", (), expected)
