"""How trials are run and graded, and what each card claims, as data that is read off the code and the cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Completion, Judged, Layer, Outcome, Severity
from fieldops_gym.core.scenario import Limits
from fieldops_gym.core.streams import EVALUATION_SEEDS, TRAINING_SEEDS, evaluation_seeds
from fieldops_gym.evaluation.lock_parts import CLOCK
from fieldops_gym.evaluation.runner import AGENT_SEEDS, agent_seed, plan_trials, run_trial
from fieldops_gym.evaluation.trials import TrialStatus
from fieldops_gym.graders import grade, invariants_of
from fieldops_gym.registry import ENVIRONMENTS

SEEDS_SHOWN = 20
"""So many of the frozen seeds are written out; the rest follow by the same rule."""


class Paper(NamedTuple):
    """An invariant's papers. `checks` says what it looks at, `cards` which cards ask for it, with what parameters."""

    id: str
    version: str
    owner: str
    layer: str
    severity: int
    severity_word: str
    policy: str
    checks: str
    rationale: str
    source: str
    cards: Mapping[str, Mapping[str, Any]]


class Claim(NamedTuple):
    """What a card claims, and by what its variants are decided; `invariants` are what it is held to."""

    card: str
    family: str
    segment: str
    split: str
    lineage: str
    claim: str
    why: str
    decided_by: Mapping[str, str]
    recovery: Mapping[str, str]
    invariants: tuple[str, ...]


def papers(domain: Domain, pack: Pack) -> tuple[Paper, ...]:
    """Return the invariants of a domain, in the order of verdicts."""
    return tuple(
        Paper(
            row.id, row.version, row.owner, str(row.layer), int(row.severity), Severity(row.severity).name.lower(), row.policy,
            said(row.check), row.rationale, row.source,
            {n: c.hidden.invariants[row.id] for n, c in sorted(pack.cards.items()) if row.id in c.hidden.invariants},
        )
        for row in invariants_of(domain)
    )  # fmt: skip


def claims(pack: Pack) -> tuple[Claim, ...]:
    """Return what each card claims, in the order of ids."""
    return tuple(
        Claim(
            card.id, card.family, card.segment, pack.splits[card.id].split, card.lineage, card.claim, card.why,
            {name: variant.decided_by for name, variant in card.variants.items()},
            {name: variant.recovery for name, variant in card.variants.items()},
            tuple(card.hidden.invariants),
        )
        for _, card in sorted(pack.cards.items())
    )  # fmt: skip


def protocol(domain: Domain, pack: Pack) -> dict[str, Any]:
    """Return the trial protocol: what is run, on which seeds, under which budgets, with whom, and how a run is graded."""
    return {
        "environments": [plain(row) for row in ENVIRONMENTS if row.domain == domain.name],
        "trials": {"order": said(plan_trials), "one": said(run_trial), "statuses": [str(status) for status in TrialStatus]},
        "seeds": {
            "rule": said(evaluation_seeds),
            "evaluation": _range(EVALUATION_SEEDS),
            "training": _range(TRAINING_SEEDS),
            "frozen": [plain(evaluation_seeds(number)) for number in range(SEEDS_SHOWN)],
            "agent": {"rule": said(agent_seed), **_range(range(AGENT_SEEDS))},
        },
        "budgets": {
            "meters": said(Limits),
            "contracts": {name: dict(contract.budget) for name, contract in sorted(pack.contracts.items())},
        },
        "times": {
            name: {field: getattr(contract, field) for field in CLOCK} for name, contract in sorted(pack.contracts.items())
        },
        "fallbacks": {name: contract.fallback for name, contract in sorted(pack.contracts.items())},
        "seats": {
            "under_test": domain.lead,
            "others": [seat for seat in domain.tools if seat != domain.lead],
            "people": {name: plain(contract.personas) for name, contract in sorted(pack.contracts.items())},
            "admitted": {card.id: plain(card.admits) for _, card in sorted(pack.cards.items()) if card.admits},
        },
        "grading": {
            "rule": said(grade),
            "severities": {str(int(level)): level.name.lower() for level in Severity},
            "severity_rule": said(Severity),
            "states": {str(int(state)): state.name.lower() for state in Judged},
            "layers": [str(layer) for layer in Layer],
            "outcomes": [str(outcome) for outcome in Outcome],
            "completions": [str(completion) for completion in Completion],
            "dispositions": list(domain.dispositions),
        },
    }


def said(thing: Any) -> str:
    """Return what the code itself says of a function or a class: its docstring, on one line."""
    return " ".join((thing.__doc__ or "").split())


def _range(numbers: range) -> dict[str, int]:
    return {"first": numbers.start, "last": numbers.stop - 1}
