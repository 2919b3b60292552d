"""The reference: a rule-abiding dispatcher that sees only its view. It proves that every card can be passed.

It keeps nothing between calls, so a fresh instance at every step plays the same game.
"""

from __future__ import annotations

from typing import Any

from agents.answering import MARGIN
from agents.planning import Planning
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


class Reference(Planning):
    """Reads the evidence, proposes, gets approval, reserves once, verifies, tells, and says what is so."""

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the brief. Nothing is kept: the view holds all that is needed."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Return the next call."""
        if view.restarted and not seat_note(view).journal:
            return ToolCall.of("read_journal")
        if seat_note(view).ended or view.rows["delegation"][0]["revoked"]:
            return self.hand_over(view)
        return self.work(view, result)

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Return the next call of a seat that has read its journal, if it had to, and whose delegation runs."""
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
        few = min(limits.turns - used.turns, limits.tool_calls - used.tool_calls) <= CALLS_TO_CALL_OFF
        told = [kind for _, kind in seat_note(view).told]
        # What was said is kept to, although it may get late while it is said.
        if "escalated" in told or (few and not self.late(view)):
            return self.stop(view, "escalated", "escalated", reservation)
        if self.late(view):
            return self.stop(view, "unknown", "failed_effect_unknown", plan)
        if view.last_call("read_reservation"):
            return ToolCall.of("reconcile", proposal=plan)
        if view.last_call("reconcile"):
            return self.wait(view, 3600)
        return ToolCall.of("read_reservation", reservation=reservation)
