"""A call on its way through the gateway: what handlers are given, what the log says of it, what its seat hears."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from fieldops_gym.core.calls import MESSAGES, Reply, Status, ToolCall
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.layout import Layout, shown_fields
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import Showing, Tool
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Event, World, make


class Context(NamedTuple):
    """What a handler may use. `now` is the second of the commit, `sent` that of the call, `as_of` that of its reads.

    `journal` holds the seat's journaled calls, each with the event it left; it is the harness's, and no view has it.
    """

    world: World
    scenario: Scenario
    view: View
    seat: str
    now: int
    sent: int
    as_of: int
    ids: Stream
    journal: Sequence[tuple[ToolCall, Event]]


class Intended(NamedTuple):
    """Data of an `intent` event: what the journal knows before a call is sent."""

    tool: str
    values: tuple[Any, ...]


class Acted(NamedTuple):
    """Data of an `act` event: a person's act that fell due, its rule, and why it was refused, if it was."""

    call: ToolCall
    rule: str
    code: str


class Exhausted(NamedTuple):
    """Data of an `exhausted` event: the meter that is used up, and the card's fallback for it."""

    meter: str
    fallback: str


class Passage:
    """One call under way: `seq` is its event, `began` and `sent` are seconds, `lead` whether time passes with it."""

    __slots__ = ("began", "call", "lead", "sent", "seq", "tool", "values", "view")

    def __init__(self, view: View, call: ToolCall, lead: bool, began: int) -> None:
        self.view, self.call, self.lead, self.began = view, call, lead, began
        self.tool: Tool | None = None
        self.values: tuple[Any, ...] | None = None
        self.seq = self.sent = 0


class ToolResult:
    """What a seat hears of its call. Its text is rendered only when somebody reads it."""

    __slots__ = ("_layout", "_showings", "at", "call", "elapsed", "ended", "reply")

    def __init__(
        self, call: ToolCall, reply: Reply, showings: tuple[Showing, ...], at: int, elapsed: int, layout: Layout
    ) -> None:
        self.call, self._showings = call, showings
        # What was shown is in the view. The log's reply holds it with event numbers, which would count unseen events.
        self.reply = make(Reply, (*reply[:4], (), reply[5])) if reply[4] else reply
        self.at, self.elapsed = at, elapsed
        self.ended = False
        self._layout = layout

    @property
    def ok(self) -> bool:
        """Whether the call did what it asked."""
        return self.reply.status == Status.OK

    def to_dict(self) -> dict[str, Any]:
        """Return the result in the JSON form that agents read."""
        reply = self.reply
        out: dict[str, Any] = {"status": str(reply.status), "at": self.at, "elapsed": self.elapsed}
        if reply.code:
            out["error"] = {"code": str(reply.code), "message": MESSAGES[reply.code]}
            if reply.path:
                out["error"]["path"] = f"arguments.{reply.path}"
            if reply.expected:
                out["error"]["expected"] = reply.expected
        records: dict[str, list[Any]] = {}
        for showing in self._showings:
            table = self._layout.tables[showing.table]
            records.setdefault(showing.table, []).append(plain(shown_fields(table, showing.record, showing.detail)))
        if records:
            out["records"] = records
        if reply.facts is not None:
            out["facts"] = plain(reply.facts)
        if self.ended:
            out["ended"] = True
        return out

    def to_json(self) -> str:
        """Return `to_dict()` as one line of JSON."""
        return json.dumps(self.to_dict())
