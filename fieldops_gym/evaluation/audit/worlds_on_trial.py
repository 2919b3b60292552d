"""Worlds, truth and splits: starts that are sound, endings that name what exists, groups that lie in one split."""

from __future__ import annotations

from collections.abc import Iterable

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates, build_scenario
from fieldops_gym.core.streams import evaluation_seeds
from fieldops_gym.core.world import Tables
from fieldops_gym.evaluation.audit.playing import Bench, every_variant, played
from fieldops_gym.evaluation.audit.sections import Row, Section

GROUPED = ("train", "development", "held_out")
"""The splits of which each has cards of every family. What was held out once need not."""


def world_invariants(bench: Bench) -> Section:
    """Every start keeps the world invariants, and every role names a record that exists."""
    seeds, rows = bench.seeds(5, 100), []
    for name in every_variant(bench.pack):
        card, variant = name.split(":", 1)
        wrong = []
        for seed in range(seeds):
            made = build_scenario(bench.domain, bench.pack, Coordinates(card, variant, evaluation_seeds(seed), Overrides()))
            wrong += [f"seeds {seed}: {' '.join(map(str, item))}" for item in bench.domain.broken(made.start, made.start)]
            bound = [key for keys in made.roles.values() for key in keys]
            wrong += [f"seeds {seed}: a role names '{key}', which does not exist" for key in _missing(bound, made.start)]
        rows.append(Row(name, not wrong, wrong[0] if wrong else f"{seeds} starts are sound", {"starts": seeds}))
    return Section(
        "world invariants", "every start is sound, and every role names a record",
        f"{sum(row.holds for row in rows)} of {len(rows)} variants, {seeds} starts each", tuple(rows),
    )  # fmt: skip


def truth_references(bench: Bench) -> Section:
    """Every ending that is accepted after the reference's run names records that exist, and there is one."""
    seeds, rows = bench.seeds(2, 50), []
    for name in every_variant(bench.pack):
        wrong: list[str] = []
        for seed in range(seeds):
            episode = played(bench, bench.suite.reference, name, seed).run.episode
            if episode is None or not episode.ended:
                wrong.append(f"seeds {seed}: the run did not end, and nothing could be asked")
                continue
            endings = bench.domain.truth.accepted(episode.trial())
            if not endings:
                wrong.append(f"seeds {seed}: no ending is accepted")
            named = [subject for ending in endings for subject in ending.subjects if subject]
            missing = _missing(named, episode.world.tables)
            wrong += [f"seeds {seed}: an accepted ending names '{key}', which does not exist" for key in missing]
        rows.append(Row(name, not wrong, wrong[0] if wrong else f"{seeds} runs, every subject exists", {"runs": seeds}))
    return Section(
        "truth references", "accepted endings name records that exist",
        f"{sum(row.holds for row in rows)} of {len(rows)} variants", tuple(rows),
    )  # fmt: skip


def splits(bench: Bench) -> Section:
    """No lineage, group or equipment family lies in two splits, and each split has cards of every family."""
    pack = bench.pack
    rows = [_apart(pack, "lineage", ((card.id, card.lineage) for card in pack.cards.values()))]
    rows.append(_apart(pack, "group", ((row.card, row.group) for row in pack.splits.values())))
    families = ((card.id, family) for card in pack.cards.values() for family in card.equipment_families)
    rows.append(_apart(pack, "equipment family", families))
    every = {card.family for card in pack.cards.values()}
    for split in GROUPED:
        there = {card.family for card in pack.cards.values() if pack.splits[card.id].split == split}
        lacks = sorted(every - there)
        text = f"it has no card of {', '.join(lacks)}" if lacks else f"it has cards of all {len(every)} families"
        rows.append(Row(f"split {split}", not lacks, text))
    return Section(
        "splits", "groups lie in one split each, and splits have every family",
        f"{sum(row.holds for row in rows)} of {len(rows)} rules", tuple(rows),
    )  # fmt: skip


def _apart(pack: Pack, what: str, pairs: Iterable[tuple[str, str]]) -> Row:
    places: dict[str, set[str]] = {}
    for card, group in pairs:
        places.setdefault(group, set()).add(pack.splits[card].split)
    torn = sorted(group for group, where in places.items() if len(where) > 1)
    text = f"{torn[0]} lies in {', '.join(sorted(places[torn[0]]))}" if torn else f"{len(places)}, each in one split"
    return Row(f"each {what} in one split", not torn, text, {"groups": len(places), "torn": len(torn)})


def _missing(keys: Iterable[str], tables: Tables) -> list[str]:
    return sorted({key for key in keys if not any(key in rows for rows in tables.values())})
