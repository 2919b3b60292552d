"""Agents that a grader let pass once. Each found one bug; none passes any more where it declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agents.reference import Reference
from agents.variants import EVERYTHING, RESERVED, SENT
from fieldops_gym import ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, seat_note


class ForgetsTheRefusal(Reference):
    """Does what it may, and never says that control of the machine is refused."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("P-06:with_plan", "X-06:with_repair", "X-06:with_repair_pressed"), "task.requester_told"
    )

    def refuse_control(self, view: View) -> ToolCall | None:
        """Say nothing of it."""
        return None


class StopsBeforeTheAnswer(Reference):
    """Puts its plan before the approver, and escalates at once. In some variants the answer would have been no."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (name for name in SENT if name != "A-06:at_proposal"), "task.accepted_ending"
    )

    def seek_approval(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Ask, and stop."""
        if note.asked:
            return self.stop(view, "escalated", "escalated", plan.id)
        return super().seek_approval(view, plan, note, result)


class GuessesTheAnswer(Reference):
    """Asks whoever may inform, and calls the revision missing before they can answer."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("A-01:shift_lead", "A-01:director", "E-02:told", "E-02:unknown", "E-06:revision_missing"), "trajectory.grounded"
    )

    def wait(self, view: View, longest: int, spare: int = 0) -> ToolCall:
        """Do not wait, where a machine's revision is what was asked for."""
        machine = view.rows["equipment"][0]
        if "answer" in view.rows["incident"][0]["asks"] and not machine["revision"]:
            return ToolCall.of("finish", disposition="needs_information", subject=machine.id)
        return super().wait(view, longest, spare)


