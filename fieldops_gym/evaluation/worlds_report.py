"""A manifest of worlds in a terminal: what was drawn from, each start in a line, and each table over all starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fieldops_gym.evaluation.trials import PACK_DIGITS
from fieldops_gym.evaluation.worlds import Manifest

DIGITS = 16
"""Hex digits shown of a digest; `--json` has them all."""


def render(console: Console, made: Manifest) -> None:
    """Print a manifest; digests are cut to their first digits."""
    title = Text(made.card, style="bold")
    title.append(f"  {made.domain}, split {made.split}, entities {made.entities}", style="not bold")
    title.append(f"\n{_asked(made)}", style="not bold dim")
    title.append(
        f"\ngenerator {made.generator}, package {made.version}, pack {made.pack[:PACK_DIGITS]}; digests in full: --json",
        style="not bold dim",
    )
    for part in (title, _seeds(made), _starts(made), _tables(made), _parameters(made)):
        console.print(part)
        console.print()
    broken = [f"{start.variant}, seed {start.seed}: {words}" for start in made.starts for words in start.broken]
    if broken:
        console.print(Text("\n".join(["World invariants are broken:", *broken]), style="red"))
    else:
        console.print(Text("Every start keeps the world invariants."))


def _asked(made: Manifest) -> str:
    """Say what `entities` stands for: what is asked for, beside the rules of policy; the counts say what came of it."""
    sites = made.distribution["records_per_site"]
    held = _range(*_ends([start.records - start.counts["policy"] for start in made.starts]))
    rules = _range(*_ends([start.counts["policy"] for start in made.starts]))
    return (
        f"entities: how many records the generator is asked for, roughly, in sites of {sites} (one at least); "
        f"it made {held}, and {rules} rules of policy, which are not counted in it"
    )


def _seeds(made: Manifest) -> Table:
    """Return a row per seed number: the three seeds are the same for every variant."""
    table = _table("seed", "entity", "interaction", "fault")
    for number, seeds in {start.seed: start.seeds for start in made.starts}.items():
        table.add_row(*map(str, (number, *seeds)))
    return table


def _starts(made: Manifest) -> Table:
    table = _table("variant", "seed", "records", "world", "digest")
    for start in made.starts:
        world = Text(f"{len(start.broken)} broken", style="red") if start.broken else Text("holds", style="green")
        table.add_row(Text(start.variant), str(start.seed), str(start.records), world, start.digest[:DIGITS])
    return table


def _tables(made: Manifest) -> Table:
    """Return a row per table: how many records it has, and its digest where all starts have the same."""
    table = _table("table", "records", "different", "digest")
    for name in made.starts[0].counts:
        counts = [start.counts[name] for start in made.starts]
        digests = {start.digests[name] for start in made.starts}
        digest = next(iter(digests))[:DIGITS] if len(digests) == 1 else ""
        table.add_row(name, _range(*_ends(counts)), f"{len(digests)} of {len(counts)}", digest)
    return table


def _parameters(made: Manifest) -> Table:
    table = _table("drawn from", "values")
    for name, value in made.distribution.items():
        table.add_row(name.replace("_", " "), Text(_words(value)))
    table.add_section()
    for name, (low, high) in made.observed.items():
        table.add_row(f"observed {name}", _range(low, high))
    return table


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} ({item})" if isinstance(item, str) else str(key) for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ends(numbers: Sequence[int]) -> tuple[int, int]:
    return min(numbers), max(numbers)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name not in ("variant", "values"))
    return table
