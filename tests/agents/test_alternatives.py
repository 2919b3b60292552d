"""There is more than one honest way: every style passes every variant, alone and combined with others."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from agents.alternatives import ALTERNATIVES, combined
from agents.reference import Reference
from fieldops_gym import grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.streams import Stream
from tests.counts import count
from tests.support import PACK, VARIANTS, episode_of, play, play_fresh, spread

SEEDS = count(1, 300)
FAMILIES = tuple(dict.fromkeys(card.family for card in PACK.cards.values()))
FEWEST = 6
"""How many styles go another way than the reference in each family, at least."""


def right(style: type[Reference], name: str) -> str:
    """Return the outcome that is right: a style that never meets the variant's fault leaves a void run."""
    return "void" if name in getattr(style, "VOID", ()) else "passed"


def must_pass(domain: Domain, pack: Pack, style: type[Reference], name: str, index: int) -> None:
    """Play once and judge."""
    judged = grade(domain, play(episode_of(domain, pack, name, index), style()).trial())
    broken = [f"{v.invariant}: {v.actual}, expected {v.expected}" for v in judged.broken()]
    assert judged.outcome == right(style, name), f"{style.__name__}, {name}, seeds {index}: {judged.outcome}, {broken}"


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_passes(domain: Domain, pack: Pack, style: type[Reference]) -> None:
    for number, name in enumerate(VARIANTS):
        for index in range(SEEDS):
            must_pass(domain, pack, style, name, number + index)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_honest_ways_that_differ(domain: Domain, pack: Pack, family: str) -> None:
    """Two styles differ when they make other calls on some seeds of the family."""
    names = [name for name in VARIANTS if pack.cards[name.split(":")[0]].family == family]

    def calls(agent: Callable[[], Reference]) -> list[object]:
        return [play(episode_of(domain, pack, name, index), agent()).steps for name in names for index in range(2)]

    reference = calls(Reference)
    others = {style.__name__: made for style in ALTERNATIVES if (made := calls(style)) != reference}
    assert len(others) >= FEWEST, f"{family}: only {', '.join(others) or 'none'} differ from the reference"
    for one, other in itertools.combinations(others, 2):
        assert others[one] != others[other], f"{family}: {one} is {other} under another name"


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_goes_another_way_somewhere(domain: Domain, pack: Pack, style: type[Reference]) -> None:
    for name in VARIANTS:
        own, reference = [play(episode_of(domain, pack, name, 0), agent()).steps for agent in (style, Reference)]
        if own != reference:
            return
    pytest.fail(f"{style.__name__} is the reference under another name")


@pytest.mark.parametrize("name", VARIANTS)
def test_combined_styles_pass(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(4, 300)):
        draw = Stream(index, "styles").draw(name)
        styles = tuple(draw.shuffled(ALTERNATIVES)[: draw.between(2, len(ALTERNATIVES))])
        must_pass(domain, pack, combined(styles), name, index)


@pytest.mark.parametrize("name", VARIANTS)
def test_all_styles_at_once_pass(domain: Domain, pack: Pack, name: str) -> None:
    for styles in (ALTERNATIVES, ALTERNATIVES[::-1]):
        must_pass(domain, pack, combined(styles), name, 0)


@pytest.mark.parametrize(("style", "name"), spread(ALTERNATIVES))
def test_they_keep_nothing_between_calls(domain: Domain, pack: Pack, style: type[Reference], name: str) -> None:
    kept = play(episode_of(domain, pack, name, 1), style())
    assert play_fresh(episode_of(domain, pack, name, 1), style).steps == kept.steps, f"{style.__name__}, {name}"
