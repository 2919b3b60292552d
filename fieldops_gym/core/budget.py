"""The budget of the lead seat: what its calls are charged, and which tools it may call no more of."""

from __future__ import annotations

from fieldops_gym.core.scenario import Limits, Meters
from fieldops_gym.core.tools import EFFECTS, Tool
from fieldops_gym.core.world import make

NO_TOOL: frozenset[str] = frozenset()
BARRING = ("effect_attempts", "retries")
"""Meters whose end bars calls; the end of the others ends the run."""


class Budget:
    """Meters against limits. `blocked` are the tools that the budget allows no more calls of.

    A retry is a call of an effect tool that has been sent before; what policy denied was not sent. It goes by tool, so
    that a mask can say exactly what is left.
    """

    __slots__ = ("_effects", "_sent", "_told", "blocked", "limits", "meters")

    def __init__(self, limits: Limits, meters: Meters, tools: tuple[Tool, ...]) -> None:
        self.limits, self.meters = limits, meters
        self._effects = frozenset(tool.name for tool in tools if tool.consequence in EFFECTS)
        self._sent: set[str] = set()
        self._told: set[str] = set()
        self.blocked = self._used_up()

    def charge(self, tool: Tool | None, admitted: bool) -> Meters:
        """Charge one call: of no tool, of one that was refused before it could do anything, or of an admitted one."""
        seat, turns, calls, retries, attempts, asked = self.meters
        if tool is not None:
            calls += 1
            if admitted and tool.name in self._effects:
                attempts += 1
                retries += tool.name in self._sent
        self.meters = make(Meters, (seat, turns + 1, calls, retries, attempts, asked))
        if attempts:
            self.blocked = self._used_up()
        return self.meters

    def ask_model(self, number: int) -> Meters:
        """Charge so many calls of a model."""
        self.meters = self.meters._replace(model_calls=self.meters.model_calls + number)
        return self.meters

    def send(self, tool: Tool) -> None:
        """Take note that policy let a call through to the world."""
        if tool.name in self._effects:
            self._sent.add(tool.name)
            self.blocked = self._used_up()

    def _used_up(self) -> frozenset[str]:
        if self.meters.effect_attempts >= self.limits.effect_attempts:
            return self._effects
        return frozenset(self._sent) if self.meters.retries >= self.limits.retries else NO_TOOL

    def newly_exhausted(self) -> tuple[str, ...]:
        """Return barring meters that are used up and have not been returned before."""
        new = tuple(m for m in BARRING if m not in self._told and getattr(self.meters, m) >= getattr(self.limits, m))
        self._told.update(new)
        return new
