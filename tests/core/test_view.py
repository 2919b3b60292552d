"""Views: what a seat has been shown, rebuilt from the log; observations in bounds; masks never empty; nothing overflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from agents.random_agent import RandomAgent
from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, evaluation_seeds, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Meters
from fieldops_gym.core.tools import EFFECTS, Consequence, Showing
from fieldops_gym.core.view import Row, View
from fieldops_gym.core.world import Event, World
from fieldops_gym.domains.field_service import rules
from tests.core.helpers import Mixed, start_at, step
from tests.counts import count
from tests.support import VARIANTS, episode_of, play


class Rebuilt:
    """A seat's view folded from the log and the start alone, event by event."""

    def __init__(self, episode: Episode, seat: str) -> None:
        self.world, self.seat, self.scenario = episode.world, seat, episode.scenario
        self.is_lead = seat == episode.lead
        listed = self.scenario.contract.tools if self.is_lead else tuple(episode.domain.tools[seat])
        brief = self.scenario.brief if self.is_lead else None
        self.view = View(episode.domain.layouts[seat], seat, brief, listed, self.scenario.limits)
        self.calls: dict[int, ToolCall] = {}
        self.meters = self.world.start["meters"][seat] if self.is_lead else Meters(seat)
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
        blocked: frozenset[Consequence] = EFFECTS if used_up else frozenset()
        self.view.tick(now, self.meters, blocked)


