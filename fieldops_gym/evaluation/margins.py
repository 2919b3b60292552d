"""Margins for shares that were seen on a sample."""

from __future__ import annotations

from statistics import NormalDist

CONFIDENCE = 0.975
"""One-sided, shared out among all that is tried on the same sample."""


def upper_bound(rate: float, slack: float, examples: int, tried: int) -> float:
    """Return the largest share that is still no finding where `rate` is expected and `slack` allowed.

    `examples` is the size of the sample, `tried` how many shares of it are looked at, of which the best counts.
    """
    sure = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / tried)
    return rate + slack + sure * (rate * (1 - rate) / examples) ** 0.5
