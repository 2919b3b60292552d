"""Mutations of plans that were asked for: which part they name, and which others they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fieldops_gym.domains.field_service.plans import fitting_parts
from fieldops_gym.graders.mutations.model import Base, Change, Kind, Make
from fieldops_gym.graders.mutations.surgery import with_record

GROUP = "plan"

ENDING = ("task.accepted_ending",)
EVIDENCE = ("trajectory.current_evidence", "trajectory.grounded")


def _alternatives(change: Callable[[Any, Base], tuple[str, ...] | None]) -> Make:
    """Let the plan that was asked for keep other parts as alternatives than it does."""

    def make(base: Base) -> Iterator[Change]:
        account = base.trial.account
        plan = base.trial.world.tables["proposal"].get(account.subject) if account is not None else None
        others = change(plan, base) if plan is not None and account is not None and account.disposition == "proposed" else None
        if plan is not None and others is not None:
            yield Change(f"proposal {plan.id}", with_record(base, "proposal", plan.id, alternatives=others))

    return make


def _and_one_that_does_not(plan: Any, base: Base) -> tuple[str, ...]:
    does = {part.id for part in fitting_parts(base.trial.world.tables, base.trial.scenario.roles)}
    return (*plan.alternatives, next(key for key in sorted(base.trial.world.start["part"]) if key not in does))


def _another_that_does(base: Base) -> Iterator[Change]:
    """Let the plan name, of several parts that do, the one that policy ranks last."""
    account, tables = base.trial.account, base.trial.world.tables
    if account is None or account.disposition != "proposed" or not tables["policy"]["pol-rank"].value:
        return
    parts = sorted(fitting_parts(tables, base.trial.scenario.roles), key=lambda part: part.uncertainty)
    if len(parts) > 1:
        yield Change(f"proposal {account.subject}", with_record(base, "proposal", account.subject, part=parts[-1].id))


def _row(name: str, text: str, make: Make, may: tuple[str, ...] = ()) -> Kind:
    return Kind(name, GROUP, text, ENDING, may, make)


KINDS: tuple[Kind, ...] = (
    _row("alternatives left out", "a plan keeps none of the other parts that do",
         _alternatives(lambda plan, base: () if plan.alternatives else None)),
    _row("an alternative that does not do", "a plan keeps a part that does not do", _alternatives(_and_one_that_does_not)),
    _row("not the part that ranks first", "a plan names the part that policy ranks last", _another_that_does, EVIDENCE),
)  # fmt: skip
"""Kinds of mutation of plans."""
