"""Checks that a card makes itself, on runs of the reference and on the tasks. Each says whether it holds, and what was seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fieldops_gym.core.calls import Code, Status, ToolCall
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.faults import Boundary
from fieldops_gym.core.judging import Outcome
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import evaluation_seeds
from fieldops_gym.evaluation.audit.playing import Played
from fieldops_gym.evaluation.card.grounds import Grounds, used
from fieldops_gym.evaluation.lock import State
from fieldops_gym.evaluation.trials import TrialStatus
from fieldops_gym.graders import invariants_of

TRANSFERS = 8
"""How many transfers a card has to say that it does not claim."""

OVERCLAIMS = re.compile(r"\b(production|realistic|real.world|safe|reliable|representative|compliant)", re.IGNORECASE)
"""Words that no supported claim may have."""

STRIKES = frozenset({Boundary.BEFORE_COMMIT, Boundary.COMMIT, Boundary.AFTER_COMMIT, Boundary.ON_REPLY})
"""Boundaries of state at which a fault has to have fired: before, at and after the commit, and on the way back."""

APPENDED = ("ledger", "audit")
"""Tables that only grow."""


class Probed(NamedTuple):
    """What a probe found."""

    holds: bool
    text: str


def _none(wrong: list[str], right: str) -> Probed:
    return Probed(not wrong, right if not wrong else f"not so: {', '.join(wrong[:3])}{' and more' if len(wrong) > 3 else ''}")


def _name(run: Played) -> str:
    return f"{run.name} on seeds {run.seed}"


def sound_starts(given: Grounds) -> Probed:
    """Every start keeps the world invariants."""
    wrong = []
    for run in given.runs:
        episode = run.run.episode
        if episode is None or given.domain.broken(episode.world.start, episode.world.start):
            wrong.append(_name(run))
    return _none(wrong, f"{len(given.runs)} starts keep the world invariants")


def same_again(given: Grounds) -> Probed:
    """The same coordinates and agent give the same start and the same log."""
    wrong = [_name(run) for run, (one, two) in zip(given.runs, given.prints, strict=True) if one.log != two.log]
    return _none(wrong, f"{len(given.runs)} runs made twice have equal logs")


def separate_runs(given: Grounds) -> Probed:
    """What was played before a run does not show in its start."""
    wrong = [_name(run) for run, (one, two) in zip(given.runs, given.prints, strict=True) if one.start != two.start]
    return _none(wrong, f"{len(given.runs)} starts are the same after all other runs, in the opposite order")


def anatomy(given: Grounds) -> Probed:
    """No card leaves open what it is for, what decides it, how it can be known, and what recovery is right."""
    wrong = []
    for card in given.pack.cards.values():
        said = (card.family, card.lineage, card.segment, card.claim, card.why, card.hidden.invariants, card.hidden.frame)
        variants = [part for v in card.variants.values() for part in (v.decided_by, v.evidence, v.recovery)]
        if not all(said) or not card.variants or not all(variants):
            wrong.append(card.id)
    return _none(wrong, f"{len(given.pack.cards)} cards have claim, reason, segment, invariants, evidence path and recovery")


def stateful(given: Grounds) -> Probed:
    """Runs change records."""
    changed = [run for run in given.runs if run.run.episode is not None and any(e.writes for e in run.run.episode.world.log)]
    return Probed(bool(changed), f"{len(changed)} of {len(given.runs)} runs changed records")


def ledger_only_grows(given: Grounds) -> Probed:
    """No entry of ledger or audit trail is ever changed or removed."""
    wrong, added = [], 0
    for run in (run for run in given.runs if run.run.episode is not None):
        assert run.run.episode is not None
        world = run.run.episode.world
        there = {(table, key) for table in APPENDED for key in world.start.get(table, {})}
        for write in (write for event in world.log for write in event.writes if write.table in APPENDED):
            if write.record is None or (write.table, write.id) in there:
                wrong.append(_name(run))
            there.add((write.table, write.id))
            added += 1
    return Probed(not wrong and added > 0, f"{added} entries added, {len(wrong)} changed or removed")


def prohibited_refused(given: Grounds) -> Probed:
    """Each prohibited capability is refused by name, and writes nothing but the harness's own meters."""
    name, card = next(iter(sorted(given.pack.cards.items())))
    episode = Episode(given.domain, given.pack, Coordinates(name, next(iter(card.variants)), evaluation_seeds(0)))
    wrong = [tool for tool in sorted(given.domain.prohibited) if episode.call(ToolCall.of(tool)).reply.code != Code.PROHIBITED]
    touched = {write.table for event in episode.world.log for write in event.writes} & set(given.domain.tables)
    if not given.domain.prohibited:
        return Probed(False, "the domain prohibits nothing")
    return _none(wrong + sorted(touched), f"{len(given.domain.prohibited)} capabilities are refused by name")


