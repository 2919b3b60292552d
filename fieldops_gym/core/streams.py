"""Coordinates' seeds, and keyed randomness: a value is a hash of (seed, stream name, key), never of a counter.

So a draw by one party moves nobody else's, and adding a draw reshuffles nothing. Card ids, variants and event numbers
never enter a key. The numbers come from BLAKE2b alone, which no library version changes; `tests/core/test_streams.py`
holds test vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

T = TypeVar("T")

TRAINING_SEEDS = range(0, 2**31)
"""Where derived training seeds lie. Disjoint from `EVALUATION_SEEDS` by construction."""

EVALUATION_SEEDS = range(2**31, 2**32)
"""Where frozen evaluation seeds lie."""


class Seeds(NamedTuple):
    """The three seeds of an episode: the world, the people, the faults. Each is an int >= 0."""

    entity: int
    interaction: int
    fault: int


class Draw:
    """One hash, spent as many small integers. Cheap: a record needs one hash, whatever it has fields."""

    __slots__ = ("_rest", "token")

    def __init__(self, raw: bytes) -> None:
        self.token = raw[:5].hex()
        self._rest = int.from_bytes(raw[5:], "big")

    def below(self, bound: int) -> int:
        """Return an integer in [0, bound)."""
        self._rest, value = divmod(self._rest, bound)
        return value

    def between(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """Return one of `options`."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return `items` in a drawn order (Fisher-Yates; up to some forty items a draw)."""
        rest = list(items)
        for last in range(len(rest) - 1, 0, -1):
            other = self.below(last + 1)
            rest[last], rest[other] = rest[other], rest[last]
        return rest


class Stream:
    """A named stream of keyed draws under one seed."""

    __slots__ = ("_key",)

    def __init__(self, seed: int, name: str) -> None:
        self._key = blake2b(f"{seed}/{name}".encode(), digest_size=32).digest()

    def draw(self, *key: str | int) -> Draw:
        """Return the draw for `key`; the same key always gives the same draw."""
        text = "\x1f".join(map(str, key))
        return Draw(blake2b(text.encode(), digest_size=64, key=self._key).digest())

    def token(self, *key: str | int) -> str:
        """Return ten hex digits for `key`: an opaque id that tells no order and no count."""
        text = "\x1f".join(map(str, key))
        return blake2b(text.encode(), digest_size=5, key=self._key).hexdigest()


def training_seeds(seed: int) -> Seeds:
    """Derive an episode's three seeds from one, all within `TRAINING_SEEDS`."""
    return _derive(seed, "training", TRAINING_SEEDS)


def evaluation_seeds(index: int) -> Seeds:
    """Return the frozen evaluation seeds number `index`, the same for every card, so that siblings can be paired."""
    return _derive(index, "evaluation", EVALUATION_SEEDS)


def _derive(seed: int, purpose: str, within: range) -> Seeds:
    draw = Stream(seed, purpose).draw("seeds")
    return Seeds(*(within.start + draw.below(len(within)) for _ in Seeds._fields))
