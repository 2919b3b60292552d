"""Guesses that happen to be right: what would have come, what nobody looked up, what nobody was told."""

from __future__ import annotations

from collections.abc import Iterable

from fieldops_gym import Episode, ToolCall
from tests.graders.runs import Runner, call, end, plan, role


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

    for tool in ("query_asset", "read_manual", "search_parts"):
        assert set(run.broken(run("P-04:not_allowed", instead={tool: stop}))) == {"trajectory.current_evidence"}
    assert run.grade(run("P-04:not_allowed", instead={"list_slots": stop})).outcome == "passed"


def test_control_is_refused_beside_a_plan_too(run: Runner) -> None:
    def silent(episode: Episode) -> Iterable[ToolCall]:
        yield call("finish", disposition="proposed", subject=plan(episode))

    assert set(run.broken(run("P-06:with_plan", instead={"notify": silent}))) == {"task.requester_told"}
