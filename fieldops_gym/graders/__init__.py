"""Graders: pure functions over a finished run, and the one place where an outcome is decided."""

from __future__ import annotations

from fieldops_gym.graders.grading import INVARIANTS, grade, invariants_of, judge_so_far

__all__ = ["INVARIANTS", "grade", "invariants_of", "judge_so_far"]