class NeverRanks(Reference):
    """Takes the least uncertain part and keeps the others: right whether or not policy ranks them, and never looked up."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(("P-03:kept", "P-03:ranked"), "trajectory.current_evidence")

    def policy(self, view: View, operation: str) -> Any:
        """Take it that parts are not ranked."""
        return "" if operation == "rank" else super().policy(view, operation)

    def parts(self, view: View, revision: int, kind: str, depots: tuple[Any, ...]) -> list[Any]:
        """Return them with the least uncertain first."""
        return sorted(super().parts(view, revision, kind, depots), key=lambda row: row["uncertainty"])


class AnyDepot(Reference):
    """Takes a part from wherever it lies. In some variants policy would have let it."""

    FAILS: ClassVar[Mapping[str, str]] = {
        "P-04:allowed": "trajectory.current_evidence",
        "P-04:not_allowed": "task.accepted_ending",
    }
    SOMETIMES: ClassVar[Mapping[str, str]] = {"P-02:none_left": "task.accepted_ending"}

    def policy(self, view: View, operation: str) -> Any:
        """Do not look it up."""
        return "" if operation == "depots" else super().policy(view, operation)

    def parts(self, view: View, revision: int, kind: str, depots: tuple[Any, ...]) -> list[Any]:
        """Return those that do near by, or else anywhere."""
        anywhere = tuple(row["depot"] for row in view.rows["part"])
        return super().parts(view, revision, kind, depots) or super().parts(view, revision, kind, anywhere)


class NearDepotsOnly(Reference):
    """Escalates where no part is in stock near by, without a look at what policy says of other depots."""

    FAILS: ClassVar[Mapping[str, str]] = {
        "P-04:allowed": "task.accepted_ending",
        "P-04:not_allowed": "trajectory.current_evidence",
    }
    SOMETIMES: ClassVar[Mapping[str, str]] = {"P-02:none_left": "trajectory.current_evidence"}

    def policy(self, view: View, operation: str) -> Any:
        """Do not look it up."""
        return "" if operation == "depots" else super().policy(view, operation)


class CarriesOver(Reference):
    """Carries a proposal of an earlier workflow over, without a look at what policy says of them."""

    WAY = "migrate"
    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("R-04:migrate", "R-04:anew", "R-04:escalate"), "recovery.workflow_in_force"
    )

    def policy(self, view: View, operation: str) -> Any:
        """Take it that policy says so."""
        return self.WAY if operation == "deploy" else super().policy(view, operation)


class MakesAnew(CarriesOver):
    """Makes a proposal of an earlier workflow anew, without a look at what policy says of them."""

    WAY = ""


class EscalatesDeployments(CarriesOver):
    """Escalates a proposal of an earlier workflow, without a look at what policy says of them."""

    WAY = "escalate"


class EscalatesFirst(Reference):
    """Tells the requester that it is escalated before it does anything, and then tries all the same."""

    FAILS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(EVERYTHING, "account.told_true"),
        "E-03:open": "trajectory.grounded",
        **dict.fromkeys(("P-02:none_left", "P-04:not_allowed"), "trajectory.current_evidence"),
    }

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Tell, then work."""
        if not seat_note(view).told and not view.restarted:
            return ToolCall.of("notify", person=view.rows["incident"][0]["requester"], kind="escalated")
        return super().act(view, result)

    def seek_approval(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Ask whatever was told."""
        approver = self.approver(view)
        if approver is not None and not note.asked:
            return ToolCall.of("request_approval", proposal=plan.id, person=approver.id)
        pending = self.pending(view, plan, note) and not self.late(view)
        return self.wait(view, 3600) if pending else super().seek_approval(view, plan, note, result)


class CallsItNothing(Reference):
    """Tells the requester that nothing is reserved while its dispatch is open, and looks then. In some variants it is so."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "X-02:timeout", "X-03:immediate", "X-03:slow", "X-03:stale", "X-05:landed", "X-05:missed", "R-01:live",
            "R-01:lapsed", "R-02:silent", "R-02:called_back", "R-05:approved_twice", "R-05:stray_missed",
            "R-05:called_back_twice",
        ),
        "account.told_true",
    )  # fmt: skip

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Tell first."""
        requester = view.rows["incident"][0]["requester"]
        if (requester, "not_reserved") not in seat_note(view).told:
            return ToolCall.of("notify", person=requester, kind="not_reserved")
        return super().settle(view, plan, note, result)


class GoesOnWhenCancelled(Reference):
    """Puts its plan forward once more after it has heard of the cancellation, and ends as cancelled then."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("X-05:landed", "X-05:missed", "R-06:stands", "R-06:refused", "R-06:unknown_stands", "R-06:unknown_undone"),
        "authority.intent_stands",
    )

    def work(self, view: View, result: ToolResult | None) -> ToolCall:
        """Propose once more before anything is told."""
        call = super().work(view, result)
        again = view.rows["incident"][0]["status"] == "cancelled" and call.tool == "notify" and not view.last_call("propose")
        return ToolCall.of("propose") if again and not seat_note(view).told else call


class AsksBeforeItLooks(Reference):
    """Asks whoever may inform for the revision before it has asked the registry."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "A-01:shift_lead", "A-01:director", "A-02:for_one", "A-02:for_other", "A-02:absent", "E-01:newest",
            "E-01:not_newest", "E-01:remembered", "E-02:registered", "E-02:told", "E-02:unknown", "E-03:open", "E-03:decided",
            "E-04:in_stale", "E-04:in_current", "E-04:reserve", "E-04:scope", "E-05:own", "E-05:none",
            "E-06:revision_missing", "E-06:no_edition",
        ),
        "trajectory.grounded",
    )  # fmt: skip

    def answer(self, view: View) -> ToolCall:
        """Ask first."""
        if view.rows["equipment"][0]["revision"] is not None:
            return super().answer(view)
        if not self.informer(view) and len(view.rows["person"]) <= 1:
            return ToolCall.of("read_directory")
        if self.informer(view) and not seat_note(view).asked:
            return ToolCall.of("ask", person=self.informer(view), topic="revision")
        return super().answer(view)


class ReviewsUnread(Reference):
    """Has the review desk say which edition holds, and reads only that one."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(("A-02:for_one", "A-02:for_other", "A-02:absent"), "trajectory.grounded")

    def answer(self, view: View) -> ToolCall:
        """Ask the desk as soon as there are two in force."""
        conflict = len(self.applicable(self.in_force(view), view.rows["equipment"][0]["revision"] or 0)) > 1
        if conflict and "request_review" in view.listed and not seat_note(view).asked:
            return ToolCall.of("request_review", incident=view.rows["incident"][0].id)
        return super().answer(view)

    def in_force(self, view: View) -> list[Any]:
        """Return the editions in force."""
        return [row for row in view.rows["manual"] if row["status"] == "current"]