def rows_of(view: View) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a view holds, in order."""
    return {name: [(row.id, row.position, row.record, row.full) for row in rows] for name, rows in view.rows.items()}


def assert_same(live: View, rebuilt: View) -> None:
    assert rows_of(live) == rows_of(rebuilt)
    assert {key: row.table.name for key, row in live.by_id.items()} == {k: r.table.name for k, r in rebuilt.by_id.items()}
    assert live.notes == rebuilt.notes
    assert live.restarted == rebuilt.restarted
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
        episode, agent = episode_of(domain, pack, name, index), Mixed(80 + index % 4 * 5)
        agent.start(episode.brief, index)
        rebuilt = {seat: Rebuilt(episode, seat) for seat in domain.layouts}
        while not episode.ended:
            step(episode, agent, 1)
            if not episode.ended and index % 2 and len(episode.steps) % 7 == 0:
                episode.crash()
            for seat, fold in rebuilt.items():
                assert_same(episode.view(seat), fold.catch_up())
            assert_in_bounds(episode.view())
            assert_something_is_legal(episode.view())


def test_the_views_of_outside_people_are_rebuilt_too(domain: Domain, pack: Pack) -> None:
    people = {"people": {"approver": "outside", "requester": "outside"}}
    for index in range(count(4, 60)):
        episode, agent = episode_of(domain, pack, VARIANTS[index % 7], index, merge([people])), Mixed(85)
        agent.start(episode.brief, index)
        rebuilt = {seat: Rebuilt(episode, seat) for seat in domain.layouts}
        while not episode.ended:
            step(episode, agent, 1)
            for seat in ("approver", "requester"):
                answer_all(episode, seat)
            for seat, fold in rebuilt.items():
                assert_same(episode.view(seat), fold.catch_up())
            for seat in ("approver", "requester"):
                if episode.view(seat).by_id:
                    assert_something_is_legal(episode.view(seat))
        assert episode.view("requester").rows["message"] or episode.view("approver").rows["request"]


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


@pytest.mark.xfail(strict=True, reason="a person's seat has no call that needs no record, so nothing is legal at first")
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
    episode, agent = episode_of(domain, pack, "X-01:whole", 0), Reference()
    agent.start(episode.brief, 0)
    while not episode.view().rows["reservation"]:
        step(episode, agent, 1)
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


# The capacity lint: per table of each seat's view, the most that any sequence of legal calls can show.


def shown_at_most(domain: Domain, pack: Pack, episode: Episode) -> dict[str, int]:
    """Return the most rows that a lead seat's view can ever hold, by table, argued from the start and the rules.

    Searches are anchored on the incident's own equipment, region and tenant, so what they list is fixed at the start;
    what a run makes is bounded by the rules' limits and the budget.
    """
    start, roles = episode.scenario.start, episode.scenario.roles
    family = start["family"][roles["family"][0]]
    directory = start["tenant"][roles["tenant"][0]].people
    requests = rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
    people_seats = [seat for seat in domain.layouts if seat != domain.lead]
    return {
        "incident": 1,
        "equipment": 1,
        "family": 1,
        "delegation": 1,
        "manual": len(family.manuals),
        "part": len(family.parts),
        "slot": len(start["region"][roles["region"][0]].slots),
        "person": len({*directory, roles["requester"][0]}),
        "policy": len(start["policy"]),
        "draft": len(start["draft"]),
        "proposal": rules.MAX_PROPOSALS,
        "approval": requests,
        "reservation": pack.contracts["effect"].budget["effect_attempts"],
        # One for each message that people take, and one for each decision on a request.
        "message": len(people_seats) * rules.MAX_MESSAGES + requests,
    }


def test_no_view_of_the_lead_seat_can_overflow(domain: Domain, pack: Pack) -> None:
    capacities = {name: table.capacity for name, table in domain.layouts[domain.lead].tables.items()}
    cards = [f"{card.id}:{next(iter(card.variants))}" for card in pack.cards.values()]
    for index in range(count(150, 2_000)):
        for name in cards:
            episode = start_at(domain, pack, name, evaluation_seeds(index))
            most = shown_at_most(domain, pack, episode)
            assert set(most) == set(capacities)
            over = {table: (rows, capacities[table]) for table, rows in most.items() if rows > capacities[table]}
            assert not over, f"{name} on seeds {index}: (rows, capacity) {over}"


def test_no_view_of_a_persons_seat_can_overflow(domain: Domain) -> None:
    requests = rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
    most = {"proposal": rules.MAX_PROPOSALS, "request": requests, "message": rules.MAX_MESSAGES}
    for seat, layout in domain.layouts.items():
        if seat != domain.lead:
            assert {name: table.capacity for name, table in layout.tables.items()} == most


LONG: Overrides = merge([{"budget": {"turns": 5_000, "tool_calls": 5_000, "retries": 500}}])


def spam(episode: Episode, calls: list[ToolCall], rounds: int) -> list[str]:
    """Make the calls again and again, reading messages in between; return the codes heard."""
    codes = []
    for _ in range(rounds):
        for call in calls:
            if episode.ended:
                return codes
            codes.append(str(episode.call(call).reply.code))
        if not episode.ended:
            episode.call(ToolCall.of("wait", seconds=30))
    return codes


def prepared(domain: Domain, pack: Pack, layer: Mapping[str, Any] | None = None, index: int = 0) -> Episode:
    """Return an episode with a long budget in which all there is to list has been listed."""
    overrides = merge([{"budget": dict(LONG.budget)}, layer or {}])
    episode = episode_of(domain, pack, "X-01:whole", index, overrides)
    machine, incident = episode.view().rows["equipment"][0].id, episode.view().rows["incident"][0].id
    for call in (
        ToolCall.of("query_asset", equipment=machine),
        ToolCall.of("search_manuals", equipment=machine),
        ToolCall.of("search_parts", equipment=machine),
        ToolCall.of("list_slots", incident=incident),
        ToolCall.of("read_directory"),
        *(ToolCall.of("read_policy", operation=operation) for operation in rules.POLICIES),
    ):
        assert episode.call(call).ok
    return episode


def make_proposals(episode: Episode) -> list[str]:
    """Freeze as many proposals as the rules allow; return their ids."""
    view = episode.view()
    for slot in view.rows["slot"]:
        for part in view.rows["part"]:
            episode.call(ToolCall.of("draft", field="part", ref=part.id))
            episode.call(ToolCall.of("draft", field="slot", ref=slot.id))
            episode.call(ToolCall.of("draft", field="citation", ref=view.rows["manual"][0].id))
            if episode.call(ToolCall.of("propose")).reply.code == "limit":
                return [row.id for row in view.rows["proposal"]]
    raise AssertionError("the limit on proposals was never reached")


def everyone(make: Callable[[str], list[ToolCall]], rows: list[Row]) -> list[ToolCall]:
    """Return calls for each row."""
    return [call for row in rows for call in make(row.id)]


def test_spam_of_messages_never_raises(domain: Domain, pack: Pack) -> None:
    episode = prepared(domain, pack)
    people = episode.view().rows["person"]
    calls = everyone(lambda p: [ToolCall.of("ask", person=p, topic=t) for t in ("deadline", "symptom", "access")], people)
    calls += everyone(lambda p: [ToolCall.of("notify", person=p, kind=k) for k in ("reserved", "unknown")], people)
    codes = spam(episode, calls, 6)
    assert set(codes) == {"", "limit"}
    assert sum(code == "" for code in codes) == 3 * rules.MAX_MESSAGES


def test_spam_of_proposals_never_raises(domain: Domain, pack: Pack) -> None:
    episode = prepared(domain, pack)
    assert len(make_proposals(episode)) == rules.MAX_PROPOSALS
    frozen = [row.id for row in episode.view().rows["proposal"]]
    for key in frozen:
        assert episode.call(ToolCall.of("withdraw", proposal=key)).ok
        assert episode.call(ToolCall.of("withdraw", proposal=key)).reply.code == "conflict"
    assert spam(episode, [ToolCall.of("propose")], 5) == ["limit"] * 5


def test_spam_of_requests_and_messages_together_never_overflows(domain: Domain, pack: Pack) -> None:
    for index in range(count(3, 30)):
        episode = prepared(domain, pack, index=index)
        people = episode.view().rows["person"]
        talk = everyone(lambda p: [ToolCall.of("ask", person=p, topic="deadline")], people)
        codes = [str(episode.call(call).reply.code) for _ in range(3) for call in talk]
        for _ in range(rules.MAX_REQUESTS_EACH):
            for proposal in make_proposals(episode):
                for person in sorted(people, key=lambda row: "reserve" in row["authority"]):
                    call = ToolCall.of("request_approval", proposal=proposal, person=person.id)
                    codes.append(str(episode.call(call).reply.code))
        codes += spam(episode, talk, 6)
        while not episode.ended:
            episode.call(ToolCall.of("wait", seconds=14_400))
        assert {"", "limit"} <= set(codes)
        assert len(episode.world.tables["request"]) == rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
        assert len(episode.view().rows["message"]) > 12


def test_spam_answered_by_outside_people_never_overflows(domain: Domain, pack: Pack) -> None:
    outside = {"people": dict.fromkeys(("approver", "requester", "colleague"), "outside")}
    episode = prepared(domain, pack, outside)
    people = episode.view().rows["person"]
    calls = everyone(lambda p: [ToolCall.of("ask", person=p, topic="access")], people)
    for proposal in make_proposals(episode):
        calls += everyone(lambda p, q=proposal: [ToolCall.of("request_approval", proposal=q, person=p)], people)
    for _ in range(rules.MAX_MESSAGES):
        for call in calls:
            episode.call(call)
        for seat in ("approver", "requester", "colleague"):
            for row in list(episode.view(seat).rows["request"]):
                episode.call(ToolCall.of("decide", request=row.id, disposition="declined"), seat)
            for row in list(episode.view(seat).rows["message"]):
                episode.call(ToolCall.of("say", message=row.id, act="answered"), seat)
    episode.call(ToolCall.of("wait", seconds=60))
    assert len(episode.view().rows["approval"]) == rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
    assert len(episode.view().rows["message"]) == 3 * rules.MAX_MESSAGES + rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH


def test_spam_of_reservations_is_bounded_by_the_budget(domain: Domain, pack: Pack) -> None:
    episode, agent = episode_of(domain, pack, "X-01:whole", 0, LONG), Reference()
    agent.start(episode.brief, 0)
    while not episode.view().rows["reservation"]:
        step(episode, agent, 1)
    plan = episode.view().rows["proposal"][0].id
    codes = spam(episode, [ToolCall.of("reserve", proposal=plan, key="fresh"), ToolCall.of("read_journal")], 12)
    attempts = episode.scenario.limits.effect_attempts
    assert len(episode.view().rows["reservation"]) == len(episode.world.tables["reservation"]) <= attempts
    assert codes.count("budget_exhausted") == 12 - (attempts - 1)
    catalogue = episode.view().layout.catalogue
    assert not episode.view().mask[catalogue.tool_index["reserve"]], "a visible budget that is used up is masked"
    assert_something_is_legal(episode.view())
