"""A whole run to send calls into, at several boundaries, with the checks that hold whatever was sent."""

from __future__ import annotations

import json
from typing import Any

from agents.reference import Reference
from fieldops_gym import DOMAINS, Code, Episode, Status, ToolCall, ToolResult, load_tasks
from fieldops_gym.core.canonical import canonical
from tests.support import episode_of, play

DOMAIN = DOMAINS["field_service"]
PACK = load_tasks()
WHOLE = play(episode_of(DOMAIN, PACK, "X-03:immediate", 0), Reference())
LEAD_TOOLS = {name: DOMAIN.tools[DOMAIN.lead][name] for name in WHOLE.scenario.contract.tools}
AT = (0, 3, 9, 12, 14)
"""Boundaries of a whole run to fuzz from: at the start, in the evidence, with a proposal, approved, with an open dispatch."""


def checked(episode: Episode, sent: Any, seat: str | None = None) -> ToolResult:
    """Make a call and check all that must hold whatever was sent."""
    before, turns, log = episode.gateway.clock, episode.view().meters.turns, len(episode.world.log)
    result = episode.call(sent, seat)
    call = episode.world.log[log]
    assert call.kind == "call"
    assert canonical(call)
    json.loads(result.to_json())
    assert episode.view().meters.turns == turns + 1
    assert result.elapsed == result.at - before >= episode.scenario.contract.decision_cost
    if result.reply.status == Status.REFUSED:
        assert result.reply.code in set(Code)
        assert result.reply.code
        own = [event for event in episode.world.log[log:] if event.seq == call.seq or event.ref == call.seq]
        assert {write.table for event in own for write in event.writes} == {"meters"}
        assert [event.kind for event in own if event.kind not in ("call", "intent", "fault")] == ["result"]
    return result


def goes_on(episode: Episode) -> None:
    """Check that the episode is as usable as ever, that its log has a digest, and that it can be replayed."""
    if not episode.ended:
        assert episode.call(ToolCall.of("read_directory")).ok
    digest = episode.world.log_digest()
    assert episode.branch(len(episode.steps)).world.log_digest() == digest
