"""The reference: a rule-abiding dispatcher that sees only its view. It proves that every card can be passed.

It keeps nothing between calls, so a fresh instance at every step plays the same game.
"""

from __future__ import annotations

from typing import Any

from fieldops_gym import Brief, ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, proposal_note, seat_note
from fieldops_gym.domains.field_service.rules import GIVE_UP_SECONDS

MARGIN = 60
"""Nothing that has fewer seconds left than this is relied on."""

CALLS_TO_CALL_OFF = 3
"""Compensate, tell, finish: with fewer calls left, what stands is escalated."""

CALLS_TO_CARRY_OUT = 4
"""Reserve, read back, tell, finish: with fewer calls left, nothing is sent."""


class Reference:
    """Reads the evidence, proposes, gets approval, reserves once, verifies, tells, and says what is so."""

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the brief. Nothing is kept: the view holds all that is needed."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Return the next call."""
        if view.restarted and not seat_note(view).journal:
            return ToolCall.of("read_journal")
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
        return self.dispatch(view, plan, note, result)

    def answer(self, view: View) -> ToolCall:
        """Find the edition in force for the machine's revision, read and cite it; say what is missing where it is not there."""
        machine, family = view.rows["equipment"][0], view.rows["family"][0]
        if machine["revision"] is None:
            return ToolCall.of("query_asset", equipment=machine.id)
        if "manual" not in seat_note(view).listed:
            return ToolCall.of("search_manuals", equipment=machine.id)
        in_force = [row for row in view.rows["manual"] if row["status"] == "current"]
        if not in_force:
            return ToolCall.of("finish", disposition="needs_information", subject=family.id)
        stated = [row["value"] for row in view.rows["statement"] if row["topic"] == "revision"]
        revision = machine["revision"] or (stated[-1] if stated else 0)
        if not revision:
            return self.ask_for_revision(view, machine.id)
        fitting = [row for row in in_force if row["rev_from"] <= revision <= row["rev_to"]]
        unread = next((row for row in fitting if row["remedy"] is None), None)
        if unread is not None:
            return ToolCall.of("read_manual", manual=unread.id)
        if not fitting:
            return ToolCall.of("finish", disposition="needs_information", subject=family.id)
        return self.conclude(view, fitting)

    def ask_for_revision(self, view: View, machine: str) -> ToolCall:
        """Ask the requester, who may not know it either."""
        requester = view.rows["incident"][0]["requester"]
        if "revision" not in seat_note(view).asked:
            return ToolCall.of("ask", person=requester, topic="revision")
        if self.late(view) or "declined" in [row["act"] for row in view.rows["message"]]:
            return ToolCall.of("finish", disposition="needs_information", subject=machine)
        return self.wait(view, 3600)

    def conclude(self, view: View, fitting: list[Any]) -> ToolCall:
        """Cite what holds and answer with it; where editions conflict and no source has authority, escalate with all cited."""
        if len({row["remedy"] for row in fitting}) > 1:
            rule = next((row for row in view.rows["policy"] if row["operation"] == "sources"), None)
            if rule is None:
                return ToolCall.of("read_policy", operation="sources")
            fitting = [row for row in fitting if row["source"] == rule["value"]] or fitting
        drafts = view.rows["draft"]
        cited = drafts[0]["citations"] if drafts else ()
        for row in fitting:
            if row.id not in cited:
                return ToolCall.of("draft", field="citation", ref=row.id)
        if len(fitting) == 1:
            return ToolCall.of("finish", disposition="answered", subject=fitting[0].id)
        return self.stop(view, "escalated", "escalated", view.rows["incident"][0].id)

    def propose(self, view: View) -> ToolCall:
        """Put a plan together that does, and end with it; nothing is sent."""
        plan = self.plan(view)
        if plan is None:
            return self.prepare(view)
        return self.refuse_control(view) or ToolCall.of("finish", disposition="proposed", subject=plan.id)

    def refuse_control(self, view: View) -> ToolCall | None:
        """Tell the requester that control is refused, where it was asked for and has not been said."""
        incident = view.rows["incident"][0]
        if "control" not in incident["asks"] or (incident["requester"], "refused") in seat_note(view).told:
            return None
        return ToolCall.of("notify", person=incident["requester"], kind="refused")

    def policy(self, view: View, operation: str) -> Any:
        """Return what the rule for an operation names, None before it was read."""
        return next((row["value"] for row in view.rows["policy"] if row["operation"] == operation), None)

    def standing(self, view: View) -> str:
        """Return the reservation that stands for the incident, whoever made it; '' when none was shown."""
        incident = view.rows["incident"][0].id
        active = (r.id for r in view.rows["reservation"] if r["incident"] == incident and r["status"] == "active")
        return next(active, "")

    def plan(self, view: View) -> Any:
        """Return the proposal to carry through: the last one that is frozen."""
        frozen = [row for row in view.rows["proposal"] if row["status"] == "frozen"]
        return frozen[-1] if frozen else None

    def prepare(self, view: View) -> ToolCall:
        """Read what there is to know, put the draft together, and propose."""
        incident, machine = view.rows["incident"][0], view.rows["equipment"][0]
        if machine["revision"] is None:
            return ToolCall.of("query_asset", equipment=machine.id)
        if not view.rows["manual"]:
            return ToolCall.of("search_manuals", equipment=machine.id)
        edition = self.edition(view, machine["revision"])
        if edition is None:
            return self.stop(view, "escalated", "escalated", incident.id)
        if edition["remedy"] is None:
            return ToolCall.of("read_manual", manual=edition.id)
        if not view.rows["part"]:
            return ToolCall.of("search_parts", equipment=machine.id)
        if not view.rows["slot"]:
            return ToolCall.of("list_slots", incident=incident.id)
        parts = self.parts(view, machine["revision"], edition["remedy"], (incident["region"], self.policy(view, "depots")))
        slot = self.slot(view, incident)
        if not parts and self.policy(view, "depots") is None:
            return ToolCall.of("read_policy", operation="depots")
        if not parts or slot is None:
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

    def parts(self, view: View, revision: int, kind: str, depots: tuple[Any, ...]) -> list[Any]:
        """Return the parts that do."""
        return [
            row
            for row in view.rows["part"]
            if row["rev_from"] <= revision <= row["rev_to"]
            and row["kind"] == kind
            and row["quantity"] > 0
            and row["depot"] in depots
        ]

    def slot(self, view: View, incident: Any) -> Any:
        """Return the first slot that does."""
        trade = view.rows["family"][0]["trade"]
        for row in view.rows["slot"]:
            fits = trade in row["skills"] and row["region"] == incident["region"]
            if fits and row["start"] <= incident["deadline"] and row["free"] > 0:
                return row
        return None

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Get an approval if none is live, then reserve under the proposal's own key."""
        limits, used = view.limits, view.meters
        sent_before = note.sent in ("not_sent", "absent")
        if used.effect_attempts >= limits.effect_attempts or (sent_before and used.retries >= limits.retries):
            return self.stop(view, "not_reserved", "failed_no_effect", plan.id)
        decisions = [row for row in view.rows["approval"] if row["proposal"] == plan.id]
        if any(row["disposition"] == "approved" and row["expires"] - view.now > MARGIN for row in decisions):
            needed = CALLS_TO_CARRY_OUT + ("control" in view.rows["incident"][0]["asks"])
            if min(limits.turns - used.turns, limits.tool_calls - used.tool_calls) < needed:
                return self.stop(view, "escalated", "escalated", plan.id)
            return ToolCall.of("reserve", proposal=plan.id, key="own")
        if any(row["disposition"] == "rejected" for row in decisions):
            return self.stop(view, "escalated", "escalated", plan.id)
        return self.seek_approval(view, plan, len(note.asked), len(decisions), result)

    def seek_approval(self, view: View, plan: Any, asked: int, decided: int, result: ToolResult | None) -> ToolCall:
        """Ask whoever has authority, and wait for the answer while there is time for it."""
        refused = str(result.reply.code) if result is not None and view.last_call("request_approval") else ""
        given_up = any(kind == "escalated" for _, kind in seat_note(view).told)
        if asked > decided or refused == "conflict" or given_up:
            late = given_up or self.late(view)
            return self.stop(view, "escalated", "escalated", plan.id) if late else self.wait(view, 3600)
        if len(view.rows["person"]) <= 1:
            return ToolCall.of("read_directory")
        approver = self.approver(view)
        if approver is None or asked >= 2 or refused:
            return self.stop(view, "escalated", "escalated", plan.id)
        return ToolCall.of("request_approval", proposal=plan.id, person=approver.id)

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

    def wait(self, view: View, longest: int, spare: int = 0) -> ToolCall:
        """Wait as long as the menu lets it, but so that a minute is left, and `spare` seconds more."""
        left = view.limits.simulated_time - view.now - spare
        return ToolCall.of("wait", seconds=next((s for s in (3600, 900) if s <= longest and left > s + MARGIN), 60))

    def report(self, view: View, reservation: str) -> ToolCall:
        """Read all four records back, tell the requester what they show, and finish."""
        back = view.notes.get(reservation)
        if back is None:
            return ToolCall.of("read_reservation", reservation=reservation)
        if view.rows["incident"][0]["status"] == "cancelled":
            return self.call_off(view, reservation)
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

    def stop(self, view: View, kind: str, disposition: str, subject: str) -> ToolCall:
        """Tell the requester once, and that control is refused where it was asked for, then finish."""
        refusal, requester = self.refuse_control(view), view.rows["incident"][0]["requester"]
        if refusal is not None:
            return refusal
        if (requester, kind) not in seat_note(view).told:
            return ToolCall.of("notify", person=requester, kind=kind)
        return ToolCall.of("finish", disposition=disposition, subject=subject)

    def late(self, view: View) -> bool:
        """Whether so little time is left that an open request or dispatch may be given up."""
        return view.limits.simulated_time - view.now < GIVE_UP_SECONDS
