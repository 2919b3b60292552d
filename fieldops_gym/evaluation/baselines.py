"""Simple classifiers that look for a label where none should be: numpy alone, nothing drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_BINS = 8
"""A feature with more different values than this is cut into so many bins of equal size."""


class Sample(NamedTuple):
    """Examples: `features` float64 of shape (examples, features), `labels` int64 of shape (examples,), from 0."""

    features: np.ndarray
    labels: np.ndarray


Baseline = Callable[[Sample, np.ndarray], np.ndarray]
"""Fits examples and returns a label for each row of features that it has not seen, int64."""


def majority(known: Sample, unseen: np.ndarray) -> np.ndarray:
    """Say the most common label, whatever is shown."""
    return np.full(len(unseen), np.bincount(known.labels).argmax())


def single_feature(known: Sample, unseen: np.ndarray) -> np.ndarray:
    """Go by the one feature whose values, or ranges of values, tell the labels of the examples apart best."""
    bins, others = _binned(known.features, unseen)
    counts = _counts(bins, known.labels)
    best = int(counts.max(axis=2).sum(axis=1).argmax())
    said = np.where(counts[best].sum(axis=1) > 0, counts[best].argmax(axis=1), np.bincount(known.labels).argmax())
    return said[others[:, best]]


def naive_bayes(known: Sample, unseen: np.ndarray) -> np.ndarray:
    """Go by all features at once, as if they were independent, each cut into bins, with one example added to each."""
    bins, others = _binned(known.features, unseen)
    counts = _counts(bins, known.labels) + 1.0
    odds = np.log(counts / counts.sum(axis=1, keepdims=True))
    scores = np.tile(np.log(np.bincount(known.labels) + 1.0), (len(unseen), 1))
    for feature in range(others.shape[1]):
        scores += odds[feature][others[:, feature]]
    return scores.argmax(axis=1)


def nearest_neighbour(known: Sample, unseen: np.ndarray) -> np.ndarray:
    """Say the label of the example that is nearest, each feature counted in its standard deviations."""
    middle, spread = known.features.mean(axis=0), known.features.std(axis=0)
    spread[spread == 0] = 1.0
    one, other = (known.features - middle) / spread, (unseen - middle) / spread
    distances = (one**2).sum(axis=1)[None, :] - 2 * other @ one.T
    return known.labels[distances.argmin(axis=1)]


BASELINES: dict[str, Baseline] = {
    "majority": majority,
    "single feature": single_feature,
    "naive Bayes": naive_bayes,
    "nearest neighbour": nearest_neighbour,
}
"""What is tried, by name."""


def _binned(known: np.ndarray, unseen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of every value, by the values of the examples."""
    bins, others = np.zeros(known.shape, dtype=np.int64), np.zeros(unseen.shape, dtype=np.int64)
    for feature in range(known.shape[1]):
        values = np.unique(known[:, feature])
        if len(values) > MOST_BINS:
            edges = np.unique(np.quantile(known[:, feature], np.arange(1, MOST_BINS) / MOST_BINS))
        else:
            edges = (values[1:] + values[:-1]) / 2
        bins[:, feature] = np.searchsorted(edges, known[:, feature], side="right")
        others[:, feature] = np.searchsorted(edges, unseen[:, feature], side="right")
    return bins, others


def _counts(bins: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how many examples each feature has in each bin with each label: shape (features, bins, labels)."""
    examples, features = bins.shape
    counts = np.zeros((features, MOST_BINS, int(labels.max()) + 1))
    np.add.at(counts, (np.tile(np.arange(features), examples), bins.ravel(), np.repeat(labels, features)), 1.0)
    return counts