def tools_refuse(given: Grounds) -> Probed:
    """Tools do not always succeed: some calls of the reference were refused, and some stayed without an answer."""
    seen = {
        event.data.reply.status
        for run in given.runs
        if run.run.episode is not None
        for event in run.run.episode.world.log
        if event.kind == "result"
    }
    return Probed({Status.REFUSED, Status.UNKNOWN} <= seen, f"replies had status {', '.join(sorted(seen))}")


def boundaries(given: Grounds) -> Probed:
    """Faults fired at every boundary of state."""
    at = {given.pack.faults[name].boundary for name in given.fired}
    return _none(sorted(STRIKES - at), f"faults fired at {', '.join(sorted(at))}")


def faults_fire(given: Grounds) -> Probed:
    """Every fault that a card uses fired."""
    wanted = {name for card in given.pack.cards.values() for name in used(card)}
    return _none(sorted(wanted - given.fired), f"all {len(wanted)} faults that cards use fired")


def grouped_splits(given: Grounds) -> Probed:
    """A lineage, and an equipment family, lies in one split only."""
    where: dict[str, set[str]] = {}
    for card in given.pack.cards.values():
        for group in (f"lineage {card.lineage}", *(f"equipment family {name}" for name in card.equipment_families)):
            where.setdefault(group, set()).add(given.pack.splits[card.id].split)
    return _none(
        sorted(group for group, found in where.items() if len(found) > 1), f"{len(where)} groups lie in one split each"
    )


def not_claimed(given: Grounds) -> Probed:
    """At least eight transfers are said not to be claimed."""
    number = len(given.claims.not_claimed)
    return Probed(number >= TRANSFERS, f"{number} transfers are not claimed; {TRANSFERS} are asked for")


def no_overclaim(given: Grounds) -> Probed:
    """No supported claim uses a word that says more than the environment can."""
    wrong = [claim.id for claim in given.claims.claims if OVERCLAIMS.search(claim.statement)]
    return _none(wrong, f"{len(given.claims.claims)} claims use no such word")


def every_invariant_graded(given: Grounds) -> Probed:
    """Every invariant held or broke in a run."""
    known = {invariant.id for invariant in invariants_of(given.domain)}
    return _none(sorted(known - given.graded), f"all {len(known)} invariants held or broke somewhere")


def in_process(given: Grounds) -> Probed:
    """Every tool that a contract lists answers within the process: it has a handler of this package."""
    tools = given.domain.tools[given.domain.lead]
    listed = {name for contract in given.pack.contracts.values() for name in contract.tools}
    wrong = sorted(name for name in listed if not tools[name].handler.__module__.startswith("fieldops_gym."))
    return _none(wrong, f"{len(listed)} tools are answered in the process, without a network")


def every_run_ends(given: Grounds) -> Probed:
    """Every run came to an end and was judged."""
    wrong = [_name(run) for run in given.runs if run.run.status != TrialStatus.COMPLETED]
    return _none(wrong, f"{len(given.runs)} runs ended and were judged")


def reference_passes(given: Grounds) -> Probed:
    """The reference passed every run."""
    wrong = [_name(run) for run in given.runs if run.outcome != Outcome.PASSED]
    return _none(wrong, f"the scripted reference passed {len(given.runs)} of {len(given.runs)} runs; no person has played")


def locked(given: Grounds) -> Probed:
    """The tasks have a lock, and are what it says."""
    return Probed(given.lock.state == State.LOCKED, given.lock.told)


PROBES: Mapping[str, Callable[[Grounds], Probed]] = {
    probe.__name__: probe
    for probe in (
        sound_starts, same_again, separate_runs, anatomy, stateful, ledger_only_grows, prohibited_refused, tools_refuse,
        boundaries, faults_fire, grouped_splits, not_claimed, no_overclaim, every_invariant_graded, in_process,
        every_run_ends, reference_passes, locked,
    )
}  # fmt: skip
"""The probes, by name."""
