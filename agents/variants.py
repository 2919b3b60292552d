"""Variants of cards by what happens in them: what agents with a defect declare to fail on."""

from __future__ import annotations

LOST = (
    "X-03:immediate", "X-03:slow", "X-03:stale",
)  # fmt: skip
"""The effect took place and the answer was lost."""

SENT = (
    "A-03:in_time", "A-03:slot_taken", "A-03:lapsed", "A-04:requester_then_approver", "A-04:stranger_then_approver",
    "A-04:requester_alone", "A-04:stranger_alone", "A-05:final", "A-05:change_slot", "A-05:change_part",
    "A-05:no_other_slot", "A-06:at_proposal", "A-06:in_wait", "A-06:landed", "A-06:missed", "A-06:answered",
    "X-01:whole", "X-01:partial", "X-02:not_sent", "X-02:timeout", "X-03:immediate", "X-03:slow", "X-03:stale",
    "X-04:colleague_live", "X-04:colleague_undone", "X-04:stranger_live", "X-04:stranger_undone", "X-05:landed",
    "X-05:missed", "X-06:with_repair", "X-06:with_repair_pressed", "R-01:live", "R-01:lapsed", "R-02:silent",
    "R-02:called_back", "R-03:asked_again", "R-03:undone", "R-04:migrate", "R-04:anew", "R-04:escalate",
    "R-05:approved_twice", "R-05:rejected_late", "R-05:stray_missed", "R-05:called_back_twice", "R-06:stands", "R-06:refused",
    "R-06:unknown_stands", "R-06:unknown_undone",
)  # fmt: skip
"""A repair is asked for, and an approval asked for on the way."""

RESERVED = (
    "A-03:in_time", "A-03:slot_taken", "A-03:lapsed", "A-04:requester_then_approver", "A-04:stranger_then_approver",
    "A-05:change_slot", "A-05:change_part", "X-01:whole", "X-01:partial", "X-02:not_sent", "X-02:timeout",
    "X-03:immediate", "X-03:slow", "X-03:stale", "X-05:landed", "X-06:with_repair", "X-06:with_repair_pressed",
    "R-01:live", "R-01:lapsed", "R-02:silent", "R-02:called_back", "R-03:asked_again", "R-03:undone", "R-04:migrate",
    "R-04:anew", "R-05:approved_twice", "R-05:rejected_late", "R-05:stray_missed", "R-05:called_back_twice",
    "R-06:stands", "R-06:refused", "R-06:unknown_stands", "R-06:unknown_undone",
)  # fmt: skip
"""A reservation comes about."""

CONTROL_ONLY = (
    "X-06:control", "X-06:control_pressed", "P-06:control",
)  # fmt: skip
"""Control of the machine is all that is asked for."""

WORK = (
    "A-01:shift_lead", "A-01:director", "A-01:nobody", "A-02:for_one", "A-02:for_other", "A-02:absent", "A-03:in_time",
    "A-03:slot_taken", "A-03:lapsed", "A-04:requester_then_approver", "A-04:stranger_then_approver",
    "A-04:requester_alone", "A-04:stranger_alone", "A-05:final", "A-05:change_slot", "A-05:change_part",
    "A-05:no_other_slot", "A-06:at_proposal", "A-06:in_wait", "A-06:landed", "A-06:missed", "A-06:answered",
    "X-01:whole", "X-01:partial", "X-02:not_sent", "X-02:timeout", "X-03:immediate", "X-03:slow", "X-03:stale",
    "X-04:colleague_live", "X-04:colleague_undone", "X-04:stranger_live", "X-04:stranger_undone", "X-05:landed",
    "X-05:missed", "X-06:with_repair", "X-06:with_repair_pressed", "E-01:newest", "E-01:not_newest", "E-01:remembered",
    "E-02:registered", "E-02:told", "E-02:unknown", "E-03:open", "E-03:decided", "E-04:in_stale", "E-04:in_current",
    "E-04:reserve", "E-04:scope", "E-05:own", "E-05:none", "E-06:revision_missing", "E-06:no_edition", "P-01:few_parts",
    "P-01:few_slots", "P-02:other_part", "P-02:other_slot", "P-02:none_left", "P-03:kept", "P-03:ranked",
    "P-04:allowed", "P-04:not_allowed", "P-05:skill", "P-05:region", "P-05:deadline", "P-06:with_plan", "R-01:live",
    "R-01:lapsed", "R-02:silent", "R-02:called_back", "R-03:asked_again", "R-03:undone", "R-04:migrate", "R-04:anew",
    "R-04:escalate", "R-05:approved_twice", "R-05:rejected_late", "R-05:stray_missed", "R-05:called_back_twice",
    "R-06:stands", "R-06:refused", "R-06:unknown_stands", "R-06:unknown_undone",
)  # fmt: skip
"""There is something to do."""

EVERYTHING = (*WORK, *CONTROL_ONLY)


def all_but(*names: str) -> tuple[str, ...]:
    """Return every variant but some."""
    return tuple(name for name in EVERYTHING if name not in names)
