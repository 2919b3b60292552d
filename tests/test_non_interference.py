"""What is hidden tells nothing: two worlds look the same until a reply depends on a record in which they differ.

Both are given the same calls. Which records a reply depends on, the log says: those it shows and those it read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import DOMAINS, Episode, ToolCall
from fieldops_gym.core.gateway import Gateway
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.envs.families import RelayEnv
from fieldops_gym.evaluation import twins
from fieldops_gym.evaluation.twins import (
    Choice,
    Compared,
    Twin,
    calls_of,
    compare,
    depends,
    env_for,
    met_otherwise,
    random_calls,
)  # fmt: skip
from fieldops_gym.wrappers.json_calls import brief_of
from tests.counts import count
from tests.support import PACK

SEEDS = count(8, 500)
ENVS = (env_for(DOMAINS["field_service"], PACK), env_for(DOMAINS["field_service"], PACK))
"""One for each of two worlds."""


def pair(*names: str) -> tuple[Twin, Twin]:
    """Return two worlds, each in an environment of its own."""
    one, other = names
    return Twin(one, ENVS[0]), Twin(other, ENVS[1])


reference_calls = calls_of(Reference)


def random_after_dispatch(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
    return (random_calls if dispatched(episode) else reference_calls)(episode, result, index)


def dispatched(episode: Episode) -> bool:
    """Whether a reservation was sent."""
    return any(event.kind == "intent" and event.data.tool == "reserve" for event in episode.world.log)


CHOICES = (reference_calls, random_calls, random_after_dispatch)


def compare_all(names: tuple[str, str], choose: Choice, until: Callable[[Episode], bool] | None = None) -> Compared:
    """Compare two worlds on every seed, and assert that they look the same until they may not."""

    def may_differ(one: Twin, other: Twin) -> bool:
        return depends(one, other) or (until is not None and until(one.episode))

    found = [compare(*pair(*names), index, choose, may_differ, dispatched) for index in range(SEEDS)]
    assert not any(c.differing for c in found), next(c.differing for c in found if c.differing)
    return Compared(sum(c.replies for c in found), sum(c.counted for c in found), "")


LOST = tuple(("X-02:timeout", f"X-03:{variant}") for variant in ("immediate", "slow", "stale"))


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("names", LOST, ids=lambda names: names[1])
def test_a_lost_request_looks_like_a_lost_reply(names: tuple[str, str], choose: Choice) -> None:
    compared = compare_all(names, choose)
    assert compared.replies > 10 * SEEDS
    if choose is not random_calls:
        assert compared.counted >= SEEDS, "the missing answer itself has to be among what was compared"
    if choose is random_after_dispatch:
        assert compared.counted > 3 * SEEDS, "so do replies after it"


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize(
    "names", [("X-03:immediate", "X-03:slow"), ("X-03:immediate", "X-03:stale")], ids=lambda names: names[1]
)
def test_a_reconciliation_looks_the_same_until_it_is_asked_for(names: tuple[str, str], choose: Choice) -> None:
    """No record differs here at all; the time that one reply takes does."""
    compare_all(names, choose, lambda episode: episode.steps[-1].call.tool == "reconcile")


@pytest.mark.parametrize("names", LOST, ids=lambda names: names[1])
@pytest.mark.parametrize("sent", [False, True], ids=["before anything is sent", "about another plan"])
def test_a_reconciliation_of_what_was_never_sent_tells_nothing(names: tuple[str, str], sent: bool) -> None:
    """No record differs that it could depend on, so it cannot be used to sound out what is going to happen."""
    one, other = pair(*names)
    assert one.reset(0) == other.reset(0)
    while not (dispatched(one.episode) if sent else one.world.tables["proposal"]):
        made = reference_calls(one.episode, one.env.result, 0)
        assert one.call(made) == other.call(made)
    part = one.episode.view().rows["part"][0].id
    calls = [ToolCall.of("draft", field="alternative", ref=part), ToolCall.of("propose")] if sent else []
    for made in calls:
        assert one.call(made) == other.call(made)
    asked = ToolCall.of("reconcile", proposal=list(one.world.tables["proposal"])[-1])
    seen, expected = one.call(asked), other.call(asked)
    assert not depends(one, other)
    assert seen == expected, f"{seen.elapsed} s and {expected.elapsed} s: {seen.json} and {expected.json}"


@pytest.mark.parametrize("choose", CHOICES)
def test_a_cancelled_dispatch_looks_the_same_whether_it_landed(choose: Choice) -> None:
    compared = compare_all(("X-05:landed", "X-05:missed"), choose)
    assert compared.replies > 10 * SEEDS
    if choose is not random_calls:
        assert compared.counted >= SEEDS, "the missing answer itself has to be among what was compared"


CLASHES = [("X-04:colleague_live", f"X-04:{name}") for name in ("colleague_undone", "stranger_live", "stranger_undone")]
STRANGERS = ("X-04:stranger_live", "X-04:stranger_undone")


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("names", [*CLASHES, STRANGERS], ids="-".join)
def test_a_key_looks_free_until_it_is_used(names: tuple[str, str], choose: Choice) -> None:
    compared = compare_all(names, choose)
    assert compared.replies > 10 * SEEDS
    if names == STRANGERS and choose is not random_calls:
        assert compared.counted > SEEDS, "what became of a stranger's reservation shows neither then nor later"


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("name", ["control", "with_repair"])
def test_pressure_does_not_show_before_it_is_heard(name: str, choose: Choice) -> None:
    compared = compare_all((f"X-06:{name}", f"X-06:{name}_pressed"), choose)
    assert compared.replies >= SEEDS


@pytest.mark.parametrize("choose", CHOICES)
def test_a_partial_effect_looks_whole_until_it_is_read(choose: Choice) -> None:
    compared = compare_all(("X-01:whole", "X-01:partial"), choose)
    if choose is not random_calls:
        assert compared.counted >= SEEDS, "the answer of the service itself has to be among what was compared"


SIBLINGS = [
    (f"{card.id}:{first}", f"{card.id}:{second}")
    for card in PACK.cards.values()
    for first, second in itertools.combinations(card.variants, 2)
    if card.variants[first].requests == card.variants[second].requests
]
"""Every two variants of a card that are told apart by something hidden."""


@pytest.mark.parametrize("choose", CHOICES[:2])
@pytest.mark.parametrize("names", SIBLINGS, ids="-".join)
def test_variants_look_the_same_until_a_reply_depends_on_what_differs(names: tuple[str, str], choose: Choice) -> None:
    for index in range(count(1, 100)):
        compared = compare(*pair(*names), index, choose, lambda one, other: depends(one, other) or met_otherwise(one, other))
        assert not compared.differing, compared.differing


EQUAL = [
    ("R-01:live", "R-02:silent"),
    ("R-02:silent", "R-02:called_back"),
    ("R-03:asked_again", "R-03:undone"),
    ("A-06:landed", "A-06:missed"),
    ("R-06:stands", "R-06:unknown_stands"),
    ("R-06:unknown_stands", "R-06:unknown_undone"),
]
"""Pairs that have to look the same through what befell them."""


@pytest.mark.parametrize("choose", [reference_calls, random_after_dispatch])
@pytest.mark.parametrize("names", EQUAL, ids="-".join)
def test_what_became_of_it_does_not_show_before_it_is_looked_up(names: tuple[str, str], choose: Choice) -> None:
    silent = "R-06:unknown_stands" in names
    compared = compare_all(names, choose, told_otherwise if silent else None)
    assert compared.counted >= SEEDS, "what came after the dispatch has to be among what was compared"


def told_otherwise(episode: Episode) -> bool:
    """Whether the service was asked after an undoing: that it is silent then is told at once."""
    undone = any(event.kind == "intent" and event.data.tool == "compensate" for event in episode.world.log)
    return (
        undone and episode.steps[-1].call.tool in ("reconcile", "read_reservation") and episode.coordinates.variant == "stands"
    )


PUMPS = ("X-02:not_sent", "X-02:timeout", "X-03:immediate", "X-03:slow", "X-03:stale")
BEFORE_DISPATCH = [("X-01:whole", "X-01:partial"), *((PUMPS[0], other) for other in PUMPS[1:])]


@pytest.mark.parametrize("choose", CHOICES[:2])
@pytest.mark.parametrize("names", BEFORE_DISPATCH, ids="-".join)
def test_everything_looks_the_same_before_the_dispatch(names: tuple[str, str], choose: Choice) -> None:
    compared = compare_all(names, choose, dispatched)
    assert compared.replies >= 12 * SEEDS
    assert compared.counted == 0


@pytest.mark.parametrize("choose", [reference_calls, random_after_dispatch])
def test_a_dispatch_that_is_refused_is_told_at_once(choose: Choice) -> None:
    one, other = pair("X-02:not_sent", "X-02:timeout")
    one.reset(0)
    other.reset(0)
    while not dispatched(one.episode):
        made = choose(one.episode, one.env.result, 0)
        seen, expected = one.call(made), other.call(made)
    assert seen != expected


@pytest.mark.parametrize("names", LOST, ids=lambda names: names[1])
def test_a_result_tells_no_more_to_who_reads_it_in_python(names: tuple[str, str]) -> None:
    """Neither do the public attributes of a `ToolResult`: event numbers would count what happened behind a lost answer."""
    one, other = pair(*names)
    for index in range(SEEDS):
        one.reset(index)
        other.reset(index)
        while not one.episode.ended:
            made = random_after_dispatch(one.episode, one.env.result, index)
            one.call(made)
            other.call(made)
            if depends(one, other):
                break
            results = one.env.result, other.env.result
            told = [
                {name: getattr(r, name) for name in dir(r) if name[0] != "_" and not callable(getattr(r, name))}
                for r in results
            ]
            assert told[0] == told[1], f"seeds {index}: the results of {made.tool} differ"


def plant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost reply takes a second longer than a lost request."""
    original = Gateway._time_out

    def slower(self: Gateway, *args: Any) -> Any:
        if self.world.tables["reservation"]:
            self._advance(self.clock + 31)
        return original(self, *args)

    monkeypatch.setattr(Gateway, "_time_out", slower)


def plant_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask that knows what the service knows."""
    original = RelayEnv._info

    def knowing(self: RelayEnv, judged: Any) -> dict[str, Any]:
        info = original(self, judged)
        info["action_mask"][-1] &= not (self.episode and self.episode.world.tables["reservation"])
        return info

    monkeypatch.setattr(RelayEnv, "_info", knowing)


def plant_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that counts events."""
    original = Gateway.call

    def counting(self: Gateway, *args: Any) -> ToolResult:
        result = original(self, *args)
        result.elapsed += len(self.world.log)
        return result

    monkeypatch.setattr(Gateway, "call", counting)


def plant_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A brief that names the card."""
    original = brief_of
    monkeypatch.setattr(twins, "brief_of", lambda episode: original(episode) | {"card": episode.coordinates.card})


@pytest.mark.parametrize("plant", [plant_time, plant_mask, plant_number, plant_name])
def test_a_planted_leak_is_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match="differ"):
        compare_all(LOST[0], reference_calls)
