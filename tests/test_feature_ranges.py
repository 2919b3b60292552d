"""Unseen cards and equipment are no strange numbers: what features say there lies within what they say in training."""

from __future__ import annotations

import numpy as np

from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, ToolCall, View, evaluation_seeds, training_seeds
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.core.helpers import Mixed
from tests.counts import count
from tests.support import VARIANTS

PREDICATE = {-1.0, 0.0, 1.0}
NEAR = count(15, 5) / 100
"""How far beyond a range that these episodes have covered a number may lie."""


class Spends(Reference):
    """Sends what was approved until it may not any more."""

    def report(self, view: View, reservation: str) -> ToolCall:
        made = view.row(reservation)
        if made is not None and "reserve" not in view.blocked and view.meters.turns < view.limits.turns - 4:
            return ToolCall.of("reserve", proposal=made["proposal"], key="own")
        return super().report(view, reservation)


def seen(domain: Domain, pack: Pack, split: str, episodes: int) -> np.ndarray:
    """Return what is observed on a split's cards under the reference's calls and some at random, a row a call."""
    rows: list[np.ndarray] = []
    for position, name in enumerate(VARIANTS):
        card, variant = name.split(":")
        if pack.splits[card].split != split:
            continue
        for index in range(episodes):
            seeds = training_seeds(1_000 * position + index) if split == "train" else evaluation_seeds(index)
            episode = Episode(domain, pack, Coordinates(card, variant, seeds))
            # Who explores uses up what there is: turns at random, attempts by sending, or nothing more than it needs.
            agent, result = (Mixed(0), Mixed(80), Spends(), Reference())[index % 4], None
            agent.start(episode.brief, index)
            while not episode.ended:
                rows.append(episode.lead_view.flat.copy())
                result = episode.call(agent.act(episode.view(), result))
    return np.array(rows)


def kinds(domain: Domain) -> list[str]:
    """Return what each number of an observation says: the same for every row of a table, and for every proposal."""
    layout = domain.layouts[domain.lead]
    found = [""] * layout.width
    for section, piece in layout.pieces:
        panel = {"clock": layout.clock.fields, "situation": layout.situation.fields, "last": layout.last}
        fields = panel[section] if section in panel else layout.tables[section].fields
        for place in range(piece.start, piece.stop):
            name = fields[(place - piece.start) % len(fields)].name
            found[place] = f"{section}.{name.rstrip('_123456789')}"
    return found


def test_no_quantity_leaves_the_range_of_training(domain: Domain, pack: Pack) -> None:
    of = np.array(kinds(domain))
    trained = seen(domain, pack, "train", count(8, 60))
    unseen = {split: seen(domain, pack, split, count(4, 32)) for split in ("development", "held_out")}
    quantities = 0
    for kind in dict.fromkeys(of.tolist()):
        values = trained[:, of == kind]
        predicate = set(np.unique(values).tolist()) <= PREDICATE
        quantities += not predicate
        for split, rows in unseen.items():
            found = rows[:, of == kind]
            where = f"{kind} in {split}: {found.min()} to {found.max()}"
            if predicate:
                assert set(np.unique(found).tolist()) <= PREDICATE, f"{where}, and in training it is yes or no"
            else:
                assert found.min() >= values.min() - NEAR, f"{where} is below {values.min()}"
                assert found.max() <= values.max() + NEAR, f"{where} is above {values.max()}"
    assert quantities >= 8, "there are times, budgets and uncertainties"
