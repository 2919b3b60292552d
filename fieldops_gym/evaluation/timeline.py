"""A trace as a timeline: one typed row per event, in order, with words that a reader needs. How it looks is decided elsewhere.

Records are told from the log; where the start's tables are known as well (`start`), what a write changed is told too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from fieldops_gym.core.calls import MESSAGES
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.people import OUTSIDE
from fieldops_gym.evaluation.evidence import call_text, printable
from fieldops_gym.evaluation.rulings import Ruling
from fieldops_gym.evaluation.traces import Trace

QUIET = frozenset({"agenda", "meters", "persona"})
"""Tables of the kernel whose writes are told in other words, or not at all."""

TELLING = ("status", "disposition", "act", "kind")
"""Fields that say most of a record; the first one that it has goes with its name."""

COUNTED = {"effect_attempts": "effect attempt", "retries": "retry"}
"""Meters that few calls are charged to, so that it is worth telling which were."""

LONGEST = 60
"""Characters of a value; the whole value is in the trace."""


class RowKind(StrEnum):
    """What a row is. Every event of a log is a row; kinds that are not known here are `OTHER`."""

    CALL = "call"
    RESULT = "result"
    COMMIT = "commit"
    FAULT = "fault"
    ASKED = "asked"
    ACT = "act"
    AGENDA = "agenda"
    INTENT = "intent"
    EXHAUSTED = "exhausted"
    CRASH = "crash"
    RESTART = "restart"
    END = "end"
    OTHER = "other"


class Row(NamedTuple):
    """One event: its seq, simulated second, kind and actor, and what it was in words.

    `call` is the seq of the call that caused it (0: none). `status` is a result's status, else ''. `seconds` is how long a
    call took, in a result. `cited` names the broken invariants that give this event as evidence.
    """

    seq: int
    at: int
    kind: RowKind
    actor: str
    text: str
    call: int = 0
    status: str = ""
    seconds: int = 0
    cited: tuple[str, ...] = ()


def timeline(
    trace: Trace,
    ruled: Sequence[Ruling] = (),
    start: Mapping[str, Mapping[str, Any]] | None = None,
    faults: Mapping[str, str] | None = None,
) -> tuple[Row, ...]:
    """Return a row per event of a trace.

    `ruled` are the verdicts whose evidence is to be marked, `start` the tables at the start, and `faults` says of each fault
    by its id what it does to the world.
    """
    cited: dict[int, list[str]] = {}
    for ruling in ruled:
        for seq in ruling.events if ruling.broken else ():
            cited.setdefault(seq, []).append(ruling.invariant)
    teller = _Teller(start, faults or {})
    return tuple(row._replace(cited=tuple(cited.get(row.seq, ()))) for row in map(teller.row, trace.events))


class _Teller:
    """Tells events in words, one after the other, since what a write changed depends on those before."""

    def __init__(self, start: Mapping[str, Mapping[str, Any]] | None, faults: Mapping[str, str]) -> None:
        self._start, self._faults = start, faults
        self._records: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        self._began: dict[int, int] = {}
        self._said: dict[int, list[Any]] = {}
        self._fired: set[str] = set()
        self._tell: dict[str, Callable[[Mapping[str, Any]], str]] = {
            RowKind.CALL: self._call,
            RowKind.RESULT: self._result,
            RowKind.COMMIT: lambda event: self._writes(event) or "nothing was written",
            RowKind.FAULT: self._fault,
            RowKind.ASKED: self._asked,
            RowKind.ACT: self._act,
            RowKind.AGENDA: lambda event: _planned(event, ""),
            RowKind.INTENT: lambda event: f"{event['data']['tool']}({', '.join(_short(v) for v in event['data']['values'])})",
            RowKind.EXHAUSTED: _exhausted,
            RowKind.CRASH: lambda event: f"the process of the {event['data']} dies",
            RowKind.RESTART: lambda event: (
                f"started again with brief and journal only{self._shown(event['data'], '; brief: ')}"
            ),
            RowKind.END: _end,
        }

    def row(self, event: Mapping[str, Any]) -> Row:
        """Return the row of the next event."""
        seq, at, kind = event["seq"], event["at"], event["kind"]
        tell = self._tell.get(kind)
        text = printable(tell(event) if tell else f"{kind}; {self._writes(event) or 'nothing was written'}")
        for write in event["writes"]:
            self._records[write["table"], write["id"]] = write["record"]
        known = RowKind(kind) if tell else RowKind.OTHER
        if known == RowKind.CALL:
            self._began[seq], self._said[seq] = at, [value for _, value in event["data"]["args"]]
        status = event["data"]["reply"]["status"] if known == RowKind.RESULT else ""
        seconds = at - self._began.get(event["ref"], at) if known == RowKind.RESULT else 0
        return Row(seq, at, known, printable(event["actor"]), text, event["ref"], status, seconds)

    def _call(self, event: Mapping[str, Any]) -> str:
        spent = []
        for write in event["writes"]:
            before = self._before(write["table"], write["id"]) or {}
            counts = {name: write["record"][name] for name in COUNTED if name in (write["record"] or {})}
            spent += [f"{COUNTED[name]} {count}" for name, count in counts.items() if count != before.get(name, 0)]
        text = _cut(call_text(event["data"]), 3 * LONGEST)
        return f"{text} [{', '.join(spent)}]" if spent else text

    def _result(self, event: Mapping[str, Any]) -> str:
        reply = event["data"]["reply"]
        path = f"{reply['path']}: " if reply["path"] else ""
        why = f" [{path}{reply['expected']}]" if reply["expected"] else ""
        words = [f"{_spaced(reply['code'])}: {MESSAGES.get(reply['code'], '')}{why}"] if reply["code"] else []
        facts = _facts(reply["facts"], self._said.get(event["ref"], ()))
        return "; ".join(word for word in (*words, facts, self._shown(reply["shown"], "shows ")) if word)

    def _fault(self, event: Mapping[str, Any]) -> str:
        data = event["data"]
        self._fired.add(data["fault"])
        values = "".join(f", {name}={_short(value)}" for name, value in data["values"])
        does = self._faults.get(data["fault"], "")
        struck = f"{data['fault']} strikes, {_spaced(data['boundary'])}: {_spaced(data['effect'])}"
        return f"{struck}{values}{f' ({does})' if does else ''}"

    def _asked(self, event: Mapping[str, Any]) -> str:
        put, shown = event["data"]
        kind = f"{put['kind']} {put['about']}{self._shown(shown, ', with ', but=put['about'])}"
        planned = _planned(event, f" by rule {put['rule']}")
        silent = "somebody outside answers" if put["rule"] == OUTSIDE else f"will not answer, by rule {put['rule']}"
        return f"{kind}; {planned or silent}"

    def _act(self, event: Mapping[str, Any]) -> str:
        data, writes = event["data"], self._writes(event)
        asked = f", asked in #{event['ref']}" if event["ref"] else ""
        by = f"by fault {data['rule']}" if data["rule"] in self._fired else f"by rule {data['rule']}{asked}"
        refused = f"refused, {data['code']}: {MESSAGES.get(data['code'], '')}" if data["code"] else ""
        return f"{call_text(data['call'])} {by}; {refused or writes or 'nothing changes'}"

    def _before(self, table: str, key: str) -> Mapping[str, Any] | None:
        if (table, key) in self._records:
            return self._records[table, key]
        record = (self._start or {}).get(table, {}).get(key)
        return None if record is None else plain(record)

    def _writes(self, event: Mapping[str, Any]) -> str:
        told: dict[str, list[str]] = {}
        for write in event["writes"]:
            table, key, record = write["table"], write["id"], write["record"]
            if table in QUIET:
                continue
            known = self._start is not None or (table, key) in self._records
            before = self._before(table, key)
            verb = "deletes" if record is None else "writes" if not known else "changes" if before else "makes"
            change = f": {_change(before, record)}" if verb == "changes" and before and record else ""
            told.setdefault(verb, []).append(f"{table} {key}{_telling(record) if verb != 'changes' else ''}{change}")
        return "; ".join(f"{verb} {', '.join(names)}" for verb, names in told.items())

    def _shown(self, shown: Sequence[Mapping[str, Any]], lead: str, but: str = "") -> str:
        by_table: dict[str, list[str]] = {}
        for ref in shown:
            if ref["id"] != but:
                record = self._before(ref["table"], ref["id"]) if ref["version"] else None
                by_table.setdefault(ref["table"], []).append(f"{ref['id']}{_telling(record)}")
        named = [
            f"{len(keys)} x {table}" if len(keys) > 2 else f"{table} {' and '.join(keys)}" for table, keys in by_table.items()
        ]
        return f"{lead}{', '.join(named)}" if named else ""


def _planned(event: Mapping[str, Any], by: str) -> str:
    """Return what an event puts on the agenda."""
    items = [w["record"] for w in event["writes"] if w["table"] == "agenda" and w["record"] is not None]
    return ", ".join(f"{item['seat']} will {call_text(item['call'])} at {item['due']} s{by}" for item in items)


def _exhausted(event: Mapping[str, Any]) -> str:
    data = event["data"]
    return f"no {_spaced(data['meter'])} left; the card's fallback: {data['fallback']}"


def _end(event: Mapping[str, Any]) -> str:
    data = event["data"]
    account = data["account"]
    said = f"{account['disposition']} about {account['subject'] or 'nothing'}, said by the {account['by']}"
    return f"{data['ending']}; account: {said}; pending: {', '.join(data['pending']) or 'nothing'}"


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    changes = []
    for name, value in after.items():
        old = before.get(name)
        if old == value:
            continue
        if isinstance(old, list) and isinstance(value, list):
            changes += [f"{name} +{_short(item)}" for item in value if item not in old]
            changes += [f"{name} -{_short(item)}" for item in old if item not in value]
        else:
            changes.append(f"{name} {_short(old)} -> {_short(value)}")
    return ", ".join(changes) or "nothing"


def _telling(record: Mapping[str, Any] | None) -> str:
    words = [str(record[name]) for name in TELLING if record.get(name)] if record else []
    return f" ({words[0]})" if words else ""


def _facts(facts: Any, said: Sequence[Any]) -> str:
    """Return facts beyond records as name=value, but for those that only repeat what the call said."""
    if not isinstance(facts, Mapping):
        return "" if facts is None else _short(facts)
    return ", ".join(f"{name}={_short(value)}" for name, value in facts.items() if value == "" or value not in said)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        many = len(value) > 2 or any(isinstance(item, (list, Mapping)) for item in value)
        return f"{len(value)} item{'' if len(value) == 1 else 's'}" if many else "+".join(map(str, value)) or "none"
    return "none" if value in ("", None) else _cut(str(value), LONGEST)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
