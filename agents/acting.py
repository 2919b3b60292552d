"""Honest habits of acting: drafting, sending, verifying and telling in another way than the reference.

Each calls `super()`, so that they can be combined by inheriting from several.
"""

from __future__ import annotations

from typing import Any

from agents.looking import EARLY, LATE, calls_to_spare
from agents.reference import Reference
from fieldops_gym import ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, proposal_note, seat_note

RESTED = ("wait", "search_parts", "list_slots", "read_proposal")
"""Calls after which nobody waits before sending: it was waited, or looked at once more, already."""

A_WORD = "This is how it stands."
"""What is said along with a message by those who say more."""


class TakesTheLast(Reference):
    """Of several parts or slots that do, it takes the one that is listed last."""

    def parts(self, view: View, revision: int, kind: str, depots: tuple[Any, ...]) -> list[Any]:
        """Return them the other way round."""
        return super().parts(view, revision, kind, depots)[::-1]

    def slots(self, view: View, incident: Any) -> list[Any]:
        """Return them the other way round."""
        return super().slots(view, incident)[::-1]


class SecondThoughts(Reference):
    """Puts another part, or slot, into the draft first, and then the one that does."""

    def draft(self, view: View, part: str, slot: str, edition: str, others: list[str]) -> ToolCall:
        """Begin with another one."""
        if not view.rows["draft"]:
            for field, right in (("part", part), ("slot", slot)):
                another = next((row.id for row in view.rows[field] if row.id != right), "")
                if another:
                    return ToolCall.of("draft", field=field, ref=another)
        return super().draft(view, part, slot, edition, others)


class CitesAsItReads(Reference):
    """Puts an edition in force into the draft as soon as it was read."""

    def answer(self, view: View) -> ToolCall:
        """Cite what was just read, where it applies."""
        return self._to_cite(view) or super().answer(view)

    def prepare(self, view: View) -> ToolCall:
        """Cite it before parts and slots are looked for."""
        return self._to_cite(view) or super().prepare(view)

    def _to_cite(self, view: View) -> ToolCall | None:
        revision = view.rows["equipment"][0]["revision"] or self.told(view)
        in_force = [row for row in view.rows["manual"] if row["status"] == "current" and row["remedy"] is not None]
        drafts = view.rows["draft"]
        cited = drafts[0]["citations"] if drafts else ()
        for row in self.applicable(in_force, revision) if revision else ():
            if row.id not in cited:
                return ToolCall.of("draft", field="citation", ref=row.id)
        return None


class TakesItBackOnce(Reference):
    """Takes its first proposal back before anybody was asked, and puts it forward again."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Withdraw a proposal that is the only one and was put before nobody."""
        plans = view.rows["proposal"]
        if len(plans) == 1 and plans[0]["status"] == "frozen" and calls_to_spare(view, LATE):
            note = proposal_note(view, plans[0].id)
            if not note.asked and not note.sent:
                return ToolCall.of("withdraw", proposal=plans[0].id)
        return super().work(view, result)


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
        if call.tool == "reserve" and not any(view.last_call(tool) for tool in RESTED):
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


class LetsItSettle(Reference):
    """Waits a quarter of an hour before it reads a reservation back."""

    def report(self, view: View, reservation: str) -> ToolCall:
        """Wait before the first look."""
        call = super().report(view, reservation)
        first = call.tool == "read_reservation" and view.notes.get(reservation) is None
        if first and reservation not in seat_note(view).undoing and not view.last_call("wait") and not self.late(view):
            return self.wait(view, 900)
        return call


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


class NapsShorter(Reference):
    """Waits a quarter of an hour at a time while there are calls to spare."""

    def wait(self, view: View, longest: int, spare: int = 0) -> ToolCall:
        """Wait for less."""
        return super().wait(view, min(longest, 900) if calls_to_spare(view, EARLY) else longest, spare)


class SleepsOnIt(Reference):
    """Waits a minute before it finishes."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Wait once."""
        call = super().work(view, result)
        waits = call.tool == "finish" and not view.last_call("wait") and calls_to_spare(view, LATE) and not self.late(view)
        return ToolCall.of("wait", seconds=60) if waits else call


class TellsWhenUnknown(Reference):
    """Tells the requester, as soon as an answer is lost, that the outcome is not known, and then finds out."""

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Tell once."""
        requester = view.rows["incident"][0]["requester"]
        if (requester, "unknown") not in seat_note(view).told and calls_to_spare(view, LATE):
            return ToolCall.of("notify", person=requester, kind="unknown")
        return super().settle(view, plan, note, result)


class AddsAWord(Reference):
    """Says a few words along with what it tells."""

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Add them."""
        call = super().work(view, result)
        return ToolCall.of("notify", **dict(call.args), note=A_WORD) if call.tool == "notify" else call
