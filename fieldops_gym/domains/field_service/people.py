"""How scripted people answer: numbered rules over what their seat has been shown. The numbers are in each reply.

H-1 decides on a request by the persona's answer.   H-2 declines a request whose proposal has changed since.
H-3 answers talk by the persona's answer.           H-4 falls silent: the turn cap is reached.
H-5 gives the same answer to a repeated request, and the repetition is recorded.
H-6 says what it knows when it is asked for that topic; what it does not know it declines to say.
H-0 is what a persona opens with: it is on the agenda from the start and answers nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.people import Persona, PersonaState, PersonReply, Policy
from fieldops_gym.core.tools import Request
from fieldops_gym.core.view import View

SILENCE = "silence"


def respond(
    view: View, request: Request, persona: Persona, state: PersonaState, delay: Callable[[PersonaState, int], int]
) -> PersonReply:
    """Answer a request or a message. Decides only from the view, the request and the persona."""
    answer = dict(persona.answers).get(request.kind, SILENCE)
    turn = state.turns + 1
    if request.kind == "approval":
        return _decide(view, request, answer, delay(state, turn))
    if state.turns >= persona.turn_cap or answer == SILENCE:
        return PersonReply("H-4", 0, None)
    heard = view.row(request.ref)
    topic = heard["act"].removeprefix("asked:") if heard is not None and request.kind == "ask" else ""
    known = [row for row in view.rows["knowledge"] if heard and row["topic"] == topic and row["person"] == heard["person"]]
    if known and answer == "answered":
        return PersonReply("H-6", delay(state, turn), ToolCall.of("state", message=request.ref, knowledge=known[0].id))
    said = "declined" if topic == "revision" and answer == "answered" else answer
    return PersonReply("H-3", delay(state, turn), ToolCall("say", (("act", said), ("message", request.ref))))


def _decide(view: View, request: Request, answer: str, delay: int) -> PersonReply:
    if answer == SILENCE:
        return PersonReply("H-4", 0, None)
    row = view.row(request.ref)
    if row is None:
        return PersonReply("H-4", 0, None)
    plan = view.row(row["proposal"])
    if plan is None or plan["hash"] != row["hash"] or plan["status"] != "frozen":
        return PersonReply("H-2", delay, ToolCall.of("decide", request=request.ref, disposition="declined"))
    earlier = [r for r in view.rows["request"] if r["proposal"] == row["proposal"] and r.id != row.id]
    act = ToolCall.of("decide", request=request.ref, disposition=answer)
    return PersonReply("H-5" if earlier else "H-1", delay, act, repeats=bool(earlier))


POLICIES_BY_SEAT: dict[str, Policy] = dict.fromkeys(("approver", "requester", "colleague"), respond)
