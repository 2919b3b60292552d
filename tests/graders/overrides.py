"""Random overrides of faults, budgets and people, keyed by a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fieldops_gym import merge
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.streams import Draw, Stream

APPROVERS = ("approver.prompt", "approver.deliberate", "approver.absent")
SECONDS = (1, 29, 60, 900, 4000, 9000, 16_000, 40_000)
"""Lags and delays to try, from none to speak of to longer than any run."""

METERS = ("turns", "tool_calls", "retries", "effect_attempts", "simulated_time", "model_calls")


def random_overrides(number: int, faults: Iterable[str]) -> Overrides:
    """Return overrides number `number`: up to four faults, up to two meters, an approver; each left alone at times."""
    stream, names = Stream(number, "test overrides"), sorted(faults)
    layer: dict[str, Any] = {}
    draw = stream.draw("faults")
    if draw.below(5):
        uses = [_use(stream.draw("fault", n), names) for n in range(draw.between(1, 4))]
        layer["faults"] = uses if draw.below(2) else {"append": uses}
    draw = stream.draw("budget")
    if draw.below(2):
        layer["budget"] = {meter: _limit(draw, meter) for meter in draw.shuffled(METERS)[: draw.between(1, 2)]}
    draw = stream.draw("people")
    if draw.below(2):
        layer["people"] = {"approver": draw.pick(APPROVERS)}
    return merge([layer])


def _use(draw: Draw, names: list[str]) -> dict[str, Any]:
    use: dict[str, Any] = {"fault": draw.pick(names)}
    if draw.below(2):
        use["nth"] = draw.between(1, 4)
    if draw.below(2):
        use["times"] = draw.between(0, 4)
    if use["fault"].endswith("_reconcile") and draw.below(2):
        use["values"] = {"seconds": draw.pick(SECONDS)}
    return use


def _limit(draw: Draw, meter: str) -> int:
    if meter == "retries":
        return draw.below(4)
    if meter == "effect_attempts":
        return draw.below(5)
    if meter == "simulated_time":
        return draw.pick((draw.between(1, 1000), draw.between(300, 6000), draw.between(900, 28_800)))
    return draw.between(1, 30)
