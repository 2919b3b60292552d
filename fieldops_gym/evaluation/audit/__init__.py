"""The audit: cards, graders and splits on trial, one section per question, one report.

from fieldops_gym.evaluation.audit import audit, load_suite

report = audit(load_tasks(), load_suite("agents.suite"), quick=True)
print(report.to_markdown())
"""

from __future__ import annotations
