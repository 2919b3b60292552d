"""The coverage matrix: families by dimensions, marked only where a run reached a dimension and an invariant graded it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fieldops_gym.core.world import World
from fieldops_gym.evaluation.audit.playing import Played
from fieldops_gym.evaluation.card.grounds import Grounds, decided, fired
from fieldops_gym.evaluation.card.parts import Part, Table, words
from fieldops_gym.evaluation.card.tables import Condition, Dimension, Seen, dimensions

OVERLAYS = ("nominal", "single fault", "combined faults")
"""By how many different faults fired in the run: none, one, more."""


class Cell(NamedTuple):
    """A marked cell: the cards of a family whose runs reached and graded a dimension, with so many faults (`overlay`)."""

    family: str
    dimension: str
    overlay: str
    cards: tuple[str, ...]


def cells(given: Grounds) -> tuple[Cell, ...]:
    """Return every marked cell, by family, dimension and overlay."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for run in given.runs:
        card = given.card_of(run)
        for dimension in dimensions():
            if covers(run, dimension, given.domain.lead):
                found.setdefault((card.family, dimension.dimension, overlay(run)), set()).add(card.id)
    order = [
        (family, dimension.dimension, name) for family in families(given) for dimension in dimensions() for name in OVERLAYS
    ]
    return tuple(Cell(*key, tuple(sorted(found[key]))) for key in order if key in found)


def families(given: Grounds) -> tuple[str, ...]:
    """Return the families of the pack, sorted."""
    return tuple(sorted({card.family for card in given.pack.cards.values()}))


def overlay(run: Played) -> str:
    """Return which overlay a run belongs to."""
    return OVERLAYS[min(len(fired(run)), 2)]


def covers(run: Played, dimension: Dimension, lead: str) -> bool:
    """Whether a run reached a dimension and an invariant graded it there."""
    if run.run.episode is None:
        return False
    graded, world = {verdict.invariant for verdict in decided(run)}, run.run.episode.world
    return any(
        graded.intersection(way.graded)
        and any(reached(world, condition, lead) for condition in way.any)
        and all(reached(world, condition, lead) for condition in way.all)
        for way in dimension.ways
    )


def reached(world: World, condition: Condition, lead: str) -> bool:
    """Whether a run's log has what a condition asks for."""
    if condition.call:
        return any(e.kind == "call" and e.actor == lead and e.data.tool == condition.call for e in world.log)
    if condition.event:
        return any(e.kind == condition.event for e in world.log)
    if condition.act:
        seat, _, tool = condition.act.partition(".")
        return any(e.kind == "act" and e.actor == seat and e.data.call.tool == tool and not e.data.code for e in world.log)
    if condition.fault:
        return any(e.kind == "fault" and e.data.fault == condition.fault for e in world.log)
    if condition.writes:
        return any(e.kind == "commit" and any(w.table == condition.writes for w in e.writes) for e in world.log)
    return condition.shows is not None and _shown(world, condition.shows)


def _shown(world: World, seen: Seen) -> bool:
    for event in world.log:
        if event.kind != "result":
            continue
        for item in event.data.reply.shown:
            record = world.tables.get(item.table, {}).get(item.id) if item.table == seen.table else None
            if record is not None and getattr(record, seen.field) == seen.value:
                return True
    return False


def coverage(given: Grounds) -> Part:
    """Return the matrix, its cells by card, what the columns ask, and what is empty."""
    marked = {(cell.family, cell.dimension, cell.overlay): cell.cards for cell in cells(given)}
    columns = [dimension.dimension for dimension in dimensions()]
    matrix = [(family, *(_mark(marked, family, column) for column in columns)) for family in families(given)]
    detail = [
        (family, column, *(words(marked.get((family, column, name), ()), "") for name in OVERLAYS))
        for family in families(given)
        for column in columns
        if any((family, column, name) in marked for name in OVERLAYS)
    ]
    asked = [(d.dimension, d.asks, words(dict.fromkeys(_graded(d)))) for d in dimensions()]
    empty = [
        (family, words(missing))
        for family in families(given)
        if (missing := [column for column in columns if not any((family, column, name) in marked for name in OVERLAYS)])
    ]
    return Part(
        "coverage",
        "Coverage",
        (
            "Numbers of cards: without a fault / with one fault / with several. A card counts where a run of the reference "
            "reached "
            "the property and an invariant that the card asks held or broke there. A mark says that something of it is "
            "tested, not that all of it is, and more cards are not better evidence.",
        ),
        (
            Table.of("matrix", ("family", *columns), matrix),
            Table.of(
                "empty",
                ("family", "not covered"),
                empty,
                "Left empty: a claim that needs one of these has to rest on another family.",
            ),
            Table.of("columns", ("dimension", "counts when", "graded by one of"), asked),
            Table.of("cells", ("family", "dimension", *OVERLAYS), detail),
        ),
    )


def _mark(marked: dict[tuple[str, str, str], tuple[str, ...]], family: str, column: str) -> str:
    counts = [len(marked.get((family, column, name), ())) for name in OVERLAYS]
    return " / ".join(map(str, counts)) if any(counts) else "-"


def _graded(dimension: Dimension) -> Iterable[str]:
    return (name for way in dimension.ways for name in way.graded)
