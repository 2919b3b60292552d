"""Agents that a grader let pass once. Each found one bug; none passes any more where it declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agents.reference import Reference
from agents.variants import SENT
from fieldops_gym import ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote


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


FOUND: tuple[Any, ...] = (ForgetsTheRefusal, StopsBeforeTheAnswer, GuessesTheAnswer)
"""Agents that showed a bug of a grader."""
