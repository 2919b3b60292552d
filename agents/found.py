"""Agents that a grader let pass once. Each found one bug; none passes any more where it declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agents.reference import Reference
from fieldops_gym import ToolCall, View


class ForgetsTheRefusal(Reference):
    """Does what it may, and never says that control of the machine is refused."""

    FAILS: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("P-06:with_plan", "X-06:with_repair", "X-06:with_repair_pressed"), "task.requester_told"
    )

    def refuse_control(self, view: View) -> ToolCall | None:
        """Say nothing of it."""
        return None


FOUND: tuple[Any, ...] = (ForgetsTheRefusal,)
"""Agents that showed a bug of a grader."""
