"""Agents that misbehave, and short ways to run one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.random_agent import RandomAgent
from agents.reference import Reference
from fieldops_gym import Brief, ToolResult, View
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation import AgentSource, Report, run, settings_for

ENV = "FieldOps-Effect-v0"
RELAY = "FieldOps-Relay-v0"


def run_with(
    pack: Pack,
    make: Callable[[], Any],
    seeds: int,
    out: Path | None = None,
    resume: bool = False,
    env: str = ENV,
    **settings: Any,
) -> Report:
    """Run an agent over cards of the pack, under the name of its class."""
    agent = AgentSource(getattr(make, "__name__", "agent"), make)
    return run(settings_for(env, agent.name, pack, seeds=seeds, **settings), pack, agent, out, resume)


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file under a directory with its bytes."""
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class RaisesInAct(Reference):
    """Raises at its fifth call."""

    def act(self, view: View, result: ToolResult | None) -> Any:
        if view.meters.turns == 4:
            raise ValueError(f"lost my way in {object()}")
        return super().act(view, result)


class RaisesInStart(Reference):
    """Raises before the first call."""

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        raise RuntimeError("no key")


class Exits(Reference):
    """Tries to end the process."""

    def act(self, view: View, result: ToolResult | None) -> Any:
        raise SystemExit(0)


class Touchy(dict):
    """A mapping that cannot be looked at."""

    def __iter__(self) -> Any:
        raise LookupError("hands off")


class ReturnsTouchy(Reference):
    """Returns an object that raises when it is read."""

    def act(self, view: View, result: ToolResult | None) -> Any:
        return Touchy()


class Garbage(RandomAgent):
    """Returns what no gateway should be sent, of every kind."""

    JUNK = (None, 7, b"\xff\xfe", "{", "[]", '{"tool": 3}', {"tool": "wait", "arguments": "{}"}, "\x1b[2J" * 99, object(), [])

    def act(self, view: View, result: ToolResult | None) -> Any:
        return self.JUNK[view.meters.turns % len(self.JUNK)]


class Escapes(Reference):
    """Asks for a scope with terminal escapes in its text, then does the work."""

    def act(self, view: View, result: ToolResult | None) -> Any:
        if view.meters.turns == 0:
            return {"tool": "request_scope", "arguments": {"scope": "control", "\x1b[31mred": "\x1b[2J\r\n[bold]"}}
        return super().act(view, result)
