"""What a run's agent was shown, reply by reply, and what the world had become by its end: from the trace and the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from fieldops_gym.core.calls import MESSAGES, Status
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.layout import shown_fields
from fieldops_gym.evaluation.timeline import QUIET
from fieldops_gym.evaluation.traces import Trace


class ShownRecord(NamedTuple):
    """A record in a reply: its table, its fields as shown, and whether that was with details."""

    table: str
    fields: Mapping[str, Any]
    detail: bool


class Heard(NamedTuple):
    """What the lead seat heard: the seq of the event, its simulated second, the seq of the call, status, error, facts, records.

    After a crash there is one with status 'restarted': the brief is shown again, and `call` is what the agent died in, or 0.
    """

    seq: int
    at: int
    call: int
    status: str
    error: str
    facts: Any
    records: tuple[ShownRecord, ...]


class Became(NamedTuple):
    """A record that is not at the end what it was at the start: its fields then and now, None where it was not there.

    `seq` and `actor` are of the event that wrote it last.
    """

    table: str
    key: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    seq: int
    actor: str


def became(trace: Trace, start: Episode) -> tuple[Became, ...]:
    """Return every record of the domain and every message that the run changed, in the order of table and id."""
    last = {(write["table"], write["id"]): (write["record"], event) for event in trace.events for write in event["writes"]}
    found = []
    for (table, key), (after, event) in sorted(last.items(), key=lambda item: item[0]):
        before = plain(start.world.start[table].get(key))
        if table not in QUIET and before != after:
            found.append(Became(table, key, before, after, event["seq"], event["actor"]))
    return tuple(found)


def heard(trace: Trace, start: Episode) -> Iterator[Heard]:
    """Return all that the lead seat heard after its brief, in order. `start` is a new episode of the trace's coordinates."""
    own = {event["seq"] for event in trace.events if event["kind"] == "call" and event["actor"] == start.lead}
    # An answer may be in the log and yet never have been heard, since its caller died.
    own -= {event["ref"] for event in trace.events if event["kind"] == "crash"}
    versions: dict[tuple[str, str, int], Mapping[str, Any] | None] = {}
    for event in trace.events:
        for write in event["writes"]:
            versions[write["table"], write["id"], event["seq"]] = write["record"]
        if event["kind"] == "restart":
            yield Heard(
                event["seq"], event["at"], event["ref"], Status.RESTARTED, "", None, _records(event["data"], versions, start)
            )
        elif event["kind"] == "result" and event["ref"] in own:
            reply = event["data"]["reply"]
            error = MESSAGES.get(reply["code"], reply["code"])
            if reply["path"] or reply["expected"]:
                error += f" ({': '.join(word for word in (reply['path'], reply['expected']) if word)})"
            records = _records(reply["shown"], versions, start)
            yield Heard(event["seq"], event["at"], event["ref"], reply["status"], error, reply["facts"], records)


def _records(
    shown: Sequence[Mapping[str, Any]], versions: Mapping[tuple[str, str, int], Mapping[str, Any] | None], start: Episode
) -> tuple[ShownRecord, ...]:
    """Return records as they were after the event that a reply names as their version, 0 being the start."""
    tables, found = start.lead_view.layout.tables, []
    for ref in shown:
        table, key, version = ref["table"], ref["id"], ref["version"]
        at_start = start.world.start[table].get(key)
        record = at_start if not version else _record(start.domain.tables.get(table), versions.get((table, key, version)))
        fields = {"id": key} if record is None else plain(shown_fields(tables[table], record, ref["detail"]))
        found.append(ShownRecord(table, fields, bool(ref["detail"])))
    return tuple(found)


def _record(kind: type | None, fields: Mapping[str, Any] | None) -> Any:
    """Return a record of a domain's own class, which may show more than it stores, or of the kernel's, which does not."""
    if fields is None:
        return None
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return SimpleNamespace(**values) if kind is None else kind(**values)
