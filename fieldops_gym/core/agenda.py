"""The agenda: what people and others will do, and when. It is a table of the world; this keeps track of what is due next."""

from __future__ import annotations

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import ArmedFault
from fieldops_gym.core.passage import Passage
from fieldops_gym.core.people import AgendaItem
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.world import World, Write, make

HARNESS = "harness"
NEVER = 2**62
"""A second that no clock here reaches."""


class Agenda:
    """The acts that are to come. `next_due` is the second of the first of them, `NEVER` for none."""

    __slots__ = ("items", "next_due", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self.items: dict[str, AgendaItem] = world.tables["agenda"]
        self.next_due = NEVER
        self.recount()

    def recount(self) -> None:
        """Look up what is due next, after an act was done or put off."""
        self.next_due = min([item.due for item in self.items.values()], default=NEVER)

    def first(self) -> AgendaItem:
        """Return the act that is due next; of several due at once, the one whose id comes first."""
        return min(self.items.values(), key=_due)

    def added(self, item: AgendaItem) -> Write:
        """Return the write that puts an act on the agenda."""
        self.next_due = min(self.next_due, item.due)
        return make(Write, ("agenda", item.id, item))

    def schedule(self, fault: ArmedFault, passage: Passage, now: int, seq: int, domain: Domain, act: str) -> None:
        """Put a fault's act on the agenda: of what its tool takes, the fault gives its part, the call the rest."""
        seat, name = fault.act.split(".")
        given = dict(passage.call.args) | dict(fault.values)
        args = tuple(sorted((arg.name, given[arg.name]) for arg in domain.tools[seat][name].args))
        item = AgendaItem(act, now + fault.seconds, seat, ToolCall(name, args), fault.id, passage.seq)
        self.world.emit(now, HARNESS, "agenda", seq, (self.added(item),), ())

    def put_off(self, fault: ArmedFault, passage: Passage, now: int, seq: int, faults: frozenset[str]) -> None:
        """Put off what people will do on account of a call; what faults will do stays where it is."""
        acts = [item for item in self.items.values() if item.ref == passage.seq and item.rule not in faults]
        later = tuple(make(Write, ("agenda", a.id, a._replace(due=a.due + fault.seconds))) for a in acts)
        self.world.emit(now, HARNESS, "agenda", seq, later, ())
        self.recount()


def act_id(ids: Stream, *key: str | int) -> str:
    """Return the id of an act on the agenda."""
    return f"act-{ids.token('agenda', *key)}"


def _due(item: AgendaItem) -> tuple[int, str]:
    return item.due, item.id
