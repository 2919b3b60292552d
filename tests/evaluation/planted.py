"""Smaller packs and domains with one thing changed, for tests that plant a defect."""

from __future__ import annotations

from fieldops_gym.core.cards import Pack


def only(pack: Pack, *cards: str) -> Pack:
    """Return the pack with just these cards."""
    return pack._replace(cards={name: pack.cards[name] for name in cards}, splits={name: pack.splits[name] for name in cards})
