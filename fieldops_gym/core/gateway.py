"""The gateway: the only door into a world. Every call of every seat passes the same steps in the same order.

Parse; listed?; charge; decision cost; outbound latency, agenda due; authority now; journal; fault before the commit;
commit; fault after it; inbound latency, agenda due; reply; view. So the world can change between sending and committing,
and between committing and hearing of it.
"""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.agenda import HARNESS, Agenda, act_id
from fieldops_gym.core.asking import People, log_of
from fieldops_gym.core.budget import NO_TOOL, Budget
from fieldops_gym.core.calls import Answered, Code, Problem, Reply, Status, ToolCall
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import FATES, ArmedFault, Boundary, Effect, Fired, striking
from fieldops_gym.core.passage import Acted, Context, Exhausted, Intended, Passage, ToolResult
from fieldops_gym.core.people import AgendaItem
from fieldops_gym.core.scenario import Meters, Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import AT_COMMIT, Outcome, Showing, Tool, check_arguments
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Event, World, Write, make

SERVICE = "service"
NOTHING: tuple[Any, ...] = ()


class Gateway:
    """The door of one episode. `call` never raises for what an agent sends."""

    def __init__(self, domain: Domain, scenario: Scenario, world: World) -> None:
        self.domain, self.scenario, self.world = domain, scenario, world
        self.lead = scenario.lead
        self.clock = world.now
        meters = world.tables["meters"][self.lead]
        self.budget = Budget(scenario.limits, meters, tuple(domain.tools[self.lead].values()))
        self.views: dict[str, View] = {}
        self.closing: Any = None
        self._contract = scenario.contract
        self._decision_cost = scenario.contract.decision_cost
        self._agenda = Agenda(world)
        self._ids = Stream(scenario.coordinates.seeds.entity, "made")
        self._people = People(domain, scenario, world, self._agenda, self._ids)
        self._journals: dict[str, list[tuple[ToolCall, Event]]] = {}
        self._reached: dict[tuple[str, str], int] = {}
        self._struck = frozenset(fault.tool for fault in scenario.faults)
        self._faults = frozenset(fault.id for fault in scenario.faults)
        lead = self.view(self.lead)
        lead.open(domain.opening(scenario, world), self.clock, restarted=False)
        lead.tick(self.clock, self.budget.meters, self.budget.blocked)

    def view(self, seat: str) -> View:
        """Return a seat's view, made when first asked for."""
        view = self.views.get(seat)
        if view is None:
            listed = self._contract.tools if seat == self.lead else tuple(self.domain.tools[seat])
            brief = self.scenario.brief if seat == self.lead else None
            arrays = seat not in self.scenario.personas
            view = self.views[seat] = View(self.domain.layouts[seat], seat, brief, listed, self.scenario.limits, arrays)
            if arrays and seat != self.lead:
                view.tick(self.clock, Meters(seat), NO_TOOL)
        return view

    def call(self, seat: str, call: ToolCall, values: tuple[Any, ...] | None = None) -> ToolResult:
        """Take one call through the door and return what the seat hears.

        `values` are the call's arguments in the tool's order where they come from the view itself, as an array face has
        them; they need no checking then.
        """
        lead = seat == self.lead
        passage = Passage(self.view(seat), call, lead, self.clock)
        problem, boundary = self._admit(passage, values)
        writes: tuple[Write, ...] = NOTHING
        if lead:
            meters = self.budget.charge(passage.tool, passage.values is not None)
            writes = (make(Write, ("meters", seat, meters)),)
            self.clock += self._decision_cost
        passage.sent = self.clock
        passage.seq = self.world.emit(self.clock, seat, "call", 0, writes, call)
        if lead and self.budget.blocked:
            self._note_exhaustion(passage.seq)
        tool, checked = passage.tool, passage.values
        if problem is not None or tool is None or checked is None:
            assert problem is not None
            return self._refuse(passage, problem.code, problem.expected, boundary, problem.path)
        if lead:
            self._advance(self.clock + tool.latency.outbound)
        decision = self.domain.authorise(self.world, seat, tool, checked, self.clock)
        if not decision.permit:
            why = f"{decision.reason} ({decision.rule})"
            return self._refuse(passage, Code.DENIED, why, Boundary.AUTHORITY, reads=decision.reads)
        if lead:
            self.budget.send(tool)
            if self.budget.blocked:
                self._note_exhaustion(passage.seq)
        if tool.journaled:
            self.world.emit(self.clock, HARNESS, "intent", passage.seq, NOTHING, Intended(tool.name, checked))
            self._keep(passage)
        return self._carry_out(passage, tool, checked)

    def _admit(self, passage: Passage, values: tuple[Any, ...] | None) -> tuple[Problem | None, str]:
        """Parse, listed?, budget: fill in the passage's tool and values, or return the problem and how far it came."""
        view, call = passage.view, passage.call
        tool = self.domain.tools[view.seat].get(call.tool)
        if call.tool in self.domain.prohibited:
            return Problem(Code.PROHIBITED, "", ""), Boundary.LISTED
        if call.malformed:
            code = Code.MALFORMED if tool is None else Code.INVALID_ARGUMENTS
            return Problem(code, "", call.malformed), Boundary.PARSE
        if tool is None or call.tool not in view.listed:
            return Problem(Code.UNKNOWN_TOOL, "", f"one of {', '.join(sorted(view.listed))}"), Boundary.LISTED
        passage.tool = tool
        if values is None:
            found = check_arguments(tool, call, view.table_of)
            if type(found) is Problem:
                return found, Boundary.PARSE
            values = found
        if passage.lead and call.tool in self.budget.blocked:
            return Problem(Code.BUDGET_EXHAUSTED, "", "a call of another kind"), Boundary.BUDGET
        passage.values = values
        return None, Boundary.LISTED

    def _note_exhaustion(self, seq: int) -> None:
        """Log, once each, that a meter which bars calls is used up; one that ends the run is logged at its end."""
        for meter in self.budget.newly_exhausted():
            self.world.emit(self.clock, HARNESS, "exhausted", seq, NOTHING, Exhausted(meter, self._contract.fallback))

    def _carry_out(self, passage: Passage, tool: Tool, values: tuple[Any, ...]) -> ToolResult:
        """From the fault before the commit to the answer."""
        lag = slow = 0
        struck = passage.lead and tool.name in self._struck
        for fault in self._strike(passage, tool, Boundary.BEFORE_COMMIT) if struck else NOTHING:
            if fault.effect in FATES:
                return self._meet(fault, passage)
            lag = max(lag, fault.seconds) if fault.effect == Effect.LAG else lag
            slow += fault.seconds if fault.effect == Effect.SLOW else 0
        if tool.waits:
            self._wait(passage.view, self.clock + values[0])
        view, now = passage.view, self.clock
        context = make(
            Context,
            (self.world, self.scenario, view, view.seat, now, passage.sent, now - lag, self._ids, self._journal(view.seat)),
        )
        outcome = tool.handler(context, *values)
        if outcome.code:
            reply = Reply(Status.REFUSED, outcome.code, "", outcome.expected, log_of(outcome.shown), outcome.facts)
            return self._answer(passage, reply, outcome.shown, Boundary.COMMIT, tool.latency.inbound, outcome.reads)
        shown = self._commit(passage, tool, outcome, struck) if outcome.writes else outcome.shown
        for fault in self._strike(passage, tool, Boundary.AFTER_COMMIT) if struck else NOTHING:
            if fault.effect in FATES:
                return self._meet(fault, passage)
        if outcome.ends:
            self.closing = outcome.facts
        reply = make(Reply, (Status.OK, "", "", "", log_of(shown), outcome.facts))
        if struck:
            self._advance(self.clock + tool.latency.inbound + slow)
            for fault in self._strike(passage, tool, Boundary.ON_REPLY):
                if fault.effect == Effect.CRASH:
                    self._put_down(passage, reply, Boundary.ON_REPLY, outcome.reads)
                return self._meet(fault, passage)
            return self._answer(passage, reply, shown, Boundary.ON_REPLY, 0, outcome.reads)
        return self._answer(passage, reply, shown, Boundary.ON_REPLY, tool.latency.inbound, outcome.reads)

    def _commit(self, passage: Passage, tool: Tool, outcome: Outcome, struck: bool) -> tuple[Showing, ...]:
        """Make an outcome's writes and put its requests before people; return what it shows, versions filled in."""
        writes, seq = outcome.writes, passage.seq
        if struck:
            lost = [f.value("table") for f in self._strike(passage, tool, Boundary.COMMIT) if f.effect == Effect.DROP_WRITE]
            writes = tuple(write for write in writes if write.table not in lost)
        at = self.world.emit(self.clock, SERVICE, "commit", seq, writes, tool.name)
        if tool.recorded:
            self._keep(passage)
        for request in outcome.requests:
            self._people.ask(request, self.view(request.seat), self.clock, seq)
        shown = outcome.shown
        return shown and tuple([s if s[3] != AT_COMMIT else make(Showing, (s[0], s[1], s[2], at)) for s in shown])

    def _refuse(
        self,
        passage: Passage,
        code: str,
        expected: str,
        boundary: str,
        path: str = "",
        reads: tuple[tuple[str, str], ...] = NOTHING,
    ) -> ToolResult:
        reply = make(Reply, (Status.REFUSED, code, path, expected, NOTHING, None))
        return self._answer(passage, reply, NOTHING, boundary, 0, reads)

    def _answer(
        self,
        passage: Passage,
        reply: Reply,
        showings: tuple[Showing, ...],
        boundary: str,
        inbound: int = 0,
        reads: tuple[tuple[str, str], ...] = (),
    ) -> ToolResult:
        view = passage.view
        if inbound and passage.lead:
            self._advance(self.clock + inbound)
        now = self.clock
        self._put_down(passage, reply, boundary, reads)
        view.absorb(passage.call, reply, showings, now)
        if passage.lead:
            view.tick(now, self.budget.meters, self.budget.blocked)
        else:
            view.tick(now, view.meters, view.blocked)
        return ToolResult(passage.call, reply, showings, now, now - passage.began, view.layout)

    def _put_down(self, passage: Passage, reply: Reply, boundary: str, reads: tuple[tuple[str, str], ...]) -> None:
        """Log an answer, and keep it in the journal where that is done."""
        self.world.emit(self.clock, HARNESS, "result", passage.seq, NOTHING, make(Answered, (reply, boundary, reads)))
        if passage.tool is not None and passage.tool.recorded and passage.values is not None:
            self._keep(passage)

    def _keep(self, passage: Passage) -> None:
        """Keep the last event in the seat's journal."""
        self._journal(passage.view.seat).append((passage.call, self.world.log[-1]))

    def _journal(self, seat: str) -> list[tuple[ToolCall, Event]]:
        return self._journals.setdefault(seat, [])

    def _meet(self, fault: ArmedFault, passage: Passage) -> ToolResult:
        """Let a call meet its fate: nothing more of it happens."""
        if fault.effect == Effect.REFUSE:
            return self._refuse(passage, Code.NOT_SENT, "", fault.boundary)
        if fault.effect == Effect.DENY:
            return self._refuse(passage, Code.DENIED, "the same call once more: authority could not be checked", fault.boundary)
        if fault.effect == Effect.GARBLE:
            return self._answer(passage, Reply(Status.UNKNOWN, Code.UNREADABLE, "", "", (), None), NOTHING, fault.boundary)
        if fault.effect == Effect.CRASH:
            return self._crash(passage, fault.seconds)
        return self._time_out(passage, fault.boundary)

    def _time_out(self, passage: Passage, boundary: str) -> ToolResult:
        # Counted from the sending, so that a lost request and a lost reply take the same time.
        self._advance(max(self.clock, passage.sent + self._contract.timeout))
        return self._answer(passage, Reply(Status.UNKNOWN, Code.TIMEOUT, "", "", (), None), NOTHING, boundary)

    def _crash(self, passage: Passage, longer: int = 0) -> ToolResult:
        view = passage.view
        self.world.emit(self.clock, HARNESS, "crash", passage.seq, NOTHING, view.seat)
        self._advance(self.clock + self._contract.restart_delay + longer)
        showings = self.domain.opening(self.scenario, self.world)
        self.world.emit(self.clock, HARNESS, "restart", passage.seq, NOTHING, log_of(showings))
        view.open(showings, self.clock, restarted=True)
        view.tick(self.clock, self.budget.meters, self.budget.blocked)
        reply = Reply(Status.RESTARTED, "", "", "", log_of(showings), None)
        return ToolResult(ToolCall(""), reply, showings, self.clock, self.clock - passage.began, view.layout)

    def charge_model_calls(self, number: int) -> None:
        """Charge the lead seat for calls of a model; they take no simulated time of their own."""
        meters = self.budget.ask_model(number)
        write = make(Write, ("meters", self.lead, meters))
        self.world.emit(self.clock, self.lead, "model_calls", 0, (write,), number)
        self.view(self.lead).tick(self.clock, meters, self.budget.blocked)

    def crash(self, seat: str) -> ToolResult:
        """Let a seat's process die between two calls and start it again after the card's delay."""
        return self._crash(Passage(self.view(seat), ToolCall(""), True, self.clock))

    def _strike(self, passage: Passage, tool: Tool, boundary: Boundary) -> tuple[ArmedFault, ...]:
        """Count that `tool` reached `boundary`, and fire the faults that are armed for this count. Acts come first."""
        count = self._reached[tool.name, boundary] = self._reached.get((tool.name, boundary), 0) + 1
        conditions, world, values = self.domain.conditions, self.world, passage.values or NOTHING
        found = striking(
            self.scenario.faults, tool.name, boundary, count, lambda f: not f.given or conditions[f.given](world, values)
        )
        for number, fault in enumerate(found):
            data = Fired(fault.id, fault.boundary, fault.effect, fault.values)
            seq = world.emit(self.clock, HARNESS, "fault", passage.seq, NOTHING, data)
            if fault.effect == Effect.ACT:
                act = act_id(self._ids, tool.name, boundary, count, number)
                self._agenda.schedule(fault, passage, self.clock, seq, self.domain, act)
            elif fault.effect == Effect.DELAY:
                self._agenda.put_off(fault, passage, self.clock, seq, self._faults)
        if found:
            self._advance(self.clock)
        return found

    def settle(self, until: int) -> None:
        """Let everything that falls due until the horizon happen, after the run is over."""
        self._advance(until)

    def _advance(self, until: int) -> None:
        """Let time pass; acts that fall due happen on the way, in the order of their time and id."""
        agenda = self._agenda
        while agenda.next_due <= until:
            self._act(agenda.first())
        self.clock = until

    def _wait(self, view: View, until: int) -> None:
        """Let time pass until a message for the seat is unread, at the latest until `until`."""
        seat, seen, agenda, messages = view.seat, view.by_id, self._agenda, self.world.tables["message"]
        while not [1 for m in messages.values() if m.to == seat and m.id not in seen]:
            if agenda.next_due > until:
                self.clock = until
                return
            self._act(agenda.first())

    def _act(self, item: AgendaItem) -> None:
        """A person's act falls due: only listed?, authority and commit; its delay is spent already."""
        self.clock = max(self.clock, item.due)
        view = self.view(item.seat)
        tool = self.domain.tools[item.seat].get(item.call.tool)
        found = check_arguments(tool, item.call, self._table_of) if tool else Problem(Code.UNKNOWN_TOOL, "", "")
        writes: tuple[Write, ...] = (make(Write, ("agenda", item.id, None)),)
        if tool is None or type(found) is Problem:
            code = found.code if type(found) is Problem else Code.UNKNOWN_TOOL
        elif not self.domain.authorise(self.world, item.seat, tool, found, self.clock).permit:
            code = Code.DENIED
        else:
            now = self.clock
            outcome = tool.handler(
                make(Context, (self.world, self.scenario, view, item.seat, now, now, now, self._ids, NOTHING)), *found
            )
            code = outcome.code
            writes += outcome.writes
        self.world.emit(self.clock, item.seat, "act", item.ref, writes, make(Acted, (item.call, item.rule, code)))
        self._agenda.recount()

    def _table_of(self, key: str) -> str | None:
        """Return the table that a record lies in. An act on the agenda was decided by what its seat had been shown."""
        return next((table for table, rows in self.world.tables.items() if key in rows), None)
