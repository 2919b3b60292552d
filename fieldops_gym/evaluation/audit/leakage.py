"""Label leakage: what an opening shows must not tell what will be right, where that is decided by something hidden."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.streams import Seeds, evaluation_seeds, training_seeds
from fieldops_gym.envs.tool_call_env import FieldOpsEnv
from fieldops_gym.evaluation.audit.interference import requests_of
from fieldops_gym.evaluation.audit.playing import Bench, played
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.baselines import BASELINES, Sample
from fieldops_gym.evaluation.margins import upper_bound
from fieldops_gym.evaluation.twins import TwinError, env_for
from fieldops_gym.wrappers.json_calls import brief_of

MOST_POINTS = 0.10
"""How far a baseline may lie above the base rate, beyond the sampling margin: the bound that was set before looking."""

BUCKETS = 64
"""Words of a brief are counted in so many buckets, so that one that gives the label away need not be known beforehand."""

ALL = "all cards"
NAME = "label leakage"
BOUND = f"no baseline is over {MOST_POINTS:.0%} and the sampling margin better than the base rate on unseen seeds"


class Group(NamedTuple):
    """Variants of a card that have to look alike, as places in their context."""

    card: str
    places: tuple[int, ...]


class Context(NamedTuple):
    """Variants whose openings rightly say the same: contract, wording of the request, the machine's family.

    `names` are `card:variant`, `groups` those of them that one card has.
    """

    names: tuple[str, ...]
    groups: tuple[Group, ...]


class Tried(NamedTuple):
    """What came of the baselines: examples, how many the most common label has, and how many each baseline got right."""

    examples: int
    common: int
    right: Mapping[str, int]


def label_leakage(bench: Bench) -> Section:
    """Simple baselines on openings cannot tell the variants of a card apart, nor what ending will be right over all cards.

    They are fitted on training seeds and asked on frozen evaluation seeds. What the request itself decides may show:
    variants with the same requests are compared with each other, and over all cards the base rate is that of a context
    (contract, wording, machine's family), which an agent is rightly told.
    """
    try:
        env = env_for(bench.domain, bench.pack)
    except TwinError as error:
        return Section(NAME, BOUND, "nothing was tried", (Row(bench.domain.name, False, str(error)),))
    rows: list[Row] = []
    whole: list[Tried] = []
    endings: list[str] = []
    numbers = bench.seeds(20, 200), bench.seeds(20, 300)
    for context in contexts(bench.pack):
        shown = [_openings(env, name, place, numbers) for place, name in enumerate(context.names)]
        for group in context.groups:
            if len(group.places) > 1:
                variants = [context.names[place] for place in group.places]
                rows.append(_row(_named(group.card, variants, bench.pack), tried([shown[p] for p in group.places], variants)))
        own = [_ending(bench, name) for name in context.names]
        endings += own
        whole.append(tried(shown, own))
    rows.sort(key=lambda row: row.subject)
    if whole:
        rows.append(_row(ALL, _pooled(whole)))
        rows[-1] = _told_without(rows[-1], endings)
    examples = sum(int(row.figures["examples"]) for row in rows)
    return Section(NAME, BOUND, f"{sum(row.holds for row in rows)} of {len(rows)} rows, {examples} openings", tuple(rows))


def contexts(pack: Pack) -> tuple[Context, ...]:
    """Return every variant of a pack, grouped by what its opening rightly tells."""
    found: dict[tuple[object, ...], list[str]] = {}
    for _, card in sorted(pack.cards.items()):
        for name, variant in card.variants.items():
            told = (card.contract, requests_of(card, variant), card.equipment_families)
            found.setdefault(told, []).append(f"{card.id}:{name}")
    return tuple(Context(tuple(names), tuple(_groups(names))) for names in found.values())


def _groups(names: Sequence[str]) -> Iterator[Group]:
    for card in dict.fromkeys(name.split(":", 1)[0] for name in names):
        yield Group(card, tuple(place for place, name in enumerate(names) if name.split(":", 1)[0] == card))


def opening(env: FieldOpsEnv, name: str, seeds: Seeds) -> np.ndarray:
    """Return all that an opening shows, as numbers: arrays and mask as they are, the brief's text as `text_features`."""
    card, variant = name.split(":", 1)
    observation, info = env.reset(seed=0, options={"card": card, "variant": variant, "seeds": seeds._asdict()})
    assert env.episode is not None
    brief = brief_of(env.episode)
    texts = (str(brief["request"]), json.dumps({key: value for key, value in brief.items() if key != "tools"}))
    return np.concatenate([*observation.values(), info["action_mask"], *map(text_features, texts)]).astype(np.float64)


SIGNS = (r"[A-Z]", r"\s", r"\s\s+", r"[^\w\s]", r"\d", r"\d+", *"0123456789")
"""What is counted in a text, besides its length and its words: capitals, blanks, runs of them, marks, digits, numbers."""


def text_features(text: str) -> np.ndarray:
    """Return numbers about a text: its length, its ends, how often each of `SIGNS` occurs, and words by bucket."""
    words = re.findall(r"[a-z_]+", text.lower())
    buckets = [0] * BUCKETS
    for word in words:
        buckets[zlib.crc32(word.encode()) % BUCKETS] += 1
    ends = [ord(text[0]), ord(text[-1])] if text else [0, 0]
    counted = [len(re.findall(signs, text)) for signs in SIGNS]
    return np.array([len(text), len(words), *ends, *counted, *buckets], dtype=np.float64)


def _openings(env: FieldOpsEnv, name: str, place: int, numbers: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return openings on training seeds, other ones for each variant, and on evaluation seeds, the same for each."""
    known, unseen = numbers
    return (
        np.array([opening(env, name, training_seeds(1_000_000 * place + number)) for number in range(known)]),
        np.array([opening(env, name, evaluation_seeds(number)) for number in range(unseen)]),
    )


def tried(shown: Sequence[tuple[np.ndarray, np.ndarray]], labels: Sequence[str]) -> Tried:
    """Fit every baseline on the first of each two arrays, and ask it about the second; there is one label per two arrays."""
    known, asked = (np.concatenate([two[part] for two in shown]) for part in (0, 1))
    order = {label: number for number, label in enumerate(sorted(set(labels)))}
    numbers = np.array([order[label] for label in labels])
    right = np.repeat(numbers, [len(two[1]) for two in shown])
    varied = known.std(axis=0) > 0
    # What never varied in training cannot be learnt from; one feature stays, so that every baseline has something to go by.
    varied[0] = varied[0] or not varied.any()
    sample = Sample(known[:, varied], np.repeat(numbers, [len(two[0]) for two in shown]))
    found = {name: int((baseline(sample, asked[:, varied]) == right).sum()) for name, baseline in BASELINES.items()}
    return Tried(len(right), int(np.bincount(right).max()), found)


def _pooled(parts: Sequence[Tried]) -> Tried:
    right = {name: sum(part.right[name] for part in parts) for name in BASELINES}
    return Tried(sum(part.examples for part in parts), sum(part.common for part in parts), right)


def _ending(bench: Bench, name: str) -> str:
    """Return the dispositions that are right at the end of the reference's run."""
    episode = played(bench, bench.suite.reference, name, 0).run.episode
    if episode is None:
        return "unknown"
    return "/".join(sorted({ending.disposition for ending in bench.domain.truth.accepted(episode.trial())}))


def _told_without(row: Row, endings: Sequence[str]) -> Row:
    """Say what the context alone is worth: how common the most common ending is over all variants."""
    share = Counter(endings).most_common(1)[0][1] / len(endings)
    text = f"{row.text}; the base rate is what contract, wording and machine's family rightly tell, {share:.1%} without them"
    return row._replace(text=text, figures={**row.figures, "without_context": round(share, 4)})


def _named(card: str, variants: Sequence[str], pack: Pack) -> str:
    own: Card = pack.cards[card]
    return card if len(variants) == len(own.variants) else f"{card} ({', '.join(v.split(':', 1)[1] for v in variants)})"


def _row(subject: str, found: Tried) -> Row:
    rate = found.common / found.examples
    bound = upper_bound(rate, MOST_POINTS, found.examples, len(BASELINES))
    shares = {name: right / found.examples for name, right in found.right.items()}
    best = max(shares, key=lambda name: shares[name])
    text = f"best is {best} with {shares[best]:.1%}; base rate {rate:.1%}, bound {bound:.1%}, {found.examples} openings"
    figures = {"examples": found.examples, "base_rate": round(rate, 4), "bound": round(bound, 4)}
    figures |= {name.replace(" ", "_").lower(): round(share, 4) for name, share in shares.items()}
    return Row(subject, shares[best] <= bound, text, figures)
