"""The tools of people and of others at the desk's services, as tables."""

from __future__ import annotations

from fieldops_gym.core.tools import Choice, Consequence, Ref, Semantics, Tool
from fieldops_gym.domains.field_service import answering, rivals
from fieldops_gym.domains.field_service.tool_making import KEEPS_KEYS, PEOPLE, PERSON, THE_PROPOSAL, make_tool

SAYINGS = ("acknowledged", "answered", "declined", "insisted")
"""What people say."""

PERSON_TOOLS: tuple[Tool, ...] = (
    make_tool("idle", "Let the turn pass.", answering.idle),
    make_tool(
        "speak",
        "Say something unasked.",
        answering.speak,
        PERSON,
        Choice("act", "What you say.", SAYINGS),
        fidelity=(PEOPLE,),
        semantics=Semantics("Saying the same again changes nothing.", "Heard when it is read."),
    ),
    make_tool(
        "decide",
        "Decide on a request that was put before you.",
        answering.decide,
        Ref("request", "Which request.", ("request",)),
        Choice("disposition", "Your decision.", ("approved", "rejected", "declined")),
        fidelity=(PEOPLE,),
        semantics=Semantics("A second decision is refused.", "Takes hold at once.", (("conflict", "it has been decided"),)),
    ),
    make_tool(
        "say",
        "Answer a message.",
        answering.say,
        Ref("message", "Which message.", ("message",)),
        Choice("act", "Your answer.", SAYINGS),
        fidelity=(PEOPLE,),
        semantics=Semantics("A second answer is refused.", "Heard when it is read.", (("conflict", "it has been answered"),)),
    ),
)

STATE = make_tool(
    "state",
    "Answer a message with what you know.",
    answering.state,
    Ref("message", "Which message.", ("message",)),
    Ref("knowledge", "What you know.", ("knowledge",)),
    fidelity=(PEOPLE,),
    semantics=Semantics("Saying the same again changes nothing.", "Heard when it is read."),
)

REQUESTER_TOOLS: tuple[Tool, ...] = (
    *PERSON_TOOLS,
    make_tool(
        "cancel",
        "Take the request back.",
        answering.cancel,
        fidelity=(PEOPLE,),
        semantics=Semantics("A second time is refused.", "Takes hold at once.", (("conflict", "it has been cancelled"),)),
    ),
)

RIVAL_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "claim_key",
        "Use the key of a proposal for other content.",
        rivals.claim_key,
        THE_PROPOSAL,
        Choice("by", "A colleague for the same incident, or a stranger for one of another tenant.", ("colleague", "stranger")),
        Choice("left", "What becomes of the reservation.", ("active", "compensated")),
        consequence=Consequence.COMPENSATABLE,
        fidelity=(KEEPS_KEYS,),
        semantics=Semantics("A second claim is refused.", "Takes hold at once.", (("conflict", "policy forbids it"),)),
    ),
    make_tool(
        "take_stock",
        "Reserve the part or the slot that this desk has in its plan, for an incident of another tenant.",
        rivals.take_stock,
        Choice("what", "Which of the two.", ("part", "slot")),
        consequence=Consequence.COMPENSATABLE,
        fidelity=(KEEPS_KEYS,),
        semantics=Semantics("A second time takes another one.", "Takes hold at once.", (("conflict", "none is left"),)),
    ),
)
