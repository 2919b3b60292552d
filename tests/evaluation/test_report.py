"""The report as a user reads it: counts that are never averaged, and failures with their evidence."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from agents.random_agent import RandomAgent
from agents.reference import Reference
from agents.shortcuts import DoNothing, FreshKeyRetry, RetryBlindly, SkipApproval
from fieldops_gym import Seeds
from fieldops_gym.core.cards import Pack
from fieldops_gym.domains.field_service.policies import POLICIES
from fieldops_gym.evaluation import Report, TrialRow, TrialStatus, by_card, by_segment
from fieldops_gym.evaluation.report import render
from fieldops_gym.evaluation.summary import failures
from tests.evaluation.support import ENV, RELAY, Escapes, RaisesInAct, run_with
from tests.support import VARIANTS


def text_of(report: Report, width: int = 100, limit: int = 10) -> str:
    out = io.StringIO()
    render(Console(file=out, width=width, highlight=False), report, limit)
    return out.getvalue()


def cells(text: str, card: str) -> list[str]:
    """Return the cells of a card's row."""
    line = next(line for line in text.splitlines() if line.startswith(card))
    return re.split(r"\s{2,}", line.strip())


def flat(text: str) -> str:
    """Return text without its line breaks and indents."""
    return " ".join(text.split())


@pytest.mark.parametrize("make", [FreshKeyRetry, RetryBlindly, SkipApproval, DoNothing])
def test_each_defect_is_reported_where_it_is_declared_and_nowhere_else(pack: Pack, make: Any) -> None:
    report = run_with(pack, make, 5, env=RELAY, split="all")
    found = {f"{kind.key.card}:{kind.key.variant}" for kind in report.failures}
    assert found == set(make.FAILS)
    for kind in report.failures:
        assert make.FAILS[f"{kind.key.card}:{kind.key.variant}"] in kind.key.broken
        assert kind.count == kind.of
    text = text_of(report, limit=0)
    for name in VARIANTS:
        assert (f"\n{name} " in text) == (name in make.FAILS)


def test_a_failure_shows_rule_expectation_fact_and_proof(pack: Pack) -> None:
    report = run_with(pack, FreshKeyRetry, 2, cards=("X-02",))
    text = flat(text_of(report))
    failure = next(kind for kind in report.failures if kind.key.variant == "timeout")
    breach = next(b for b in failure.breaches if b.invariant == "recovery.same_key")
    assert breach.policy == "P-5"
    assert breach.rule == POLICIES["retry"][1]
    for words in (breach.invariant, f"P-5: {breach.rule}", f"expected {breach.expected}", f"actual {breach.actual}"):
        assert words in text
    (event,) = breach.events
    assert (event.actor, event.kind) == ("dispatcher", "call")
    assert event.text.startswith("reserve(key=fresh, proposal=prp-")
    assert event.text.endswith(" -> ok")
    assert f"#{event.seq} at {event.at} s, dispatcher call: {event.text}" in text


def test_counts_stand_per_card_without_any_rate(pack: Pack) -> None:
    text = text_of(run_with(pack, FreshKeyRetry, 4))
    assert cells(text, "X-01") == ["X-01", "approval-required effect", "4", "0", "0", "0", "4"]
    assert cells(text, "X-02") == ["X-02", "approval-required effect", "0", "4", "0", "0", "4"]
    assert cells(text, "3 cards")[2:] == ["4", "8", "0", "0", "12"]
    assert "%" not in text
    assert "12 trials. Nothing was written" in text


def row(number: int, card: str, segment: str, status: str = "completed", outcome: str = "passed", **more: Any) -> TrialRow:
    broken = ("task.accepted_ending",) if outcome == "failed" and status == "completed" else ()
    given = {"broken": broken, "advisory": (), "error": "" if status == "completed" else "ValueError: no", **more}
    return TrialRow(
        f"{card}.v.{number:04}", card, "v", segment, Seeds(1, 2, 3), "a", TrialStatus(status),
        outcome, "finished", "complete", digests=None, **given,
    )  # fmt: skip


