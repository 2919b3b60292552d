"""Putting requests before people: a scripted one decides now, and acts when its delay is over."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.agenda import Agenda, act_id
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.people import AgendaItem, PersonaState, PutBefore
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import Request, Showing, Shown
from fieldops_gym.core.view import View
from fieldops_gym.core.world import World, Write, make

JITTER = 60
"""A person's delay varies from turn to turn by up to so many seconds on top of its pace."""

NOTHING: tuple[Any, ...] = ()


class People:
    """The people of one episode."""

    __slots__ = ("_agenda", "_domain", "_ids", "_jitter", "_scenario", "_world")

    def __init__(self, domain: Domain, scenario: Scenario, world: World, agenda: Agenda, ids: Stream) -> None:
        self._domain, self._scenario, self._world, self._agenda, self._ids = domain, scenario, world, agenda, ids
        self._jitter: dict[str, Stream] = {}

    def ask(self, request: Request, view: View, now: int, seq: int) -> None:
        """Put a request before the person of a seat, whose view it enters; `seq` is the call that caused it."""
        seat, world = request.seat, self._world
        showings = self._domain.deliver(world, request)
        view.deliver(showings, now)
        persona = self._scenario.personas.get(seat)
        if persona is None:
            data = make(PutBefore, (seat, request.kind, request.ref, "outside"))
            world.emit(now, seat, "asked", seq, NOTHING, (data, log_of(showings)))
            return
        state: PersonaState = world.tables["persona"][seat]
        reply = self._domain.people[seat](view, request, persona, state, self._delay)
        turns, repeats = state.turns + 1, state.repeats + reply.repeats
        writes = [make(Write, ("persona", state.id, make(PersonaState, (state.id, state.persona, state.pace, turns, repeats))))]
        if reply.act is not None:
            key = act_id(self._ids, seat, turns)
            item = make(AgendaItem, (key, now + reply.delay, seat, reply.act, reply.rule, seq))
            writes.append(self._agenda.added(item))
        data = make(PutBefore, (seat, request.kind, request.ref, reply.rule))
        world.emit(now, seat, "asked", seq, tuple(writes), (data, log_of(showings)))

    def _delay(self, state: PersonaState, turn: int) -> int:
        """Return how long a person takes over its `turn`th answer, in seconds: its pace and a little more or less."""
        stream = self._jitter.get(state.id)
        if stream is None:
            seed = self._scenario.coordinates.seeds.interaction
            stream = self._jitter[state.id] = Stream(seed, f"jitter/{state.id}")
        return state.pace + stream.draw(turn).below(JITTER)


def log_of(showings: tuple[Showing, ...]) -> tuple[Shown, ...]:
    """Return what the log says of showings: which record in which version was shown, and how much of it."""
    return tuple([make(Shown, (s[0], s[1][0], s[3], s[2])) for s in showings]) if showings else NOTHING
