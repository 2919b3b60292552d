"""Two seats: the approver (and others) played from outside through the same gateway."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import EpisodeError
from tests.core.desk import OUTSIDE, decide, only_request, request, reserve, role, with_proposal
from tests.counts import count
from tests.support import VARIANTS, asks_for, episode_of


def play_with_approver(episode: Episode, approver: Callable[[Episode], None]) -> Episode:
    """Let the reference play on, and the approver act between its calls."""
    agent, result = Reference(), None
    agent.start(episode.brief, 0)
    while not episode.ended:
        result = episode.call(agent.act(episode.view(), result))
        if not episode.ended:
            approver(episode)
    return episode


def says(disposition: str) -> Callable[[Episode], None]:
    """Return an approver that decides everything at once in one way, reading its own view only."""

    def act(episode: Episode) -> None:
        for row in list(episode.view("approver").rows["request"]):
            decide(episode, row.id, disposition)

    return act


@pytest.mark.parametrize("name", VARIANTS)
def test_the_reference_passes_with_an_approver_played_from_outside(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(3, 50)):
        episode = play_with_approver(episode_of(domain, pack, name, index, merge([OUTSIDE])), says("approved"))
        assert grade(domain, episode.trial()).outcome == "passed"
        asked = {"approver"} if any(step.call.tool == "request_approval" for step in episode.steps) else set()
        assert bool(asked) == (asks_for(name) == "reservation" and name != "A-06:at_proposal")
        assert {made.seat for made in episode.steps} == {"dispatcher"} | asked
        assert episode.branch(len(episode.steps)).world.log == episode.world.log


def test_an_outside_no_keeps_anything_from_being_reserved(domain: Domain, pack: Pack) -> None:
    episode = play_with_approver(episode_of(domain, pack, "X-01:whole", 0, merge([OUTSIDE])), says("rejected"))
    assert episode.account.disposition == "escalated"
    assert not episode.world.tables["reservation"]
    assert reserve_was_never_sent(episode)


def reserve_was_never_sent(episode: Episode) -> bool:
    return not any(made.call.tool == "reserve" for made in episode.steps)


def test_a_yes_from_outside_is_heard_by_waiting_and_makes_reserving_possible(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    assert reserve(episode).reply.code == "denied"
    assert request(episode, "approver").ok
    assert reserve(episode).reply.code == "denied"
    result = decide(episode, only_request(episode), "approved")
    assert result.ok
    assert result.elapsed == 0
    assert not episode.view().rows["approval"], "the dispatcher hears of it only when it looks"
    heard = episode.call(ToolCall.of("wait", seconds=3600))
    assert heard.elapsed < 3600
    assert episode.view().rows["approval"][0]["disposition"] == "approved"
    assert reserve(episode).ok


def test_a_second_decision_is_refused_and_changes_nothing(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    key = only_request(episode)
    assert decide(episode, key, "rejected").ok
    before = episode.world.digest()
    for disposition in ("approved", "rejected", "declined"):
        assert decide(episode, key, disposition).reply.code == "conflict"
    assert episode.world.digest() == before
    assert reserve(episode).reply.code == "denied"


def test_a_request_that_the_seat_was_never_shown_is_not_found(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "requester")
    hidden = next(iter(episode.world.tables["request"]))
    before = episode.world.digest()
    for key in (hidden, "req-0000000000", "", role(episode, "incident")):
        result = decide(episode, key, "approved")
        assert (result.reply.status, result.reply.code, result.reply.path) == ("refused", "not_found", "request")
    assert episode.world.digest() == before


def test_a_decision_must_be_one_of_the_three(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    assert decide(episode, only_request(episode), "maybe").reply.code == "invalid_arguments"
    assert decide(episode, only_request(episode), "approved").ok


def test_a_person_has_none_of_the_dispatchers_tools(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    plan = episode.view("approver").rows["proposal"][0].id
    for call in (ToolCall.of("reserve", proposal=plan, key="own"), ToolCall.of("finish"), ToolCall.of("wait", seconds=60)):
        assert episode.call(call, seat="approver").reply.code == "unknown_tool"
    assert not episode.ended


def test_an_idle_person_costs_no_time_and_leaves_no_event(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    log, clock = len(episode.world.log), episode.gateway.clock
    episode.view("approver").observation()
    assert (len(episode.world.log), episode.gateway.clock) == (log, clock)
    episode.call(ToolCall.of("wait", seconds=3600))
    new = episode.world.log[log:]
    assert {event.actor for event in new} == {"dispatcher", "harness"}
    assert [event.kind for event in new if event.actor == "harness"] == ["result"]


def test_a_person_who_acts_costs_the_dispatcher_neither_time_nor_budget(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    clock, meters = episode.gateway.clock, episode.view().meters
    decide(episode, "nothing", "approved")
    decide(episode, only_request(episode), "approved")
    assert episode.gateway.clock == clock
    assert episode.view().meters == meters
    assert episode.world.tables["meters"].keys() == {"dispatcher"}


def test_an_outside_seat_sees_nothing_before_it_is_asked(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    assert not episode.view("approver").by_id
    tools = tuple(domain.tools["approver"])
    assert [name for name, legal in zip(tools, episode.view("approver").mask, strict=False) if legal] == ["idle"]
    request(episode, "approver")
    view = episode.view("approver")
    assert set(view.by_id) == {only_request(episode), episode.view().rows["proposal"][0].id}


def test_scripted_seats_and_unknown_ones_cannot_be_played_from_outside(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    for seat in ("requester", "colleague", "nobody", "harness"):
        with pytest.raises(EpisodeError, match="is not played from outside"):
            episode.call(ToolCall.of("say"), seat=seat)


def test_the_outside_seat_can_also_talk(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, {"people": {"requester": "outside"}})
    episode.call(ToolCall.of("ask", person=role(episode, "requester"), topic="access"))
    message = episode.view("requester").rows["message"][0].id
    assert episode.call(ToolCall.of("say", message=message, act="answered"), "requester").ok
    assert episode.call(ToolCall.of("say", message=message, act="declined"), "requester").reply.code == "conflict"
    episode.call(ToolCall.of("wait", seconds=60))
    heard = episode.view().rows["message"][0]
    assert (heard["sender"], heard["act"]) == (role(episode, "requester"), "answered")
