"""How the reference plans: which proposal it carries through, and how it puts one together."""

from __future__ import annotations

from typing import Any

from agents.answering import Answering
from fieldops_gym import ToolCall, View
from fieldops_gym.domains.field_service.notes import proposal_note, seat_note
from fieldops_gym.domains.field_service.rules import MAX_PROPOSALS

CHANGES = {"change_part": "part", "change_slot": "slot"}
"""Decisions that send a proposal back for another part or slot."""


class Planning(Answering):
    """The part of the reference that plans. It keeps nothing between calls."""

    def propose(self, view: View) -> ToolCall:
        """Put a plan together that does, and end with it; nothing is sent."""
        plan = self.plan(view)
        if plan is None:
            return self.prepare(view)
        return self.refuse_control(view) or ToolCall.of("finish", disposition="proposed", subject=plan.id)

    def policy(self, view: View, operation: str) -> Any:
        """Return what the rule for an operation names, None before it was read."""
        return next((row["value"] for row in view.rows["policy"] if row["operation"] == operation), None)

    def standing(self, view: View) -> str:
        """Return the reservation that stands for the incident, whoever made it; '' when none was shown."""
        incident = view.rows["incident"][0].id
        active = (r.id for r in view.rows["reservation"] if r["incident"] == incident and r["status"] == "active")
        return next(active, "")

    def plan(self, view: View) -> Any:
        """Return the proposal to carry through: one that was sent, or else the last that can still be carried out."""
        frozen = [row for row in view.rows["proposal"] if row["status"] == "frozen"]
        for row in frozen:
            if proposal_note(view, row.id).sent in ("known", "open", "stale", "conflict"):
                return row
        left = [row for row in frozen if not self.gone(view, row) and not self.to_change(view, row)]
        return left[-1] if left else None

    def gone(self, view: View, plan: Any) -> bool:
        """Whether a proposal's part or slot, as last shown, is not to be had any more."""
        part, slot = view.row(plan["part"]), view.row(plan["slot"])
        return (part is not None and part["quantity"] <= 0) or (slot is not None and slot["free"] <= 0)

    def decisions(self, view: View, plan: Any) -> list[Any]:
        """Return what was decided on a proposal by somebody known to have authority, in time."""
        approver = self.approver(view)
        return [
            row
            for row in view.rows["approval"]
            if row["proposal"] == plan.id and approver is not None and row["by"] == approver.id and row["at"] < row["expires"]
        ]

    def to_change(self, view: View, plan: Any) -> str:
        """Return what of a proposal was to be another, '' for nothing."""
        return next((CHANGES[d["disposition"]] for d in self.decisions(view, plan) if d["disposition"] in CHANGES), "")

    def outdated(self, view: View, plan: Any) -> bool:
        """Whether a proposal is known to be of an earlier workflow."""
        releases = view.rows["release"]
        return proposal_note(view, plan.id).outdated or bool(releases and releases[0]["workflow"] != plan["workflow"])

    def prepare(self, view: View) -> ToolCall:
        """Read what there is to know, put the draft together, and propose."""
        incident, machine = view.rows["incident"][0], view.rows["equipment"][0]
        if machine["revision"] is None:
            return ToolCall.of("query_asset", equipment=machine.id)
        if "manual" not in seat_note(view).listed:
            return ToolCall.of("search_manuals", equipment=machine.id)
        edition = self.edition(view, machine["revision"])
        if edition is None:
            return self.stop(view, "escalated", "escalated", incident.id)
        if edition["remedy"] is None:
            return ToolCall.of("read_manual", manual=edition.id)
        if "part" not in seat_note(view).listed:
            return ToolCall.of("search_parts", equipment=machine.id)
        if "slot" not in seat_note(view).listed:
            return ToolCall.of("list_slots", incident=incident.id)
        parts = self.parts(view, machine["revision"], edition["remedy"], (incident["region"], self.policy(view, "depots")))
        slot = self.slot(view, incident)
        if not parts and self.policy(view, "depots") is None:
            return ToolCall.of("read_policy", operation="depots")
        if not parts or slot is None or len(view.rows["proposal"]) >= MAX_PROPOSALS:
            return self.stop(view, "escalated", "escalated", incident.id)
        if len(parts) > 1 and "plan" in incident["asks"]:
            ranked = self.policy(view, "rank")
            if ranked is None:
                return ToolCall.of("read_policy", operation="rank")
            if ranked:
                parts = [min(parts, key=lambda row: row["uncertainty"])]
        others = [row.id for row in parts[1:]] if "plan" in incident["asks"] else []
        return self.draft(view, parts[0].id, slot.id, edition.id, others)

    def draft(self, view: View, part: str, slot: str, edition: str, others: list[str]) -> ToolCall:
        """Fill the draft, then freeze it."""
        drafts = view.rows["draft"]
        have = drafts[0] if drafts else None
        if have is None or have["part"] != part:
            return ToolCall.of("draft", field="part", ref=part)
        if have["slot"] != slot:
            return ToolCall.of("draft", field="slot", ref=slot)
        if edition not in have["citations"]:
            return ToolCall.of("draft", field="citation", ref=edition)
        for other in others:
            if other not in have["alternatives"]:
                return ToolCall.of("draft", field="alternative", ref=other)
        return ToolCall.of("propose")

    def edition(self, view: View, revision: int) -> Any:
        """Return the edition in force for the machine's revision."""
        fitting = (r for r in view.rows["manual"] if r["status"] == "current" and r["rev_from"] <= revision <= r["rev_to"])
        return next(fitting, None)

    def refused(self, view: View, field: str) -> list[str]:
        """Return the parts, or slots, in whose place another was asked for."""
        return [plan[field] for plan in view.rows["proposal"] if self.to_change(view, plan) == field]

    def parts(self, view: View, revision: int, kind: str, depots: tuple[Any, ...]) -> list[Any]:
        """Return the parts that do."""
        refused = self.refused(view, "part")
        return [
            row
            for row in view.rows["part"]
            if row["rev_from"] <= revision <= row["rev_to"]
            and row["kind"] == kind
            and row["quantity"] > 0
            and row["depot"] in depots
            and row.id not in refused
        ]

    def slot(self, view: View, incident: Any) -> Any:
        """Return the slot to take, None where none does."""
        return next(iter(self.slots(view, incident)), None)

    def slots(self, view: View, incident: Any) -> list[Any]:
        """Return the slots that do."""
        trade, refused = view.rows["family"][0]["trade"], self.refused(view, "slot")
        return [
            row
            for row in view.rows["slot"]
            if trade in row["skills"]
            and row["region"] == incident["region"]
            and row.id not in refused
            and row["start"] <= incident["deadline"]
            and row["free"] > 0
        ]

    def approver(self, view: View) -> Any:
        """Return the person with authority over the tenant's reservations."""
        tenant = next(row["tenant"] for row in view.rows["person"] if row.id == view.rows["incident"][0]["requester"])
        fitting = (r for r in view.rows["person"] if r["tenant"] == tenant and "reserve" in r["authority"])
        return next(fitting, None)
