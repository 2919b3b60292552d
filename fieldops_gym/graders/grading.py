"""`grade()`: from a trial to a grade. Any broken hard invariant fails; nothing is averaged; nothing is repaired."""

from __future__ import annotations

from collections import Counter

from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Finding, Grade, GraderError, Invariant, Judged, Outcome, Severity, Trial, Verdict
from fieldops_gym.graders.account import ACCOUNT_INVARIANTS
from fieldops_gym.graders.answers import ANSWER_INVARIANTS
from fieldops_gym.graders.authority import AUTHORITY_INVARIANTS
from fieldops_gym.graders.effects import EFFECT_INVARIANTS
from fieldops_gym.graders.frame import STATE_INVARIANTS
from fieldops_gym.graders.work import WORK_INVARIANTS

INVARIANTS: dict[str, tuple[Invariant, ...]] = {
    "field_service": (
        WORK_INVARIANTS + ANSWER_INVARIANTS + STATE_INVARIANTS + EFFECT_INVARIANTS + AUTHORITY_INVARIANTS + ACCOUNT_INVARIANTS
    ),
}
"""The invariants of each domain, in the order of `info["verdicts"]`."""

TASK_ENDING = "task.accepted_ending"


def invariants_of(domain: Domain) -> tuple[Invariant, ...]:
    """Return a domain's invariants, in the order of verdicts."""
    return INVARIANTS[domain.name]


def grade(domain: Domain, trial: Trial) -> Grade:
    """Judge a finished run.

    Raises `GraderError` when the card names an invariant that does not exist, when none of them is hard, or when a
    check raises: that is a defect of the harness and never a score.
    """
    if trial.account is None:
        raise GraderError("the run has not ended; `judge_so_far` judges one that goes on")
    verdicts = judge_so_far(domain, trial)
    if not any(v.severity < Severity.ADVISORY and v.state != Judged.NOT_APPLICABLE for v in verdicts):
        raise GraderError(f"card '{trial.scenario.card.id}' judges nothing: no hard invariant applies to this run")
    broken = any(v.state == Judged.BROKEN and v.severity < Severity.ADVISORY for v in verdicts)
    unfired = Counter(fault.id for fault in trial.scenario.faults) - Counter(trial.fired)
    outcome = Outcome.FAILED if broken else Outcome.VOID if unfired else Outcome.PASSED
    right = any(v.invariant == TASK_ENDING and v.state == Judged.HOLDS for v in verdicts)
    return Grade(outcome, trial.ending, domain.truth.completion(trial, right), verdicts, trial.fired)


def judge_so_far(domain: Domain, trial: Trial) -> tuple[Verdict, ...]:
    """Return a verdict for every invariant of the domain; those that need an account are not judged before the end."""
    asked = trial.scenario.card.hidden.invariants
    known = invariants_of(domain)
    unknown = set(asked) - {invariant.id for invariant in known}
    if unknown:
        raise GraderError(f"card '{trial.scenario.card.id}' names an invariant that does not exist: {min(unknown)}")
    return tuple([_verdict(invariant, trial, invariant.id in asked) for invariant in known])


def _verdict(invariant: Invariant, trial: Trial, asked: bool) -> Verdict:
    if not asked:
        found = Finding(Judged.NOT_APPLICABLE, actual="the card does not ask for it")
    else:
        try:
            found = invariant.check(trial, trial.scenario.card.hidden.invariants[invariant.id])
        except Exception as error:
            raise GraderError(f"invariant '{invariant.id}' could not judge: {type(error).__name__}: {error}") from error
    return Verdict(
        invariant.id, invariant.version, invariant.layer, invariant.severity, invariant.policy,
        found.state, found.expected, found.actual, found.events, found.records,
    )  # fmt: skip
