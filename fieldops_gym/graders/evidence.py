"""What graders read out of a trial: who was shown what and when, what was written and by which call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Code
from fieldops_gym.core.judging import Finding, Judged, Made, Trial
from fieldops_gym.core.world import Event, Write
from fieldops_gym.domains.field_service.rules import LEAD

OWNER = "field-service graders"
SOURCE = "the policy of field service, and the claims in tasks/field_service"

HOLDS = Finding(Judged.HOLDS)
NOT_JUDGED = Finding(Judged.NOT_JUDGED, actual="the run goes on")

UNREAD = frozenset(
    {Code.MALFORMED, Code.UNKNOWN_TOOL, Code.INVALID_ARGUMENTS, Code.NOT_FOUND, Code.BUDGET_EXHAUSTED, Code.PROHIBITED}
)
"""Codes of calls that were refused before they were asked of the world."""


class Booked(NamedTuple):
    """A ledger entry with the event that wrote it."""

    event: Event
    entry: Any


def not_applicable(why: str) -> Finding:
    """Return a finding that says why an invariant has nothing to say."""
    return Finding(Judged.NOT_APPLICABLE, actual=why)


def broken(expected: str, actual: str, events: tuple[int, ...] = (), records: tuple[tuple[str, str], ...] = ()) -> Finding:
    """Return a finding of a broken invariant with its evidence."""
    return Finding(Judged.BROKEN, expected, actual, events, records)


def incident_of(trial: Trial) -> str:
    """Return the incident that the card is about."""
    return trial.scenario.roles["incident"][0]


def sent(trial: Trial, *tools: str) -> tuple[Made, ...]:
    """Return the lead seat's calls of some tools that were put to the world, whatever it answered."""
    calls = trial.calls(trial.scenario.lead)
    return tuple([m for m in calls if m.call.tool in tools and (m.reply is None or m.reply.code not in UNREAD)])


def succeeded(trial: Trial, tool: str) -> tuple[Made, ...]:
    """Return the lead seat's calls of a tool that were answered with success."""
    calls = trial.calls(trial.scenario.lead)
    return tuple([m for m in calls if m.call.tool == tool and m.reply is not None and m.reply.status == "ok"])


def bookings(trial: Trial, kind: str = "reserve") -> tuple[Booked, ...]:
    """Return the ledger's entries of a kind for the card's incident, with their events."""
    incident = incident_of(trial)
    return tuple(
        Booked(event, write.record)
        for event, write in agent_writes(trial)
        if write.table == "ledger"
        and write.record is not None
        and write.record.kind == kind
        and write.record.incident == incident
    )


def agent_writes(trial: Trial) -> list[tuple[Event, Write]]:
    """Return every write that the lead seat's calls caused, with its event."""
    calls = {made.seq for made in trial.calls(trial.scenario.lead)}
    found = []
    for event in trial.world.log:
        if event.writes and (event.seq in calls or (event.kind == "commit" and event.ref in calls)):
            found += [(event, write) for write in event.writes]
    return found


def first_shown(trial: Trial, table: str, key: str, detail: int) -> int:
    """Return the seq of the reply that first showed a record (with its details, for 1); 0 if none did."""
    calls = {made.seq for made in trial.calls(LEAD)}
    for event in trial.by_kind.get("result", ()):
        if event.ref in calls:
            for shown in event.data.reply.shown:
                if shown.table == table and shown.id == key and shown.detail >= detail:
                    return event.seq
    return 0


def first_told(trial: Trial, kind: str) -> int:
    """Return the seq of the call that first told anybody something of a kind; one after every event if none did."""
    return next((made.seq for made in succeeded(trial, "notify") if made.arg("kind") == kind), len(trial.world.log) + 1)


def ids(table: str, keys: Any) -> tuple[tuple[str, str], ...]:
    """Return record references."""
    return tuple((table, key) for key in keys)


Params = Mapping[str, Any]
