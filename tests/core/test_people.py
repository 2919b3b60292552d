"""People: a seat played from outside through the same gateway, scripted personas, turn caps, and whose yes counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import EpisodeError
from fieldops_gym.domains.field_service import rules
from tests.core.helpers import has_proposal, run_until
from tests.counts import count
from tests.support import VARIANTS, episode_of

OUTSIDE = {"people": {"approver": "outside"}}


def with_proposal(domain: Domain, pack: Pack, layer: Mapping[str, Any] | None = None, name: str = "X-01:whole") -> Episode:
    """Return an episode in which the reference has frozen its proposal, and has read the directory."""
    episode = run_until(episode_of(domain, pack, name, 0, merge([layer or {}])), Reference(), has_proposal)
    episode.call(ToolCall.of("read_directory"))
    return episode


def role(episode: Episode, name: str) -> str:
    return episode.scenario.roles[name][0]


def request(episode: Episode, person: str, proposal: str = "") -> Any:
    """Put the proposal before a person; return the result."""
    plan = proposal or episode.view().rows["proposal"][0].id
    return episode.call(ToolCall.of("request_approval", proposal=plan, person=role(episode, person)))


def only_request(episode: Episode, seat: str = "approver") -> str:
    rows = episode.view(seat).rows["request"]
    assert len(rows) == 1
    return rows[0].id


def decide(episode: Episode, key: str, disposition: str, seat: str = "approver") -> Any:
    return episode.call(ToolCall.of("decide", request=key, disposition=disposition), seat=seat)


def reserve(episode: Episode, key: str = "own") -> Any:
    return episode.call(ToolCall.of("reserve", proposal=episode.view().rows["proposal"][0].id, key=key))


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
        assert {made.seat for made in episode.steps} == {"dispatcher", "approver"}
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
    assert not episode.view("approver").mask[: len(domain.tools["approver"])].any()
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


# Scripted people.


def answers_of(episode: Episode) -> list[tuple[str, str, str, int]]:
    """Return (kind, actor, rule, second) of everything that people were asked and did."""
    found = []
    for event in episode.world.log:
        if event.kind == "asked":
            found.append((event.kind, event.actor, event.data[0].rule, event.at))
        elif event.kind == "act":
            found.append((event.kind, event.actor, event.data.rule, event.at))
    return found


def test_personas_answer_the_same_to_the_same(domain: Domain, pack: Pack) -> None:
    for index in range(count(3, 50)):
        runs = []
        for _ in range(2):
            episode = run_until(episode_of(domain, pack, "X-01:whole", index), Reference(), has_proposal)
            episode.call(ToolCall.of("read_directory"))
            for person in ("requester", "colleague", "approver"):
                episode.call(ToolCall.of("ask", person=role(episode, person), topic="symptom"))
            request(episode, "approver")
            for _ in range(4):
                episode.call(ToolCall.of("wait", seconds=3600))
            runs.append(answers_of(episode))
        assert runs[0] == runs[1]
        assert sum(kind == "act" for kind, *_ in runs[0]) == 4


def test_a_delay_is_the_persons_pace_plus_a_jitter_within_its_bounds(domain: Domain, pack: Pack) -> None:
    for index in range(count(10, 200)):
        episode = run_until(episode_of(domain, pack, "X-01:whole", index), Reference(), has_proposal)
        episode.call(ToolCall.of("read_directory"))
        request(episode, "approver")
        state = episode.world.tables["persona"]["approver"]
        low, high = pack.personas["approver.prompt"].delay
        item = next(iter(episode.world.tables["agenda"].values()))
        asked = next(event.at for event in episode.world.log if event.kind == "asked")
        assert low <= state.pace <= high
        assert state.pace <= item.due - asked < state.pace + 60


def test_the_decision_comes_when_it_is_due_and_not_before(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    request(episode, "approver")
    due = next(iter(episode.world.tables["agenda"].values())).due
    while due - episode.gateway.clock > 120:
        episode.call(ToolCall.of("wait", seconds=60))
        assert not episode.world.tables["approval"]
    episode.call(ToolCall.of("wait", seconds=3600))
    act = next(event for event in episode.world.log if event.kind == "act")
    assert act.at == due
    assert act.data.rule == "H-1"
    assert not episode.world.tables["agenda"]


@pytest.mark.parametrize(("person", "seat"), [("requester", "requester"), ("senior", "colleague"), ("colleague", "colleague")])
def test_people_without_authority_decline_and_nothing_can_be_reserved(
    domain: Domain, pack: Pack, person: str, seat: str
) -> None:
    episode = with_proposal(domain, pack)
    request(episode, person)
    episode.call(ToolCall.of("wait", seconds=14_400))
    decision = episode.view().rows["approval"][0]
    assert (decision["by"], decision["disposition"]) == (role(episode, person), "declined")
    assert next(event for event in episode.world.log if event.kind == "act").actor == seat
    assert reserve(episode).reply.code == "denied"


@pytest.mark.parametrize("person", ["requester", "senior", "colleague", "approver.other_tenant"])
def test_a_yes_from_the_wrong_person_never_counts(domain: Domain, pack: Pack, person: str) -> None:
    outside = {"people": dict.fromkeys(("requester", "colleague"), "outside")}
    episode = with_proposal(domain, pack, outside)
    seat = episode.world.tables["person"][role(episode, person)].seat
    request(episode, person)
    assert decide(episode, only_request(episode, seat), "approved", seat).ok
    episode.call(ToolCall.of("wait", seconds=60))
    assert episode.view().rows["approval"][0]["disposition"] == "approved"
    for key in ("own", "fresh"):
        assert reserve(episode, key).reply.code == "denied"
    assert not episode.world.tables["reservation"]


def test_a_yes_counts_only_for_the_proposal_that_was_asked_about(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    assert decide(episode, only_request(episode), "approved").ok
    other = episode.view().rows["part"][-1].id
    episode.call(ToolCall.of("draft", field="alternative", ref=other))
    assert episode.call(ToolCall.of("propose")).ok
    second = episode.view().rows["proposal"][1].id
    assert episode.call(ToolCall.of("reserve", proposal=second, key="own")).reply.code == "denied"


def test_a_yes_lapses(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    request(episode, "approver")
    episode.call(ToolCall.of("wait", seconds=14_400))
    approval = episode.view().rows["approval"][0]
    assert approval["expires"] - approval["at"] == rules.APPROVAL_SECONDS
    while episode.gateway.clock < approval["expires"]:
        episode.call(ToolCall.of("wait", seconds=3600))
    assert reserve(episode).reply.code == "denied"


def test_a_withdrawn_proposal_is_not_approved(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, OUTSIDE)
    request(episode, "approver")
    plan = episode.view().rows["proposal"][0].id
    assert episode.call(ToolCall.of("withdraw", proposal=plan)).ok
    decide(episode, only_request(episode), "approved")
    assert reserve(episode).reply.code == "denied"
    assert request(episode, "approver").reply.code == "conflict"


def test_an_absent_approver_never_answers(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack, {"people": {"approver": "approver.absent"}})
    request(episode, "approver")
    assert not episode.world.tables["agenda"]
    asked = next(event for event in episode.world.log if event.kind == "asked")
    assert asked.data[0].rule == "H-4"
    while not episode.ended:
        episode.call(ToolCall.of("wait", seconds=14_400))
    assert not episode.world.tables["approval"]


@pytest.mark.parametrize(("person", "seat"), [("requester", "requester"), ("approver", "approver"), ("senior", "colleague")])
def test_talk_stops_at_the_turn_cap(domain: Domain, pack: Pack, person: str, seat: str) -> None:
    episode = with_proposal(domain, pack)
    cap = episode.scenario.personas[seat].turn_cap
    for _ in range(rules.MAX_MESSAGES):
        assert episode.call(ToolCall.of("ask", person=role(episode, person), topic="deadline")).ok
    asked = [event.data[0].rule for event in episode.world.log if event.kind == "asked"]
    assert asked == ["H-3"] * cap + ["H-4"] * (rules.MAX_MESSAGES - cap)
    assert episode.world.tables["persona"][seat].turns == rules.MAX_MESSAGES
    for _ in range(cap + 1):
        episode.call(ToolCall.of("wait", seconds=3600))
    assert len(episode.view().rows["message"]) == cap


def test_a_promised_answer_still_arrives_after_the_turn_cap(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    request(episode, "approver")
    for _ in range(rules.MAX_MESSAGES):
        episode.call(ToolCall.of("ask", person=role(episode, "approver"), topic="deadline"))
    for _ in range(10):
        episode.call(ToolCall.of("wait", seconds=900))
    assert [row["disposition"] for row in episode.view().rows["approval"]] == ["approved"]


def test_messages_beyond_the_limit_are_refused(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    for _ in range(rules.MAX_MESSAGES):
        assert episode.call(ToolCall.of("notify", person=role(episode, "requester"), kind="unknown")).ok
    before = len(episode.world.tables["message"])
    assert episode.call(ToolCall.of("notify", person=role(episode, "requester"), kind="unknown")).reply.code == "limit"
    assert len(episode.world.tables["message"]) == before


def test_asking_again_before_the_answer_is_refused(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    assert request(episode, "approver").ok
    before = episode.world.digest("request")
    assert request(episode, "approver").reply.code == "conflict"
    assert episode.world.digest("request") == before


def test_a_repeated_request_gets_the_same_answer_and_is_recorded(domain: Domain, pack: Pack) -> None:
    episode = with_proposal(domain, pack)
    request(episode, "requester")
    episode.call(ToolCall.of("wait", seconds=14_400))
    assert episode.world.tables["persona"]["requester"].repeats == 0
    assert request(episode, "requester").ok
    assert episode.world.tables["persona"]["requester"].repeats == 1
    episode.call(ToolCall.of("wait", seconds=14_400))
    assert [row["disposition"] for row in episode.view().rows["approval"]] == ["declined", "declined"]
    rules_cited = [event.data.rule for event in episode.world.log if event.kind == "act"]
    assert rules_cited == ["H-1", "H-5"]
