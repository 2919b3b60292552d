"""There is more than one honest way: every style passes every variant, alone and combined with others."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import pytest

from agents.acting import NapsShorter, TakesItsTime, TellsWhenUnknown, VerifiesTwice
from agents.alternatives import ALTERNATIVES, combined
from agents.looking import ChecksTheApproval, RecallsFirst
from agents.reference import Reference
from fieldops_gym import DOMAINS, Step, grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.streams import Stream
from tests.counts import count
from tests.support import PACK, VARIANTS, episode_of, play, play_fresh, spread

FAMILIES = tuple(dict.fromkeys(card.family for card in PACK.cards.values()))
FEWEST = 6
"""How many styles go another way than the reference in each family, at least."""


def right(style: type[Reference], name: str) -> str:
    """Return the outcome that is right: a style that never meets the variant's fault leaves a void run."""
    return "void" if name in getattr(style, "VOID", ()) else "passed"


class Played(NamedTuple):
    """What came of a run: the outcome, what is broken, and the calls."""

    outcome: str
    broken: tuple[str, ...]
    calls: tuple[Step, ...]


def judged(style: type[Reference], name: str, index: int) -> Played:
    """Let a style play a variant on seeds number `index`."""
    run = play(episode_of(DOMAINS["field_service"], PACK, name, index), style())
    found = grade(run.domain, run.trial())
    broken = tuple(f"{v.invariant}: {v.actual}, expected {v.expected}" for v in found.broken())
    return Played(found.outcome, broken, tuple(run.steps))


@cache
def first_run(style: type[Reference], name: str) -> Played:
    """Return a run on seeds that go with the variant."""
    return judged(style, name, VARIANTS.index(name))


def must_pass(style: type[Reference], name: str, run: Played, index: int) -> None:
    """Hold a run against what is right."""
    told = f"{style.__name__}, {name}, seeds {index}: {run.outcome}, {run.broken}"
    assert run.outcome == right(style, name), told


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_passes(style: type[Reference]) -> None:
    for number, name in enumerate(VARIANTS):
        must_pass(style, name, first_run(style, name), number)
        for index in range(count(0, 300)):
            must_pass(style, name, judged(style, name, index), index)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_honest_ways_that_differ(pack: Pack, family: str) -> None:
    """Two styles differ when they make other calls in some run of the family."""
    names = [name for name in VARIANTS if pack.cards[name.split(":")[0]].family == family]

    def calls(style: type[Reference]) -> list[tuple[Step, ...]]:
        return [first_run(style, name).calls for name in names]

    reference = calls(Reference)
    others = {style.__name__: made for style in ALTERNATIVES if (made := calls(style)) != reference}
    assert len(others) >= FEWEST, f"{family}: only {', '.join(others) or 'none'} differ from the reference"
    for one, other in itertools.combinations(others, 2):
        assert others[one] != others[other], f"{family}: {one} is {other} under another name"


@pytest.mark.parametrize("style", ALTERNATIVES)
def test_every_style_goes_another_way_somewhere(style: type[Reference]) -> None:
    differs = any(first_run(style, name).calls != first_run(Reference, name).calls for name in VARIANTS)
    assert differs, f"{style.__name__} is the reference under another name"


@pytest.mark.parametrize("name", VARIANTS)
def test_combined_styles_pass(name: str) -> None:
    for index in range(count(3, 300)):
        draw = Stream(index, "styles").draw(name)
        styles = tuple(draw.shuffled(ALTERNATIVES)[: draw.between(2, len(ALTERNATIVES))])
        style = combined(styles)
        must_pass(style, name, judged(style, name, index), index)


def test_what_was_told_is_kept_to() -> None:
    """Few calls are left and it gets late between telling and finishing: it ends as it was told."""
    style = combined((RecallsFirst, NapsShorter, TakesItsTime, ChecksTheApproval, VerifiesTwice, TellsWhenUnknown))
    must_pass(style, "R-06:unknown_stands", judged(style, "R-06:unknown_stands", 46), 46)


@pytest.mark.parametrize("name", VARIANTS)
def test_all_styles_at_once_pass(name: str) -> None:
    for styles in (ALTERNATIVES, ALTERNATIVES[::-1]):
        style = combined(styles)
        must_pass(style, name, judged(style, name, 0), 0)


@pytest.mark.parametrize(("style", "name"), spread(ALTERNATIVES))
def test_they_keep_nothing_between_calls(domain: Domain, pack: Pack, style: type[Reference], name: str) -> None:
    kept = play(episode_of(domain, pack, name, 1), style())
    assert play_fresh(episode_of(domain, pack, name, 1), style).steps == kept.steps, f"{style.__name__}, {name}"
