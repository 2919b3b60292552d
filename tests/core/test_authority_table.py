"""Who may do what, when: a table of decisions, each with the rule that it rests on and the reason that is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Decision, Domain
from fieldops_gym.core.world import Event, World, Write
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.policies import POLICIES
from tests.core.helpers import has_approval, run_until
from tests.support import episode_of

Change = Callable[[Episode], list[Write]]


class Row(NamedTuple):
    """A call, what is so in the world beyond an approved plan, and what policy decides."""

    tool: str
    about: str
    permit: bool
    rule: str
    reason: str
    so: Change | None = None
    later: int = 0


def of(episode: Episode, table: str) -> Any:
    """Return the one record of a table that the run is about."""
    rows = episode.world.tables[table]
    return rows[episode.scenario.roles["delegation"][0]] if table == "delegation" else list(rows.values())[-1]


def change(table: str, **fields: Any) -> Change:
    """Return a change of that record."""

    def write(episode: Episode) -> list[Write]:
        record = of(episode, table)._replace(**fields)
        return [Write(table, record.id, record)]

    return write


def scoped(*scopes: str) -> Change:
    return change("delegation", scopes=scopes)


def by(role: str) -> Change:
    """The approval was given by somebody else."""
    return lambda episode: change("approval", by=episode.scenario.roles[role][0])(episode)


TABLE: dict[str, Row] = {
    "a read within the delegation": Row("query_asset", "equipment", True, "P-1", "within"),
    "a proposal within the delegation": Row("propose", "", True, "P-1", "within"),
    "an effect that is approved": Row("reserve", "proposal", True, "P-4", "approved"),
    "its undoing": Row("compensate", "reservation", True, "P-1", "within"),
    "an effect that nobody approved": Row(
        "reserve", "proposal", False, "P-4", "no live approval", change("approval", disposition="declined")
    ),
    "an effect approved by the requester": Row("reserve", "proposal", False, "P-4", "no live approval", by("requester")),
    "an effect approved by somebody merely senior": Row("reserve", "proposal", False, "P-4", "no live approval", by("senior")),
    "an effect approved by a reviewer of another tenant": Row(
        "reserve", "proposal", False, "P-4", "no live approval", by("approver.other_tenant")
    ),
    "an effect whose approval has lapsed": Row(
        "reserve", "proposal", False, "P-4", "no live approval", later=rules.APPROVAL_SECONDS
    ),
    "an effect whose approval is of other content": Row(
        "reserve", "proposal", False, "P-4", "no live approval", change("approval", hash="another")
    ),
    "an effect of a proposal taken back": Row(
        "reserve", "proposal", False, "P-4", "withdrawn", change("proposal", status="withdrawn")
    ),
    "an effect of an earlier workflow": Row(
        "reserve", "proposal", False, "P-21", "workflow wf-1", change("release", workflow="wf-2")
    ),
    "carrying over where policy has no such way": Row("migrate", "proposal", False, "P-21", "no such way"),
    "a read after the delegation has run out": Row("query_asset", "equipment", False, "P-20", "has ended", later=10**6),
    "a read after a takeover": Row(
        "query_asset", "equipment", False, "P-20", "has ended", change("delegation", revoked=True)
    ),
    "an approved effect after a takeover": Row(
        "reserve", "proposal", False, "P-20", "has ended", change("delegation", revoked=True)
    ),
    "the account after a takeover": Row("finish", "", True, "P-1", "within", change("delegation", revoked=True)),
    "the journal after a takeover": Row("read_journal", "", True, "P-1", "within", change("delegation", revoked=True)),
    "an effect without its scope": Row("reserve", "proposal", False, "P-1", "the scope 'reserve'", scoped("read", "propose")),
    "a proposal without its scope": Row("propose", "", False, "P-1", "lacks the scope 'propose'", scoped("read")),
    "a read of another tenant's manual": Row(
        "read_manual", "manual", False, "P-1", "another tenant", change("manual", tenant="ten-another")
    ),
    "asking for more than was delegated": Row("request_scope", "", False, "F-1", "Nothing here controls equipment"),
}  # fmt: skip


def decide(domain: Domain, pack: Pack, row: Row) -> Decision:
    """Return what policy decides in a run whose proposal has just been approved, and in which `so` holds besides."""
    budget = merge([{"budget": {}}])
    episode = run_until(episode_of(domain, pack, "R-02:silent", 0, budget), Reference(), has_approval)
    world: World = episode.world
    now = episode.gateway.clock
    if row.so is not None:
        world.apply(Event(len(world.log) + 1, now, "harness", "test", 0, tuple(row.so(episode)), None))
    tool = domain.tools[domain.lead][row.tool]
    values = (of(episode, row.about).id,) if row.about and row.about != "reservation" else ("",)
    return domain.authorise(world, domain.lead, tool, values, now + row.later)


@pytest.mark.parametrize("name", TABLE)
def test_decisions_are_as_in_the_table(domain: Domain, pack: Pack, name: str) -> None:
    row = TABLE[name]
    decision = decide(domain, pack, row)
    assert (decision.permit, decision.rule) == (row.permit, row.rule), decision
    assert row.reason in decision.reason


def test_every_rule_that_is_cited_can_be_read(domain: Domain, pack: Pack) -> None:
    numbers = {number for number, _ in POLICIES.values()}
    assert {decide(domain, pack, row).rule for row in TABLE.values()} <= numbers


def test_authority_is_a_matter_of_the_moment_of_effect(domain: Domain, pack: Pack) -> None:
    """The same call is permitted just before the approval lapses, and denied when it has."""
    episode = run_until(episode_of(domain, pack, "R-02:silent", 0), Reference(), has_approval)
    plan, approval = of(episode, "proposal"), of(episode, "approval")
    tool = domain.tools[domain.lead]["reserve"]
    decisions = [
        domain.authorise(episode.world, domain.lead, tool, (plan.id, "own"), second)
        for second in (approval.expires - 1, approval.expires)
    ]
    assert [decision.permit for decision in decisions] == [True, False]


def test_a_denial_tells_rule_and_reason_and_changes_nothing(domain: Domain, pack: Pack) -> None:
    overrides = merge([{"faults": ["takeover_in_wait"]}])
    episode = run_until(
        episode_of(domain, pack, "A-03:in_time", 0, overrides), Reference(), lambda e: e.world.tables["request"] != {}
    )
    episode.call(ToolCall.of("wait", seconds=900))
    before = {name: dict(rows) for name, rows in episode.world.tables.items() if name != "meters"}
    reply = episode.call(ToolCall.of("propose")).reply
    assert (reply.code, reply.expected) == ("denied", "the delegation has ended (P-20)")
    assert {name: dict(rows) for name, rows in episode.world.tables.items() if name != "meters"} == before
