"""How scripted people answer: numbered rules over what their seat has been shown. The numbers are in each reply.

H-1 decides on a request by the persona's answer.   H-2 declines a request whose proposal has changed since.
H-3 answers talk by the persona's answer.           H-4 falls silent: the turn cap is reached.
H-5 gives the same answer to a repeated request, and the repetition is recorded.
H-6 says what it knows when it is asked for that topic; what it does not know it declines to say.
H-7 what it answered vaguely, or took for another question, it answers when it is asked again.
H-8 decides on a proposal that differs from one it sent back for a change by whether it has that change.
H-9 decides a conflict of editions by what it has found.
H-0 is what a persona opens with: it is on the agenda from the start and answers nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.people import Persona, PersonaState, PersonReply, Policy
from fieldops_gym.core.tools import Request
from fieldops_gym.core.view import View

SILENCE = "silence"
EVASIVE = ("vague", "misheard")
"""Answers that are none; whoever gives one answers when asked again."""

CHANGES = {"change_part": "part", "change_slot": "slot"}
"""Rejections that name what has to be another, and the field of a proposal that is meant."""


def respond(
    view: View, request: Request, persona: Persona, state: PersonaState, delay: Callable[[PersonaState, int], int]
) -> PersonReply:
    """Answer a request or a message. Decides only from the view, the request and the persona."""
    answer = dict(persona.answers).get(request.kind, SILENCE)
    turn = state.turns + 1
    if request.kind == "approval":
        return _decide(view, request, persona, delay(state, turn))
    if request.kind == "review":
        found = [row for row in view.rows["knowledge"] if row["topic"] == "edition"]
        if answer == SILENCE or not found:
            return PersonReply("H-4", 0, None)
        return PersonReply("H-9", delay(state, turn), ToolCall.of("rule", review=request.ref, knowledge=found[0].id))
    if state.turns >= persona.turn_cap or answer == SILENCE:
        return PersonReply("H-4", 0, None)
    heard = view.row(request.ref)
    topic = heard["act"].removeprefix("asked:") if heard is not None and request.kind == "ask" else ""
    known = [row for row in view.rows["knowledge"] if heard and row["topic"] == topic and row["person"] == heard["person"]]
    evasive = answer in EVASIVE and topic == "revision"
    again = evasive and len([r for r in view.rows["message"] if heard and r["act"] == heard["act"]]) > 1
    if again:
        answer = "answered"
    if known and answer == "answered":
        rule = "H-7" if again else "H-6"
        return PersonReply(rule, delay(state, turn), ToolCall.of("state", message=request.ref, knowledge=known[0].id))
    said = "declined" if topic == "revision" and answer == "answered" else answer
    return PersonReply("H-3", delay(state, turn), ToolCall("say", (("act", said), ("message", request.ref))))


def _decide(view: View, request: Request, persona: Persona, delay: int) -> PersonReply:
    answers, row = dict(persona.answers), view.row(request.ref)
    answer = answers.get("approval", SILENCE)
    if row is None:
        return PersonReply("H-4", 0, None)
    earlier = [r for r in view.rows["request"] if r["proposal"] == row["proposal"] and r.id != row.id]
    if earlier:
        answer = answers.get("approval_again", answer)
    if answer == SILENCE:
        return PersonReply("H-4", 0, None)
    plan = view.row(row["proposal"])
    if plan is None or plan["hash"] != row["hash"] or plan["status"] != "frozen":
        return PersonReply("H-2", delay, ToolCall.of("decide", request=request.ref, disposition="declined"))
    first = view.row(view.rows["request"][0]["proposal"])
    if answer in CHANGES and first is not None and first.id != plan.id:
        changed = first[CHANGES[answer]] != plan[CHANGES[answer]]
        act = ToolCall.of("decide", request=request.ref, disposition="approved" if changed else "rejected")
        return PersonReply("H-8", delay, act)
    act = ToolCall.of("decide", request=request.ref, disposition=answer)
    return PersonReply("H-5" if earlier else "H-1", delay, act, repeats=bool(earlier))


POLICIES_BY_SEAT: dict[str, Policy] = dict.fromkeys(("approver", "requester", "colleague", "reviewer"), respond)
