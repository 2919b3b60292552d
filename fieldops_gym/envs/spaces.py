"""The spaces of a domain's lead seat, sized from its full tool and view tables, so that all its families share them."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from fieldops_gym.core.layout import Layout


def action_space(layout: Layout) -> spaces.MultiDiscrete:
    """Return `[tool, one slot per referred table, one per other argument]`; slots a tool does not take are ignored."""
    return spaces.MultiDiscrete(np.array(layout.catalogue.nvec, dtype=np.int64))


def observation_space(layout: Layout) -> spaces.Dict:
    """Return one 1-D float32 `Box` in [-1, 1] per section of the view, in the layout's order."""
    boxes = [(name, spaces.Box(-1.0, 1.0, (piece.stop - piece.start,), np.float32)) for name, piece in layout.sections.items()]
    return spaces.Dict(boxes)


def split_mask(layout: Layout, mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Turn a flat mask into the tuple of int8 arrays that `MultiDiscrete.sample(mask=...)` takes."""
    return tuple(mask[slot.start : slot.start + slot.size].astype(np.int8) for slot in layout.catalogue.slots)