def synthetic(rows: tuple[TrialRow, ...], pack: Pack) -> Report:
    return run_with(pack, Reference, 1, cards=("X-01",))._replace(rows=rows, failures=failures(rows, {}))


def test_segments_are_never_put_together(pack: Pack) -> None:
    rows = (row(0, "A", "proposal"), row(1, "B", "proposal", outcome="failed"), row(2, "C", "must-reject"))
    text = text_of(synthetic(rows, pack))
    assert [(item.segment, item.tally.n) for item in by_segment(rows)] == [("proposal", 2), ("must-reject", 1)]
    assert cells(text, "2 cards") == ["2 cards", "proposal", "1", "1", "0", "0", "2"]
    assert "3 cards" not in text
    assert "1 cards" not in text


def test_what_could_not_be_judged_is_in_the_denominator_and_no_failure(pack: Pack) -> None:
    rows = (
        row(0, "A", "proposal"),
        row(1, "A", "proposal", outcome="void"),
        row(2, "A", "proposal", status="infra_error", outcome=""),
        row(3, "A", "proposal", status="agent_error", outcome="failed"),
    )
    (card,) = by_card(rows)
    assert card.tally == (1, 1, 1, 1, 1)
    assert card.tally.n == 4
    text = text_of(synthetic(rows, pack))
    assert cells(text, "A ")[2:] == ["1", "1", "1", "1", "4"]
    assert "infra_error  the harness could not judge: ValueError: no" in text
    assert "agent_error  the agent raised: ValueError: no" in text
    assert "1 of the failed: the agent raised an error" in text
    assert "void   not judged   of n" in text
    assert "\n1 void: nothing broke, but a fault that was armed never struck; neither credit nor blame\n" in text
    assert "\n1 not judged: the harness could not (infra_error)" in text


def test_an_agents_error_is_told_with_its_place(pack: Pack) -> None:
    text = flat(text_of(run_with(pack, RaisesInAct, 2, cards=("X-01",))))
    assert "2 of the failed: the agent raised an error" in text
    assert "ValueError: lost my way in <object object at 0x...> (support.py, line" in text


def test_three_hundred_failures_stay_readable(pack: Pack) -> None:
    text = text_of(run_with(pack, SkipApproval, 100))
    assert len(text.splitlines()) < 100
    assert f"X-01:whole  50 of 50 trials, for example {pack.digest[:8]}.X-01.whole.0000" in text


def test_a_limit_shows_every_variant_before_a_second_kind_of_any(pack: Pack) -> None:
    report = run_with(pack, RandomAgent, 12, env=ENV, split="train")
    played = [name for name in VARIANTS if name.split(":")[0] in ("X-01", "X-02", "X-03")]
    heads = re.findall(r"^(X-0\d:\w+)  \d+ of", text_of(report, limit=len(played)), flags=re.MULTILINE)
    assert sorted(heads) == sorted(played)
    rest = len(report.failures) - len(played)
    assert f"and {rest} more kinds of failure" in text_of(report, limit=len(played))
    assert "and 1 more kind of failure, in" in text_of(report, limit=len(report.failures) - 1)
    assert len(re.findall(r"^X-0\d:", text_of(report, limit=0), flags=re.MULTILINE)) == len(report.failures)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_the_terminal(pack: Pack, width: int) -> None:
    report = run_with(pack, RandomAgent, 6)
    assert max(len(line) for line in text_of(report, width).splitlines()) <= width


def test_what_an_agent_sends_cannot_reach_the_terminal(pack: Pack) -> None:
    report = run_with(pack, Escapes, 1, cards=("X-01",))
    text = text_of(report)
    assert "request_scope" in text
    assert set(text) & {"\x1b", "\r"} == set()
