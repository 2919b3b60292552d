"""The agents that an audit needs: one that does the work, honest styles that must pass, and shortcuts with declarations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from fieldops_gym.evaluation.agents import Agent, AgentLoadError, module_named

Make = Callable[[], Agent]


class Shortcut(NamedTuple):
    """An agent that must fail. `fails` maps `card:variant` to the invariant that must break; elsewhere it must pass.

    `sometimes` does the same where its defect shows on some seeds only. `stands_for` is the failure it stands for.
    """

    name: str
    stands_for: str
    make: Make
    fails: Mapping[str, str]
    sometimes: Mapping[str, str]
    void: frozenset[str]


class Style(NamedTuple):
    """An honest agent that must pass. On `void` variants it never meets the fault, and its run is void."""

    name: str
    make: Make
    void: frozenset[str]


class AgentSuite(NamedTuple):
    """What a module of agents offers to an audit. `combine` makes one agent class out of several styles' classes."""

    module: str
    reference: Make
    styles: tuple[Style, ...]
    shortcuts: tuple[Shortcut, ...]
    combine: Callable[[tuple[Any, ...]], Make]


def load_suite(name: str) -> AgentSuite:
    """Import a module that has REFERENCE, ALTERNATIVES, SHORTCUTS and `combined`. Raises `AgentLoadError`."""
    return suite_of(module_named(f"agents '{name}'", name, "MODULE"))


def suite_of(module: ModuleType) -> AgentSuite:
    """Read a module's agents. Raises `AgentLoadError` that names what is missing, and what would be right."""
    wanted = {
        "REFERENCE": "a class that does the work",
        "ALTERNATIVES": "a sequence of honest styles",
        "SHORTCUTS": "a sequence of agents with FAILS, by `card:variant`",
        "combined": "a function that makes one agent class of several",
    }
    for attribute, what in wanted.items():
        if not hasattr(module, attribute):
            raise AgentLoadError(f"agents '{module.__name__}': it has no {attribute}, {what}; agents.suite is an example")
    _check(module)
    styles = tuple(Style(each.__name__, each, frozenset(getattr(each, "VOID", ()))) for each in module.ALTERNATIVES)
    shortcuts = tuple(
        Shortcut(
            each.__name__,
            _first_line(each),
            each,
            each.FAILS,
            getattr(each, "SOMETIMES", {}),
            frozenset(getattr(each, "VOID", ())),
        )
        for each in module.SHORTCUTS
    )
    return AgentSuite(module.__name__, module.REFERENCE, styles, shortcuts, module.combined)


def _check(module: ModuleType) -> None:
    """Raise `AgentLoadError` for what is no agent class, or declares what is no declaration."""
    where = f"agents '{module.__name__}'"
    for group in ("ALTERNATIVES", "SHORTCUTS"):
        if not isinstance(getattr(module, group), Sequence):
            raise AgentLoadError(f"{where}: {group} is a {type(getattr(module, group)).__name__}; it should be a sequence")
    for group in ("REFERENCE", "ALTERNATIVES", "SHORTCUTS"):
        for each in (module.REFERENCE,) if group == "REFERENCE" else getattr(module, group):
            if not isinstance(each, type) or not callable(getattr(each, "act", None)):
                raise AgentLoadError(f"{where}: {group} holds {each!r}, which is no class with start(...) and act(...)")
            if not isinstance(getattr(each, "VOID", ()), Collection) or isinstance(getattr(each, "VOID", ()), str):
                raise AgentLoadError(f"{where}: {each.__name__}.VOID should be names of variants, `card:variant`")
    for each in module.SHORTCUTS:
        for name in ("FAILS", "SOMETIMES"):
            if not isinstance(getattr(each, name, {} if name == "SOMETIMES" else None), Mapping):
                raise AgentLoadError(f"{where}: {each.__name__} has no {name} that gives an invariant for each `card:variant`")
    if not callable(module.combined):
        raise AgentLoadError(f"{where}: combined is a {type(module.combined).__name__}; it should be a function")


def _first_line(agent: Any) -> str:
    return " ".join((agent.__doc__ or "").strip().split("\n\n")[0].split())
