"""Evidence for people: each broken invariant with its rule, what was expected, what was, and the events that prove it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fieldops_gym.evaluation.traces import Trace

LONGEST = 160
"""Characters of an event's text; the whole event is in the trace."""

NAMED = 2
"""Records named of those that an event wrote or showed."""


class Cited(NamedTuple):
    """An event that a verdict cites: its seq, simulated second, actor, kind, and a short text of what it was."""

    seq: int
    at: int
    actor: str
    kind: str
    text: str


class Breach(NamedTuple):
    """A broken invariant that failed a trial. `policy` is the id of the rule behind it, `rule` that rule's text."""

    invariant: str
    severity: str
    policy: str
    rule: str
    expected: str
    actual: str
    events: tuple[Cited, ...]
    records: tuple[str, ...]


def breaches(trace: Trace) -> tuple[Breach, ...]:
    """Return what failed a trial, from its trace, in the order of verdicts."""
    by_seq = {event["seq"]: event for event in trace.events}
    answers = {event["ref"]: event for event in trace.events if event["kind"] == "result"}
    return tuple(
        Breach(
            verdict["invariant"],
            verdict["severity"],
            verdict["policy"],
            verdict["rule"],
            printable(verdict["expected"]),
            printable(verdict["actual"]),
            tuple(_cited(by_seq[seq], answers.get(seq)) for seq in verdict["events"]),
            tuple(f"{table} {key}" for table, key in verdict["records"]),
        )
        for verdict in trace.grade["verdicts"]
        if verdict["state"] == "broken" and verdict["severity"] != "advisory"
    )


def printable(text: str) -> str:
    """Return `text` with whatever is not printable (an agent may send anything) replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _cited(event: Mapping[str, Any], answer: Mapping[str, Any] | None) -> Cited:
    text = printable(_text(event))
    if answer is not None:
        text += f" -> {_reply(answer['data']['reply'])}"
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return Cited(event["seq"], event["at"], event["actor"], event["kind"], text)


def _text(event: Mapping[str, Any]) -> str:
    """Return what an event was, by its kind; a kind that is not known here is told by its writes."""
    data, kind = event["data"], event["kind"]
    if kind == "call":
        return call_text(data)
    if kind == "act":
        return f"{call_text(data['call'])} by rule {data['rule']}{_refused(data['code'])}"
    if kind == "commit":
        return f"{data}{_writes(event['writes'])}"
    if kind == "intent":
        return f"about to send {data['tool']}({', '.join(map(str, data['values']))})"
    if kind == "fault":
        return f"{data['fault']} at {data['boundary']}: {data['effect']}"
    if kind == "result":
        return f"{_reply(data['reply'])}{_shown(data['reply']['shown'])}"
    if kind == "asked":
        return f"{data[0]['kind']} {data[0]['about']}, to be answered by rule {data[0]['rule']}"
    if kind == "end":
        account = data["account"]
        return f"{data['ending']}: {account['disposition']} about {account['subject'] or 'nothing'}, said by {account['by']}"
    return f"{kind}{_writes(event['writes'])}"


def call_text(call: Mapping[str, Any]) -> str:
    """Return a call in the JSON form of a trace as people read it."""
    if call["malformed"]:
        return f"{call['tool'] or 'a call'} that cannot be read; expected was {call['malformed']}"
    return f"{call['tool']}({', '.join(f'{name}={_value(value)}' for name, value in call['args'])})"


def _value(value: Any) -> str:
    # What no argument can take is kept as its kind and the start of its text.
    return f"{value['kind']} {value['text']!r}" if isinstance(value, Mapping) else str(value)


def _reply(reply: Mapping[str, Any]) -> str:
    return " ".join(word for word in (reply["status"], reply["code"]) if word)


def _refused(code: str) -> str:
    return f", refused: {code}" if code else ""


def _writes(writes: list[Mapping[str, Any]]) -> str:
    if not writes:
        return ""
    named = [f"{w['table']} {w['id']}{' (deleted)' if w['record'] is None else ''}" for w in writes[:NAMED]]
    return f" wrote {_listed(named, len(writes))}"


def _shown(shown: list[Mapping[str, Any]]) -> str:
    named = [f"{s['table']} {s['id']}" for s in shown[:NAMED]]
    return f", showed {_listed(named, len(shown))}" if shown else ""


def _listed(named: list[str], count: int) -> str:
    return ", ".join(named) + (f" and {count - len(named)} more" if count > len(named) else "")
