"""The section on non-interference: it holds for what is shipped, and every planted leak turns it red."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.suite import REFERENCE
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.passage import Context
from fieldops_gym.domains.field_service.handlers import Waited
from fieldops_gym.evaluation.audit import Bench, load_suite
from fieldops_gym.evaluation.audit.interference import non_interference, pairs_of
from fieldops_gym.evaluation.audit.sections import Section
from tests.counts import count
from tests.evaluation.planted import only


@pytest.fixture(scope="module")
def few(pack: Pack) -> Pack:
    return only(pack, "E-01", "X-02", "X-03")


def section(domain: Domain, pack: Pack, **other: Any) -> Section:
    return non_interference(Bench(domain, pack, load_suite("agents.suite")._replace(**other), quick=True))


def test_what_is_shipped_holds(domain: Domain, pack: Pack) -> None:
    bench = Bench(domain, pack, load_suite("agents.suite"), quick=count(1, 0) == 1)
    found = non_interference(bench)
    assert [f"{row.subject}: {row.text}" for row in found.short] == []
    cards = {part.split(":")[0] for row in found.rows for part in row.subject.split(" and ")}
    assert cards == set(pack.cards) - {"P-06"}, "its variants are told apart by what is asked for"


def test_pairs_within_a_card_and_across(few: Pack) -> None:
    pairs = {(pair.one, pair.other) for pair in pairs_of(few, quick=False)}
    assert ("X-03:immediate", "X-03:slow") in pairs
    assert ("X-02:timeout", "X-03:stale") in pairs
    assert not any({"E", "X"} == {one[0], other[0]} for one, other in pairs)


def with_handler(domain: Domain, tool: str, changed: Any) -> Domain:
    """The domain with a handler that gets the outcome of the right one."""
    own = domain.tools[domain.lead][tool]

    def handler(context: Context, *values: Any) -> Any:
        return changed(context, own.handler(context, *values))

    tools = {**domain.tools[domain.lead], tool: replace(own, handler=handler)}
    return replace(domain, tools={**domain.tools, domain.lead: tools})


def test_hidden_truth_in_an_early_reply(domain: Domain, few: Pack) -> None:
    def telling(context: Context, outcome: Any) -> Any:
        return outcome._replace(facts=Waited(int(context.scenario.coordinates.variant == "not_newest")))

    found = section(with_handler(domain, "query_asset", telling), few)
    assert {row.subject for row in found.short} == {
        "E-01:newest and E-01:not_newest", "E-01:not_newest and E-01:remembered",
    }  # fmt: skip
    assert "after query_asset these differ: json, text" in found.short[0].text


def test_hidden_truth_in_a_start(domain: Domain, few: Pack) -> None:
    def build(card: Any, variant: Any, *rest: Any) -> Any:
        made = domain.build(card, variant, *rest)
        return made._replace(request=made.request + " " * (variant is card.variants.get("slow")))

    found = section(replace(domain, build=build), few)
    assert {row.subject for row in found.short} == {"X-03:immediate and X-03:slow", "X-03:slow and X-03:stale"}
    assert "the starts differ" in found.short[0].text


def test_a_reference_that_raises_is_not_asked_about(domain: Domain, few: Pack) -> None:
    class Brittle(REFERENCE):  # type: ignore[misc, valid-type]
        def act(self, view: Any, result: Any) -> Any:
            raise RuntimeError("no more")

    assert section(domain, few, reference=Brittle).holds


def test_nothing_to_compare_is_no_proof(domain: Domain, pack: Pack) -> None:
    assert not section(domain, only(pack, "P-06")).holds
    found = section(replace(domain, name="elsewhere"), only(pack, "X-03"))
    assert "no environment plays all its families; there are such for field_service" in found.short[0].text
