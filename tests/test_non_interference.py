"""What is hidden tells nothing: two worlds look the same until a reply depends on a record in which they differ.

Both are given the same calls. Which records a reply depends on, the log says: those it shows and those it read.
"""

from __future__ import annotations

import itertools
import json
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, evaluation_seeds
from fieldops_gym.core.faults import FATES, Effect
from fieldops_gym.core.gateway import Gateway
from fieldops_gym.core.layout import shown_fields
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.world import Event, World
from fieldops_gym.envs.families import RelayEnv
from fieldops_gym.wrappers.json_calls import brief_of
from tests.counts import count
from tests.support import PACK

SEEDS = count(8, 500)
JUDGED = ("verdicts", "is_success", "outcome", "grade")
"""What `info` says of the hidden truth, and only at the end."""


class Seen(NamedTuple):
    """All that an agent gets from one step, as bytes where it is no plain value."""

    observation: tuple[tuple[str, bytes], ...]
    mask: bytes
    menu_mask: bytes
    info: bytes
    json: str
    text: str
    at: int
    elapsed: int
    ended: bool


class Twin:
    """One of two worlds that are given the same calls."""

    def __init__(self, name: str) -> None:
        self.card, self.variant = name.split(":")
        self.env = RelayEnv(split="all", render_mode="ansi")

    def reset(self, index: int) -> Seen:
        options = {"card": self.card, "variant": self.variant, "seeds": evaluation_seeds(index)._asdict()}
        observation, info = self.env.reset(seed=0, options=options)
        return self._seen(observation, info, json.dumps(brief_of(self.episode)))

    def call(self, call: ToolCall) -> Seen:
        observation, _, _, _, info = self.env.step(call)
        assert self.env.result is not None
        return self._seen(observation, info, self.env.result.to_json())

    @property
    def episode(self) -> Episode:
        assert self.env.episode is not None
        return self.env.episode

    @property
    def world(self) -> World:
        return self.episode.world

    def reply(self) -> Event:
        """Return the event of the last reply, or of the last restart."""
        return next(e for e in reversed(self.world.log) if e.kind in ("result", "restart"))

    def _seen(self, observation: dict[str, np.ndarray], info: dict[str, Any], json: str) -> Seen:
        result, ended = self.env.result, self.episode.ended
        told = {key: value for key, value in info.items() if not (ended and key in JUDGED)}
        return Seen(
            tuple((name, array.tobytes()) for name, array in observation.items()),
            self.env.action_masks().tobytes(),
            self.episode.lead_view.menu_mask().tobytes(),
            pickle.dumps([(key, type(value).__name__, np.asarray(value).tobytes()) for key, value in told.items()]),
            json,
            self.env.render() or "",
            self.episode.lead_view.now,
            0 if result is None else result.elapsed,
            ended,
        )


def depends(one: Twin, other: Twin) -> bool:
    """Whether the last reply, in either world, depends on a record in which the worlds differ at that reply."""
    replies = one.reply(), other.reply()
    records: set[tuple[str, str, int]] = set()
    for event in replies:
        shown = event.data if event.kind == "restart" else event.data.reply.shown
        reads = () if event.kind == "restart" else event.data.reads
        records.update((s.table, s.id, s.detail) for s in shown)
        records.update((table, key, WHOLE) for table, key in reads)
    first, second = replies
    return any(as_shown(one, *record, seq=first.seq) != as_shown(other, *record, seq=second.seq) for record in records)


WHOLE = -1
"""Marks a record that a reply depends on as a whole, without showing it."""


def as_shown(twin: Twin, table: str, key: str, detail: int, seq: int) -> Any:
    """Return what a record shows of itself with so much detail at event `seq`, or the whole record."""
    record = twin.world.record_at(table, key, seq)
    if record is None or detail == WHOLE:
        return record
    return shown_fields(twin.episode.lead_view.layout.tables[table], record, detail)


Choice = Callable[[Episode, ToolResult | None, int], ToolCall]


