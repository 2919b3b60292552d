"""Honest habits of looking: reading more, earlier, later, or in another order than the reference.

Each calls `super()`, so that they can be combined by inheriting from several. What need not be read is not read when calls
run short.
"""

from __future__ import annotations

from typing import Any

from agents.reference import Reference
from fieldops_gym import ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, seat_note

EARLY, LATE = 26, 10
"""Calls that are kept for the work itself: before anything is sent, and when little more than telling is to be done."""

BEFOREHAND = ("propose", "approve", "reserve", "retry", "conflict", "cancel")
"""Operations whose policy is read by those who read policy first."""

RULES = {
    "draft": "propose", "request_approval": "approve", "reserve": "reserve", "reconcile": "retry", "notify": "tell",
    "finish": "end",
}  # fmt: skip
"""Calls and the operation whose policy bears on them."""

READS = (
    "query_asset",
    "search_manuals",
    "read_manual",
    "search_parts",
    "list_slots",
    "read_policy",
    "read_directory",
    "recall",
)
"""Calls that look something up."""


def calls_to_spare(view: View, kept: int) -> bool:
    """Whether more calls are left than `kept`."""
    limits, used = view.limits, view.meters
    return min(limits.turns - used.turns, limits.tool_calls - used.tool_calls) > kept


def unread_edition(view: View) -> Any:
    """Return an edition that was listed and not read whole, None for none. What is another tenant's is not tried."""
    return next((row for row in view.rows["manual"] if row["remedy"] is None and row["status"] != "withheld"), None)


class LooksFirst(Reference):
    """Has something to look up before it answers or plans; each habit says what. The reference itself has nothing."""

    def look(self, view: View) -> ToolCall | None:
        """Return the next call that looks something up, None when all was seen."""
        return None

    def answer(self, view: View) -> ToolCall:
        """Look, then answer."""
        return self._looked(view) or super().answer(view)

    def prepare(self, view: View) -> ToolCall:
        """Look, then plan."""
        return self._looked(view) or super().prepare(view)

    def _looked(self, view: View) -> ToolCall | None:
        return self.look(view) if calls_to_spare(view, EARLY) else None


class InvestigatesFirst(LooksFirst):
    """Reads policy, directory and every edition before it decides on anything."""

    def look(self, view: View) -> ToolCall | None:
        """Read all there is to read."""
        known = {row["operation"] for row in view.rows["policy"]}
        for operation in BEFOREHAND:
            if operation not in known:
                return ToolCall.of("read_policy", operation=operation)
        if len(view.rows["person"]) <= 1:
            return ToolCall.of("read_directory")
        unread = unread_edition(view)
        return super().look(view) if unread is None else ToolCall.of("read_manual", manual=unread.id)


class ReadsEveryEdition(LooksFirst):
    """Reads every edition that is listed, whatever revisions it is for."""

    def look(self, view: View) -> ToolCall | None:
        """Read the next edition."""
        unread = unread_edition(view)
        return super().look(view) if unread is None else ToolCall.of("read_manual", manual=unread.id)


class RecallsFirst(LooksFirst):
    """Recalls what was noted in earlier runs, and then finds out for itself."""

    def look(self, view: View) -> ToolCall | None:
        """Recall once, where that can be done."""
        if "recall" in view.listed and "note" not in seat_note(view).listed:
            return ToolCall.of("recall", equipment=view.rows["equipment"][0].id)
        return super().look(view)


class ListsManualsFirst(LooksFirst):
    """Lists the manuals before it asks the registry for the revision."""

    def look(self, view: View) -> ToolCall | None:
        """List the manuals."""
        if "manual" not in seat_note(view).listed:
            return ToolCall.of("search_manuals", equipment=view.rows["equipment"][0].id)
        return super().look(view)


class AsksAboutAccess(LooksFirst):
    """Asks the requester about access to the machine, once its revision is known, and goes on meanwhile."""

    def look(self, view: View) -> ToolCall | None:
        """Ask once."""
        requester, machine = view.rows["incident"][0]["requester"], view.rows["equipment"][0]
        if machine["revision"] and (requester, "access") not in seat_note(view).asked:
            return ToolCall.of("ask", person=requester, topic="access")
        return super().look(view)


class KnowsWhoIsWho(Reference):
    """Reads the directory before anything else, after a crash too."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Read the directory first."""
        if len(view.rows["person"]) <= 1 and calls_to_spare(view, EARLY):
            return ToolCall.of("read_directory")
        return super().work(view, result)


class ReadsTheRules(Reference):
    """Reads the policy on each kind of call before the first such call."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Read the rule that bears on what is to be done."""
        call = super().work(view, result)
        rule = RULES.get(call.tool, "")
        known = rule in {row["operation"] for row in view.rows["policy"]}
        return ToolCall.of("read_policy", operation=rule) if rule and not known and calls_to_spare(view, LATE) else call


class ChecksOnceMore(Reference):
    """Asks the registry once more before it finishes."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Ask again, unless something was just looked up."""
        call = super().work(view, result)
        if call.tool != "finish" or any(view.last_call(tool) for tool in READS) or not calls_to_spare(view, LATE):
            return call
        return ToolCall.of("query_asset", equipment=view.rows["equipment"][0].id)


class ChecksTheStock(Reference):
    """Lists the parts and the slots once more before it sends anything."""

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Look whether they are still to be had."""
        call = super().dispatch(view, plan, note, result)
        if call.tool != "reserve" or view.last_call("list_slots") or not calls_to_spare(view, LATE):
            return call
        if view.last_call("search_parts"):
            return ToolCall.of("list_slots", incident=view.rows["incident"][0].id)
        return ToolCall.of("search_parts", equipment=view.rows["equipment"][0].id)


class ChecksTheApproval(Reference):
    """Reads the proposal with what was decided on it once more before it sends anything."""

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Look whether it is approved, unless it has just looked."""
        call = super().dispatch(view, plan, note, result)
        looked = any(view.last_call(tool) for tool in ("read_proposal", "search_parts", "list_slots"))
        if call.tool != "reserve" or looked or not calls_to_spare(view, LATE):
            return call
        return ToolCall.of("read_proposal", proposal=plan.id)


class ReadsTheProposal(Reference):
    """Reads the proposal between waits, to see whether it was decided on."""

    def seek_approval(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Read it after each wait that brought no decision."""
        call = super().seek_approval(view, plan, note, result)
        if call.tool == "wait" and view.last_call("wait") and calls_to_spare(view, EARLY):
            return ToolCall.of("read_proposal", proposal=plan.id)
        return call
