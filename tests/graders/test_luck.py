"""Guesses that happen to be right: what would have come, what nobody looked up, what nobody was told."""

from __future__ import annotations

from collections.abc import Iterable

from fieldops_gym import Episode, ToolCall, merge
from tests.graders.runs import Runner, call, end, plan, role

UNDONE = merge([{"faults": {"append": [{"fault": "undone_meanwhile"}]}}])


def test_what_comes_after_the_account_makes_no_early_stop_right(run: Runner) -> None:
    """The approver would have said no, and a new workflow would have come: the seat had heard of neither."""

    def stop(episode: Episode) -> Iterable[ToolCall]:
        yield from end(episode, "escalated", plan(episode), "escalated")

    for name in ("A-05:final", "A-05:no_other_slot", "R-04:escalate"):
        assert run.grade(run(name)).outcome == "passed"
        assert set(run.broken(run(name, instead={"wait": stop}))) == {"task.accepted_ending"}


def test_an_answer_that_was_asked_for_is_waited_for(run: Runner) -> None:
    def stop(episode: Episode) -> Iterable[ToolCall]:
        yield call("finish", disposition="needs_information", subject=role(episode, "equipment"))

    for name in ("E-02:unknown", "E-06:revision_missing"):
        assert set(run.broken(run(name, instead={"wait": stop}))) == {"trajectory.grounded"}


def test_nothing_does_only_for_a_seat_that_has_looked(run: Runner) -> None:
    def stop(episode: Episode) -> Iterable[ToolCall]:
        yield from end(episode, "escalated", role(episode, "incident"), "escalated")

    for tool in ("query_asset", "read_manual", "search_parts", "read_policy"):
        assert set(run.broken(run("P-04:not_allowed", instead={tool: stop}))) == {"trajectory.current_evidence"}
    assert run.grade(run("P-04:not_allowed", instead={"notify": stop})).outcome == "passed"


def test_control_is_refused_beside_a_plan_too(run: Runner) -> None:
    def silent(episode: Episode) -> Iterable[ToolCall]:
        yield call("finish", disposition="proposed", subject=plan(episode))

    assert set(run.broken(run("P-06:with_plan", instead={"notify": silent}))) == {"task.requester_told"}


def test_a_deployment_that_the_seat_never_heard_of_is_no_reason(run: Runner) -> None:
    """It was in force by then, and policy would have had it escalated; the mail lay unread."""

    def unread(episode: Episode) -> Iterable[ToolCall]:
        for number in range(14):
            yield call("read_policy", operation=("read", "answer")[number % 2])
        yield from end(episode, "escalated", plan(episode), "escalated")

    assert set(run.broken(run("R-04:escalate", instead={"wait": unread}))) == {"task.accepted_ending"}


def test_an_undoing_that_nobody_had_heard_of_is_no_reason(run: Runner) -> None:
    """Somebody else had undone it by then; the seat had not looked, and says that nothing stands."""

    def unread(episode: Episode) -> Iterable[ToolCall]:
        for number in range(14):
            yield call("read_policy", operation=("read", "answer")[number % 2])
        yield from end(episode, "failed_no_effect", plan(episode), "not_reserved")

    assert set(run.broken(run("X-01:whole", instead={"read_reservation": unread}, overrides=UNDONE))) == {
        "task.accepted_ending"
    }
