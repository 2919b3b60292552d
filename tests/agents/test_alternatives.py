"""There is more than one honest way: every style passes every variant, alone and combined with others."""

from __future__ import annotations

import pytest

from agents.alternatives import ALTERNATIVES, combined
from agents.reference import Reference
from fieldops_gym import grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.streams import Stream
from tests.counts import count
from tests.support import VARIANTS, episode_of, play, play_fresh

SEEDS = count(3, 300)


def right(style: type[Reference], name: str) -> str:
    """Return the outcome that is right: a style that never meets the variant's fault leaves a void run."""
    return "void" if name in getattr(style, "VOID", ()) else "passed"


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_passes(domain: Domain, pack: Pack, style: type[Reference], name: str) -> None:
    for index in range(SEEDS):
        judged = grade(domain, play(episode_of(domain, pack, name, index), style()).trial())
        broken = [f"{v.invariant}: {v.actual}, expected {v.expected}" for v in judged.broken()]
        assert judged.outcome == right(style, name), f"{style.__name__}, {name}, seeds {index}: {judged.outcome}, {broken}"


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_goes_another_way_somewhere(domain: Domain, pack: Pack, style: type[Reference]) -> None:
    played = [[play(episode_of(domain, pack, name, 0), agent()).steps for agent in (style, Reference)] for name in VARIANTS]
    assert any(own != reference for own, reference in played), f"{style.__name__} is the reference under another name"


@pytest.mark.parametrize("name", VARIANTS)
def test_combined_styles_pass(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(6, 300)):
        draw = Stream(index, "styles").draw(name)
        styles = tuple(draw.shuffled(ALTERNATIVES)[: draw.between(2, len(ALTERNATIVES))])
        judged = grade(domain, play(episode_of(domain, pack, name, index), combined(styles)()).trial())
        broken = [f"{v.invariant}: {v.actual}, expected {v.expected}" for v in judged.broken()]
        who = combined(styles).__name__
        assert judged.outcome == right(combined(styles), name), f"{who}, {name}, seeds {index}: {judged.outcome}, {broken}"


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_they_keep_nothing_between_calls(domain: Domain, pack: Pack, style: type[Reference]) -> None:
    for index, name in enumerate(VARIANTS):
        kept = play(episode_of(domain, pack, name, index), style())
        assert play_fresh(episode_of(domain, pack, name, index), style).steps == kept.steps, f"{style.__name__}, {name}"
