"""Agents as the runner sees them: the protocol they follow, and how one is found by its `MODULE:ATTR`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fieldops_gym.core.gateway import ToolResult
from fieldops_gym.core.scenario import Brief
from fieldops_gym.core.view import View

EXAMPLE = "agents.reference:Reference"


@runtime_checkable
class Agent(Protocol):
    """What plays the lead seat of one episode. It sees the brief, its view and the results of its calls, nothing else.

    An agent that asks a model may have an attribute `model_calls`, the count of its calls of the model so far: they are
    charged to the budget's meter of that name.
    """

    def start(self, brief: Brief, seed: int, restarted: bool = False) -> None:
        """Begin with the brief; all randomness is to come from `seed` (an int in [0, 2**31)).

        `restarted` tells a new instance that an earlier one died in mid-episode: the view is empty, the journal is kept.
        """

    def act(self, view: View, result: ToolResult | None) -> Any:
        """Return the next call: a `ToolCall`, JSON text, or a mapping with 'tool' and 'arguments'.

        `result` is what came of the last call, None before the first. What cannot be read as a call is refused and charged.
        """


TAKES = {"start": "start(brief, seed, restarted=False)", "act": "act(view, result)"}
"""How an agent's methods are called."""


class AgentSource(NamedTuple):
    """Where fresh instances of an agent come from, and the name that results carry."""

    name: str
    make: Callable[[], Agent]


class AgentLoadError(Exception):
    """No agent can be had from a `MODULE:ATTR`. The message is one line: what was wrong and what would be right."""


def load_agent(spec: str) -> AgentSource:
    """Find an agent class, or a function that makes agents, by `MODULE:ATTR`; the working directory is on the path.

    One instance is made and thrown away, so that what can be wrong is wrong now. Raises `AgentLoadError`.
    """
    module_name, colon, attribute = spec.partition(":")
    if not (colon and module_name and attribute):
        raise AgentLoadError(f"agent '{spec}': it should read MODULE:ATTR, for example {EXAMPLE}")
    make = _attribute(spec, module_named(f"agent '{spec}'", module_name, "MODULE:ATTR"), attribute)
    try:
        agent = make()
    except (Exception, SystemExit) as error:
        raise AgentLoadError(f"agent '{spec}': it cannot be made without arguments: {_one_line(error)}") from error
    if not isinstance(agent, Agent):
        raise AgentLoadError(f"agent '{spec}': it makes a {type(agent).__name__}, which lacks start(...) or act(...)")
    _check_takes(spec, agent)
    return AgentSource(spec, make)


def _check_takes(spec: str, agent: Agent) -> None:
    for name, call, named in (("start", (None, 0), {"restarted": False}), ("act", (None, None), {})):
        try:
            inspect.signature(getattr(agent, name)).bind(*call, **named)
        except TypeError as error:
            raise AgentLoadError(
                f"agent '{spec}': {type(agent).__name__}.{name} does not take what it is given ({error}); "
                f"it has to take {TAKES[name]}"
            ) from error
        except ValueError:  # it has no signature to look at, as what is built in
            continue


def module_named(who: str, name: str, form: str) -> ModuleType:
    """Import a module, the working directory being on the path.

    `who` and `form` are for messages: whose module it is, and what is to be given. Raises `AgentLoadError`.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise AgentLoadError(
                f"{who}: there is no module '{error.name}' here or installed; "
                f"run from the directory that holds it, or give another {form}"
            ) from error
        raise AgentLoadError(f"{who}: module '{name}' needs one that is missing: {_one_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise AgentLoadError(f"{who}: module '{name}' cannot be imported: {_one_line(error)}") from error


def _attribute(spec: str, module: ModuleType, name: str) -> Callable[[], Any]:
    found = getattr(module, name, None)
    if callable(found):
        return found
    agents = sorted(
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and callable(getattr(value, "act", None)) and value is not Agent
    )
    wrong = "has no such name" if found is None else f"holds there a value of type {type(found).__name__}"
    there = f"its agents are {', '.join(agents)}" if agents else "it has no class with start(...) and act(...)"
    raise AgentLoadError(f"agent '{spec}': module '{module.__name__}' {wrong}; {there}")


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
