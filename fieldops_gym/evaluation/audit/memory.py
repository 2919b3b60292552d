"""What memory alone is worth: calls that were right on a train card, made again on another card without looking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.cards import Card
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.judging import Outcome
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import Seeds, evaluation_seeds, training_seeds
from fieldops_gym.core.view import View
from fieldops_gym.evaluation.agents import Agent
from fieldops_gym.evaluation.audit.playing import Bench, variants
from fieldops_gym.evaluation.audit.sections import Row
from fieldops_gym.evaluation.margins import upper_bound
from fieldops_gym.evaluation.runner import run_trial
from fieldops_gym.graders import grade

MOST_REPLAYED = 0.5
"""Of a card's runs, the share that a replay may pass, beyond the sampling margin.

A card leaves something to choose, from two at the least, so a choice made without looking is right every second time at most.
What is passed more often has been decided by memory.
"""

MOST_SEQUENCES = 3
"""So many of the commonest sequences of a family are tried, and the best of them counts."""

Actions = tuple[tuple[int, ...], ...]
"""Calls as elements of the action space: tools, with positions in the view in place of ids."""


class Remembered(NamedTuple):
    """A run that passed: its tools, the same calls as actions, and the disposition that it ended in."""

    skeleton: tuple[str, ...]
    actions: Actions
    disposition: str


class Memory(NamedTuple):
    """What a family's train cards leave behind.

    Every skeleton there is, the commonest skeleton with its ending, and the commonest sequences of actions among its runs.
    """

    skeletons: frozenset[tuple[str, ...]]
    commonest: tuple[tuple[str, ...], str]
    sequences: tuple[Actions, ...]


class _Recorder:
    """An agent that plays as `own` does, and whose calls are kept: the tool, and the action, () where none can say it."""

    def __init__(self, own: Agent, kept: list[tuple[str, tuple[int, ...]]]) -> None:
        self.own, self.kept = own, kept

    def start(self, brief: Any, seed: int, restarted: bool = False) -> None:
        self.own.start(brief, seed, restarted)

    def act(self, view: View, result: Any) -> ToolCall:
        call = self.own.act(view, result)
        try:
            self.kept.append((call.tool, view.layout.catalogue.encode(call, view.place)))
        except (KeyError, ValueError):
            self.kept.append((call.tool, ()))
        return call


def remember(bench: Bench, name: str, seeds: Seeds) -> Remembered | None:
    """Let the reference play `card:variant`; None when it does not pass."""
    kept: list[tuple[str, tuple[int, ...]]] = []

    def recording() -> Agent:
        return _Recorder(bench.suite.reference(), kept)

    card, _, variant = name.partition(":")
    run = run_trial(bench.domain, bench.pack, Coordinates(card, variant, seeds), recording)
    passed = run.grade is not None and run.grade.outcome == Outcome.PASSED
    if not passed or not kept or run.episode is None or run.episode.account is None:
        return None
    skeleton, actions = zip(*kept, strict=True)
    return Remembered(skeleton, actions, run.episode.account.disposition)


def replay_passes(bench: Bench, name: str, seeds: Seeds, actions: Actions) -> bool:
    """Make the same actions on `card:variant` whatever it answers, and tell whether that passes."""
    card, _, variant = name.partition(":")
    episode = Episode(bench.domain, bench.pack, Coordinates(card, variant, seeds))
    catalogue, rows = episode.lead_view.layout.catalogue, episode.lead_view.rows
    for action in actions:
        if episode.ended:
            break
        call, values = catalogue.decode(catalogue.plan(action), rows)
        episode.send(call, episode.lead, values)
        rows = episode.lead_view.rows
    return episode.ended and grade(bench.domain, episode.trial()).outcome == Outcome.PASSED


def memory_of(bench: Bench, family: str) -> Memory | None:
    """Return what the reference's runs on a family's train cards leave behind; None when there are none."""
    cards = [card for _, card in sorted(bench.pack.cards.items()) if card.family == family]
    train = [name for card in cards if bench.pack.splits[card.id].split == "train" for name in variants(card)]
    runs = _runs(bench, train, bench.seeds(5, 30), training_seeds)
    if not runs:
        return None
    commonest = Counter((run.skeleton, run.disposition) for run in runs).most_common(1)[0][0]
    sequences = Counter(run.actions for run in runs if (run.skeleton, run.disposition) == commonest and all(run.actions))
    return Memory(
        frozenset(run.skeleton for run in runs),
        commonest,
        tuple(actions for actions, _ in sequences.most_common(MOST_SEQUENCES)),
    )


def memory_rows(bench: Bench) -> list[Row]:
    """Return a row for every card of another split than train."""
    families = sorted({card.family for card in bench.pack.cards.values()})
    memories = {family: memory_of(bench, family) for family in families}
    others = [card for _, card in sorted(bench.pack.cards.items()) if bench.pack.splits[card.id].split != "train"]
    return [_row(bench, card, memories[card.family]) for card in others]


def _row(bench: Bench, card: Card, memory: Memory | None) -> Row:
    subject = f"memory, {card.id}"
    if memory is None:
        pack = bench.pack
        taught = any(other.family == card.family and pack.splits[other.id].split == "train" for other in pack.cards.values())
        text = "the reference passes no train card of its family" if taught else "its family has no card in train"
        return Row(subject, not taught, f"{text}, so there is nothing to replay", {"runs": 0})
    names, number = variants(card), bench.seeds(12, 100)
    runs = _runs(bench, names, bench.seeds(2, 20), evaluation_seeds)
    if not runs:
        return Row(subject, False, "the reference passes none of it, so it could not be asked", {"runs": 0})
    known = sum(run.skeleton in memory.skeletons for run in runs) / len(runs)
    same = sum((run.skeleton, run.disposition) == memory.commonest for run in runs) / len(runs)
    passed = partial(_passed, bench, names, number)
    best = max(map(passed, memory.sequences), default=0) / (len(names) * number)
    # The variants are played on the same seeds, so that there are no more independent runs than seeds.
    bound = upper_bound(MOST_REPLAYED, 0.0, number, MOST_SEQUENCES)
    text = f"a replay passes {best:.0%}, bound {bound:.0%}; tools as in train {known:.0%}, as in its commonest run {same:.0%}"
    figures = {"runs": len(names) * number, "replayed": round(best, 4), "bound": round(bound, 4)}
    return Row(subject, best <= bound, text, figures | {"tools_as_in_train": round(known, 4), "as_commonest": round(same, 4)})


def _runs(bench: Bench, names: Sequence[str], number: int, seeds: Callable[[int], Seeds]) -> list[Remembered]:
    runs = (remember(bench, name, seeds(seed)) for name in names for seed in range(number))
    return [run for run in runs if run is not None]


def _passed(bench: Bench, names: Sequence[str], number: int, actions: Actions) -> int:
    return sum(replay_passes(bench, name, evaluation_seeds(seed), actions) for name in names for seed in range(number))
