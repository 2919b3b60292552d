"""People: scripted policies for seats, and the kernel's records of what they have been asked and will do.

A scripted person is asked when a request arrives; its act is put on the agenda and its right to act is checked again
when it is due. A model or a learner can take the same seat and acts through the same gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.tools import Request


class Opening(NamedTuple):
    """What a person says unasked: the act, the role it speaks as, and from when to when (seconds from the start)."""

    act: str
    role: str
    after: tuple[int, int]


class Persona(NamedTuple):
    """A scripted person as data. Delays are simulated seconds; `turn_cap` ends talk, not promised deliveries.

    `held_back` gives (fact, releasing rule) pairs; `answers` gives (request kind, act) pairs for a seat's policy; `opens`
    is what it says unasked, None for nothing.
    """

    id: str
    version: str
    seat: str
    persona: str
    demand: str
    held_back: tuple[tuple[str, str], ...]
    end: str
    turn_cap: int
    delay: tuple[int, int]
    answers: tuple[tuple[str, str], ...]
    opens: Opening | None = None


class PersonaState(NamedTuple):
    """A person's state in the world: turns taken and repeats heard; `pace` (seconds) is drawn at the start."""

    id: str
    persona: str
    pace: int
    turns: int
    repeats: int


class AgendaItem(NamedTuple):
    """An act of a seat that falls due at `due` (simulated seconds), caused by the call with seq `ref` (0: by none)."""

    id: str
    due: int
    seat: str
    call: ToolCall
    rule: str
    ref: int


class Message(NamedTuple):
    """What one party told another: `to` is the seat that hears it, `sender` a seat or person, `person` the person's end.

    `about` is the id of a record; `note` is free text that no check reads.
    """

    id: str
    to: str
    sender: str
    person: str
    act: str
    about: str
    at: int
    note: str


class PersonReply(NamedTuple):
    """A scripted person's decision: the numbered rule it follows, the delay in seconds, and the act, None for silence.

    `repeats` marks that it was asked the same again.
    """

    rule: str
    delay: int
    act: ToolCall | None
    repeats: bool = False


class PutBefore(NamedTuple):
    """Data of an `asked` event: what was put before whom, and the rule by which it will answer."""

    seat: str
    kind: str
    about: str
    rule: str


Policy = Callable[[Any, Request, Persona, PersonaState, Callable[[PersonaState, int], int]], PersonReply]
"""`policy(view, request, persona, state, delay)`: `delay(state, turn)` draws that turn's delay from the interaction seed."""

SPEAK = "speak"
"""The tool by which a person says something unasked; it takes `person` and `act`."""

UNASKED = "H-0"
"""The rule that an opening follows."""

OUTSIDE = "outside"
"""The persona name of a seat that code outside plays through `Episode.call(call, seat=...)`."""
