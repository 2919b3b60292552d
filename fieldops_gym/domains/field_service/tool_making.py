"""What tools are made of: latencies, what a caller may rely on, and how the stubs differ from real systems."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.tools import Consequence, Fidelity, Latency, Ref, Semantics, Tool

READ = Latency(2, 3)
SEND = Latency(4, 6)

INFORMATIONAL, PROPOSAL = Consequence.INFORMATIONAL, Consequence.PROPOSAL

FRESH = Semantics("Safe to repeat.", "Current at the moment of the answer.")
PERSON = Ref("person", "Who.", ("person",))
THE_PROPOSAL = Ref("proposal", "Which proposal.", ("proposal",))
THE_RESERVATION = Ref("reservation", "Which reservation.", ("reservation",))
THE_EQUIPMENT = Ref("equipment", "Which machine.", ("equipment",))

INSTANT = Fidelity(
    "answers late, in pages, and at times not at all",
    "answers whole after a fixed few seconds unless a fault says otherwise",
    "no paging, no partial outage",
    "more lenient",
    ("trajectory.current_evidence",),
)
ONE_COPY = Fidelity(
    "replicas disagree for a while after a write",
    "one copy; only `reconcile` can lag, under a fault",
    "no read-your-writes anomalies elsewhere",
    "more lenient",
    ("trajectory.verified_before_told", "recovery.reconcile_before_resend"),
)
PEOPLE = Fidelity(
    "people misread, forget, bargain and answer in free text",
    "a rule answers in typed acts after a drawn delay",
    "no persuasion, fatigue or misunderstanding beyond the persona",
    "more lenient",
    ("authority.basis_shown", "account.told_true"),
)
KEEPS_KEYS = Fidelity(
    "idempotency keys expire and may be scoped to a session",
    "keys are kept for the whole run",
    "no expired key",
    "more lenient",
    ("effect.at_most_once", "recovery.same_key"),
)
STRICT_HASH = Fidelity(
    "approvals may cover a range of plans",
    "an approval binds one exact proposal",
    "any change needs a new approval",
    "stricter",
    ("authority.live_at_commit",),
)


def make_tool(name: str, description: str, handler: Any, *args: Any, **fields: Any) -> Tool:
    """Return a tool that reads at once within the delegation, unless `fields` say otherwise."""
    defaults: dict[str, Any] = {
        "version": "1", "scope": "read", "consequence": INFORMATIONAL, "latency": READ, "semantics": FRESH,
        "fidelity": (INSTANT,),
    }  # fmt: skip
    return Tool(name=name, description=description, args=args, handler=handler, **(defaults | fields))
