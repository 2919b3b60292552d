"""The environment card: what this environment is, what it may be cited for, and what was seen of it; generated.

from fieldops_gym import load_tasks
from fieldops_gym.evaluation.audit import load_suite
from fieldops_gym.evaluation.card import environment_card

card = environment_card("field_service", load_tasks(), load_suite("agents.suite"))
print(card.to_markdown())
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fieldops_gym import __version__
from fieldops_gym.core.cards import Pack
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.audit.suite import AgentSuite
from fieldops_gym.evaluation.card import interface, surroundings, tables, traced, validity
from fieldops_gym.evaluation.card.audited import Audited, read_audit
from fieldops_gym.evaluation.card.coverage import Cell, coverage
from fieldops_gym.evaluation.card.face import FORMAT, EnvironmentCard
from fieldops_gym.evaluation.card.grounds import Grounds, checkout
from fieldops_gym.evaluation.card.identity import audit_words, identity
from fieldops_gym.evaluation.card.parts import EnvironmentCardError, Part, Table
from fieldops_gym.evaluation.card.population import population
from fieldops_gym.evaluation.card.scores import Evidence, answers, checklist, rubric, scored
from fieldops_gym.graders import invariants_of

__all__ = [
    "PARTS",
    "Audited",
    "Cell",
    "EnvironmentCard",
    "EnvironmentCardError",
    "Part",
    "Table",
    "environment_card",
    "read_audit",
]

PARTS: tuple[Callable[[Grounds], Part], ...] = (
    identity,
    traced.claims_part,
    traced.reading_part,
    surroundings.limitations,
    coverage,
    validity.cards,
    validity.splits,
    validity.validity,
    validity.exclusions,
    interface.segments,
    interface.invariants,
    surroundings.layers,
    surroundings.dependencies,
    population,
    interface.tools,
    interface.boundary,
    interface.people,
    interface.policy,
    interface.faults,
    interface.budgets,
    validity.changes,
)
"""The parts that rest on tasks, audit and runs, in the order of the card; evidence, rubric and checklist rest on them."""


def environment_card(
    domain: str,
    pack: Pack,
    suite: AgentSuite,
    audit: Path | None = None,
    claims: Path | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> EnvironmentCard:
    """Make the card of a pack; the suite's reference is played on every variant for it.

    `audit` is a file that `fieldops audit --json FILE` wrote, `claims` a YAML file in place of the shipped claims; `watch` is
    told what is being done. Raises `EnvironmentCardError` for an audit of something else and for claims that trace to nothing.
    """
    audited = None if audit is None else read_audit(audit, pack.digest)
    held = tables.claims(claims)
    traced.check_traces(held, pack, frozenset(invariant.id for invariant in invariants_of(DOMAINS[domain])))
    given = Grounds(DOMAINS[domain], pack, suite, audited, held, checkout())
    return card_of(given, watch)


def card_of(given: Grounds, watch: Callable[[str], None] = lambda _: None) -> EnvironmentCard:
    """Make the card from its grounds."""
    watch("playing the reference")
    made: dict[str, Part] = {}
    for part in PARTS:
        held = part(given)
        made[held.id] = held
        watch(held.title)
    evidence = Evidence(given, made)
    made["evidence"] = traced.evidence_part(given, evidence.why_not)
    watch("scoring")
    score, answered = scored(evidence), answers(evidence)
    made |= {"rubric": rubric(score), "checklist": checklist(answered)}
    counts = tuple((word, sum(each.answer == word for each in answered)) for word in ("yes", "no", "not applicable"))
    return EnvironmentCard(
        FORMAT, __version__, given.pack.digest, audit_words(given), score.total, score.most, counts, _ordered(made)
    )


def _ordered(made: dict[str, Part]) -> tuple[Part, ...]:
    """Return the parts in order; evidence comes after the claims, and the scores after how to cite."""
    front = ["identity", "claims", "evidence", "reading", "rubric", "checklist"]
    return tuple(made[name] for name in front) + tuple(part for name, part in made.items() if name not in front)
