"""The truth about plans: which parts and slots do, and so which proposals are right, in the world as it has become."""

from __future__ import annotations

from collections.abc import Mapping

from fieldops_gym.core.domain import Ending
from fieldops_gym.core.judging import Trial
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.answers import right_answer
from fieldops_gym.domains.field_service.history import when_said
from fieldops_gym.domains.field_service.records import Part, Proposal, Slot

Roles = Mapping[str, tuple[str, ...]]

READS = ("query_asset", "search_manuals", "read_manual", "search_parts", "list_slots")
"""What every plan rests on."""


def fitting_parts(tables: Tables, roles: Roles) -> list[Part]:
    """Return the parts that do: of the prescribed kind, for the revision, in stock, in a depot that serves."""
    answer = right_answer(tables, roles)
    if answer.disposition != "answered":
        return []
    remedy, machine = tables["manual"][answer.subject].remedy, tables["equipment"][roles["equipment"][0]]
    incident, also = tables["incident"][roles["incident"][0]], tables["policy"]["pol-depots"].value
    return [
        part
        for part in (tables["part"][key] for key in tables["family"][machine.family].parts)
        if part.kind == remedy
        and rules.fits_revision(part, machine)
        and rules.in_stock(part)
        and rules.depot_serves(part, incident, also)
    ]


def parts_elsewhere(tables: Tables, roles: Roles) -> list[Part]:
    """Return the parts that would do if their depot served the region."""
    answer = right_answer(tables, roles)
    if answer.disposition != "answered":
        return []
    remedy, machine = tables["manual"][answer.subject].remedy, tables["equipment"][roles["equipment"][0]]
    own = (tables["part"][key] for key in tables["family"][machine.family].parts)
    does = [part for part in own if part.kind == remedy and rules.fits_revision(part, machine) and rules.in_stock(part)]
    incident = tables["incident"][roles["incident"][0]]
    return [part for part in does if not rules.depot_serves(part, incident)]


def fitting_slots(tables: Tables, roles: Roles) -> list[Slot]:
    """Return the slots that do: skill, region, deadline, and a place left."""
    incident = tables["incident"][roles["incident"][0]]
    trade = tables["family"][tables["equipment"][incident.equipment].family].trade
    return [
        slot
        for slot in (tables["slot"][key] for key in tables["region"][incident.region].slots)
        if rules.skill_fits(slot, trade)
        and rules.region_fits(slot, incident)
        and rules.before_deadline(slot, incident)
        and slot.free > 0
    ]


def does(plan: Proposal, tables: Tables, roles: Roles) -> bool:
    """Whether a proposal is frozen and could be carried out now: its part and slot do, and it cites the edition in force."""
    parts, slots = {part.id for part in fitting_parts(tables, roles)}, {slot.id for slot in fitting_slots(tables, roles)}
    cited = right_answer(tables, roles).subject in plan.citations
    return plan.status == "frozen" and cited and plan.part in parts and plan.slot in slots


def is_right_plan(plan: Proposal, tables: Tables, roles: Roles) -> bool:
    """Whether a proposal is frozen, does, cites the edition in force, and treats several parts as policy says."""
    parts = fitting_parts(tables, roles)
    fitting = {part.id for part in parts}
    if plan.status != "frozen" or plan.part not in fitting or plan.slot not in {s.id for s in fitting_slots(tables, roles)}:
        return False
    if right_answer(tables, roles).subject not in plan.citations or not set(plan.alternatives) <= fitting:
        return False
    if tables["policy"]["pol-rank"].value:
        return tables["part"][plan.part].uncertainty == min(part.uncertainty for part in parts)
    return fitting - {plan.part} <= set(plan.alternatives)


def endings(trial: Trial) -> list[Ending]:
    """Return the right endings of a request for a plan."""
    tables, roles = when_said(trial), trial.scenario.roles
    incident = roles["incident"][0]
    if rules.PLAN not in tables["incident"][incident].asks:
        return [Ending("rejected", (incident,), "control of the machine is all that is asked for")]
    right = tuple(key for key, plan in tables["proposal"].items() if is_right_plan(plan, tables, roles))
    if right:
        return [Ending("proposed", right, "a plan that does")]
    if fitting_parts(tables, roles) and fitting_slots(tables, roles):
        return []
    return [Ending("escalated", (*tables["proposal"], incident), "no part, or no slot, does")]


def calls_needed(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat can propose, or say why not."""
    start, roles = scenario.start, scenario.roles
    asks = start["incident"][roles["incident"][0]].asks
    refusal = 1 if rules.CONTROL in asks else 0
    if rules.PLAN not in asks:
        return 1 + refusal
    parts, slots = fitting_parts(start, roles), fitting_slots(start, roles)
    looked_up = (not parts or bool(start["policy"]["pol-depots"].value)) + (len(parts) > 1)
    if not parts or not slots:
        return len(READS) + looked_up + refusal + 2
    ranked = bool(start["policy"]["pol-rank"].value)
    drafts = 3 + (0 if ranked else len(parts) - 1)
    taken = sum(fault.act == "rival.take_stock" for fault in scenario.faults)
    return len(READS) + looked_up + drafts + 1 + 2 * taken + refusal + 1
