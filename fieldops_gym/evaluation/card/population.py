"""What worlds are drawn from, and what came of the draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fieldops_gym.core.canonical import digest
from fieldops_gym.evaluation.card.grounds import Grounds
from fieldops_gym.evaluation.card.parts import Part, Table, words
from fieldops_gym.evaluation.worlds import GENERATOR_VERSION, distribution


def population(given: Grounds) -> Part:
    """Return the generator's parameters and how many records the starts of the card's runs have."""
    drawn = [(name, _told(value)) for name, value in distribution(given.domain.name).items()]
    starts = [run.run.episode.world.start for run in given.runs if run.run.episode is not None]
    most = {table: max((len(start[table]) for start in starts), default=0) for table in sorted(given.domain.tables)}
    counts = [(table, min(len(start[table]) for start in starts), number) for table, number in most.items() if number]
    bare = words(table for table, number in most.items() if not number)
    sizes = [sum(len(rows) for rows in start.values()) for start in starts]
    whole = digest([[run.name, run.seed, one.start] for run, (one, _) in zip(given.runs, given.prints, strict=True)])
    facts = [
        ("generator", f"version {GENERATOR_VERSION}"),
        ("starts counted", f"{len(starts)}"),
        ("records in a start", f"{min(sizes)} to {max(sizes)}" if sizes else "none"),
        ("digest of all these starts", whole),
    ]
    return Part(
        "population",
        "Population",
        (
            "Fictional, and drawn to cover cases: uniform draws within the ranges below, and the records that a card "
            "plants. No "
            "figure here estimates how often anything occurs. `fieldops world` makes any start again.",
        ),
        (
            Table.of("starts", ("what", "value"), facts),
            Table.of("parameters", ("parameter", "drawn from"), drawn),
            Table.of("records", ("table", "fewest", "most"), counts, f"Empty at every start: {bare}."),
        ),
    )


def _told(value: Any) -> str:
    if isinstance(value, Mapping) and all(isinstance(item, str | int) for item in value.values()):
        return ", ".join(f"{name} ({item})" for name, item in value.items())
    if isinstance(value, Mapping):
        return f"one of {len(value)} shapes: {', '.join(value)}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_told(item) for item in value)
    return str(value)
