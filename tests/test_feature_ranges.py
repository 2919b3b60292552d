"""Unseen cards and equipment are no strange numbers: what features say there lies within what they say in training."""

from __future__ import annotations

import numpy as np

from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, evaluation_seeds, training_seeds
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.core.helpers import Mixed
from tests.counts import count
from tests.support import VARIANTS

PREDICATE = {-1.0, 0.0, 1.0}


def seen(domain: Domain, pack: Pack, split: str, episodes: int) -> np.ndarray:
    """Return what is observed on a split's cards under the reference's calls and some at random, a row a call."""
    rows: list[np.ndarray] = []
    for name in VARIANTS:
        card, variant = name.split(":")
        if pack.splits[card].split != split:
            continue
        for index in range(episodes):
            seeds = training_seeds(index) if split == "train" else evaluation_seeds(index)
            episode = Episode(domain, pack, Coordinates(card, variant, seeds))
            # Who explores uses up what there is: at random to the last turn, at random now and then, not at all.
            agent, result = (Mixed(0), Mixed(80), Reference())[index % 3], None
            agent.start(episode.brief, index)
            while not episode.ended:
                rows.append(episode.lead_view.flat.copy())
                result = episode.call(agent.act(episode.view(), result))
    return np.array(rows)


def names(domain: Domain) -> list[str]:
    """Return the name of each number of an observation."""
    layout = domain.layouts[domain.lead]
    found = [""] * layout.width
    for section, piece in layout.pieces:
        for place in range(piece.start, piece.stop):
            found[place] = f"{section}[{place - piece.start}]"
    return found


def test_no_quantity_leaves_the_range_of_training(domain: Domain, pack: Pack) -> None:
    trained = seen(domain, pack, "train", count(6, 60))
    low, high = trained.min(axis=0), trained.max(axis=0)
    quantities = [at for at in range(trained.shape[1]) if not set(np.unique(trained[:, at]).tolist()) <= PREDICATE]
    assert quantities, "there are times, budgets and uncertainties"
    for split in ("development", "held_out"):
        found = seen(domain, pack, split, count(3, 30))
        for at in quantities:
            values = found[:, at]
            where = f"{names(domain)[at]} in {split}"
            assert values.min() >= low[at] - 0.05, f"{where}: {values.min()} is below {low[at]}"
            assert values.max() <= high[at] + 0.05, f"{where}: {values.max()} is above {high[at]}"
        others = [at for at in range(trained.shape[1]) if at not in quantities]
        strange = [at for at in others if not set(np.unique(found[:, at]).tolist()) <= PREDICATE]
        assert not strange, f"{[names(domain)[at] for at in strange]} say something between yes and no in {split}"
