"""The timeline: a row per event, in its place and at its time, in words that name what the event was about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.reference import Reference
from agents.shortcuts import DoNothing, RetryBlindly
from fieldops_gym import ToolCall, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.evaluation import Trace, TrialPlan, TrialStatus, settings_for
from fieldops_gym.evaluation.rulings import Ruling, rulings, rulings_of
from fieldops_gym.evaluation.timeline import Row, RowKind, timeline
from fieldops_gym.evaluation.traces import rules_of, trace_of
from fieldops_gym.graders import grade
from tests.evaluation.support import Garbage
from tests.support import VARIANTS, env_id_of, episode_of, play_fresh

LOST = {"fault": "timeout_before_send", "times": 0}
CRASH = "crash_after_commit"


def told(domain: Domain, pack: Pack, name: str, make: Callable[[], Any], **layer: Any) -> tuple[Episode, Trace]:
    """Let an agent play `card:variant`; return the episode and its trace."""
    episode = play_fresh(episode_of(domain, pack, name, 3, merge([layer])), make)
    return episode, traced(domain, pack, episode)


def traced(domain: Domain, pack: Pack, episode: Episode) -> Trace:
    card = pack.cards[episode.coordinates.card]
    plan = TrialPlan("a trial", card.segment, episode.coordinates)
    settings = settings_for(env_id_of(f"{card.id}:any"), "agent", pack, (card.id,))
    return trace_of(plan, settings, 0, episode, TrialStatus.COMPLETED, grade(domain, episode.trial()), "")


def rows_of(episode: Episode, trace: Trace) -> tuple[Row, ...]:
    states = {name: fault.state for name, fault in episode.pack.faults.items()}
    return timeline(trace, rulings(trace), episode.world.start, states)


def only(rows: tuple[Row, ...], kind: RowKind) -> list[Row]:
    return [row for row in rows if row.kind == kind]


@pytest.mark.parametrize("name", VARIANTS)
def test_there_is_a_row_per_event_that_names_what_it_wrote(domain: Domain, pack: Pack, name: str) -> None:
    episode, trace = told(domain, pack, name, Reference)
    rows, log = rows_of(episode, trace), episode.world.log
    assert [(row.seq, row.at, row.actor) for row in rows] == [(event.seq, event.at, event.actor) for event in log]
    for row, event in zip(rows, log, strict=True):
        assert row.kind == event.kind
        if event.kind in ("commit", "act"):
            for write in event.writes:
                assert write.table == "agenda" or f"{write.table} {write.id}" in row.text
    assert [row.text for row in only(rows, RowKind.FAULT)] != [] or not episode.scenario.faults


def test_answers_belong_to_calls_and_say_what_came_and_how_long_it_took(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-03:immediate", RetryBlindly)
    rows = rows_of(episode, trace)
    calls = {row.seq: row for row in only(rows, RowKind.CALL)}
    answers = {row.call: row for row in only(rows, RowKind.RESULT)}
    assert set(answers) == set(calls)
    for made in episode.trial().calls(episode.lead):
        assert calls[made.seq].text.startswith(made.call.tool)
        assert answers[made.seq].status == made.reply.status
        assert answers[made.seq].seconds == made.replied_at - made.at
    first, second = (row for row in calls.values() if row.text.startswith("reserve"))
    assert (first.text[-18:], second.text[-27:]) == ("[effect attempt 1]", "[effect attempt 2, retry 1]")
    assert answers[first.seq].text.startswith("timeout: ")
    assert "whether the request took effect is not known" in answers[first.seq].text.lower()
    assert "duplicate=yes" in answers[second.seq].text
    assert str(dict(episode.trial().calls(episode.lead)[-1].call.args)["subject"]) not in answers[max(answers)].text


def test_a_fault_stands_at_its_boundary(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-03:immediate", Reference)
    rows = rows_of(episode, trace)
    fault = only(rows, RowKind.FAULT)[0]
    assert fault.text.startswith("commit_then_timeout strikes, after commit: lose reply")
    assert pack.faults["commit_then_timeout"].state in fault.text
    before, after = rows[fault.seq - 2], rows[fault.seq]
    assert (before.kind, before.call, after.kind, after.call) == (RowKind.COMMIT, fault.call, RowKind.RESULT, fault.call)


def test_a_commit_says_what_it_changed_where_the_start_is_known(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-01:whole", Reference)
    booked = next(event for event in episode.world.log if event.data == "reserve" and event.kind == "commit")
    part = next(write.record for write in booked.writes if write.table == "part")
    left = episode.world.start["part"][part.id].quantity
    known, unknown = rows_of(episode, trace)[booked.seq - 1].text, timeline(trace)[booked.seq - 1].text
    assert f"part {part.id}: quantity {left} -> {left - 1}" in known
    assert known.startswith("makes reservation")
    assert "quantity" not in unknown
    assert unknown.startswith("writes reservation")


def test_people_are_asked_and_answer_when_they_said_they_would(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-01:whole", Reference)
    rows = rows_of(episode, trace)
    asked, act = only(rows, RowKind.ASKED)[0], only(rows, RowKind.ACT)[0]
    assert (asked.actor, act.actor) == ("approver", "approver")
    assert f"approver will decide(disposition=approved, request={_request(episode)}) at {act.at} s by rule H-1" in asked.text
    assert act.text.startswith("decide(disposition=approved")
    assert f"by rule H-1, asked in #{asked.call}; makes approval" in act.text


def _request(episode: Episode) -> str:
    return next(iter(episode.world.tables["request"]))


def test_silence_is_told(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-01:whole", Reference, people={"approver": "approver.absent"})
    assert "will not answer, by rule H-4" in only(rows_of(episode, trace), RowKind.ASKED)[0].text


def test_an_act_that_is_refused_says_so_and_what_is_late_is_pending(domain: Domain, pack: Pack) -> None:
    cancel = {"fault": "cancellation_race", "values": {"seconds": 1}}
    late = {"fault": "cancellation_race", "values": {"seconds": 10**6}}
    episode, trace = told(domain, pack, "X-01:whole", Reference, faults=[cancel, cancel, late])
    rows = rows_of(episode, trace)
    first, second = (row for row in only(rows, RowKind.ACT) if row.text.startswith("cancel("))
    assert "by fault cancellation_race; changes incident" in first.text
    assert "by fault cancellation_race; refused, conflict: " in second.text
    assert len(only(rows, RowKind.AGENDA)) == 3
    assert f"at {only(rows, RowKind.FAULT)[0].at + 1} s" in only(rows, RowKind.AGENDA)[0].text
    assert "; pending: act-" in rows[-1].text


def test_a_crash_and_the_start_after_it_are_told(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-01:whole", Reference, faults=[CRASH])
    rows = rows_of(episode, trace)
    crash, restart = only(rows, RowKind.CRASH)[0], only(rows, RowKind.RESTART)[0]
    assert crash.text == "the process of the dispatcher dies"
    assert restart.at == crash.at + episode.scenario.contract.restart_delay
    assert "brief and journal only" in restart.text
    assert crash.call not in {row.call for row in only(rows, RowKind.RESULT)}


def test_meters_that_end_are_told_with_the_fallback(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-03:immediate", RetryBlindly, faults=[LOST], budget={"retries": 1})
    ends = [row.text for row in only(rows_of(episode, trace), RowKind.EXHAUSTED)]
    fallback = episode.scenario.contract.fallback
    assert ends == [f"no {meter} left; the card's fallback: {fallback}" for meter in ("retries", "turns")]
    end = rows_of(episode, trace)[-1]
    assert (end.kind, end.text) == (
        RowKind.END,
        f"budget:turns; account: {fallback} about nothing, said by the harness; pending: nothing",
    )


@pytest.mark.parametrize("make", [RetryBlindly, DoNothing, Garbage])
def test_the_evidence_of_broken_verdicts_is_marked(domain: Domain, pack: Pack, make: Callable[[], Any]) -> None:
    episode, trace = told(domain, pack, "X-03:immediate", make)
    wanted: dict[int, set[str]] = {}
    for verdict in grade(domain, episode.trial()).verdicts:
        for seq in verdict.events if verdict.state.name == "BROKEN" else ():
            wanted.setdefault(seq, set()).add(verdict.invariant)
    assert wanted
    assert {row.seq: set(row.cited) for row in rows_of(episode, trace) if row.cited} == wanted


def test_what_a_verdict_that_holds_rests_on_is_not_marked(domain: Domain, pack: Pack) -> None:
    _, trace = told(domain, pack, "X-03:immediate", RetryBlindly)
    assert any(row.cited for row in timeline(trace, rulings(trace)))
    kept = [ruling._replace(state="holds") for ruling in rulings(trace)]
    assert not any(row.cited for row in timeline(trace, kept))


def test_verdicts_of_a_trace_are_those_of_its_grade(domain: Domain, pack: Pack) -> None:
    episode, trace = told(domain, pack, "X-03:immediate", RetryBlindly)
    held = rulings(trace)
    graded = rulings_of(grade(domain, episode.trial()).verdicts, rules_of(episode))
    broken = [ruling for ruling in held if ruling.broken]
    assert [ruling.invariant for ruling in broken] == ["recovery.reconcile_before_resend"]
    assert broken[0].rule.startswith("A proposal is sent under its own key.")
    assert [ruling for ruling in graded if ruling.broken] == broken
    assert [_bare(ruling) for ruling in graded] == [_bare(ruling) for ruling in held]


def _bare(ruling: Ruling) -> Ruling:
    # A trace keeps the text of a rule only where it is broken.
    return ruling._replace(rule="")


def test_what_an_agent_sends_cannot_write_to_the_terminal(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    episode.call(ToolCall.of("\x1b[2J\r\nwait", seconds="\x1b]0;title\x07" * 50))
    episode.call(ToolCall.of("finish", disposition="rejected", subject=episode.view().rows["incident"][0].id))
    texts = [row.text for row in rows_of(episode, traced(domain, pack, episode))]
    assert all(text.isprintable() for text in texts)
    assert "[2J" in texts[0]
    assert len(texts[0]) < 200


def test_an_event_of_a_kind_that_is_not_known_is_told_by_its_writes(domain: Domain, pack: Pack) -> None:
    _, trace = told(domain, pack, "X-01:whole", Reference)
    commit = next(event for event in trace.events if event["kind"] == "commit")
    odd = trace._replace(events=({**commit, "kind": "earthquake"},))
    row = timeline(odd)[0]
    assert row.kind == RowKind.OTHER
    assert row.text.startswith("earthquake; writes draft")
