"""The gateway: the only door into a world. Every call of every seat passes the same steps in the same order.

Parse; listed?; charge; decision cost; outbound latency, agenda due; authority now; journal; fault before the commit;
commit; fault after it; inbound latency, agenda due; reply, fault on it; view. So the world can change between sending
and committing, and between committing and hearing of it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fieldops_gym.core.calls import MESSAGES, Code, Problem, Status, ToolCall
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import ArmedFault, Boundary, Effect, Fired
from fieldops_gym.core.people import AgendaItem, Asked, PersonaState
from fieldops_gym.core.scenario import Meters, Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import AT_COMMIT, EFFECTS, Consequence, Outcome, Request, Showing, Shown, Tool, check_arguments
from fieldops_gym.core.view import Answered, Reply, View, shown_fields
from fieldops_gym.core.world import World, Write

HARNESS = "harness"
SERVICE = "service"
JITTER = 60
"""A person's delay varies from turn to turn by up to so many seconds on top of its pace."""


class Context(NamedTuple):
    """What a handler may use. `now` is the second of the commit, `sent` that of the call, `as_of` that of its reads."""

    world: World
    scenario: Scenario
    view: View
    seat: str
    now: int
    sent: int
    as_of: int
    ids: Stream


class Intent(NamedTuple):
    """Data of an `intent` event: what the journal knows before a call is sent."""

    tool: str
    values: tuple[Any, ...]


class Acted(NamedTuple):
    """Data of an `act` event: a person's act that fell due, its rule, and why it was refused, if it was."""

    call: ToolCall
    rule: str
    code: str


class ToolResult:
    """What a seat hears of its call. Its text is rendered only when somebody reads it."""

    __slots__ = ("_layout", "at", "call", "elapsed", "ended", "reply", "showings")

    def __init__(self, call: ToolCall, reply: Reply, showings: tuple[Showing, ...], at: int, elapsed: int, layout: Any) -> None:
        self.call, self.reply, self.showings = call, reply, showings
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
        for showing in self.showings:
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


