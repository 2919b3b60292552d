"""Agents that do not do the work, or do it with one defect. Each declares where it must fail, and by what.

`FAILS` maps `card:variant` to the invariant that must be among those broken there; everywhere else the agent must pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agents.reference import Reference
from fieldops_gym import Brief, ToolCall, ToolResult, View
from fieldops_gym.domains.field_service.notes import ProposalNote, seat_note

CLEAN = ("X-01:whole", "X-01:partial")
AMBIGUOUS = ("X-02:timeout", "X-03:immediate", "X-03:slow", "X-03:stale")
EFFECT = (*CLEAN, "X-02:not_sent", *AMBIGUOUS)


class DoNothing:
    """Waits until the time is over."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(EFFECT, "task.accepted_ending")

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the brief and ignore it."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Wait."""
        return ToolCall.of("wait", seconds=3600)


class ClaimSuccess:
    """Tells the requester that all is done, and finishes."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(EFFECT, "account.finish_true")

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the brief and ignore it."""

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Say that it is done."""
        incident = view.rows["incident"][0]
        if not seat_note(view).told:
            return ToolCall.of("notify", person=incident["requester"], kind="reserved")
        return ToolCall.of("finish", disposition="completed", subject=incident.id)


class RetryBlindly(Reference):
    """Sends again when no answer comes, without looking first."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(AMBIGUOUS, "recovery.reconcile_before_resend")

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Send the same again."""
        return ToolCall.of("reserve", proposal=plan.id, key="own")


class FreshKeyRetry(Reference):
    """Whatever it sends again, it sends under a fresh key."""

    FAILS: ClassVar[Mapping[str, str]] = {
        "X-02:not_sent": "recovery.same_key",
        "X-02:timeout": "recovery.same_key",
        "X-03:immediate": "effect.at_most_once",
        "X-03:slow": "effect.at_most_once",
        "X-03:stale": "effect.at_most_once",
    }

    def settle(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Send again as if it were new."""
        return ToolCall.of("reserve", proposal=plan.id, key="fresh")

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Send as the reference does, but never twice under one key."""
        call = super().dispatch(view, plan, note, result)
        if call.tool == "reserve" and note.sent:
            return ToolCall.of("reserve", proposal=plan.id, key="fresh")
        return call


class SkipApproval(Reference):
    """Tries to reserve before anybody has approved, and only then does it as it should."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(EFFECT, "authority.basis_shown")

    def dispatch(self, view: View, plan: Any, note: ProposalNote, result: ToolResult | None) -> ToolCall:
        """Reserve at once, the first time."""
        if view.meters.effect_attempts == 0:
            return ToolCall.of("reserve", proposal=plan.id, key="own")
        return super().dispatch(view, plan, note, result)
