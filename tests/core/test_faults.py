"""Faults: each of the catalogue fires at its boundary and does what it says; what did not fire is never credited."""

from __future__ import annotations

from typing import Any

import pytest

from agents.reference import Reference
from agents.shortcuts import ClaimSuccess, DoNothing
from fieldops_gym import Episode, ToolCall, grade, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import ArmedFault
from fieldops_gym.domains.field_service import rules
from tests.core.helpers import has_approval, run_until
from tests.core.test_each_fault import PROOFS
from tests.counts import count
from tests.support import episode_of, play

CATALOGUE = {
    "partial_effect": ("commit", "drop_write"),
    "not_sent": ("before_commit", "refuse"),
    "timeout_before_send": ("before_commit", "lose_request"),
    "commit_then_timeout": ("after_commit", "lose_reply"),
    "slow_reconcile": ("before_commit", "slow"),
    "stale_reconcile": ("before_commit", "lag"),
    "crash_before_dispatch": ("before_commit", "crash"),
    "crash_after_commit": ("after_commit", "crash"),
    "key_taken": ("before_commit", "act"),
    "cancellation_race": ("before_commit", "act"),
    "stock_taken": ("before_commit", "act"),
}
"""Every fault there is, with its boundary and what it does."""

PARTS = ("part", "slot", "incident", "audit")


def with_faults(domain: Domain, pack: Pack, *uses: Any, index: int = 0) -> Episode:
    """Return an episode of the clean variant with only these faults."""
    return episode_of(domain, pack, "X-01:whole", index, merge([{"faults": list(uses)}]))


def approved(domain: Domain, pack: Pack, *uses: Any, index: int = 0) -> Episode:
    """Return such an episode in which the proposal has just been approved."""
    return run_until(with_faults(domain, pack, *uses, index=index), Reference(), has_approval)


def reserve(episode: Episode, key: str = "own") -> Any:
    return episode.call(ToolCall.of("reserve", proposal=episode.view().rows["proposal"][0].id, key=key))


def reconcile(episode: Episode) -> Any:
    return episode.call(ToolCall.of("reconcile", proposal=episode.view().rows["proposal"][0].id))


def fired(episode: Episode) -> list[str]:
    return [event.data.fault for event in episode.world.log if event.kind == "fault"]


def kinds_of_last_call(episode: Episode) -> list[str]:
    """Return the kinds of the events that the last call caused, in order."""
    seq = max(event.seq for event in episode.world.log if event.kind == "call")
    return [event.kind for event in episode.world.log if event.ref == seq and event.kind not in ("asked", "act")]


def test_the_catalogue_is_as_tested_here(pack: Pack) -> None:
    """What is not tested here is tested in `test_each_fault`."""
    found = {fault.id: (fault.boundary, fault.effect) for fault in pack.faults.values()}
    assert {name: row for name, row in found.items() if name not in PROOFS} == CATALOGUE
    assert set(PROOFS) <= set(found)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_fault_fires_once_as_an_event_of_its_call(domain: Domain, pack: Pack, name: str) -> None:
    early = pack.faults[name].tool == "propose"
    episode = with_faults(domain, pack, name) if early else approved(domain, pack, name)
    assert not fired(episode)
    if pack.faults[name].tool == "reconcile":
        assert reconcile(episode).ok
        assert not fired(episode), "there is nothing yet that an answer could be late or stale about"
        reserve(episode)
        reconcile(episode)
    elif early:
        play(episode, Reference())
    else:
        reserve(episode)
    event = next(event for event in episode.world.log if event.kind == "fault")
    armed = episode.scenario.faults[0]
    assert event.actor == "harness"
    assert (event.data.fault, event.data.boundary, event.data.effect) == (name, *CATALOGUE[name])
    assert event.data.values == armed.values
    assert episode.world.log[event.ref - 1].data.tool == pack.faults[name].tool
    assert not event.writes
    assert fired(episode) == [name]


@pytest.mark.parametrize("table", PARTS)
def test_partial_effect_commits_all_but_one_record(domain: Domain, pack: Pack, table: str) -> None:
    episode = approved(domain, pack, {"fault": "partial_effect", "values": {"table": table}})
    result = reserve(episode)
    assert result.ok, "the answer is as if all were well"
    made = next(iter(episode.world.tables["reservation"].values()))
    whole = rules.wholeness(episode.world.tables, made)._asdict()
    assert whole == {name: name != table for name in PARTS}
    assert kinds_of_last_call(episode) == ["intent", "fault", "commit", "result"]
    back = episode.call(ToolCall.of("read_reservation", reservation=made.id)).reply.facts
    assert {name: getattr(back, name) for name in PARTS} == whole
    done = grade(domain, play(episode, Reference()).trial())
    assert done.outcome == "passed"
    assert episode.account.disposition == "escalated"


