"""The audit: cards, graders and splits on trial, one section per question, one report.

from fieldops_gym import load_tasks
from fieldops_gym.evaluation.audit import audit, load_suite

report = audit("field_service", load_tasks(), load_suite("agents.suite"), quick=True)
print(report.to_markdown())
"""

from __future__ import annotations

from collections.abc import Callable

from fieldops_gym import __version__
from fieldops_gym.core.cards import Pack
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.audit.agents_on_trial import alternatives, shortcuts, solvability
from fieldops_gym.evaluation.audit.contamination import contamination
from fieldops_gym.evaluation.audit.interference import non_interference
from fieldops_gym.evaluation.audit.leakage import label_leakage
from fieldops_gym.evaluation.audit.locked import lock
from fieldops_gym.evaluation.audit.mutants_on_trial import mutations
from fieldops_gym.evaluation.audit.playing import Bench
from fieldops_gym.evaluation.audit.report import FORMAT, AuditReport, render
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.audit.suite import AgentSuite, load_suite, suite_of
from fieldops_gym.evaluation.audit.worlds_on_trial import splits, truth_references, world_invariants
from fieldops_gym.evaluation.quarantine import listing, pack_shares, quarantine_of, retired_of

__all__ = ["SECTIONS", "AgentSuite", "AuditReport", "Bench", "Row", "Section", "audit", "load_suite", "render", "suite_of"]

SECTIONS: tuple[tuple[str, Callable[[Bench], Section]], ...] = (
    ("solvability", solvability),
    ("alternatives", alternatives),
    ("shortcuts", shortcuts),
    ("mutations", mutations),
    ("truth references", truth_references),
    ("splits", splits),
    ("contamination", contamination),
    ("label leakage", label_leakage),
    ("non-interference", non_interference),
    ("lock", lock),
    ("world invariants", world_invariants),
)
"""The questions, in the order of the report."""


def audit(
    domain: str, pack: Pack, suite: AgentSuite, quick: bool = False, watch: Callable[[str], None] = lambda _: None
) -> AuditReport:
    """Ask every question of a pack and its graders; `watch` is told the name of each before it begins.

    The quick form plays fewer seeds. Whatever an agent raises is a finding, not an error of the audit.
    Raises `QuarantineError`.
    """
    apart = quarantine_of(pack, domain)
    bench = Bench(DOMAINS[domain], pack, suite, quick)
    sections = []
    for name, section in SECTIONS:
        watch(name)
        sections.append(section(bench))
    listed = listing(apart, retired_of(pack), pack_shares(pack, apart))
    return AuditReport(FORMAT, __version__, pack.digest, suite.module, "quick" if quick else "full", tuple(sections), listed)
