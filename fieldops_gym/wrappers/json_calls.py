"""`JsonCalls`: JSON text in, JSON text out, for agents that speak tools rather than arrays."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from fieldops_gym.core.calls import MAX_CALL_CHARACTERS, Status, as_call
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.layout import shown_fields
from fieldops_gym.core.tools import json_schema
from fieldops_gym.wrappers.base import array_base_of


class JsonCalls(gymnasium.Wrapper, RecordConstructorArgs):
    """Take calls as JSON, `{"tool": ..., "arguments": {...}}`, and answer in JSON.

    The first observation is the brief: the request, the tools as JSON Schema, the budget, and the records it names. Later
    ones are results. Text or bytes that are no call are refused, logged and charged; nothing raises. `JsonCalls` takes the
    place of the array action: it goes around wrappers that hand actions on as they are, and not around `CallMenu`.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self._base = array_base_of(env, "JsonCalls")
        characters = "".join(chr(code) for code in range(32, 128)) + "\n\t"
        self.action_space = spaces.Text(max_length=MAX_CALL_CHARACTERS, charset=characters)
        self.observation_space = spaces.Text(max_length=MAX_CALL_CHARACTERS, charset=characters)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Reset and return the brief as JSON."""
        _, info = self.env.reset(seed=seed, options=options)
        assert self._base.episode is not None
        return json.dumps(brief_of(self._base.episode)), info

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Make one call and return its result as JSON."""
        _, reward, terminated, truncated, info = self.env.step(as_call(action))
        result, episode = self._base.result, self._base.episode
        assert result is not None
        assert episode is not None
        answer = result.to_dict()
        if result.reply.status == Status.RESTARTED:
            answer["brief"] = brief_of(episode)
        return json.dumps(answer), float(reward), terminated, truncated, info


def brief_of(episode: Episode) -> dict[str, Any]:
    """Return what a JSON agent is given at the start and after a crash: task, tools, budget, and the records it names."""
    brief, view = episode.brief, episode.lead_view
    tools = episode.domain.tools[episode.lead]
    records = {
        name: [plain(shown_fields(row.table, row.record, 0)) for row in rows] for name, rows in view.rows.items() if rows
    }
    return {
        "episode": brief.episode,
        "seat": brief.seat,
        "request": brief.request,
        "restarted": view.restarted,
        "scopes": list(brief.scopes),
        "budget": brief.limits._asdict(),
        "records": records,
        "tools": [json_schema(tools[name]) for name in brief.tools],
    }