class Gateway:
    """The door of one episode. `call` never raises for what an agent sends."""

    def __init__(self, domain: Domain, scenario: Scenario, world: World) -> None:
        self.domain, self.scenario, self.world = domain, scenario, world
        self.lead = scenario.lead
        self.clock = world.now
        self.views: dict[str, View] = {}
        self.closing: Any = None
        self._ids = Stream(scenario.coordinates.seeds.entity, "made")
        self._reached: dict[tuple[str, str], int] = {}
        self._sent: set[ToolCall] = set()
        self._faults = scenario.faults
        lead = self.view(self.lead)
        lead.open(domain.opening(scenario, world), self.clock, restarted=False)
        lead.tick(self.clock, world.tables["meters"][self.lead], self._blocked(world.tables["meters"][self.lead]))

    def view(self, seat: str) -> View:
        """Return a seat's view, made when first asked for."""
        view = self.views.get(seat)
        if view is None:
            listed = self.scenario.contract.tools if seat == self.lead else tuple(self.domain.tools[seat])
            brief = self.scenario.brief if seat == self.lead else None
            view = self.views[seat] = View(self.domain.layouts[seat], seat, brief, listed, self.scenario.limits)
            if seat != self.lead:
                view.tick(self.clock, Meters(seat), frozenset())
        return view

    def call(self, seat: str, call: ToolCall) -> ToolResult:
        """Take one call through the door and return what the seat hears."""
        view = self.view(seat)
        lead = seat == self.lead
        tool, values, problem, boundary = self._admit(view, call)
        began = self.clock
        meters = self._charge(seat, call, tool, problem)
        self.clock += self.scenario.contract.decision_cost if lead else 0
        seq = self.world.emit(self.clock, seat, "call", 0, meters, call)
        if problem is not None:
            reply = Reply(Status.REFUSED, problem.code, problem.path, problem.expected, (), None)
            return self._answer(view, call, reply, (), seq, began, boundary)
        assert tool is not None
        assert values is not None
        sent = self.clock
        if lead:
            self._advance(self.clock + tool.latency.outbound)
        decision = self.domain.authorise(self.world, seat, tool, values, self.clock)
        if not decision.permit:
            expected = f"{decision.reason} ({decision.rule})"
            return self._answer(view, call, _refusal(Code.DENIED, expected), (), seq, began, Boundary.AUTHORITY)
        if tool.journaled:
            self.world.emit(self.clock, HARNESS, "intent", seq, (), Intent(tool.name, values))
        return self._carry_out(view, call, tool, values, seq, sent, began)

    def _admit(self, view: View, call: ToolCall) -> tuple[Tool | None, tuple[Any, ...] | None, Problem | None, str]:
        """Parse, listed?, budget: return the tool and its values, or the problem and how far the call came."""
        name = call.tool
        tool = self.domain.tools[view.seat].get(name)
        if call.malformed:
            code = Code.MALFORMED if tool is None else Code.INVALID_ARGUMENTS
            return None, None, Problem(code, "", call.malformed), Boundary.PARSE
        if tool is None or name not in view.listed:
            if name in self.domain.prohibited:
                return None, None, Problem(Code.PROHIBITED, "", ""), Boundary.LISTED
            return None, None, Problem(Code.UNKNOWN_TOOL, "", f"one of {', '.join(sorted(view.listed))}"), Boundary.LISTED
        found = check_arguments(tool, call, view.table_of)
        if isinstance(found, Problem):
            return tool, None, found, Boundary.PARSE
        if view.seat == self.lead and not self._affords(view.meters, tool, call):
            return tool, None, Problem(Code.BUDGET_EXHAUSTED, "", "a call of another kind"), Boundary.BUDGET
        return tool, found, None, Boundary.LISTED

    def _affords(self, meters: Meters, tool: Tool, call: ToolCall) -> bool:
        if tool.consequence not in EFFECTS:
            return True
        limits = self.scenario.limits
        if meters.effect_attempts >= limits.effect_attempts:
            return False
        return call not in self._sent or meters.retries < limits.retries

    def _charge(self, seat: str, call: ToolCall, tool: Tool | None, problem: Problem | None) -> tuple[Write, ...]:
        if seat != self.lead:
            return ()
        _, turns, calls, retries, attempts = self.world.tables["meters"][seat]
        effect = problem is None and tool is not None and tool.consequence in EFFECTS
        again = effect and call in self._sent
        if effect:
            self._sent.add(call)
        meters = Meters(seat, turns + 1, calls + (tool is not None), retries + again, attempts + effect)
        return (Write("meters", seat, meters),)

    def _carry_out(
        self, view: View, call: ToolCall, tool: Tool, values: tuple[Any, ...], seq: int, sent: int, began: int
    ) -> ToolResult:
        """From the fault before the commit to the answer."""
        fault = self._strike(tool, Boundary.BEFORE_COMMIT, seq)
        lag = slow = 0
        if fault is not None:
            if fault.effect == Effect.REFUSE:
                return self._answer(view, call, _refusal(Code.NOT_SENT, ""), (), seq, began, Boundary.BEFORE_COMMIT)
            if fault.effect == Effect.LOSE_REQUEST:
                return self._time_out(view, call, sent, seq, began, Boundary.BEFORE_COMMIT)
            if fault.effect == Effect.CRASH:
                return self._crash(view, call, seq, began)
            lag = int(fault.value("seconds")) if fault.effect == Effect.LAG else 0
            slow = int(fault.value("seconds")) if fault.effect == Effect.SLOW else 0
        if tool.waits:
            self._wait(view, self.clock + values[0])
        context = Context(self.world, self.scenario, view, view.seat, self.clock, sent, self.clock - lag, self._ids)
        outcome = tool.handler(context, *values)
        if outcome.code:
            reply = Reply(Status.REFUSED, outcome.code, "", outcome.expected, _log(outcome.shown), outcome.facts)
            return self._answer(
                view, call, reply, outcome.shown, seq, began, Boundary.COMMIT, tool.latency.inbound, outcome.reads
            )
        shown = self._commit(tool, outcome, seq) if outcome.writes else outcome.shown
        fault = self._strike(tool, Boundary.AFTER_COMMIT, seq)
        if fault is not None and fault.effect == Effect.LOSE_REPLY:
            return self._time_out(view, call, sent, seq, began, Boundary.AFTER_COMMIT)
        if fault is not None and fault.effect == Effect.CRASH:
            return self._crash(view, call, seq, began)
        if outcome.ends:
            self.closing = outcome.facts
        reply = Reply(Status.OK, "", "", "", _log(shown), outcome.facts)
        inbound = tool.latency.inbound + slow
        return self._answer(view, call, reply, shown, seq, began, Boundary.ON_REPLY, inbound, outcome.reads)

    def _commit(self, tool: Tool, outcome: Outcome, seq: int) -> tuple[Showing, ...]:
        """Make an outcome's writes and put its requests before people; return what it shows, versions filled in."""
        writes = outcome.writes
        fault = self._strike(tool, Boundary.COMMIT, seq)
        if fault is not None and fault.effect == Effect.DROP_WRITE:
            table = fault.value("table")
            writes = tuple(write for write in writes if write.table != table)
        at = self.world.emit(self.clock, SERVICE, "commit", seq, writes, tool.name)
        for request in outcome.requests:
            self._ask(request, seq)
        return tuple([s if s.version != AT_COMMIT else Showing(s.table, s.record, s.detail, at) for s in outcome.shown])

    def _answer(
        self,
        view: View,
        call: ToolCall,
        reply: Reply,
        showings: tuple[Showing, ...],
        seq: int,
        began: int,
        boundary: str,
        inbound: int = 0,
        reads: tuple[tuple[str, str], ...] = (),
    ) -> ToolResult:
        if view.seat == self.lead and inbound:
            self._advance(self.clock + inbound)
        self.world.emit(self.clock, HARNESS, "result", seq, (), Answered(reply, boundary, reads))
        view.absorb(call, reply, showings, self.clock)
        result = ToolResult(call, reply, showings, self.clock, self.clock - began, view.layout)
        self._tick(view)
        return result

    def _tick(self, view: View) -> None:
        if view.seat == self.lead:
            meters = self.world.tables["meters"][self.lead]
            view.tick(self.clock, meters, self._blocked(meters))
        else:
            view.tick(self.clock, view.meters, view.blocked)

    def _blocked(self, meters: Meters) -> frozenset[Consequence]:
        return EFFECTS if meters.effect_attempts >= self.scenario.limits.effect_attempts else frozenset()

    def _time_out(self, view: View, call: ToolCall, sent: int, seq: int, began: int, boundary: Boundary) -> ToolResult:
        # Counted from the sending, so that a lost request and a lost reply take the same time.
        self._advance(max(self.clock, sent + self.scenario.contract.timeout))
        reply = Reply(Status.UNKNOWN, Code.TIMEOUT, "", "", (), None)
        return self._answer(view, call, reply, (), seq, began, boundary)

    def _crash(self, view: View, call: ToolCall, seq: int, began: int) -> ToolResult:
        self.world.emit(self.clock, HARNESS, "crash", seq, (), view.seat)
        self._advance(self.clock + self.scenario.contract.restart_delay)
        showings = self.domain.opening(self.scenario, self.world)
        self.world.emit(self.clock, HARNESS, "restart", seq, (), _log(showings))
        view.open(showings, self.clock, restarted=True)
        self._tick(view)
        reply = Reply(Status.RESTARTED, "", "", "", _log(showings), None)
        return ToolResult(ToolCall(""), reply, showings, self.clock, self.clock - began, view.layout)

    def crash(self, seat: str) -> ToolResult:
        """Let a seat's process die between two calls and start it again after the card's delay."""
        return self._crash(self.view(seat), ToolCall(""), 0, self.clock)

    def _strike(self, tool: Tool, boundary: Boundary, seq: int) -> ArmedFault | None:
        """Count that `tool` reached `boundary`, and fire the fault that is armed for this count, if any."""
        if not self._faults:
            return None
        count = self._reached[tool.name, boundary] = self._reached.get((tool.name, boundary), 0) + 1
        for fault in self._faults:
            if fault.boundary == boundary and fault.hits(tool.name, count):
                data = Fired(fault.id, fault.boundary, fault.effect, fault.values)
                self.world.emit(self.clock, HARNESS, "fault", seq, (), data)
                return fault
        return None

    def _advance(self, until: int) -> None:
        """Let time pass; acts that fall due happen on the way, in the order of their time and id."""
        agenda = self.world.tables["agenda"]
        while agenda:
            item = min(agenda.values(), key=_due)
            if item.due > until:
                break
            self._act(item)
        self.clock = until

    def settle(self, until: int) -> None:
        """Let everything that falls due until the horizon happen, after the run is over."""
        self._advance(until)

    def _wait(self, view: View, until: int) -> None:
        """Let time pass until a message for the seat is unread, at the latest until `until`."""
        world, agenda = self.world, self.world.tables["agenda"]
        while not any(m.to == view.seat and m.id not in view.by_id for m in world.tables["message"].values()):
            item = min(agenda.values(), key=_due, default=None)
            if item is None or item.due > until:
                self.clock = until
                return
            self._act(item)

    def _act(self, item: AgendaItem) -> None:
        """A person's act falls due: only listed?, authority and commit; its delay is spent already."""
        self.clock = max(self.clock, item.due)
        view = self.view(item.seat)
        done = (Write("agenda", item.id, None),)
        tool = self.domain.tools[item.seat].get(item.call.tool)
        found = check_arguments(tool, item.call, view.table_of) if tool else Problem(Code.UNKNOWN_TOOL, "", "")
        if isinstance(found, Problem) or tool is None:
            code = found.code if isinstance(found, Problem) else Code.UNKNOWN_TOOL
            self.world.emit(self.clock, item.seat, "act", item.ref, done, Acted(item.call, item.rule, code))
            return
        if not self.domain.authorise(self.world, item.seat, tool, found, self.clock).permit:
            self.world.emit(self.clock, item.seat, "act", item.ref, done, Acted(item.call, item.rule, Code.DENIED))
            return
        context = Context(self.world, self.scenario, view, item.seat, self.clock, self.clock, self.clock, self._ids)
        outcome = tool.handler(context, *found)
        self.world.emit(
            self.clock, item.seat, "act", item.ref, done + outcome.writes, Acted(item.call, item.rule, outcome.code)
        )

    def _ask(self, request: Request, seq: int) -> None:
        """Put a request before a person; a scripted one decides now and acts when its delay is over."""
        showings = self.domain.deliver(self.world, request)
        view = self.view(request.seat)
        view.absorb(ToolCall(""), Reply(Status.OK, "", "", "", (), None), showings, self.clock)
        persona = self.scenario.personas.get(request.seat)
        if persona is None:
            data = Asked(request.seat, request.kind, request.ref, "outside")
            self.world.emit(self.clock, request.seat, "asked", seq, (), (data, _log(showings)))
            return
        state: PersonaState = self.world.tables["persona"][request.seat]
        jitter = Stream(self.scenario.coordinates.seeds.interaction, f"jitter/{request.seat}")
        reply = self.domain.people[request.seat](
            view, request, persona, state, lambda turn: state.pace + jitter.draw(turn).below(JITTER)
        )
        turns, repeats = state.turns + 1, state.repeats + (reply.rule.endswith("repeat"))
        writes = [Write("persona", state.id, PersonaState(state.id, state.persona, state.pace, turns, repeats))]
        if reply.act is not None:
            key = f"act-{self._ids.token('agenda', request.seat, turns)}"
            item = AgendaItem(key, self.clock + reply.delay, request.seat, reply.act, reply.rule, seq)
            writes.append(Write("agenda", key, item))
        data = Asked(request.seat, request.kind, request.ref, reply.rule)
        self.world.emit(self.clock, request.seat, "asked", seq, tuple(writes), (data, _log(showings)))


def _refusal(code: str, expected: str) -> Reply:
    return Reply(Status.REFUSED, code, "", expected, (), None)


def _log(showings: tuple[Showing, ...]) -> tuple[Shown, ...]:
    return tuple([Shown(s.table, s.record[0], s.version, s.detail) for s in showings])


def _due(item: AgendaItem) -> tuple[int, str]:
    return item.due, item.id
