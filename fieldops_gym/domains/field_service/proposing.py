"""What the tools of drafting and proposing do, and those that put something before people."""

from __future__ import annotations

from typing import NamedTuple

from fieldops_gym.core.calls import Code
from fieldops_gym.core.canonical import digest
from fieldops_gym.core.passage import Context
from fieldops_gym.core.tools import AT_COMMIT, Outcome, Request, Showing
from fieldops_gym.core.world import Write, make
from fieldops_gym.domains.field_service.handlers import Asked
from fieldops_gym.domains.field_service.records import ApprovalRequest, Draft, Proposal, Review
from fieldops_gym.domains.field_service.rules import (
    APPROVAL_SECONDS,
    MAX_PROPOSALS,
    MAX_REQUESTS_EACH,
    draft_of,
    live_approval,
    workflow_of,
)
from fieldops_gym.domains.field_service.service import show

REVIEW = "review"
"""What the review desk is asked about."""


class Drafted(NamedTuple):
    """What `draft` answers when the draft has changed: which field, and what was put there."""

    field: str
    ref: str


class Migrated(NamedTuple):
    """What `migrate` answers: the proposal carried over, and what it is now."""

    proposal: str
    now: str


def draft(context: Context, field: str, ref: str) -> Outcome:
    """Put a reference into the draft and show the whole draft."""
    old = draft_of(context.world)
    part, slot, citations, alternatives = old[1:]
    if field == "part":
        part = ref
    elif field == "slot":
        slot = ref
    elif field == "citation":
        citations = tuple(sorted({*citations, ref}))
    else:
        alternatives = tuple(sorted({*alternatives, ref}))
    new = make(Draft, (old.id, part, slot, citations, alternatives))
    if new == old:
        return Outcome(shown=(show(context, "draft", old.id),))
    writes, shown = (make(Write, ("draft", new.id, new)),), (make(Showing, ("draft", new, 1, AT_COMMIT)),)
    return Outcome(writes, shown, Drafted(field, ref))


def propose(context: Context) -> Outcome:
    """Freeze the draft under the hash of its exact content."""
    tables, old = context.world.tables, draft_of(context.world)
    missing = [name for name, value in (("part", old.part), ("slot", old.slot), ("citation", old.citations)) if not value]
    if missing:
        return Outcome(code=Code.INCOMPLETE, expected=f"a draft with {', '.join(missing)}")
    incident = tables["incident"][context.scenario.roles["incident"][0]]
    workflow = workflow_of(tables)
    content = (incident.id, incident.equipment, old.part, old.slot, old.citations, old.alternatives, workflow)
    frozen = digest(content)[:16]
    same = next((p for p in tables["proposal"].values() if p.hash == frozen and p.status == "frozen"), None)
    if same is not None:
        return Outcome(shown=(show(context, "proposal", same.id),))
    stock = (("part", old.part, tables["part"][old.part].quantity), ("slot", old.slot, tables["slot"][old.slot].free))
    gone = [(name, key) for name, key, left in stock if left <= 0]
    if gone:
        shown = tuple([show(context, name, key, 0) for name, key in gone])
        return Outcome(code=Code.CONFLICT, expected=f"a {gone[0][0]} that is still to be had", shown=shown)
    number = len(tables["proposal"])
    if number >= MAX_PROPOSALS:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_PROPOSALS} proposals for one incident")
    key = f"prp-{context.ids.token('proposal', context.seat, number)}"
    made = Proposal(
        key, incident.tenant, frozen, f"key-{frozen}", incident.id, incident.equipment, old.part, old.slot, old.citations,
        old.alternatives, "compensatable", workflow, "frozen", context.seat, context.now,
    )  # fmt: skip
    return Outcome((Write("proposal", key, made),), (Showing("proposal", made, 1, AT_COMMIT),))


