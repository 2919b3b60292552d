"""An episode: where world, scenario, interaction and measurement meet. Every face is a thin adapter over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fieldops_gym.core.calls import ToolCall, as_call
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.gateway import HARNESS, Gateway
from fieldops_gym.core.judging import Account, Trial
from fieldops_gym.core.passage import Exhausted, ToolResult
from fieldops_gym.core.scenario import Coordinates, build_scenario
from fieldops_gym.core.view import View
from fieldops_gym.core.world import World, Write


class EpisodeError(Exception):
    """The caller of an episode broke its contract: it called after the end, or named a seat that nobody may play."""


class Step(NamedTuple):
    """A recorded call: the seat and what it sent.

    `crash` marks a death of the seat's process instead, `model_calls` a charge for so many calls of a model.
    """

    seat: str
    call: ToolCall
    crash: bool = False
    model_calls: int = 0


class End(NamedTuple):
    """Data of the `end` event: how the run ended, its account, and what was still pending at the horizon."""

    ending: str
    account: Account
    pending: tuple[str, ...]


class Episode:
    """One run of one card.

    `call` takes anything an agent may send and returns a `ToolResult`. After the end, `trial()` is what graders judge.
    Raises `OverrideError` when the coordinates do not fit the pack. World invariants are for the caller to check, once a start.
    """

    def __init__(self, domain: Domain, pack: Pack, coordinates: Coordinates) -> None:
        self.domain, self.pack, self.coordinates = domain, pack, coordinates
        self.scenario = build_scenario(domain, pack, coordinates)
        self.world = World(self.scenario.start)
        self.gateway = Gateway(domain, self.scenario, self.world)
        self.lead = self.scenario.lead
        self._limits = self.scenario.limits
        self.lead_view = self.gateway.view(self.lead)
        self.ended = False
        self.ending = ""
        self.account: Account | None = None
        self.pending: tuple[str, ...] = ()

    @property
    def steps(self) -> list[Step]:
        """The calls made so far, deaths of the lead seat's process that no fault caused, and charges: what replay needs."""
        made = []
        for event in self.world.log:
            if event.kind == "call":
                made.append(Step(event.actor, event.data))
            elif event.kind == "crash" and event.ref == 0:
                made.append(Step(self.lead, ToolCall(""), crash=True))
            elif event.kind == "model_calls":
                made.append(Step(self.lead, ToolCall(""), model_calls=event.data))
        return made

    @property
    def brief(self) -> Any:
        """What the lead seat is given."""
        return self.scenario.brief

    def view(self, seat: str | None = None) -> View:
        """Return what a seat has been shown (the lead seat's by default)."""
        if seat is not None and seat not in self.domain.layouts:
            raise EpisodeError(f"there is no seat '{seat}'; there are {', '.join(self.domain.layouts)}")
        return self.gateway.view(seat or self.lead)

    def call(self, call: Any, seat: str | None = None) -> ToolResult:
        """Make one call for a seat: a `ToolCall`, JSON text or bytes, or a mapping with 'tool' and 'arguments'.

        What cannot be read is refused, logged and charged like any refused call. Raises `EpisodeError` after the end.
        """
        return self.send(as_call(call), seat or self.lead)

    def send(self, call: ToolCall, seat: str, values: tuple[Any, ...] | None = None) -> ToolResult:
        """Make a call that is known to be well-formed, as the array faces do.

        `values` are its arguments in the tool's order, where they were taken from the seat's own view.
        """
        if self.ended:
            raise EpisodeError(f"the episode has ended ({self.ending}); reset it, or start another one")
        if seat != self.lead and seat not in self.scenario.outside:
            raise EpisodeError(f"seat '{seat}' is not played from outside here; set people={{'{seat}': 'outside'}}")
        return self._after(self.gateway.call(seat, call, values))

    def crash(self) -> ToolResult:
        """Let the lead seat's process die now; it starts again with the brief and its journal only."""
        if self.ended:
            raise EpisodeError(f"the episode has ended ({self.ending}); there is nothing left to crash")
        return self._after(self.gateway.crash(self.lead))

    def charge_model_calls(self, number: int = 1) -> None:
        """Charge the lead seat for calls of a model that its agent made to decide on its next call.

        The run ends when the meter `model_calls` is used up. Raises `EpisodeError` after the end, and for a number below 1.
        """
        if self.ended:
            raise EpisodeError(f"the episode has ended ({self.ending}); nothing more can be charged to it")
        if type(number) is not int or number < 1:
            raise EpisodeError(f"model calls: {number!r} is not a number of calls, which is an integer of 1 or more")
        self.gateway.charge_model_calls(number)
        if self.gateway.budget.meters.model_calls >= self._limits.model_calls:
            self._end("budget:model_calls")

    def _after(self, result: ToolResult) -> ToolResult:
        if self.gateway.closing is not None:
            self._end("finished")
        else:
            most_turns, most_calls, _, _, seconds, _ = self._limits
            _, turns, calls, _, _, _ = self.gateway.budget.meters
            if self.gateway.clock >= seconds:
                self._end("budget:simulated_time")
            elif turns >= most_turns:
                self._end("budget:turns")
            elif calls >= most_calls:
                self._end("budget:tool_calls")
        result.ended = self.ended
        return result

    def _end(self, ending: str) -> None:
        """Close the run: teardown, settle the agenda to the horizon, and set down the account."""
        gateway, world = self.gateway, self.world
        closing = gateway.closing
        fallback = self.scenario.contract.fallback
        disposition, subject = closing if closing is not None else (fallback, "")
        by = self.lead if closing is not None else HARNESS
        self.account = Account(disposition, subject, by, gateway.clock)
        if ending.startswith("budget:"):
            world.emit(gateway.clock, HARNESS, "exhausted", 0, (), Exhausted(ending.removeprefix("budget:"), fallback))
        writes: tuple[Write, ...] = self.domain.teardown(world)
        if writes:
            world.emit(gateway.clock, HARNESS, "teardown", 0, writes, "")
        gateway.settle(max(gateway.clock, self.scenario.contract.horizon))
        self.pending = tuple(sorted(world.tables["agenda"]))
        self.ending = ending
        self.ended = True
        world.emit(gateway.clock, HARNESS, "end", 0, (), End(ending, self.account, self.pending))

    def trial(self) -> Trial:
        """Return the run as graders see it; before the end, without an account."""
        return Trial(self.world, self.scenario, self.account, self.ending, self.pending, self.gateway.clock)

    def branch(self, steps: int) -> Episode:
        """Return a new episode in which the first `steps` recorded calls have been made again from the coordinates."""
        if steps < 0:
            raise EpisodeError(f"branch: {steps} is not a number of calls; there are {len(self.steps)} to choose from")
        return replay(self.domain, self.pack, self.coordinates, self.steps[:steps])


def replay(domain: Domain, pack: Pack, coordinates: Coordinates, steps: Sequence[Step]) -> Episode:
    """Run recorded calls again from their coordinates. Replay, fork and branch are all this one thing."""
    episode = Episode(domain, pack, coordinates)
    for step in steps:
        if step.crash:
            episode.crash()
        elif step.model_calls:
            episode.charge_model_calls(step.model_calls)
        else:
            episode.send(step.call, step.seat)
    return episode
