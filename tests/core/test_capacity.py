"""The capacity lint: no sequence of legal calls can show a view more than it holds. Argued once, and tried by spamming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, evaluation_seeds, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.people import Opening
from fieldops_gym.core.view import Row
from fieldops_gym.domains.field_service import policies, rules
from fieldops_gym.domains.field_service.tools import TOPICS
from fieldops_gym.domains.field_service.view import STATEMENTS
from tests.core.helpers import has_approval, has_reservation, run_until, start_at
from tests.counts import count
from tests.support import VARIANTS, episode_of, play

WORDS = 4
"""Words on a proposal that nobody asked for: of the requester, of a stranger, a second time, too late."""


def shown_at_most(domain: Domain, pack: Pack, episode: Episode) -> dict[str, int]:
    """Return the most rows that a lead seat's view can ever hold, by table, argued from the start and the rules.

    Searches are anchored on the incident's own equipment, region and tenant, so what they list is fixed at the start;
    what a run makes is bounded by the rules' limits and the budget.
    """
    start, roles = episode.scenario.start, episode.scenario.roles
    family = start["family"][roles["family"][0]]
    directory = start["tenant"][roles["tenant"][0]].people
    requests = rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
    people_seats = [seat for seat in domain.people if seat != domain.lead]
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
        "release": len(start["release"]),
        # On each proposal: a decision on each request, and four words that nobody asked for; and once more those that a
        # proposal brought along when it was carried over, which there is one deployment for.
        "approval": (requests + WORDS * rules.MAX_PROPOSALS) // rules.MAX_PROPOSALS * (rules.MAX_PROPOSALS + 1),
        # One for each attempt that a budget may allow, and one that a colleague made for the same incident.
        "reservation": max(contract.budget["effect_attempts"] for contract in pack.contracts.values()) + 1,
        # One for each message that people take, one for each decision and each word, what each seat may open with, a
        # cancellation, another request, a takeover, a deployment, a review, and callbacks.
        "message": len(people_seats) * (rules.MAX_MESSAGES + 1)
        + requests
        + WORDS * rules.MAX_PROPOSALS
        + 5
        + rules.MAX_CALLBACKS,
        "statement": len(start["knowledge"]),
        "note": len(start["note"]),
    }


def test_no_view_of_the_lead_seat_can_overflow(domain: Domain, pack: Pack) -> None:
    capacities = {name: table.capacity for name, table in domain.layouts[domain.lead].tables.items()}
    for index in range(count(30, 1_000)):
        for name in VARIANTS:
            episode = start_at(domain, pack, name, evaluation_seeds(index))
            most = shown_at_most(domain, pack, episode)
            assert set(most) == set(capacities)
            assert most["reservation"] == capacities["reservation"], "a row nobody can fill costs every observation"
            assert most["message"] == capacities["message"]
            over = {table: (rows, capacities[table]) for table, rows in most.items() if rows > capacities[table]}
            assert not over, f"{name} on seeds {index}: (rows, capacity) {over}"


def test_no_view_of_a_persons_seat_can_overflow(domain: Domain) -> None:
    requests = rules.MAX_PROPOSALS * rules.MAX_REQUESTS_EACH
    most = {
        "proposal": rules.MAX_PROPOSALS,
        "request": requests,
        "message": rules.MAX_MESSAGES,
        "person": 1,
        "review": 1,
        "knowledge": STATEMENTS,
    }
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
        *(ToolCall.of("read_policy", operation=operation) for operation in policies.POLICIES),
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
    calls = everyone(lambda p: [ToolCall.of("ask", person=p, topic=t) for t in TOPICS], people)
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
        talk = everyone(lambda p: [ToolCall.of("ask", person=p, topic="access")], people)
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
    episode = run_until(episode_of(domain, pack, "X-01:whole", 0, LONG), Reference(), has_reservation)
    plan = episode.view().rows["proposal"][0].id
    codes = spam(episode, [ToolCall.of("reserve", proposal=plan, key="fresh"), ToolCall.of("read_journal")], 12)
    attempts = episode.scenario.limits.effect_attempts
    assert len(episode.view().rows["reservation"]) == len(episode.world.tables["reservation"]) <= attempts
    assert codes.count("budget_exhausted") == 12 - (attempts - 1)
    view, catalogue = episode.view(), episode.view().layout.catalogue
    assert not view.mask[catalogue.tool_index["reserve"]], "a visible budget that is used up is masked"
    assert view.menu_mask().any()


def test_a_seat_can_be_shown_as_many_reservations_as_its_view_holds_and_no_more(domain: Domain, pack: Pack) -> None:
    """A colleague's, and one for each attempt; what strangers reserve is never shown."""
    taken = [{"fault": "key_taken", "nth": nth, "values": {"by": "colleague", "left": "active"}} for nth in (1, 2)]
    layer = {"budget": dict(LONG.budget), "faults": [*taken, {"fault": "stock_taken", "values": {"what": "part"}}]}
    most = 0
    for index in range(count(8, 40)):
        start = episode_of(domain, pack, "X-01:whole", index, merge([layer]))
        episode = run_until(start, Reference(), has_approval)
        plan = episode.view().rows["proposal"][0].id
        for _ in range(6):
            episode.call(ToolCall.of("reserve", proposal=plan, key="fresh"))
            episode.call(ToolCall.of("reconcile", proposal=plan))
        incident = episode.scenario.roles["incident"][0]
        theirs = {made.id for made in episode.world.tables["reservation"].values() if made.incident == incident}
        assert {row.id for row in episode.view().rows["reservation"]} == theirs
        assert len(theirs) < len(episode.world.tables["reservation"]), "somebody else reserved something too"
        most = max(most, len(theirs))
    assert most == domain.layouts[domain.lead].tables["reservation"].capacity


