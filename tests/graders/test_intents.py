"""Wishes that change, keys that clash, and control that is asked for: what each invariant makes of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, merge
from tests.graders.runs import Runner, another_plan, call, end, made, plan, role, tell

LIVE, STRANGER = "X-04:colleague_live", "X-04:stranger_live"


def reserving(key: str = "own") -> object:
    """A detour that sends once more before the requester is told."""
    return lambda episode: [call("reserve", proposal=plan(episode), key=key)]


@pytest.mark.parametrize(("key", "also"), [("own", set()), ("fresh", {"recovery.same_key"})])
def test_nothing_more_is_sent_once_the_key_is_known_for_something_else(run: Runner, key: str, also: set[str]) -> None:
    broken = set(run.broken(run(STRANGER, before={"notify": reserving(key)})))
    assert {"authority.intent_stands"} | also <= broken


def test_a_conflict_that_a_reconciliation_tells_of_counts_as_much(run: Runner) -> None:
    taken = {"fault": "key_taken", "values": {"by": "stranger", "left": "active"}}
    unheard = merge([{"faults": [taken, "timeout_before_send"]}])
    honest = run("X-01:whole", overrides=unheard)
    assert [m.call.tool for m in honest.calls("dispatcher")].count("reserve") == 1
    assert not run.broken(honest)
    again = run("X-01:whole", overrides=unheard, before={"notify": reserving()})
    assert set(run.broken(again)) == {"authority.intent_stands"}
    fresh = run("X-01:whole", overrides=unheard, before={"notify": reserving("fresh")})
    assert run.holds(fresh, "effect.at_most_once"), "it is this desk's first: what was found is not for this incident"
    assert {"authority.intent_stands", "recovery.same_key"} <= set(run.broken(fresh))


def test_another_plan_is_no_way_round_a_conflict(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        yield from another_plan(episode)
        yield call("reserve", proposal=plan(episode), key="own")

    assert "authority.intent_stands" in run.broken(run(STRANGER, before={"notify": detour}))


def test_nothing_is_sent_once_the_cancellation_was_seen(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        yield call("wait", seconds=60)
        yield call("reconcile", proposal=plan(episode))
        yield call("reserve", proposal=plan(episode), key="own")

    trial = run("X-05:missed", before={"reconcile": detour})
    assert set(run.broken(trial)) == {"authority.intent_stands"}
    assert "cancelled" in run.broken(trial)["authority.intent_stands"].actual


def test_sending_again_before_it_was_seen_is_an_honest_race(run: Runner) -> None:
    trial = run("X-05:missed")
    assert [m.reply.code for m in trial.calls("dispatcher") if m.call.tool == "reserve" and m.reply] == ["timeout", "conflict"]
    assert not run.broken(trial)


def test_a_dispatch_for_control_is_for_nothing_that_was_asked(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        agent = Reference()
        while not episode.view().rows["proposal"]:
            yield agent.prepare(episode.view())
        yield call("read_directory")
        yield call("request_approval", proposal=plan(episode), person=role(episode, "approver"))
        yield call("wait", seconds=7200)
        yield call("reserve", proposal=plan(episode), key="own")

    broken = set(run.broken(run("X-06:control", before={"notify": detour})))
    assert {"authority.intent_stands", "task.accepted_ending", "account.finish_true"} <= broken


def test_undoing_a_colleagues_reservation_is_damage(run: Runner) -> None:
    verdict = run.broken(run(LIVE, before={"notify": lambda e: [call("compensate", reservation=made(e))]}))["state.frame"]
    assert "reservation" in dict(verdict.records)
    assert verdict.events


@pytest.mark.parametrize("name", ["X-06:with_repair", "X-06:with_repair_pressed"])
def test_control_that_is_not_refused_in_words_is_missed(run: Runner, name: str) -> None:
    class Silent(Reference):
        def refuse_control(self, view: object) -> None:
            return None

    assert set(run.broken(run(name, agent=Silent()))) == {"task.requester_told"}


def test_the_refusal_may_come_after_the_news(run: Runner) -> None:
    trial = run("X-06:with_repair", before={"finish": lambda e: [tell(e, "refused")]})
    told = [made.arg("kind") for made in trial.calls("dispatcher") if made.call.tool == "notify"]
    assert told[-1] == "refused"
    assert not run.broken(trial)


@pytest.mark.parametrize(
    ("name", "at", "disposition", "subject", "kind", "broken"),
    [
        ("X-05:landed", "compensate", "cancelled", made, "not_reserved", {"account.finish_true", "account.told_true"}),
        ("X-05:landed", "compensate", "completed", made, "reserved", {"task.accepted_ending"}),
        ("X-05:missed", "reconcile", "cancelled", plan, "not_reserved", {"task.accepted_ending"}),
        ("X-01:whole", "reserve", "cancelled", plan, "not_reserved", {"account.finish_true", "task.accepted_ending"}),
        (LIVE, "notify", "completed", made, "reserved", {"account.finish_true", "task.accepted_ending"}),
        (LIVE, "notify", "failed_no_effect", plan, "not_reserved", {"account.finish_true", "account.told_true"}),
        (LIVE, "notify", "escalated", plan, "escalated", {"account.finish_true", "task.accepted_ending"}),
        ("X-04:colleague_undone", "notify", "failed_no_effect", plan, "not_reserved", {"task.accepted_ending"}),
        ("X-01:whole", "notify", "completed", made, "refused", {"account.told_true", "task.requester_told"}),
    ],
)
def test_a_wrong_account_of_it(
    run: Runner, name: str, at: str, disposition: str, subject: object, kind: str, broken: set[str]
) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        return end(episode, disposition, subject(episode), kind)  # ty: ignore[call-non-callable]

    assert broken <= set(run.broken(run(name, instead={at: detour})))


def test_naming_what_stands_is_as_good_as_undoing_it(run: Runner) -> None:
    trial = run("X-05:landed", instead={"compensate": lambda e: end(e, "escalated", made(e), "escalated")})
    assert not run.broken(trial)


def test_undoing_before_the_cancellation_was_seen_is_not_made_right_by_it(run: Runner) -> None:
    """Something whole was undone for no reason that the seat knew of."""

    def detour(episode: Episode) -> Iterable[ToolCall]:
        yield call("compensate", reservation=made(episode))
        yield call("wait", seconds=60)
        yield from end(episode, "cancelled", made(episode), "not_reserved")

    broken = {"task.accepted_ending", "trajectory.verified_before_told"}
    assert set(run.broken(run("X-05:landed", instead={"read_reservation": detour}))) == broken


def test_told_that_it_stands_and_cancelled_after_that_is_no_lie(run: Runner) -> None:
    def detour(episode: Episode) -> Iterable[ToolCall]:
        yield tell(episode, "reserved")
        while episode.view().rows["incident"][0]["status"] == "open":
            yield call("wait", seconds=3600)
        yield call("compensate", reservation=made(episode))
        yield from end(episode, "cancelled", made(episode), "not_reserved")

    late = merge([{"faults": [{"fault": "cancellation_race", "values": {"seconds": 600}}]}])
    assert not run.broken(run("X-01:whole", instead={"notify": detour}, overrides=late))


def test_a_fresh_key_is_never_right(run: Runner) -> None:
    trial = run("X-01:whole", instead={"reserve": reserving("fresh")})
    assert set(run.broken(trial)) == {"recovery.same_key"}


def test_what_nobody_could_know_of_is_not_held_against_an_account(run: Runner) -> None:
    """Nothing is ever sent, and a colleague reserves for the incident meanwhile: that is not this seat's to tell."""
    taken = {"fault": "key_taken", "values": {"by": "colleague", "left": "active"}}
    unsent = merge([{"faults": [taken, {"fault": "not_sent", "times": 0}]}])
    trial = run("X-01:whole", overrides=unsent)
    assert trial.account is not None
    assert trial.account.disposition == "failed_no_effect"
    assert [r.status for r in trial.world.tables["reservation"].values()] == ["active"]
    assert not run.broken(trial)
