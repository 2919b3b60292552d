"""What is shown and what is not: references to evidence, and the rubric and the checklist that are scored from them.

A reference is `kind:name`. What cannot be looked up is not shown, and what is not shown scores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import fieldops_gym
from fieldops_gym.evaluation.card import tables
from fieldops_gym.evaluation.card.grounds import Grounds
from fieldops_gym.evaluation.card.parts import Part, Table
from fieldops_gym.evaluation.card.probes import PROBES, Probed

EVERY_GROUP = "every group"


class Shown(NamedTuple):
    """A reference looked up: whether it is shown, and what was seen or why not."""

    reference: str
    holds: bool
    text: str


class Evidence:
    """Looks references up: in the audit, in the runs, among the parts made so far, in the checkout. Each once."""

    def __init__(self, given: Grounds, parts: Mapping[str, Part]) -> None:
        self.given, self.parts = given, parts
        self.look = cache(self._look)

    def why_not(self, reference: str) -> str:
        """Return why a reference is not shown, '' if it is."""
        shown = self.look(reference)
        return "" if shown.holds else shown.text

    def _look(self, reference: str) -> Shown:
        kind, _, name = reference.partition(":")
        find = KINDS.get(kind)
        found = Probed(False, f"there is no kind of evidence '{kind}'") if find is None else find(self, name)
        return Shown(reference, *found)


def _audit(evidence: Evidence, name: str) -> Probed:
    if evidence.given.audit is None:
        return Probed(False, "not audited")
    section = evidence.given.audit.section(name)
    if section is None:
        return Probed(False, "the audit does not ask this")
    short = f", {len(section.short)} short" if section.short else ""
    return Probed(section.holds, section.summary + short)


def _part(evidence: Evidence, name: str) -> Probed:
    part = evidence.parts.get(name)
    if part is None or part.empty:
        return Probed(False, "the card has no such part" if part is None else "the part is empty")
    return Probed(True, f"see {part.title}")


def _probe(evidence: Evidence, name: str) -> Probed:
    probe = PROBES.get(name)
    return Probed(False, "there is no such probe") if probe is None else probe(evidence.given)


def _graded(evidence: Evidence, name: str) -> Probed:
    holds = name in evidence.given.graded
    return Probed(holds, "held or broke in a run made for this card" if holds else "graded nothing in any run")


def _fired(evidence: Evidence, name: str) -> Probed:
    holds = name in evidence.given.fired
    return Probed(holds, "fired in a run made for this card" if holds else "never fired")


def _file(evidence: Evidence, name: str) -> Probed:
    package = Path(fieldops_gym.__file__).parent.parent if name.startswith("fieldops_gym/") else evidence.given.root
    if package is None:
        return Probed(False, "not here: the package is installed without its checkout")
    holds = (package / name).is_file()
    return Probed(holds, "the file is there" if holds else "there is no such file")


def _test(evidence: Evidence, name: str) -> Probed:
    path, _, function = name.partition("::")
    found = _file(evidence, path)
    if not found.holds or evidence.given.root is None:
        return found
    text = (evidence.given.root / path).read_text(encoding="utf-8")
    holds = f"def {function}(" in text if function else "def test_" in text
    return Probed(holds, "the test is there; the card does not run it" if holds else "there is no such test")


def _tasks(evidence: Evidence, name: str) -> Probed:
    path = evidence.given.beside(name)
    holds = path is not None and path.is_file()
    return Probed(holds, "the file goes with these tasks" if holds else "these tasks have no such file")


KINDS: Mapping[str, Callable[[Evidence, str], Probed]] = {
    "audit": _audit, "part": _part, "probe": _probe, "graded": _graded, "fired": _fired, "file": _file, "test": _test,
    "tasks": _tasks,
}  # fmt: skip
"""Kinds of evidence: sections of the audit, parts of the card, probes, invariants that graded something, faults that fired,
files and tests of the checkout, files beside the tasks."""

KIND_WORDS = (
    "`audit`: a section that holds; `probe`: a check made for this card; `part`: a part of it; `graded`, `fired`: "
    "an invariant, a "
    "fault, in the runs made for it; `test`, `file`, `tasks`: it exists, and is not run by the card."
)


def _told(shown: Iterable[Shown]) -> str:
    return "; ".join(each.reference if each.holds else f"NOT SHOWN {each.reference} ({each.text})" for each in shown)


class Score(NamedTuple):
    """A rubric's result: points by group after its gates, of how many, and the rows behind them."""

    groups: Mapping[str, tuple[int, int]]
    rows: tuple[tuple[str, str, str, int, str], ...]
    gates: tuple[tuple[str, str, str, str], ...]

    @property
    def total(self) -> int:
        """All points."""
        return sum(points for points, _ in self.groups.values())

    @property
    def most(self) -> int:
        """All points there are."""
        return sum(most for _, most in self.groups.values())


def scored(evidence: Evidence) -> Score:
    """Score the rubric."""
    rubric = tables.rubric()
    rows, sums, most = [], {}, {}
    for point in rubric.points:
        shown = [evidence.look(reference) for reference in point.needs]
        given = int(all(each.holds for each in shown))
        rows.append((point.id, point.group, point.text, given, _told(shown)))
        sums[point.group] = sums.get(point.group, 0) + given
        most[point.group] = most.get(point.group, 0) + 1
    gates = []
    for gate in rubric.gates:
        shown = [evidence.look(reference) for reference in gate.needs]
        passed = all(each.holds for each in shown)
        gates.append((gate.group, gate.text, "passed" if passed else f"FAILED: at most {gate.at_most}", _told(shown)))
        for group in sums if not passed else ():
            if gate.group in (group, EVERY_GROUP):
                sums[group] = min(sums[group], gate.at_most)
    return Score({group: (sums[group], most[group]) for group in sums}, tuple(rows), tuple(gates))


def rubric(score: Score) -> Part:
    """Return the twenty-point rubric as it is scored."""
    groups = [(group, points, most) for group, (points, most) in score.groups.items()]
    return Part(
        "rubric",
        "Rubric",
        (f"{score.total} of {score.most} points. A point is given when all that it needs is shown.", KIND_WORDS),
        (
            Table.of("groups", ("group", "points", "of"), groups),
            Table.of("points", ("point", "group", "asks", "given", "shown by"), score.rows),
            Table.of("gates", ("caps", "unless", "state", "shown by"), score.gates),
        ),
    )


class Answer(NamedTuple):
    """An item of the checklist answered: 'yes', 'no' or 'not applicable', with what shows it or why not."""

    id: str
    question: str
    answer: str
    shown_by: str


def answers(evidence: Evidence) -> tuple[Answer, ...]:
    """Answer the checklist."""
    found = []
    for item in tables.checklist():
        if item.answer:
            found.append(Answer(item.id, item.question, item.answer, item.why))
            continue
        shown = [evidence.look(reference) for reference in item.needs]
        found.append(Answer(item.id, item.question, "yes" if all(each.holds for each in shown) else "no", _told(shown)))
    return tuple(found)


def checklist(answered: tuple[Answer, ...]) -> Part:
    """Return the checklist as it is answered."""
    counts = {word: sum(each.answer == word for each in answered) for word in ("yes", "no", "not applicable")}
    tally = ", ".join(f"{n} {word}" for word, n in counts.items())
    return Part(
        "checklist",
        "Agentic Benchmark Checklist",
        (
            f"{tally}. Questions of arXiv 2507.02825 in our own words, numbered as in its repository; what is not shown is "
            "`no`.",
        ),
        (Table.of("items", ("item", "question", "answer", "shown by, or why not"), answered),),
    )