def test_a_seat_can_be_sent_as_many_messages_as_its_view_holds(domain: Domain, pack: Pack) -> None:
    """Everybody opens, answers every message and every request, and the requester cancels."""
    answers = (("approval", "rejected"), ("ask", "insisted"), ("told", "insisted"))
    roles = {"approver.prompt": "approver", "requester.insisting": "requester", "colleague.insisting": "senior"}
    chatty = {
        name: pack.personas[name]._replace(
            turn_cap=99, delay=(60, 60), answers=answers, opens=Opening("insisted", role, (60, 60))
        )
        for name, role in roles.items()
    }
    late = pack.faults["cancellation_race"]._replace(id="late", tool="propose", boundary="after_commit")
    loud = pack._replace(personas={**pack.personas, **chatty}, faults={**pack.faults, "late": late})
    layer = {"people": {persona.seat: name for name, persona in chatty.items()}, "faults": ["late"]}
    episode = prepared(domain, loud, layer)
    approver = episode.scenario.roles["approver"][0]
    for proposal in make_proposals(episode):
        for _ in range(rules.MAX_REQUESTS_EACH):
            assert episode.call(ToolCall.of("request_approval", proposal=proposal, person=approver)).ok
            decided = len(episode.world.tables["approval"]) + 1
            while len(episode.world.tables["approval"]) < decided:
                episode.call(ToolCall.of("wait", seconds=60))
    calls = everyone(lambda p: [ToolCall.of("ask", person=p, topic="access")], episode.view().rows["person"])
    spam(episode, calls, rules.MAX_MESSAGES + 1)
    for _ in range(4):
        episode.call(ToolCall.of("wait", seconds=900))
    acts = [row["act"] for row in episode.view().rows["message"]]
    assert acts.count("cancelled") == 1
    # What nobody was made to send here: what the review desk would, words on proposals, and what services and others say.
    unsent = rules.MAX_MESSAGES + 1 + WORDS * rules.MAX_PROPOSALS + 4 + rules.MAX_CALLBACKS
    assert len(acts) == domain.layouts[domain.lead].tables["message"].capacity - unsent


WORDY = (
    "requester_confirms",
    "stranger_confirms",
    "duplicate_approval",
    "late_rejection",
    "late_callback",
    "duplicate_callback",
)


@pytest.mark.parametrize("name", ["R-04:migrate", "A-03:in_time"])
def test_words_that_nobody_asked_for_never_overflow(domain: Domain, pack: Pack, name: str) -> None:
    """Each at every call that can bring it, with a deployment between, and all there is to propose put before everybody."""
    words = [{"fault": fault, "times": 0} for fault in WORDY]
    layer = {"budget": dict(LONG.budget), "faults": ["workflow_deployed", *words]}
    most = 0
    for index in range(count(4, 60)):
        episode = run_until(episode_of(domain, pack, name, index, merge([layer])), Reference(), has_approval)
        people = [row.id for row in episode.view().rows["person"]]
        while not episode.ended:
            for plan in [row.id for row in episode.view().rows["proposal"]]:
                for call in (
                    ToolCall.of("migrate", proposal=plan),
                    *(ToolCall.of("request_approval", proposal=plan, person=person) for person in people),
                    ToolCall.of("reserve", proposal=plan, key="own"),
                    ToolCall.of("propose"),
                    ToolCall.of("wait", seconds=3600),
                ):
                    if not episode.ended:
                        episode.call(call)
        most = max(most, len(episode.view().rows["approval"]))
    assert most > 6, "more words came than were asked for"


@pytest.mark.parametrize(
    ("budget", "meters"),
    [
        ({"turns": 3}, ["turns"]),
        ({"tool_calls": 3}, ["tool_calls"]),
        ({"simulated_time": 30}, ["simulated_time"]),
        ({"retries": 0}, ["retries"]),
        ({"effect_attempts": 1}, ["effect_attempts"]),
        ({}, []),
    ],
)
def test_a_meter_that_is_used_up_is_an_event_with_the_fallback(
    domain: Domain, pack: Pack, budget: dict[str, int], meters: list[str]
) -> None:
    episode = play(episode_of(domain, pack, "X-01:whole", 0, merge([{"budget": budget}])), Reference())
    found = [event.data for event in episode.world.log if event.kind == "exhausted"]
    assert [data.meter for data in found] == meters
    assert {data.fallback for data in found} <= {pack.contracts["effect"].fallback}