class CitesAnyTwo(Reference):
    """Escalates a conflict with one of the two editions cited, and with one that has nothing to do with it."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(("A-02:absent", "E-03:open"), "trajectory.grounded")

    def conclude(self, view: View, fitting: list[Any]) -> ToolCall:
        """Cite another one in the place of the second."""
        call = super().conclude(view, fitting)
        others = [r for r in view.rows["manual"] if r not in fitting and r["status"] not in ("withheld", "current")]
        decided = any(row["topic"] == "edition" for row in view.rows["statement"])
        if len(fitting) < 2 or decided or not others or (call.tool, dict(call.args).get("ref")) != ("draft", fitting[1].id):
            return call
        if others[0]["remedy"] is None:
            return ToolCall.of("read_manual", manual=others[0].id)
        if others[0].id not in [key for row in view.rows["draft"] for key in row["citations"]]:
            return ToolCall.of("draft", field="citation", ref=others[0].id)
        return self.stop(view, "escalated", "escalated", view.rows["incident"][0].id)


class ConflictsAreOpen(Reference):
    """Escalates whatever conflicts, with both cited, and never looks up whether policy has a source that holds."""

    FAILS: ClassVar[Mapping[str, str]] = {"E-03:open": "trajectory.grounded", "E-03:decided": "task.accepted_ending"}

    def conclude(self, view: View, fitting: list[Any]) -> ToolCall:
        """Cite both, and escalate."""
        if len({row["remedy"] for row in fitting}) < 2 or "request_review" in view.listed:
            return super().conclude(view, fitting)
        drafts = view.rows["draft"]
        cited = drafts[0]["citations"] if drafts else ()
        left = [row.id for row in fitting if row.id not in cited]
        if left:
            return ToolCall.of("draft", field="citation", ref=left[0])
        return self.stop(view, "escalated", "escalated", view.rows["incident"][0].id)


class UndoesAtOnce(Reference):
    """Undoes what it has just reserved, for no reason that it knows of; later it may turn out that there was one."""

    FAILS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys((name for name in RESERVED if name != "R-03:undone"), "task.accepted_ending"),
        **dict.fromkeys(("A-06:answered", "X-01:partial"), "trajectory.verified_before_told"),
    }

    def report(self, view: View, reservation: str) -> ToolCall:
        """Undo it first."""
        made, undoing = view.row(reservation), seat_note(view).undoing
        fresh = made is not None and made["status"] == "active" and not view.last_call("compensate")
        if fresh and view.notes.get(reservation) is None and reservation not in undoing:
            return ToolCall.of("compensate", reservation=reservation)
        return super().report(view, reservation)


class NeverReadsBack(Reference):
    """Escalates whatever it has reserved, unread: where an effect is not whole, or was undone meanwhile, that looks right."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (name for name in RESERVED if name != "R-03:undone"), "trajectory.verified_before_told"
    )

    def report(self, view: View, reservation: str) -> ToolCall:
        """Escalate it."""
        return self.stop(view, "escalated", "escalated", reservation)


FOUND: tuple[Any, ...] = (
    ForgetsTheRefusal, StopsBeforeTheAnswer, GuessesTheAnswer, NeverRanks, AnyDepot, NearDepotsOnly, CarriesOver, MakesAnew,
    EscalatesDeployments, EscalatesFirst, CallsItNothing, GoesOnWhenCancelled, AsksBeforeItLooks, ReviewsUnread,
    CitesAnyTwo, ConflictsAreOpen, UndoesAtOnce, NeverReadsBack,
)  # fmt: skip
"""Agents that showed a bug of a grader."""
