"""An agent that makes legal calls at random: a floor for comparisons, and a fuzzer of the environment."""

from __future__ import annotations

from fieldops_gym import Brief, ToolCall, ToolResult, View
from fieldops_gym.core.streams import Stream


class RandomAgent:
    """Draws uniformly from the legal entries of the call menu. The draw is keyed by its seed and the turn."""

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Take the seed of the run."""
        self._stream = Stream(seed, "random agent")

    def act(self, view: View, result: ToolResult | None) -> ToolCall:
        """Return a random legal call."""
        catalogue = view.layout.catalogue
        legal = view.menu_mask().nonzero()[0].tolist()
        choice = self._stream.draw(view.meters.turns).pick(legal)
        return catalogue.decode(catalogue.plan(catalogue.entries[choice].action), view.rows)[0]
