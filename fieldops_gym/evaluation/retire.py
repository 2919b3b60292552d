"""Retiring held-out cards: what has been opened too often to measure anything becomes a regression set.

Only the rows of the retired cards change in `splits.yaml`, and of those only split and reason. The pack's digest changes with
the file, so that results from before keep theirs and are not taken for results of the new split.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fieldops_gym.core.cards import Pack
from fieldops_gym.packs import read_pack

MANIFEST = "splits.yaml"
RETIRED = "regression"
PACKAGE = Path(__file__).parents[1]


class RetireError(Exception):
    """Cards cannot be retired. The message says which or why, and what would be right."""


class Retired(NamedTuple):
    """What was retired: author ids in the manifest's order, the file that was rewritten, the pack's digest before and after."""

    cards: tuple[str, ...]
    manifest: Path
    before: str
    after: str


class _Edit(NamedTuple):
    """Characters [start, end) of the manifest and what takes their place."""

    start: int
    end: int
    text: str


def retire(directory: Path, cards: Sequence[str] | None, reason: str) -> Retired:
    """Turn held-out cards of a directory of tasks (None: all of them) into regression cards, and record why.

    `reason` is one line of text. `DIR/splits.yaml` is written under a temporary name and renamed; every other byte of it stays.
    Raises `RetireError` for cards that are unknown or not held out, for no reason, for the pack inside an installed package,
    and for a manifest whose rows cannot be changed one by one; `CardError` for a wrong pack; `OSError`.
    """
    if not reason.strip() or not reason.isprintable():
        raise RetireError(f"reason: {reason!r} is not a line of text; say why the cards are retired, and by whose decision")
    if any(path.resolve().is_relative_to(PACKAGE.resolve()) for path in (directory, directory / MANIFEST)):
        raise RetireError(f"{directory}: it is part of the installed package; give a checkout's or a copy of your own")
    pack = read_pack(directory)
    chosen = _chosen(pack, cards)
    manifest = (directory / MANIFEST).resolve()
    if not manifest.is_file():
        raise RetireError(f"{directory}: it has no {MANIFEST}; the rows of the cards should be there")
    text = manifest.read_bytes().decode("utf-8")
    _replace(manifest, _rewritten(text, chosen, reason.strip()))
    return Retired(chosen, manifest, pack.digest, read_pack(directory).digest)


def _chosen(pack: Pack, cards: Sequence[str] | None) -> tuple[str, ...]:
    held_out = tuple(name for name, row in pack.splits.items() if row.split == "held_out")
    known = f"held out are {', '.join(held_out) or 'none'}"
    for name in cards or ():
        if name not in pack.splits:
            raise RetireError(f"card '{name}': there is no such card; {known}")
        if name not in held_out:
            raise RetireError(f"card '{name}': it is in split '{pack.splits[name].split}', so it cannot be retired; {known}")
    chosen = held_out if cards is None else tuple(name for name in held_out if name in cards)
    if not chosen:
        raise RetireError(f"no card was named to be retired; {known}")
    return chosen


def _rewritten(text: str, cards: Sequence[str], reason: str) -> str:
    """Return the manifest with the cards' rows changed, having read it back to see that nothing else is."""
    rows = yaml.safe_load(text)
    wanted = [_retired(row, reason) if row["card"] in cards else row for row in rows]
    missing = [name for name in cards if name not in {row["card"] for row in rows}]
    if missing:
        raise RetireError(f"{MANIFEST}: it has no row for {', '.join(missing)}; rows of other files are not rewritten")
    edits: list[_Edit] = []
    for row, new, node in zip(rows, wanted, yaml.compose(text, Loader=yaml.SafeLoader).value, strict=True):
        if new is not row:
            edits += _edits(text, node, new)
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    try:
        read_back = yaml.safe_load(text)
    except yaml.YAMLError:
        read_back = None
    if read_back != wanted:
        raise RetireError(f"{MANIFEST}: its rows share values by anchors, aliases or merges; write them out, row by row")
    return text


def _retired(row: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {**row, "split": RETIRED, "reason": f"{row['reason'].strip()}; retired to {RETIRED}: {reason}"}


def _edits(text: str, row: Any, new: Mapping[str, Any]) -> list[_Edit]:
    """Return the edits that give a row its new split and reason, in whatever style it is written."""
    edits = []
    for key, value in row.value:
        if key.value not in ("split", "reason"):
            continue
        start, end = value.start_mark.index, value.end_mark.index
        # A block scalar ends after its line break, which is to stay.
        end = start + len(text[start:end].rstrip())
        words = RETIRED if key.value == "split" else _quoted(new["reason"])
        edits.append(_Edit(start, end, words))
    return edits


def _quoted(words: str) -> str:
    return yaml.safe_dump(words, default_style='"', width=float("inf"), allow_unicode=True).rstrip()


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(text.encode("utf-8"))
    shutil.copymode(path, part)
    part.replace(path)
