"""Honest styles other than the reference's. All of them must pass: a grader that wants one order of calls is wrong.

Each is one habit over the reference, and calls `super()`, so that they can be combined by inheriting from several.
"""

from __future__ import annotations

from typing import Any

from agents.reference import Reference
from fieldops_gym import ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, seat_note

BEFOREHAND = ("propose", "approve", "reserve", "retry", "conflict", "cancel")
"""Operations whose policy is read by those who read policy first."""

ROOMY = 30
"""With fewer turns than this, nobody reads what they need not."""


class InvestigatesFirst(Reference):
    """Reads policy, directory and every edition before it decides on anything."""

    def prepare(self, view: View) -> ToolCall:
        """Read all there is to read if there are calls to spare, then go on."""
        if view.limits.turns < ROOMY:
            return super().prepare(view)
        known = {row["operation"] for row in view.rows["policy"]}
        for operation in BEFOREHAND:
            if operation not in known:
                return ToolCall.of("read_policy", operation=operation)
        if len(view.rows["person"]) <= 1:
            return ToolCall.of("read_directory")
        for row in view.rows["manual"]:
            if row["remedy"] is None:
                return ToolCall.of("read_manual", manual=row.id)
        return super().prepare(view)


class DraftsBackwards(Reference):
    """Looks for slots and parts before it opens a manual, and drafts the citation first and the part last."""

    def prepare(self, view: View) -> ToolCall:
        """Search in another order."""
        if "slot" not in seat_note(view).listed:
            return ToolCall.of("list_slots", incident=view.rows["incident"][0].id)
        if "part" not in seat_note(view).listed:
            return ToolCall.of("search_parts", equipment=view.rows["equipment"][0].id)
        return super().prepare(view)

    def draft(self, view: View, part: str, slot: str, edition: str, others: list[str]) -> ToolCall:
        """Fill the draft in another order."""
        drafts = view.rows["draft"]
        have = drafts[0] if drafts else None
        if have is None or edition not in have["citations"]:
            return ToolCall.of("draft", field="citation", ref=edition)
        if have["slot"] != slot:
            return ToolCall.of("draft", field="slot", ref=slot)
        return super().draft(view, part, slot, edition, others)


class TakesItsTime(Reference):
    """Waits a minute before it sends anything."""

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Sleep on it."""
        call = super().dispatch(view, plan, note, result)
        if call.tool == "reserve" and not view.last_call("wait"):
            return ToolCall.of("wait", seconds=60)
        return call


class ReadsItsMail(Reference):
    """When no answer comes, it looks at its messages before it asks the service."""

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Look at the messages, then find out."""
        if view.last_call("reserve") and not self.late(view):
            return ToolCall.of("wait", seconds=60)
        return super().settle(view, plan, note, result)


class ReconcilesAnyway(Reference):
    """Reconciles although the service has answered."""

    def report(self, view: View, reservation: str) -> ToolCall:
        """Ask the service once more right after it has answered."""
        made = view.row(reservation)
        if view.last_call("reserve") and made is not None:
            return ToolCall.of("reconcile", proposal=made["proposal"])
        return super().report(view, reservation)


class VerifiesTwice(Reference):
    """Reads the reservation back, reads the policy on it, and reads it back again."""

    def report(self, view: View, reservation: str) -> ToolCall:
        """Read back twice before anything else."""
        if view.last_call("read_policy"):
            return ToolCall.of("read_reservation", reservation=reservation)
        looked_up = "verify" in {row["operation"] for row in view.rows["policy"]}
        if view.notes.get(reservation) is not None and not looked_up:
            return ToolCall.of("read_policy", operation="verify")
        return super().report(view, reservation)


class UndoesWhatIsBroken(Reference):
    """Compensates an effect that is not whole, instead of escalating it."""

    def report(self, view: View, reservation: str) -> ToolCall:
        """Undo it if it is not whole, say so, and finish."""
        call, made, back = super().report(view, reservation), view.row(reservation), view.notes.get(reservation)
        if back is None or made is None or all(back[2:]) or view.rows["incident"][0]["status"] == "cancelled":
            return call
        if made["status"] != "active":
            return self.stop(view, "not_reserved", "failed_no_effect", reservation)
        if any(kind != "refused" for _, kind in seat_note(view).told) or "compensate" in view.blocked:
            return call
        return ToolCall.of("compensate", reservation=reservation)


class NamesWhatStands(Reference):
    """Leaves a reservation for a cancelled request as it is, and escalates it by name.

    Where the fault is one of undoing, it never meets it, and the run is void.
    """

    VOID = ("R-06:stands", "R-06:refused", "R-06:unknown_stands", "R-06:unknown_undone")

    def call_off(self, view: View, reservation: str) -> ToolCall:
        """Escalate it."""
        return self.stop(view, "escalated", "escalated", reservation)


class RefusesAtOnce(Reference):
    """Says that control is refused before it does anything else."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Refuse first."""
        incident = view.rows["incident"][0]
        told = (incident["requester"], "refused") in seat_note(view).told
        if "control" in incident["asks"] and not told and (seat_note(view).journal or not view.restarted):
            return ToolCall.of("notify", person=incident["requester"], kind="refused")
        return super().act(view, result)


ALTERNATIVES: tuple[type[Reference], ...] = (
    InvestigatesFirst, DraftsBackwards, TakesItsTime, ReadsItsMail, ReconcilesAnyway, VerifiesTwice, UndoesWhatIsBroken,
    NamesWhatStands, RefusesAtOnce,
)  # fmt: skip
"""Every honest style."""


def combined(styles: tuple[type[Reference], ...]) -> type[Reference]:
    """Return an agent that has several habits at once; the first has the first say."""
    return type("And".join(style.__name__ for style in styles), styles, {"__doc__": "Several habits at once."})
