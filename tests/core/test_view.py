"""Views: what a seat has been shown, rebuilt from the log; observations in bounds; masks never empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from agents.random_agent import RandomAgent
from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.scenario import Meters
from fieldops_gym.core.tools import EFFECTS, Showing
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Event, World
from tests.core.helpers import Mixed, Player, has_reservation, run_until
from tests.counts import count
from tests.support import REPAIRS, VARIANTS, episode_of, play

NOT_ADMITTED = ("parse", "listed", "budget")
"""How far a call comes that is refused before it is put to the world."""


class Rebuilt:
    """A seat's view folded from the log and the start alone, event by event."""

    def __init__(self, episode: Episode, seat: str) -> None:
        self.world, self.seat, self.scenario = episode.world, seat, episode.scenario
        self.is_lead = seat == episode.lead
        self.tools = episode.domain.tools[seat]
        listed = self.scenario.contract.tools if self.is_lead else tuple(episode.domain.tools[seat])
        brief = self.scenario.brief if self.is_lead else None
        self.view = View(episode.domain.layouts[seat], seat, brief, listed, self.scenario.limits)
        self.calls: dict[int, ToolCall] = {}
        self.meters = self.world.start["meters"][seat] if self.is_lead else Meters(seat)
        self.attempted: set[str] = set()
        self.seen = 0
        if self.is_lead:
            self.view.open(episode.domain.opening(self.scenario, World(self.world.start)), 0, restarted=False)
        self.tick(0)

    def catch_up(self) -> View:
        """Fold what the log has grown by."""
        for event in self.world.log[self.seen :]:
            self.fold(event)
        self.seen = len(self.world.log)
        return self.view

    def fold(self, event: Event) -> None:
        if event.kind == "call" and event.actor == self.seat:
            self.calls[event.seq] = event.data
            for write in event.writes:
                if write.table == "meters" and write.id == self.seat:
                    self.meters = write.record
        elif event.kind == "intent" and event.ref in self.calls:
            call = self.calls[event.ref]
            if self.is_lead and self.tools[call.tool].consequence in EFFECTS:
                self.attempted.add(call.tool)
        elif event.kind == "result" and event.ref in self.calls:
            reply = event.data.reply
            self.view.absorb(self.calls[event.ref], reply, self.showings(reply.shown), event.at)
            self.tick(event.at)
        elif event.kind == "restart" and self.is_lead:
            self.view.open(self.showings(event.data), event.at, restarted=True)
            self.tick(event.at)
        elif event.kind == "asked" and event.data[0].seat == self.seat:
            self.view.deliver(self.showings(event.data[1]), event.at)

    def showings(self, shown: tuple[Any, ...]) -> tuple[Showing, ...]:
        return tuple(Showing(s.table, self.world.record_at(s.table, s.id, s.version), s.detail, s.version) for s in shown)

    def tick(self, now: int) -> None:
        used_up = self.is_lead and self.meters.effect_attempts >= self.scenario.limits.effect_attempts
        effects = frozenset(tool.name for tool in self.view.layout.catalogue.tools if tool.consequence in EFFECTS)
        no_retries = self.is_lead and self.meters.retries >= self.scenario.limits.retries
        blocked = effects if used_up else frozenset(self.attempted) if no_retries else frozenset()
        self.view.tick(now, self.meters, blocked)