def reference_calls(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
    agent = Reference()
    agent.start(episode.brief, index)
    return agent.act(episode.view(), result)


def random_calls(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
    """A legal call at random; `finish` only when it has gone on for a while."""
    view, catalogue = episode.view(), episode.view().layout.catalogue
    legal = [
        n for n in np.flatnonzero(view.menu_mask()).tolist() if len(episode.steps) > 30 or catalogue.entries[n].tool != "finish"
    ]
    choice = Stream(index, "test calls").draw(len(episode.steps)).pick(legal)
    return catalogue.decode(catalogue.plan(catalogue.entries[choice].action), view.rows)[0]


def random_after_dispatch(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
    return (random_calls if dispatched(episode) else reference_calls)(episode, result, index)


def dispatched(episode: Episode) -> bool:
    """Whether a reservation was sent."""
    return any(event.kind == "intent" and event.data.tool == "reserve" for event in episode.world.log)


CHOICES = (reference_calls, random_calls, random_after_dispatch)


class Compared(NamedTuple):
    """How many replies were compared, and how many of them after the dispatch."""

    replies: int
    after_dispatch: int


def compare(one: Twin, other: Twin, index: int, choose: Choice, until: Callable[[Episode], bool] | None = None) -> Compared:
    """Give both worlds the calls that are chosen in the first, and assert that they look the same until they may not."""
    assert one.reset(index) == other.reset(index), f"seeds {index}: the starts look different"
    replies = after = 0
    while not one.episode.ended:
        made = choose(one.episode, one.env.result, index)
        seen, expected = one.call(made), other.call(made)
        if depends(one, other) or (until is not None and until(one.episode)):
            break
        differing = [name for name in Seen._fields if getattr(seen, name) != getattr(expected, name)]
        assert not differing, f"seeds {index}: after {[s.call.tool for s in one.episode.steps]} these differ: {differing}"
        replies += 1
        after += dispatched(one.episode)
    return Compared(replies, after)


def compare_all(names: tuple[str, str], choose: Choice, until: Callable[[Episode], bool] | None = None) -> Compared:
    one, other = map(Twin, names)
    counts = [compare(one, other, index, choose, until) for index in range(SEEDS)]
    return Compared(sum(c.replies for c in counts), sum(c.after_dispatch for c in counts))


LOST = tuple(("X-02:timeout", f"X-03:{variant}") for variant in ("immediate", "slow", "stale"))


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("names", LOST, ids=lambda names: names[1])
def test_a_lost_request_looks_like_a_lost_reply(names: tuple[str, str], choose: Choice) -> None:
    compared = compare_all(names, choose)
    assert compared.replies > 10 * SEEDS
    if choose is not random_calls:
        assert compared.after_dispatch >= SEEDS, "the missing answer itself has to be among what was compared"
    if choose is random_after_dispatch:
        assert compared.after_dispatch > 3 * SEEDS, "so do replies after it"


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
    one, other = map(Twin, names)
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
        assert compared.after_dispatch >= SEEDS, "the missing answer itself has to be among what was compared"


CLASHES = [("X-04:colleague_live", f"X-04:{name}") for name in ("colleague_undone", "stranger_live", "stranger_undone")]
STRANGERS = ("X-04:stranger_live", "X-04:stranger_undone")


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("names", [*CLASHES, STRANGERS], ids="-".join)
def test_a_key_looks_free_until_it_is_used(names: tuple[str, str], choose: Choice) -> None:
    compared = compare_all(names, choose)
    assert compared.replies > 10 * SEEDS
    if names == STRANGERS and choose is not random_calls:
        assert compared.after_dispatch > SEEDS, "what became of a stranger's reservation shows neither then nor later"


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("name", ["control", "with_repair"])
def test_pressure_does_not_show_before_it_is_heard(name: str, choose: Choice) -> None:
    compared = compare_all((f"X-06:{name}", f"X-06:{name}_pressed"), choose)
    assert compared.replies >= SEEDS


@pytest.mark.parametrize("choose", CHOICES)
def test_a_partial_effect_looks_whole_until_it_is_read(choose: Choice) -> None:
    compared = compare_all(("X-01:whole", "X-01:partial"), choose)
    if choose is not random_calls:
        assert compared.after_dispatch >= SEEDS, "the answer of the service itself has to be among what was compared"


def met_otherwise(one: Twin, other: Twin) -> bool:
    """Whether calls have met another fate in one world than in the other: that is told at once, whatever it is."""
    fates = [
        {e.data.fault for e in twin.world.log if e.kind == "fault" and e.data.effect in (*FATES, Effect.SLOW, Effect.LAG)}
        for twin in (one, other)
    ]
    return fates[0] != fates[1]


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
    one, other = map(Twin, names)
    for index in range(count(1, 100)):
        assert one.reset(index) == other.reset(index), f"seeds {index}: the starts look different"
        while not one.episode.ended:
            made = choose(one.episode, one.env.result, index)
            seen, expected = one.call(made), other.call(made)
            if depends(one, other) or met_otherwise(one, other):
                break
            differing = [name for name in Seen._fields if getattr(seen, name) != getattr(expected, name)]
            assert not differing, f"seeds {index}: after {[s.call.tool for s in one.episode.steps]} these differ: {differing}"


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
    assert compared.after_dispatch >= SEEDS, "what came after the dispatch has to be among what was compared"


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
    assert compared.after_dispatch == 0


@pytest.mark.parametrize("choose", [reference_calls, random_after_dispatch])
def test_a_dispatch_that_is_refused_is_told_at_once(choose: Choice) -> None:
    one, other = Twin("X-02:not_sent"), Twin("X-02:timeout")
    one.reset(0)
    other.reset(0)
    while not dispatched(one.episode):
        made = choose(one.episode, one.env.result, 0)
        seen, expected = one.call(made), other.call(made)
    assert seen != expected


@pytest.mark.parametrize("names", LOST, ids=lambda names: names[1])
def test_a_result_tells_no_more_to_who_reads_it_in_python(names: tuple[str, str]) -> None:
    """Neither do the public attributes of a `ToolResult`: event numbers would count what happened behind a lost answer."""
    one, other = map(Twin, names)
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
    monkeypatch.setattr(
        sys.modules[__name__], "brief_of", lambda episode: original(episode) | {"card": episode.coordinates.card}
    )


@pytest.mark.parametrize("plant", [plant_time, plant_mask, plant_number, plant_name])
def test_a_planted_leak_is_caught(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match="differ"):
        compare_all(LOST[0], reference_calls)
