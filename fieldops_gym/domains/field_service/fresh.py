"""The truth about plans that have gone stale: their stock is gone, their approval lapsed, or their workflow is not in force."""

from __future__ import annotations

from fieldops_gym.core.calls import Code
from fieldops_gym.core.domain import Ending
from fieldops_gym.core.judging import Trial
from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service import plans, rules
from fieldops_gym.domains.field_service.history import deployment_told, when_said
from fieldops_gym.domains.field_service.policies import ESCALATE
from fieldops_gym.domains.field_service.rules import LEAD


def endings(trial: Trial, proposals: tuple[str, ...], incident: str) -> list[Ending]:
    """Return the right endings of a repair without effect whose first plan went stale; none where it did not."""
    tables, roles = when_said(trial), trial.scenario.roles
    found = []
    since = stale_since(trial, tables)
    if since:
        asked = {r.proposal for r in tables["request"].values() if r.at >= since}
        right = tuple(
            key
            for key, plan in tables["proposal"].items()
            if plans.does(plan, tables, roles) and (plan.at >= since or key in asked) and is_in_force(tables, key)
        )
        if right:
            found.append(Ending("proposed", right, "a fresh plan in the place of one that went stale"))
    if not plans.fitting_parts(tables, roles) or not plans.fitting_slots(tables, roles):
        found.append(Ending("escalated", (*proposals, incident), "no part, or no slot, does any more"))
    by_seat = trial.account is not None and trial.account.by == LEAD
    known = not by_seat or bool(deployment_told(trial))
    if known and tables["policy"]["pol-deploy"].value == ESCALATE and any(not is_in_force(tables, key) for key in proposals):
        found.append(Ending("escalated", (*proposals, incident), "policy has proposals of an earlier workflow escalated"))
    return found


def is_in_force(tables: Tables, proposal: str) -> bool:
    """Whether a proposal was made under the workflow that is in force."""
    return tables["proposal"][proposal].workflow == rules.workflow_of(tables)


def stale_since(trial: Trial, tables: Tables) -> int:
    """Return the first second at which the seat heard that its plan was stale, 0 if it heard no such thing.

    That is an approval that came when its request had lapsed, or a dispatch refused since the part or slot was gone.
    """
    late = [
        a.at
        for a in tables["approval"].values()
        if a.disposition == "approved" and a.at >= a.expires and rules.may_approve(tables["person"][a.by], _tenant(trial))
    ]
    refused = [
        made.replied_at
        for made in trial.calls(LEAD)
        if made.call.tool == "reserve" and made.reply is not None and made.reply.code == Code.CONFLICT
    ]
    return min(late + refused, default=0)


def _tenant(trial: Trial) -> str:
    return trial.world.tables["incident"][trial.scenario.roles["incident"][0]].tenant