def test_not_sent_changes_nothing_and_says_so(domain: Domain, pack: Pack) -> None:
    episode = approved(domain, pack, "not_sent")
    before = episode.world.digest("ledger"), episode.world.digest("intent"), episode.world.digest("reservation")
    result = reserve(episode)
    assert (result.reply.status, result.reply.code) == ("refused", "not_sent")
    assert before == (episode.world.digest("ledger"), episode.world.digest("intent"), episode.world.digest("reservation"))
    assert kinds_of_last_call(episode) == ["intent", "fault", "result"]
    assert reserve(episode).ok
    assert len(episode.world.tables["ledger"]) == 1


def test_a_lost_request_leaves_nothing_and_a_lost_reply_leaves_the_effect(domain: Domain, pack: Pack) -> None:
    results = {}
    for name, effects in (("timeout_before_send", 0), ("commit_then_timeout", 1)):
        episode = approved(domain, pack, name)
        results[name] = reserve(episode).to_json()
        assert len(episode.world.tables["reservation"]) == len(episode.world.tables["ledger"]) == effects
        assert not episode.view().rows["reservation"]
        expected = ["intent", "commit", "fault", "result"] if effects else ["intent", "fault", "result"]
        assert kinds_of_last_call(episode) == expected
        assert reconcile(episode).reply.facts.found == bool(effects)
    assert results["timeout_before_send"] == results["commit_then_timeout"]
    assert '"code": "timeout"' in results["commit_then_timeout"]


def test_a_timeout_takes_the_contracts_time_from_the_sending(domain: Domain, pack: Pack) -> None:
    for name in ("timeout_before_send", "commit_then_timeout"):
        result = reserve(approved(domain, pack, name))
        contract = pack.contracts["effect"]
        assert result.elapsed == contract.decision_cost + contract.timeout


def test_slow_reconcile_takes_its_seconds_and_answers_rightly(domain: Domain, pack: Pack) -> None:
    prompt = approved(domain, pack)
    episode = approved(domain, pack, {"fault": "slow_reconcile", "values": {"seconds": 700}})
    reserve(prompt), reserve(episode)
    plain, slow = reconcile(prompt), reconcile(episode)
    assert slow.elapsed == plain.elapsed + 700
    assert slow.reply.facts == plain.reply.facts
    assert slow.reply.facts.found


def test_stale_reconcile_answers_as_of_the_past_and_says_so(domain: Domain, pack: Pack) -> None:
    episode = approved(domain, pack, {"fault": "stale_reconcile", "values": {"seconds": 700}})
    assert reserve(episode).ok
    sent = episode.gateway.clock
    first = reconcile(episode).reply.facts
    assert not first.found
    assert first.as_of < sent - 600
    while episode.gateway.clock < sent + 700:
        episode.call(ToolCall.of("wait", seconds=60))
    later = reconcile(episode).reply.facts
    assert later.found
    assert later.as_of < episode.gateway.clock - 600


