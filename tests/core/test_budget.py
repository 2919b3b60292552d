"""The budget: what each call is charged, and what it bars."""

from __future__ import annotations

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.core.helpers import has_approval, has_proposal, run_until
from tests.support import episode_of


def never_sent(domain: Domain, pack: Pack, retries: int) -> Episode:
    """Return an episode with a proposal, whose dispatches all fail before they are sent."""
    layer = {"faults": [{"fault": "not_sent", "times": 0}], "budget": {"retries": retries}}
    return run_until(episode_of(domain, pack, "X-01:whole", 0, merge([layer])), Reference(), has_proposal)


def reserve(episode: Episode, key: str = "own") -> str:
    """Dispatch the proposal; return the code of the answer."""
    call = ToolCall.of("reserve", proposal=episode.view().rows["proposal"][0].id, key=key)
    return str(episode.call(call).reply.code)


def used(episode: Episode) -> tuple[int, int]:
    """Return retries and attempts used."""
    return episode.view().meters.retries, episode.view().meters.effect_attempts


def test_a_retry_is_charged_from_the_second_sending_on_whatever_the_key(domain: Domain, pack: Pack) -> None:
    episode = run_until(never_sent(domain, pack, 2), Reference(), has_approval)
    assert used(episode) == (0, 0)
    assert [reserve(episode), used(episode)] == ["not_sent", (0, 1)]
    assert [reserve(episode), used(episode)] == ["not_sent", (1, 2)]
    assert [reserve(episode, "fresh"), used(episode)] == ["not_sent", (2, 3)]
    assert [reserve(episode), used(episode)] == ["budget_exhausted", (2, 3)]


def test_what_policy_denied_was_not_sent_and_costs_an_attempt_only(domain: Domain, pack: Pack) -> None:
    episode = never_sent(domain, pack, 0)
    assert [reserve(episode), used(episode)] == ["denied", (0, 1)]
    run_until(episode, Reference(), has_approval)
    assert [reserve(episode), used(episode)] == ["not_sent", (0, 2)]
    assert [reserve(episode), used(episode)] == ["budget_exhausted", (0, 2)]


def test_turns_and_tool_calls_part_where_no_tool_was_named(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    for sent, turns, calls in (("nonsense", 1, 0), ('{"tool": "read_directory"}', 2, 1), ('{"tool": "read_manual"}', 3, 2)):
        episode.call(sent)
        assert (episode.view().meters.turns, episode.view().meters.tool_calls) == (turns, calls), sent
