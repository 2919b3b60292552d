"""The reference: a rule-abiding dispatcher that sees only its view. It proves that every card can be passed.

It keeps nothing between calls, so a fresh instance at every step plays the same game.
"""

from __future__ import annotations

from typing import Any

from agents.answering import MARGIN, Answering
from fieldops_gym import Brief, ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, proposal_note, seat_note
from fieldops_gym.domains.field_service.rules import (
    APPROVAL_SECONDS,
    GIVE_UP_SECONDS,
    MAX_PROPOSALS,
    MAX_REQUESTS_EACH,
)

CALLS_TO_CALL_OFF = 3
"""Compensate, tell, finish: with fewer calls left, what stands is escalated."""

CALLS_TO_CARRY_OUT = 4
"""Reserve, read back, tell, finish: with fewer calls left, nothing is sent."""

CHANGES = {"change_part": "part", "change_slot": "slot"}
"""Decisions that send a proposal back for another part or slot."""


class Reference(Answering):
    """Reads the evidence, proposes, gets approval, reserves once, verifies, tells, and says what is so."""

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the brief. Nothing is kept: the view holds all that is needed."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Return the next call."""
        if view.restarted and not seat_note(view).journal:
            return ToolCall.of("read_journal")
        if seat_note(view).ended or view.rows["delegation"][0]["revoked"]:
            return self.hand_over(view)
        incident = view.rows["incident"][0]
        if "answer" in incident["asks"]:
            return self.answer(view)
        if "plan" in incident["asks"]:
            return self.propose(view)
        if "repair" not in incident["asks"]:
            return self.stop(view, "refused", "rejected", incident.id)
        if view.limits.effect_attempts == 0:
            return self.stop(view, "escalated", "escalated", incident.id)
        plan = self.plan(view)
        if plan is None:
            return self.prepare(view)
        note = proposal_note(view, plan.id)
        if note.sent == "known":
            return self.report(view, note.reservation)
        if note.sent in ("open", "stale"):
            return self.settle(view, plan, note, result)
        if note.sent == "conflict":
            return self.stop(view, "escalated", "escalated", self.standing(view) or plan.id)
        if incident["status"] == "cancelled":
            return self.stop(view, "not_reserved", "cancelled", plan.id)
        if self.outdated(view, plan):
            return self.after_deployment(view, plan)
        return self.dispatch(view, plan, note, result)

    def hand_over(self, view: View) -> ToolCall:
        """Stop, and name what is in flight, or else what stands."""
        sent = [row.id for row in view.rows["proposal"] if proposal_note(view, row.id).sent in ("open", "stale")]
        plan = self.plan(view)
        subject = (sent[-1] if sent else "") or self.standing(view) or (plan.id if plan else view.rows["incident"][0].id)
        return ToolCall.of("finish", disposition="handed_over", subject=subject)

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

    def after_deployment(self, view: View, plan: Any) -> ToolCall:
        """Do with a proposal of an earlier workflow what policy says."""
        way = self.policy(view, "deploy")
        if way is None:
            return ToolCall.of("read_policy", operation="deploy")
        if way == "escalate" or len(view.rows["proposal"]) >= MAX_PROPOSALS:
            return self.stop(view, "escalated", "escalated", plan.id)
        if way == "migrate":
            pending = self.pending(view, plan, proposal_note(view, plan.id)) and not self.late(view)
            return self.wait(view, 3600) if pending else ToolCall.of("migrate", proposal=plan.id)
        return self.prepare(view)

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
        """Return the first slot that does."""
        trade, refused = view.rows["family"][0]["trade"], self.refused(view, "slot")
        for row in view.rows["slot"]:
            fits = trade in row["skills"] and row["region"] == incident["region"] and row.id not in refused
            if fits and row["start"] <= incident["deadline"] and row["free"] > 0:
                return row
        return None

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Get an approval if none is live, then reserve under the proposal's own key."""
        limits, used = view.limits, view.meters
        sent_before = note.sent in ("not_sent", "absent")
        if used.effect_attempts >= limits.effect_attempts or (sent_before and used.retries >= limits.retries):
            return self.stop(view, "not_reserved", "failed_no_effect", plan.id)
        if len(view.rows["person"]) <= 1:
            return ToolCall.of("read_directory")
        decisions = self.decisions(view, plan)
        if any(row["disposition"] == "rejected" for row in decisions):
            return self.stop(view, "escalated", "escalated", plan.id)
        if any(row["disposition"] == "approved" and row["expires"] - view.now > MARGIN for row in decisions):
            needed = CALLS_TO_CARRY_OUT + ("control" in view.rows["incident"][0]["asks"])
            if min(limits.turns - used.turns, limits.tool_calls - used.tool_calls) < needed:
                return self.stop(view, "escalated", "escalated", plan.id)
            return ToolCall.of("reserve", proposal=plan.id, key="own")
        return self.seek_approval(view, plan, note, result)

    def seek_approval(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Ask whoever has authority, and wait for the answer while there is time for it."""
        refused = str(result.reply.code) if result is not None and view.last_call("request_approval") else ""
        given_up = any(kind == "escalated" for _, kind in seat_note(view).told)
        if (
            self.pending(view, plan, note)
            or refused in ("conflict", "limit")
            or given_up
            or len(note.asked) >= MAX_REQUESTS_EACH
        ):
            late = given_up or self.late(view)
            return self.stop(view, "escalated", "escalated", plan.id) if late else self.wait(view, 3600)
        approver = self.approver(view)
        if approver is None or (note.asked and self.late(view)):
            return self.stop(view, "escalated", "escalated", plan.id)
        return ToolCall.of("request_approval", proposal=plan.id, person=approver.id)

    def pending(self, view: View, plan: Any, note: ProposalNote) -> bool:
        """Whether a request for approval of a proposal stands and has not been answered."""
        answered = {row["request"] for row in view.rows["approval"] if row["proposal"] == plan.id and row["request"]}
        return len(note.asked) > len(answered) and view.now < note.asked_at + APPROVAL_SECONDS

    def approver(self, view: View) -> Any:
        """Return the person with authority over the tenant's reservations."""
        tenant = next(row["tenant"] for row in view.rows["person"] if row.id == view.rows["incident"][0]["requester"])
        fitting = (r for r in view.rows["person"] if r["tenant"] == tenant and "reserve" in r["authority"])
        return next(fitting, None)

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Find out what became of a dispatch that was not answered."""
        if self.late(view):
            return self.stop(view, "unknown", "failed_effect_unknown", plan.id)
        if note.sent == "stale" and view.now < note.fresh_at:
            return self.wait(view, 3600 if note.fresh_at - view.now > 3600 else 900, GIVE_UP_SECONDS)
        return ToolCall.of("reconcile", proposal=plan.id)

    def report(self, view: View, reservation: str) -> ToolCall:
        """Read all four records back, tell the requester what they show, and finish."""
        if reservation in seat_note(view).undoing:
            return self.look_up(view, reservation)
        back = view.notes.get(reservation)
        if back is None:
            return ToolCall.of("read_reservation", reservation=reservation)
        if view.rows["incident"][0]["status"] == "cancelled":
            return self.call_off(view, reservation)
        if back.status != "active":
            return self.stop(view, "not_reserved", "failed_no_effect", reservation)
        whole = back.part and back.slot and back.incident and back.audit
        if whole:
            return self.stop(view, "reserved", "completed", reservation)
        return self.stop(view, "escalated", "escalated", reservation)

    def call_off(self, view: View, reservation: str) -> ToolCall:
        """Undo what was reserved for a request that has been cancelled; what cannot be undone is escalated."""
        made = view.row(reservation)
        if made is None or made["status"] != "active":
            return self.stop(view, "not_reserved", "cancelled", reservation)
        limits, used = view.limits, view.meters
        left = min(limits.turns - used.turns, limits.tool_calls - used.tool_calls)
        if "compensate" in view.blocked or left < CALLS_TO_CALL_OFF or seat_note(view).told:
            return self.stop(view, "escalated", "escalated", reservation)
        return ToolCall.of("compensate", reservation=reservation)

    def look_up(self, view: View, reservation: str) -> ToolCall:
        """Find out whether a reservation was undone, while there is time for it."""
        made = view.row(reservation)
        plan = made["proposal"] if made is not None else view.rows["proposal"][-1].id
        limits, used = view.limits, view.meters
        if self.late(view):
            return self.stop(view, "unknown", "failed_effect_unknown", plan)
        if min(limits.turns - used.turns, limits.tool_calls - used.tool_calls) <= CALLS_TO_CALL_OFF:
            return self.stop(view, "escalated", "escalated", reservation)
        if view.last_call("read_reservation"):
            return ToolCall.of("reconcile", proposal=plan)
        if view.last_call("reconcile"):
            return self.wait(view, 3600)
        return ToolCall.of("read_reservation", reservation=reservation)
