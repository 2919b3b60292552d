"""Mutations: runs that pass, each changed in one way that the graders have to notice, and by which invariant.

from fieldops_gym.graders.mutations import KINDS, Base, mutants_of

for mutant in mutants_of(Base.of(episode)):
    print(mutant.kinds, mutant.site)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fieldops_gym.graders.mutations import account, authority, collateral, conduct, effects, evidence, plans
from fieldops_gym.graders.mutations.model import Base, Kind, Mutant, MutationError

__all__ = ["KINDS", "Base", "Kind", "Mutant", "MutationError", "composed", "mutants_of"]

KINDS: tuple[Kind, ...] = (
    *conduct.KINDS,
    *effects.KINDS,
    *collateral.KINDS,
    *authority.KINDS,
    *evidence.KINDS,
    *plans.KINDS,
    *account.KINDS,
)
"""Every kind of mutation."""


def mutants_of(base: Base, kinds: Sequence[Kind] = KINDS) -> Iterator[Mutant]:
    """Yield every mutant that some kinds make of a run."""
    for kind in kinds:
        for change in kind.make(base):
            yield Mutant((kind.name,), change.site, change.base, kind.breaks, kind.may, change.excuse)


def composed(base: Base, kinds: Sequence[Kind]) -> Iterator[Mutant]:
    """Yield the mutants that have one change of each kind, one made after the other.

    Kinds that change calls have to come first. Raises `MutationError` otherwise.
    """
    first, *rest = kinds
    for mutant in mutants_of(base, (first,)):
        if not rest:
            yield mutant
            continue
        for more in composed(mutant.base, rest):
            yield Mutant(
                (*mutant.kinds, *more.kinds), f"{mutant.site}; {more.site}", more.base,
                mutant.breaks + more.breaks, mutant.may + more.may, mutant.excuse and more.excuse,
            )  # fmt: skip