@pytest.mark.parametrize(("name", "effects"), [("crash_before_dispatch", 0), ("crash_after_commit", 1)])
def test_a_crash_strikes_on_its_side_of_the_commit(domain: Domain, pack: Pack, name: str, effects: int) -> None:
    episode = approved(domain, pack, name)
    assert reserve(episode).reply.status == "restarted"
    assert len(episode.world.tables["reservation"]) == effects
    commit = ["commit"] if effects else []
    assert kinds_of_last_call(episode) == ["intent", *commit, "fault", "crash", "restart"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_fault_that_never_fires_earns_no_credit(domain: Domain, pack: Pack, name: str) -> None:
    tool = pack.faults[name].tool
    for index in range(count(2, 50)):
        # The reference makes at most four dispatches and reconciles only in doubt, so the ninth call never comes.
        episode = play(with_faults(domain, pack, {"fault": name, "nth": 9}, index=index), Reference())
        result = grade(domain, episode.trial())
        assert result.outcome == "void", f"{tool} reached its ninth call"
        assert result.fired == ()
        assert not result.broken()
        for agent in (DoNothing(), ClaimSuccess()):
            lazy = grade(domain, play(with_faults(domain, pack, name, index=index), agent).trial())
            assert lazy.outcome == "failed"


def test_one_of_two_faults_that_does_not_fire_makes_the_run_void(domain: Domain, pack: Pack) -> None:
    episode = play(with_faults(domain, pack, "not_sent", "slow_reconcile"), Reference())
    assert grade(domain, episode.trial()).outcome == "void"
    assert fired(episode) == ["not_sent"]


@pytest.mark.parametrize(
    ("nth", "times", "expected"),
    [
        (1, 1, ["not_sent", "", ""]),
        (2, 1, ["", "not_sent", ""]),
        (1, 2, ["not_sent", "not_sent", ""]),
        (2, 2, ["", "not_sent", "not_sent"]),
        (1, 0, ["not_sent", "not_sent", "not_sent"]),
        (3, 0, ["", "", "not_sent"]),
        (4, 1, ["", "", ""]),
    ],
)
def test_nth_and_times(domain: Domain, pack: Pack, nth: int, times: int, expected: list[str]) -> None:
    episode = approved(domain, pack, {"fault": "not_sent", "nth": nth, "times": times})
    assert [str(reserve(episode).reply.code) for _ in expected] == expected
    assert fired(episode) == ["not_sent"] * expected.count("not_sent")


@pytest.mark.parametrize(("nth", "times"), [(1, 1), (2, 3), (3, 0), (1, 0)])
def test_hits_is_the_interval_that_nth_and_times_name(nth: int, times: int) -> None:
    armed = ArmedFault("f", "reserve", "commit", "refuse", nth, times, (), "", "", ())
    last = 10**6 if times == 0 else nth + times - 1
    for number in range(1, 12):
        assert armed.hits("reserve", number) == (nth <= number <= last)
        assert not armed.hits("reconcile", number)


def test_only_calls_that_reach_the_boundary_are_counted(domain: Domain, pack: Pack) -> None:
    episode = approved(domain, pack, "not_sent", "commit_then_timeout")
    episode.call(ToolCall.of("reserve", proposal="nothing", key="own"))
    episode.call(ToolCall.of("reserve"))
    assert not fired(episode)
    assert [str(reserve(episode).reply.code) for _ in range(3)] == ["not_sent", "timeout", ""]
    assert fired(episode) == ["not_sent", "commit_then_timeout"]


def test_a_call_that_policy_refuses_reaches_no_boundary(domain: Domain, pack: Pack) -> None:
    episode = with_faults(domain, pack, "not_sent")
    run_until(episode, Reference(), lambda now: bool(now.view().rows["proposal"]))
    assert reserve(episode).reply.code == "denied"
    assert not fired(episode)


def test_the_wording_of_a_call_switches_no_fault_off(domain: Domain, pack: Pack) -> None:
    for key in ("own", "fresh"):
        episode = approved(domain, pack, "not_sent")
        assert reserve(episode, key).reply.code == "not_sent"


def test_values_are_drawn_from_the_fault_seed_within_their_range(domain: Domain, pack: Pack) -> None:
    seconds, tables = [], set()
    for index in range(count(60, 500)):
        episode = with_faults(domain, pack, "slow_reconcile", "partial_effect", index=index)
        again = with_faults(domain, pack, "slow_reconcile", "partial_effect", index=index)
        assert episode.scenario.faults == again.scenario.faults
        seconds.append(int(episode.scenario.faults[0].value("seconds")))
        tables.add(episode.scenario.faults[1].value("table"))
    assert tables == set(PARTS)
    assert 600 <= min(seconds) < 800
    assert 2200 < max(seconds) <= 2400
    assert len(set(seconds)) > len(seconds) / 2


def test_given_values_are_taken_and_the_rest_is_drawn(domain: Domain, pack: Pack) -> None:
    plain = with_faults(domain, pack, "slow_reconcile", "partial_effect").scenario.faults
    given = with_faults(domain, pack, {"fault": "slow_reconcile", "values": {"seconds": 5}}, "partial_effect").scenario.faults
    assert given[0].value("seconds") == 5
    assert given[1] == plain[1]


def test_two_uses_of_one_fault_draw_apart(domain: Domain, pack: Pack) -> None:
    uses = ({"fault": "slow_reconcile", "nth": 1, "times": 1}, {"fault": "slow_reconcile", "nth": 2, "times": 1})
    drawn = [
        tuple(fault.value("seconds") for fault in with_faults(domain, pack, *uses, index=index).scenario.faults)
        for index in range(20)
    ]
    assert any(one != other for one, other in drawn)


def test_every_fault_says_what_a_reader_needs(pack: Pack) -> None:
    for fault in pack.faults.values():
        for field in ("visibility", "duration", "state", "observation", "recovery"):
            assert getattr(fault, field).strip(), f"{fault.id}: {field}"