def rows_of(view: View) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a view holds, in order."""
    return {name: [(row.id, row.position, row.record, row.full) for row in rows] for name, rows in view.rows.items()}


def assert_same(live: View, rebuilt: View) -> None:
    """Compare all that a view holds; the view of a seat that a script plays has no arrays and no meters."""
    assert rows_of(live) == rows_of(rebuilt)
    assert {key: row.table.name for key, row in live.by_id.items()} == {k: r.table.name for k, r in rebuilt.by_id.items()}
    assert live.notes == rebuilt.notes
    assert live.restarted == rebuilt.restarted
    if not live.arrays:
        return
    assert live.meters == rebuilt.meters
    assert live.blocked == rebuilt.blocked
    assert np.array_equal(live.flat, rebuilt.flat)
    assert np.array_equal(live.mask, rebuilt.mask)
    assert np.array_equal(live.menu_mask(), rebuilt.menu_mask())


def assert_in_bounds(view: View) -> None:
    assert np.isfinite(view.flat).all()
    assert (np.abs(view.flat) <= 1.0).all(), view.flat[np.abs(view.flat) > 1.0]
    assert all(part.dtype == np.float32 for part in view.observation().values())


def assert_something_is_legal(view: View) -> None:
    for slot in view.layout.catalogue.slots:
        assert view.mask[slot.start : slot.start + slot.size].any(), f"nothing is legal in slot '{slot.name}'"
    assert view.menu_mask().any()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_view_rebuilt_from_the_log_equals_the_live_one_after_every_call(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(4, 60)):
        player = Player(episode_of(domain, pack, name, index), Mixed(80 + index % 4 * 5), index)
        episode = player.episode
        rebuilt = {seat: Rebuilt(episode, seat) for seat in domain.layouts}
        while not episode.ended:
            player.step()
            if not episode.ended and index % 2 and len(episode.steps) % 7 == 0:
                player.crash()
            for seat, fold in rebuilt.items():
                assert_same(episode.view(seat), fold.catch_up())
            assert_in_bounds(episode.view())
            assert_something_is_legal(episode.view())


def test_the_views_of_outside_people_are_rebuilt_too(domain: Domain, pack: Pack) -> None:
    people, shown = {"people": {"approver": "outside", "requester": "outside"}}, 0
    for index in range(count(4, 60)):
        player = Player(episode_of(domain, pack, REPAIRS[index % len(REPAIRS)], index, merge([people])), Mixed(85), index)
        episode = player.episode
        rebuilt = {seat: Rebuilt(episode, seat) for seat in domain.layouts}
        while not episode.ended:
            player.step()
            for seat in ("approver", "requester"):
                answer_all(episode, seat)
            for seat, fold in rebuilt.items():
                assert_same(episode.view(seat), fold.catch_up())
            for seat in ("approver", "requester"):
                if episode.view(seat).by_id:
                    assert_something_is_legal(episode.view(seat))
        shown += len(episode.view("requester").rows["message"]) + len(episode.view("approver").rows["request"])
    assert shown >= count(4, 60), "people were asked too little for the test to mean anything"


def answer_all(episode: Episode, seat: str) -> None:
    """Let an outside seat answer everything that it was shown, once more each time."""
    for row in list(episode.view(seat).rows["request"]):
        if not episode.ended:
            episode.call(ToolCall.of("decide", request=row.id, disposition="approved"), seat)
    for row in list(episode.view(seat).rows["message"]):
        if not episode.ended:
            episode.call(ToolCall.of("say", message=row.id, act="answered"), seat)


@pytest.mark.parametrize(
    "layer",
    [
        {"budget": {"turns": 0}},
        {"budget": {"simulated_time": 0, "retries": 0, "effect_attempts": 0, "tool_calls": 0}},
        {"budget": {"effect_attempts": 1, "retries": 0}},
        {"budget": {"turns": 10**6, "tool_calls": 10**6, "retries": 10**6}},
        {"entities": 0},
        {"people": {"approver": "approver.absent"}},
    ],
)
def test_bounds_and_masks_hold_at_the_extremes(domain: Domain, pack: Pack, layer: Mapping[str, Any]) -> None:
    for index in range(count(2, 20)):
        episode = episode_of(domain, pack, VARIANTS[index % 7], index, merge([layer]))

        def each(now: Episode) -> None:
            assert_in_bounds(now.view())
            assert_something_is_legal(now.view())

        each(episode)
        play(episode, Mixed(85), index, each=each)


def test_masks_of_the_terminal_state_have_a_legal_entry(domain: Domain, pack: Pack) -> None:
    endings = set()
    for index in range(count(20, 200)):
        episode = play(episode_of(domain, pack, VARIANTS[index % 7], index), RandomAgent(), seed=index)
        assert_something_is_legal(episode.view())
        assert_in_bounds(episode.view())
        endings.add(episode.ending)
    assert "finished" in endings


def test_masks_of_people_who_were_shown_nothing_have_a_legal_entry(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0, merge([{"people": {"approver": "outside"}}]))
    assert_something_is_legal(episode.view("approver"))


def test_an_observation_is_a_fresh_copy(domain: Domain, pack: Pack) -> None:
    view = episode_of(domain, pack, "X-01:whole", 0).view()
    one, other = view.observation(), view.observation()
    for name, part in one.items():
        assert not np.shares_memory(part, view.flat)
        assert not np.shares_memory(part, other[name])
        part[:] = 7.0
    assert_in_bounds(view)


def test_a_stale_read_stays_stale_until_it_is_read_again(domain: Domain, pack: Pack) -> None:
    episode = run_until(episode_of(domain, pack, "X-01:whole", 0), Reference(), has_reservation)
    made = episode.view().rows["reservation"][0].record
    shown = episode.view().row(made.part)
    assert shown["quantity"] == episode.world.start["part"][made.part].quantity
    assert episode.world.tables["part"][made.part].quantity == shown["quantity"] - 1
    episode.call(ToolCall.of("read_reservation", reservation=made.id))
    assert shown["quantity"] == episode.world.tables["part"][made.part].quantity


def test_details_are_shown_only_by_a_whole_read(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    machine = episode.view().rows["equipment"][0]
    assert machine["revision"] is None
    episode.call(ToolCall.of("query_asset", equipment=machine.id))
    assert machine["revision"] == episode.world.tables["equipment"][machine.id].revision
    with pytest.raises(KeyError, match="shows no 'tenant'"):
        machine["tenant"]


def test_the_columns_of_every_table_exist_in_its_records(domain: Domain) -> None:
    for seat, layout in domain.layouts.items():
        for table in layout.tables.values():
            for column in table.columns + table.details:
                records = domain.tables.get(table.name)
                assert records is None or hasattr(records, column), f"{seat}: {table.name}.{column}"
            assert table.capacity >= 1
