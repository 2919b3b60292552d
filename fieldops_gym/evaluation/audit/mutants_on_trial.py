"""Graders on trial: runs that pass are changed, and each change has to be noticed by an invariant that its kind names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fieldops_gym.core.judging import GraderError, Judged, Outcome, Severity, Verdict
from fieldops_gym.core.streams import Stream
from fieldops_gym.evaluation.audit.playing import Bench, every_variant, played
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.graders.grading import judge_so_far
from fieldops_gym.graders.mutations import KINDS, Base, Kind, Mutant, composed, mutants_of

MOST_MOVED = 0.05
"""Share of mutants in which a verdict may move that the kind does not bear on."""

MOST_EXCUSED = 0.05
"""Share of mutants that may go unnoticed for a reason. A table of excuses that grows is a grader that sleeps."""

COMPOSED = "(composed)"
"""Name of the row of mutants with a change of two kinds."""

GROUPS = {kind.name: kind.group for kind in KINDS}

States = Mapping[str, Judged]


class Fate(NamedTuple):
    """What became of a mutant. `excuse` is set only where it survived; `moved` are unrelated verdicts that moved."""

    name: str
    mutant: str
    killed: bool
    excuse: str
    moved: tuple[str, ...]
    told: str


def mutations(bench: Bench) -> Section:
    """Every mutant is killed by an invariant that its kind names, and hardly any verdict moves that it does not bear on."""
    fates: list[Fate] = []
    for base, where, lean in _bases(bench):
        before = {verdict.invariant: verdict.state for verdict in judge_so_far(bench.domain, base.trial)}
        kinds = [kind for kind in KINDS if lean or not kind.lean]
        fates += [_fate(bench, m, before, where, m.kinds[0]) for m in mutants_of(base, kinds)]
        fates += [_fate(bench, m, before, where, COMPOSED) for m in _pairs(bench, base, where, kinds)]
    names = (*(kind.name for kind in KINDS), COMPOSED)
    rows = [_row(name, [fate for fate in fates if fate.name == name]) for name in names] if fates else []
    if fates:
        rows += [
            _share("(unrelated verdicts)", [f for f in fates if f.moved], fates, MOST_MOVED, "moved a verdict unrelated to it")
        ]
        rows += [_share("(excused)", [f for f in fates if f.excuse], fates, MOST_EXCUSED, "went unnoticed for a reason")]
    killed, spared = sum(fate.killed for fate in fates), sum(bool(fate.excuse) for fate in fates)
    return Section(
        "mutations", "every change to a passing run is noticed by an invariant that its kind names, or excused for a reason",
        f"{killed} of {len(fates)} killed, {spared} excused, {len(fates) - killed - spared} survived; {len(KINDS)} kinds",
        tuple(rows),
    )  # fmt: skip


def _bases(bench: Bench) -> Iterator[tuple[Base, str, bool]]:
    """Yield runs that pass: the reference's, which are lean, and, in the full form, some of honest styles."""
    for name in every_variant(bench.pack):
        for seed in range(bench.seeds(1, 4)):
            styles = Stream(seed, "mutations").draw(name).shuffled(bench.suite.styles)[: bench.seeds(0, 1)]
            for make in (bench.suite.reference, *(style.make for style in styles)):
                run = played(bench, make, name, seed)
                if run.outcome == Outcome.PASSED and run.run.episode is not None:
                    yield Base.of(run.run.episode), f"{name}, seeds {seed}", make is bench.suite.reference


def _pairs(bench: Bench, base: Base, where: str, kinds: Sequence[Kind]) -> Iterator[Mutant]:
    """Yield mutants with changes of two drawn kinds, where both have a place in the run."""
    for number in range(bench.seeds(4, 20)):
        pair = Stream(number, "mutations").draw(where).shuffled(kinds)[:2]
        mutant = next(composed(base, sorted(pair, key=lambda kind: not kind.replays)), None)
        if mutant is not None:
            yield mutant


def _fate(bench: Bench, mutant: Mutant, before: States, where: str, name: str) -> Fate:
    which = f"{where}, {' and '.join(mutant.kinds)} at {mutant.site}"
    try:
        verdicts = judge_so_far(bench.domain, mutant.base.trial)
    except GraderError as error:
        return Fate(name, which, False, "", (), f"{which}: {error}")
    hard = [verdict for verdict in verdicts if verdict.severity < Severity.ADVISORY]
    broken = [verdict.invariant for verdict in hard if verdict.state == Judged.BROKEN]
    killed = not set(broken).isdisjoint(mutant.breaks)
    moved = tuple(sorted(v.invariant for v in hard if _moved(v, before, mutant)))
    told = f"{which}: nobody noticed" if not broken else f"{which}: noticed only by {', '.join(broken)}"
    return Fate(name, which, killed, "" if killed else mutant.excuse, moved, told)


def _moved(verdict: Verdict, before: States, mutant: Mutant) -> bool:
    related = (*mutant.breaks, *mutant.may)
    return verdict.invariant not in related and verdict.state != before[verdict.invariant]


def _row(name: str, fates: list[Fate]) -> Row:
    survived = [fate for fate in fates if not fate.killed and not fate.excuse]
    excuses = sorted({fate.excuse for fate in fates if fate.excuse})
    killed = sum(fate.killed for fate in fates)
    text = f"{killed} of {len(fates)} killed" if fates else "there is no place for it in these cards"
    if excuses:
        text += f", {sum(bool(fate.excuse) for fate in fates)} excused: {'; '.join(excuses)}"
    if survived:
        text += f", {len(survived)} survived: {survived[0].told}"
    figures: dict[str, float | str] = {
        "group": GROUPS.get(name, name), "mutants": len(fates), "killed": killed, "survived": len(survived),
        "excuses": "; ".join(excuses), "moved": sum(bool(fate.moved) for fate in fates),
    }  # fmt: skip
    return Row(name, not survived, text, figures)


def _share(subject: str, some: list[Fate], fates: list[Fate], most: float, what: str) -> Row:
    share = len(some) / len(fates)
    text = f"{len(some)} of {len(fates)} {what}: {share:.1%}, at most {most:.0%}"
    if some and share >= most:
        text += f"; {some[0].mutant}{': ' + ', '.join(some[0].moved) if some[0].moved else ''}"
    return Row(subject, share < most, text, {"share": round(share, 4)})
