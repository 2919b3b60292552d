"""Worlds before anybody acts: start states made again from their coordinates, counted, digested and checked.

A manifest says what a card's starts are drawn from and what came of the draw, so that two people can tell whether they hold
the same worlds. It is the same in every process, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from fieldops_gym import __version__
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates, build_scenario
from fieldops_gym.core.streams import Seeds, evaluation_seeds
from fieldops_gym.core.world import Tables, tables_digest
from fieldops_gym.domains import DOMAINS
from fieldops_gym.domains.field_service import evidence_steps, generate, setup

FORMAT = "fieldops-worlds/1"

GENERATOR_VERSION = "1"
"""The version of the generators. It is raised with every change after which the same coordinates give another start."""

NO_OVERRIDES = Overrides()

CONSTANTS: Mapping[str, tuple[tuple[str, ModuleType, str], ...]] = {
    "field_service": (
        ("families", generate, "FAMILIES"),
        ("trades", generate, "TRADES"),
        ("kinds", generate, "KINDS"),
        ("revisions", generate, "REVISIONS"),
        ("records_per_site", generate, "PER_SITE"),
        ("records_of_the_card", generate, "OWN"),
        ("symptoms", generate, "SYMPTOMS"),
        ("urgencies", generate, "URGENCIES"),
        ("controls", setup, "CONTROLS"),
        ("uncertainty", setup, "UNCERTAINTY"),
        ("editions", evidence_steps, "SHAPES"),
    )
}
"""What each domain's generator draws from: (parameter, module, constant)."""


class Start(NamedTuple):
    """One start. `seed` is its number, `seeds` the three seeds that it stands for.

    `counts` (records) and `digests` (SHA-256, hex) are by table, `digest` is that of all tables, the same as a result's
    `digests.start`. `broken` has a line per broken world invariant; in a sound start there is none.
    """

    card: str
    variant: str
    seed: int
    seeds: Seeds
    records: int
    counts: Mapping[str, int]
    digests: Mapping[str, str]
    digest: str
    broken: tuple[str, ...]


class Manifest(NamedTuple):
    """The starts of a card, and what they were drawn from.

    `version` is the package's, `generator` the generators', `pack` the digest of the tasks. `entities` is about how many
    records the generator was asked for, the rules of policy not counted. `distribution` are the generator's parameters,
    `observed` the smallest and the largest value that each whole-number field ('table.field') has in these starts; times are
    in simulated seconds.
    """

    format: str
    version: str
    generator: str
    domain: str
    pack: str
    card: str
    split: str
    entities: int
    distribution: Mapping[str, Any]
    observed: Mapping[str, tuple[int, int]]
    starts: tuple[Start, ...]

    def to_json(self) -> str:
        """Return the manifest as JSON text."""
        return json.dumps(plain(self), indent=2) + "\n"

    @property
    def sound(self) -> bool:
        """Whether every start keeps the world invariants."""
        return not any(start.broken for start in self.starts)


def distribution(domain: str) -> dict[str, Any]:
    """Return what a domain's generator draws from, as its own constants say it. Raises `KeyError` for an unknown domain."""
    return {name: plain(getattr(module, constant)) for name, module, constant in CONSTANTS[domain]}


def manifest(
    domain: str,
    pack: Pack,
    card: str,
    seeds: Sequence[int],
    variant: str | None = None,
    overrides: Overrides = NO_OVERRIDES,
) -> Manifest:
    """Make the starts of a card (all variants, or one) on frozen evaluation seeds by their numbers (>= 0), and describe them.

    The starts are those of trials with the same overrides. Raises `CardError` for a card or a variant that is not there and
    for seeds that are none, and `OverrideError` for overrides that do not fit.
    """
    if card not in pack.cards:
        raise CardError(f"card '{card}': there is no such card; there are {', '.join(sorted(pack.cards))}")
    variants = tuple(pack.cards[card].variants)
    if variant is not None and variant not in variants:
        raise CardError(f"card '{card}': it has no variant '{variant}'; it has {', '.join(variants)}")
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise CardError(f"seeds: {list(seeds)} are not one or more different numbers >= 0")
    starts: list[Start] = []
    ranges: dict[str, tuple[int, int]] = {}
    for name in variants if variant is None else (variant,):
        for seed in seeds:
            tables, start = _start(DOMAINS[domain], pack, card, name, seed, overrides)
            starts.append(start)
            _widen(ranges, tables)
    return Manifest(
        FORMAT, __version__, GENERATOR_VERSION, domain, pack.digest, card, pack.splits[card].split, overrides.entities,
        distribution(domain), dict(sorted(ranges.items())), tuple(starts),
    )  # fmt: skip


def _start(domain: Domain, pack: Pack, card: str, variant: str, seed: int, overrides: Overrides) -> tuple[Tables, Start]:
    seeds = evaluation_seeds(seed)
    tables = build_scenario(domain, pack, Coordinates(card, variant, seeds, overrides)).start
    counts = {name: len(tables[name]) for name in sorted(tables)}
    digests = {name: tables_digest(tables, name) for name in sorted(tables)}
    broken = tuple(" ".join(map(str, unsound)) for unsound in domain.broken(tables, tables))
    whole = tables_digest(tables)
    return tables, Start(card, variant, seed, seeds, sum(counts.values()), counts, digests, whole, broken)


def _widen(ranges: dict[str, tuple[int, int]], tables: Tables) -> None:
    """Let ranges cover the whole-number fields of some tables, too."""
    for table, rows in tables.items():
        for record in rows.values():
            for field, value in zip(record._fields, record, strict=True):
                if type(value) is int:
                    low, high = ranges.get(f"{table}.{field}", (value, value))
                    ranges[f"{table}.{field}"] = (min(low, value), max(high, value))
