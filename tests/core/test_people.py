"""Scripted people: personas, delays, turn caps, repeats, and whose yes counts."""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.domains.field_service import rules
from tests.core.desk import OUTSIDE, decide, only_request, request, reserve, role, with_proposal
from tests.core.helpers import has_proposal, run_until
from tests.counts import count
from tests.support import episode_of


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
                episode.call(ToolCall.of("ask", person=role(episode, person), topic="access"))
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
    (asked,) = episode.world.tables["request"].values()
    assert approval["expires"] - asked.at == rules.APPROVAL_SECONDS, "it is as old as what was asked"
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
        assert episode.call(ToolCall.of("ask", person=role(episode, person), topic="access")).ok
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
        episode.call(ToolCall.of("ask", person=role(episode, "approver"), topic="access"))
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
