"""The tools of people and of others at the desk's services, as tables."""

from __future__ import annotations

from fieldops_gym.core.tools import Choice, Consequence, Ref, Semantics, Tool
from fieldops_gym.domains.field_service import answering, rivals
from fieldops_gym.domains.field_service.tool_making import KEEPS_KEYS, PEOPLE, PERSON, THE_PROPOSAL, make_tool

SAYINGS = ("acknowledged", "answered", "declined", "insisted", "vague", "misheard")
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
        Choice("disposition", "Your decision.", ("approved", "rejected", "declined", "change_part", "change_slot")),
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

VOUCH = make_tool(
    "vouch",
    "Say yes to a proposal that you have no say in.",
    answering.vouch,
    THE_PROPOSAL,
    fidelity=(PEOPLE,),
    semantics=Semantics("A second time is refused.", "Heard when it is read.", (("conflict", "you have said so"),)),
)

APPROVER_TOOLS: tuple[Tool, ...] = (
    *PERSON_TOOLS,
    make_tool(
        "repeat",
        "Send the yes to a proposal a second time.",
        answering.repeat,
        THE_PROPOSAL,
        fidelity=(PEOPLE,),
        semantics=Semantics("A third time changes nothing.", "Heard when it is read.", (("conflict", "it was not approved"),)),
    ),
    make_tool(
        "reject_late",
        "Answer a request for approval with no, after it has lapsed.",
        answering.reject_late,
        THE_PROPOSAL,
        fidelity=(PEOPLE,),
        semantics=Semantics("A second time changes nothing.", "Counts for nothing.", (("conflict", "it has not lapsed"),)),
    ),
)

COLLEAGUE_TOOLS: tuple[Tool, ...] = (*PERSON_TOOLS, VOUCH)

REVIEWER_TOOLS: tuple[Tool, ...] = (
    *PERSON_TOOLS,
    make_tool(
        "rule",
        "Decide which of two editions in conflict holds.",
        answering.rule,
        Ref("review", "Which matter.", ("review",)),
        Ref("knowledge", "What you have found.", ("knowledge",)),
        fidelity=(PEOPLE,),
        semantics=Semantics("A second decision is refused.", "Takes hold at once.", (("conflict", "it has been decided"),)),
    ),
)

REQUESTER_TOOLS: tuple[Tool, ...] = (
    *PERSON_TOOLS,
    VOUCH,
    make_tool(
        "ask_again",
        "Ask once more for what was asked for.",
        answering.ask_again,
        fidelity=(PEOPLE,),
        semantics=Semantics("Asking again changes nothing.", "Heard when it is read."),
    ),
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
    make_tool(
        "undo",
        "Undo the reservation that the desk has made.",
        rivals.undo,
        consequence=Consequence.COMPENSATABLE,
        semantics=Semantics("A second time is refused.", "Takes hold at once.", (("conflict", "there is none to undo"),)),
    ),
)

SUPERVISOR_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "take_over",
        "Take the work over from the desk.",
        rivals.take_over,
        semantics=Semantics("A second time is refused.", "Takes hold at once.", (("conflict", "it was taken over"),)),
    ),
    make_tool(
        "let_lapse",
        "Let the desk's delegation run out.",
        rivals.let_lapse,
        semantics=Semantics("A second time is refused.", "Takes hold at once.", (("conflict", "it has run out"),)),
    ),
)

OPERATIONS_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "deploy",
        "Put a later version of the workflow in force.",
        rivals.deploy,
        semantics=Semantics("A second time is refused.", "Takes hold at once.", (("conflict", "it is in force"),)),
    ),
    make_tool(
        "call_back",
        "Tell the desk that a reservation has been made.",
        rivals.call_back,
        Choice("of", "Which one: the desk's own, or another's.", ("own", "another")),
        semantics=Semantics("Telling again changes nothing.", "Heard when it is read.", (("conflict", "there is none"),)),
    ),
)
