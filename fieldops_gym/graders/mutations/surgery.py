"""Changing a run: its log as it lies, its start, its account, or its calls, which are then made again.

An event that is taken out leaves an empty one in its place, so that every number that cites an event stays right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from fieldops_gym.core.calls import Reply, ToolCall
from fieldops_gym.core.episode import Episode, Step
from fieldops_gym.core.judging import Made
from fieldops_gym.core.world import Event, Tables, World, Write
from fieldops_gym.domains.field_service.records import Reservation
from fieldops_gym.domains.field_service.rules import LEAD
from fieldops_gym.graders.evidence import Booked, bookings
from fieldops_gym.graders.mutations.model import Base, MutationError

REMOVED = "removed"
"""Kind of the event that stands where one was taken out."""

LONGEST_WAIT = 14_400
"""Simulated seconds: what a seat that says nothing more is let wait for at a time."""


def edited(base: Base, edit: Callable[[Event], Event], start: Tables | None = None, **fields: Any) -> Base:
    """Return the run over an edited log, folded anew, and over another start if one is given."""
    trial = base.trial
    world = World(trial.world.start if start is None else start)
    for event in trial.world.log:
        world.apply(edit(event))
    if start is not None:
        fields["scenario"] = replace(trial.scenario, start=start)
    return base._replace(trial=replace(trial, world=world, _made={}, **fields), edited=True)


def without(base: Base, seqs: Iterable[int]) -> Base:
    """Return the run without some events."""
    gone = frozenset(seqs)
    return edited(base, lambda e: e._replace(kind=REMOVED, writes=(), data="") if e.seq in gone else e)


def with_writes(base: Base, seq: int, change: Callable[[tuple[Write, ...]], tuple[Write, ...]]) -> Base:
    """Return the run with other writes at one event."""
    return edited(base, lambda e: e._replace(writes=change(e.writes)) if e.seq == seq else e)


def with_record(base: Base, table: str, key: str, **fields: Any) -> Base:
    """Return the run in which a record has had other fields all along, from the start and in every write."""
    start = dict(base.trial.world.start)
    if key in start[table]:
        start[table] = {**start[table], key: start[table][key]._replace(**fields)}

    def edit(event: Event) -> Event:
        if not any((w.table, w.id) == (table, key) for w in event.writes):
            return event
        return event._replace(writes=tuple(_changed(w, table, key, fields) for w in event.writes))

    return edited(base, edit, start)


def _changed(write: Write, table: str, key: str, fields: dict[str, Any]) -> Write:
    if (write.table, write.id) != (table, key) or write.record is None:
        return write
    return write._replace(record=write.record._replace(**fields))


def with_reply(base: Base, result: int, change: Callable[[Reply], Reply]) -> Base:
    """Return the run in which a call was answered otherwise. `result` is the seq of the answer."""

    def edit(event: Event) -> Event:
        if event.seq != result:
            return event
        return event._replace(data=event.data._replace(reply=change(event.data.reply)))

    return edited(base, edit)


def unseen(base: Base, table: str, key: str, detail: int = 1) -> Base:
    """Return the run in which the lead seat was never shown a record with its details; not at all for `detail` 0."""

    def kept(shown: Any) -> bool:
        return not (shown.table == table and shown.id == key and shown.detail >= detail)

    calls = {made.seq for made in own_calls(base)}

    def edit(event: Event) -> Event:
        if event.kind == "restart":
            return event._replace(data=tuple(filter(kept, event.data)))
        if event.kind != "result" or event.ref not in calls:
            return event
        reply = event.data.reply
        return event._replace(data=event.data._replace(reply=reply._replace(shown=tuple(filter(kept, reply.shown)))))

    return edited(base, edit)


def later(base: Base, seq: int, seconds: int) -> Base:
    """Return the run in which everything from event `seq` on came so many seconds later."""
    account = base.trial.account
    moved = account._replace(at=account.at + seconds) if account is not None else None
    return edited(
        base, lambda e: e._replace(at=e.at + seconds) if e.seq >= seq else e, account=moved, as_of=base.trial.as_of + seconds
    )


def with_call(base: Base, seq: int, **args: Any) -> Base:
    """Return the run in which a call had other arguments, with the same answer and effect."""

    def edit(event: Event) -> Event:
        if event.seq != seq:
            return event
        return event._replace(data=ToolCall.of(event.data.tool, **{**dict(event.data.args), **args}))

    return edited(base, edit)


def with_account(base: Base, **fields: Any) -> Base:
    """Return the run with another account, and the same `finish` behind it."""
    account = base.trial.account
    if account is None:
        raise MutationError("the run has no account")
    last = own_calls(base)[-1]
    said = {key: value for key, value in fields.items() if key in ("disposition", "subject")}
    spoken = with_call(base, last.seq, **said) if last.call.tool == "finish" and said else base
    return spoken._replace(trial=replace(spoken.trial, account=account._replace(**fields), _made={}), edited=True)


def replayed(base: Base, steps: Iterable[Step]) -> Base:
    """Return what comes of other calls from the same coordinates; a seat that says nothing more waits for the end.

    The calls are made as if nothing had happened: what the seat made itself is named by its place in the order, since
    another plan has another id. Raises `MutationError` for a run whose log was edited.
    """
    if base.edited:
        raise MutationError("the log of this run was edited, which calls that are made again would undo; change calls first")
    episode = Episode(base.domain, base.pack, base.coordinates)
    then = _own(base.trial.world.tables)
    for step in steps:
        if episode.ended:
            break
        if step.crash:
            episode.crash()
        elif step.model_calls:
            episode.charge_model_calls(step.model_calls)
        else:
            episode.send(_translated(step.call, then, _own(episode.world.tables)), step.seat)
    while not episode.ended:
        episode.call(ToolCall.of("wait", seconds=LONGEST_WAIT))
    return Base.of(episode)


def _own(tables: Tables) -> tuple[list[str], ...]:
    """Return the ids of what the lead seat made, in order, table by table."""
    plans = [key for key, plan in tables["proposal"].items() if plan.by == LEAD]
    made = [entry.reservation for entry in tables["ledger"].values() if entry.kind == "reserve" and entry.seat == LEAD]
    return plans, made


def _translated(call: ToolCall, then: tuple[list[str], ...], now: tuple[list[str], ...]) -> ToolCall:
    names = {old: new for olds, news in zip(then, now, strict=True) for old, new in zip(olds, news, strict=False)}
    return call._replace(args=tuple((key, names.get(value, value)) for key, value in call.args))


def places(base: Base, *tools: str) -> list[int]:
    """Return the places of the lead seat's calls of some tools among the steps; of all tools if none is named."""
    own = [i for i, s in enumerate(base.steps) if s.seat == LEAD and not s.crash and not s.model_calls]
    return [i for i in own if not tools or base.steps[i].call.tool in tools]


def own_calls(base: Base) -> tuple[Made, ...]:
    """Return the lead seat's calls."""
    return base.trial.calls(LEAD)


def own_calls_of(base: Base, *tools: str) -> list[Made]:
    """Return the lead seat's calls of some tools that were answered with success."""
    return [m for m in own_calls(base) if m.call.tool in tools and m.reply is not None and m.reply.status == "ok"]


def standing(base: Base) -> list[tuple[Booked, Reservation]]:
    """Return the lead seat's effects on the incident that stand at the end, with the event that made each."""
    tables = base.trial.world.tables["reservation"]
    made = [(booked, tables[booked.entry.reservation]) for booked in bookings(base.trial)]
    return [(booked, reservation) for booked, reservation in made if reservation.status == "active"]
