"""Non-interference: variants that differ only in what is hidden look the same until a reply depends on the difference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.canonical import canonical
from fieldops_gym.core.cards import Card, Pack, Variant
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.tools import EFFECTS
from fieldops_gym.evaluation.audit.playing import Bench
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.audit.suite import Make
from fieldops_gym.evaluation.twins import (
    Choice,
    Compared,
    Twin,
    TwinError,
    calls_of,
    compare,
    depends,
    env_for,
    met_otherwise,
    random_calls,
)  # fmt: skip

NAME = "non-interference"
BOUND = "what is hidden changes no observation, mask, reply or time before a reply depends on it"


class Pair(NamedTuple):
    """Two of `card:variant` that have to look alike, and why."""

    one: str
    other: str
    why: str


def non_interference(bench: Bench) -> Section:
    """Every two variants that are told apart by something hidden look the same until a reply depends on a record that differs.

    Both are given the same calls: those of the reference, random ones, and random ones after an effect was sent. One row per
    pair: variants of a card with the same requests, and variants of two cards whose starts are the same.
    """
    pairs = tuple(pairs_of(bench.pack, bench.quick))
    if not pairs:
        return Section(NAME, BOUND, "no two variants have the same requests", ())
    try:
        envs = env_for(bench.domain, bench.pack), env_for(bench.domain, bench.pack)
    except TwinError as error:
        return Section(NAME, BOUND, "nothing was compared", (Row(bench.domain.name, False, str(error)),))
    rows, seeds = [], bench.seeds(1, 20)
    for pair in pairs:
        one, other = Twin(pair.one, envs[0]), Twin(pair.other, envs[1])
        found = [compare(one, other, index, choose, _may_differ) for choose in choices(bench) for index in range(seeds)]
        rows.append(_row(pair, found))
    replies = sum(int(row.figures["replies"]) for row in rows)
    return Section(NAME, BOUND, f"{sum(row.holds for row in rows)} of {len(rows)} pairs, {replies} replies", tuple(rows))


def pairs_of(pack: Pack, quick: bool) -> Iterator[Pair]:
    """Yield the pairs that have to look alike; across cards, the quick form has each variant with the next one only."""
    alike: dict[bytes, list[str]] = {}
    for _, card in sorted(pack.cards.items()):
        for (first, one), (second, other) in combinations(card.variants.items(), 2):
            if requests_of(card, one) == requests_of(card, other):
                yield Pair(f"{card.id}:{first}", f"{card.id}:{second}", "the same requests")
        for name, variant in card.variants.items():
            alike.setdefault(_start_of(card, variant), []).append(f"{card.id}:{name}")
    for names in alike.values():
        for one, other in pairwise(names) if quick else combinations(names, 2):
            if one.split(":")[0] != other.split(":")[0]:
                yield Pair(one, other, "the same start")


def requests_of(card: Card, variant: Variant) -> tuple[str, ...]:
    """Return the requests that a variant draws from: its own, or the card's."""
    return variant.requests or card.requests


def _start_of(card: Card, variant: Variant) -> bytes:
    """Return all that a variant's start is made from; what is left of a card is hidden."""
    steps = [step.model_dump() for step in (*card.setup, *variant.setup)]
    checks = [item.checks for item in card.items]
    return canonical([card.contract, checks, card.equipment_families, steps, requests_of(card, variant)])


def choices(bench: Bench) -> tuple[Choice, ...]:
    """Return what chooses the calls."""
    known = _steady(bench.suite.reference)
    effects = {tool.name for tool in bench.domain.tools[bench.domain.lead].values() if tool.consequence in EFFECTS}

    def random_after_effect(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
        sent = any(step.call.tool in effects for step in episode.steps)
        return (random_calls if sent else known)(episode, result, index)

    return known, random_calls, random_after_effect


def _steady(make: Make) -> Choice:
    """Return an agent's calls, and a random one where it raises: what becomes of an agent is not asked here."""
    own = calls_of(make)

    def choose(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
        try:
            return own(episode, result, index)
        except Exception:
            return random_calls(episode, result, index)

    return choose


def _may_differ(one: Twin, other: Twin) -> bool:
    return depends(one, other) or met_otherwise(one, other)


def _row(pair: Pair, found: list[Compared]) -> Row:
    replies = sum(compared.replies for compared in found)
    wrong = [compared.differing for compared in found if compared.differing]
    text = f"{pair.why}, and {replies} replies alike"
    if wrong:
        text = f"{pair.why}, but {wrong[0]}"
    elif not replies:
        text = f"{pair.why}, but no reply could be compared"
    figures = {"runs": len(found), "replies": replies, "wrong": len(wrong)}
    return Row(f"{pair.one} and {pair.other}", not wrong and replies > 0, text, figures)
