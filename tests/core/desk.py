"""A desk for tests of people: a proposal on it, and short words for asking, deciding and reserving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.core.helpers import has_proposal, run_until
from tests.support import episode_of

OUTSIDE = {"people": {"approver": "outside"}}


def with_proposal(domain: Domain, pack: Pack, layer: Mapping[str, Any] | None = None, name: str = "X-01:whole") -> Episode:
    """Return an episode in which the reference has frozen its proposal, and has read the directory."""
    episode = run_until(episode_of(domain, pack, name, 0, merge([layer or {}])), Reference(), has_proposal)
    episode.call(ToolCall.of("read_directory"))
    return episode


def role(episode: Episode, name: str) -> str:
    """Return the id that a role is bound to."""
    return episode.scenario.roles[name][0]


def request(episode: Episode, person: str, proposal: str = "") -> Any:
    """Put the proposal before a person; return the result."""
    plan = proposal or episode.view().rows["proposal"][0].id
    return episode.call(ToolCall.of("request_approval", proposal=plan, person=role(episode, person)))


def only_request(episode: Episode, seat: str = "approver") -> str:
    """Return the id of the one request that a seat was shown."""
    rows = episode.view(seat).rows["request"]
    assert len(rows) == 1
    return rows[0].id


def decide(episode: Episode, key: str, disposition: str, seat: str = "approver") -> Any:
    """Let a seat decide on a request; return the result."""
    return episode.call(ToolCall.of("decide", request=key, disposition=disposition), seat=seat)


def reserve(episode: Episode, key: str = "own") -> Any:
    """Reserve the first proposal; return the result."""
    return episode.call(ToolCall.of("reserve", proposal=episode.view().rows["proposal"][0].id, key=key))