def withdraw(context: Context, proposal: str) -> Outcome:
    """Take a proposal back; nothing can be reserved under it any more."""
    old: Proposal = context.world.tables["proposal"][proposal]
    if old.status != "frozen":
        return Outcome(code=Code.CONFLICT, expected="a proposal that is frozen")
    if any(made.proposal == proposal for made in context.world.tables["reservation"].values()):
        return Outcome(
            code=Code.CONFLICT, expected="a proposal that nothing has been reserved under", reads=(("intent", old.key),)
        )
    new = old._replace(status="withdrawn")
    return Outcome((Write("proposal", new.id, new),), (Showing("proposal", new, 1, AT_COMMIT),))


def request_approval(context: Context, proposal: str, person: str) -> Outcome:
    """Put a proposal before a person, who answers by message."""
    tables = context.world.tables
    plan: Proposal = tables["proposal"][proposal]
    if plan.status != "frozen":
        return Outcome(code=Code.CONFLICT, expected="a proposal that is frozen")
    earlier = [r for r in tables["request"].values() if r.proposal == proposal]
    if live_approval(tables, plan, context.now) is not None:
        return Outcome(code=Code.CONFLICT, expected="a proposal that has no live approval yet")
    answered = {approval.request for approval in tables["approval"].values()}
    lapsed = context.now - APPROVAL_SECONDS
    if any(r.person == person and r.id not in answered and r.at > lapsed for r in earlier):
        expected = "a person who has not been asked yet, has answered, or has let the request lapse"
        return Outcome(code=Code.CONFLICT, expected=expected)
    if len(earlier) >= MAX_REQUESTS_EACH:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_REQUESTS_EACH} requests for one proposal")
    key = f"req-{context.ids.token('request', proposal, len(earlier))}"
    made = ApprovalRequest(key, proposal, plan.hash, person, context.now)
    seat = tables["person"][person].seat
    facts = Asked(person, proposal, context.now)
    return Outcome((Write("request", key, made),), (), facts, (Request(seat, "approval", key),))


def request_review(context: Context, incident: str) -> Outcome:
    """Put the conflict of editions behind an incident before the review desk, which answers by message."""
    key = f"rvw-{context.ids.token('review', incident)}"
    if key in context.world.tables["review"]:
        return Outcome(code=Code.CONFLICT, expected="a matter that has not been put before the review desk")
    person = context.scenario.roles["reviewer"][0]
    made = Review(key, incident, person, context.now)
    facts = Asked(person, REVIEW, context.now)
    return Outcome((Write("review", key, made),), (), facts, (Request("reviewer", "review", key),))


def migrate(context: Context, proposal: str) -> Outcome:
    """Carry a proposal over to the workflow in force, and with it what was decided on it."""
    tables, old = context.world.tables, context.world.tables["proposal"][proposal]
    workflow, number = workflow_of(tables), len(tables["proposal"])
    if old.status != "frozen" or old.workflow == workflow:
        return Outcome(code=Code.CONFLICT, expected="a frozen proposal of an earlier workflow")
    if number >= MAX_PROPOSALS:
        return Outcome(code=Code.LIMIT, expected=f"at most {MAX_PROPOSALS} proposals for one incident")
    content = (old.incident, old.equipment, old.part, old.slot, old.citations, old.alternatives, workflow)
    frozen, key = digest(content)[:16], f"prp-{context.ids.token('proposal', context.seat, number)}"
    new = old._replace(id=key, hash=frozen, key=f"key-{frozen}", workflow=workflow, at=context.now)
    gone = old._replace(status="migrated")
    carried = [
        a._replace(id=f"apr-{context.ids.token('carried', a.id)}", proposal=key, hash=frozen)
        for a in tables["approval"].values()
        if a.proposal == proposal
    ]
    writes = [Write("proposal", new.id, new), Write("proposal", gone.id, gone), *[Write("approval", a.id, a) for a in carried]]
    shown = [Showing(w.table, w.record, 1, AT_COMMIT) for w in writes]
    return Outcome(tuple(writes), tuple(shown), Migrated(proposal, key))
