"""What a run is refused for before its first trial: results that it would leave could not be relied on.

It is refused when the lock does not match, when a start breaks its world invariants, and when a grader cannot observe what it
is asked to judge. The last is tried: of each card and variant a run is judged in which the agent finishes at once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.judging import Invariant, Judged, Severity
from fieldops_gym.core.scenario import Scenario, build_scenario
from fieldops_gym.core.tools import Choice, Ref
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.lock import State, check_lock
from fieldops_gym.evaluation.trials import RunSettings, TrialPlan
from fieldops_gym.graders import grade, invariants_of

FINISH = "finish"
"""The tool by which a seat ends its run, in every domain."""

STARTS = 1000
"""So many starts of a run are made beforehand, those of early seeds first; the rest are checked as their trials begin."""

GRADERS = "fieldops_gym.graders."


class RefusedError(Exception):
    """A run would leave results that could not be relied on. The message says why."""


def check_run(settings: RunSettings, pack: Pack, plans: Sequence[TrialPlan]) -> None:
    """Refuse a run that could not be relied on. Raises `RefusedError` with the first reason, and as `check_lock` does."""
    for reason in reasons(DOMAINS[settings.domain], pack, plans):
        raise RefusedError(f"refused: {reason}")


def reasons(domain: Domain, pack: Pack, plans: Sequence[TrialPlan]) -> Iterator[str]:
    """Yield what speaks against running some trials: of the lock, of their starts, of the graders, in this order."""
    checked = check_lock(domain, pack)
    if checked.state in (State.DIFFERS, State.MISSING):
        yield f"the lock: {checked.told}"
    for plan in _early(plans):
        yield from _unsound(domain, pack, plan)
    first: dict[tuple[str, str], TrialPlan] = {}
    for plan in plans:
        first.setdefault((plan.coordinates.card, plan.coordinates.variant), plan)
    roles = {row.id: roles_read(row.check) for row in invariants_of(domain)}
    for plan in first.values():
        yield from unobservable(domain, pack, plan, roles)


def _early(plans: Sequence[TrialPlan]) -> list[TrialPlan]:
    """Return at most `STARTS` trials, each card's first before any card's second."""
    turns: dict[str, int] = {}
    ranked = []
    for place, plan in enumerate(plans):
        turn = turns.get(plan.coordinates.card, 0)
        turns[plan.coordinates.card] = turn + 1
        ranked.append((turn, place))
    return [plans[place] for _, place in sorted(ranked)[:STARTS]]


def _unsound(domain: Domain, pack: Pack, plan: TrialPlan) -> Iterator[str]:
    try:
        start = build_scenario(domain, pack, plan.coordinates).start
        broken = domain.broken(start, start)
    except Exception as error:
        yield f"reset: trial {plan.trial} cannot be set up: {_told(error)}"
        return
    if broken:
        wrong = " ".join(map(str, broken[0])) if isinstance(broken[0], tuple) else str(broken[0])
        yield f"reset: the start of trial {plan.trial} breaks a world invariant: {wrong}"


def unobservable(domain: Domain, pack: Pack, plan: TrialPlan, roles: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield what the graders of a trial could not see: roles and records that are not there, or the end of a run itself.

    `roles` are those that each invariant takes for granted (`roles_read`), by its id.
    """
    where = f"graders: trial {plan.trial}"
    try:
        scenario = build_scenario(domain, pack, plan.coordinates)
        asked = [row for row in invariants_of(domain) if row.id in scenario.card.hidden.invariants]
        yield from (f"{where}: {missing}" for missing in _missing(scenario, asked, roles))
        if not any(row.severity < Severity.ADVISORY for row in asked):
            yield f"{where}: the card asks for no hard invariant, so that every run would pass"
        episode = Episode(domain, pack, plan.coordinates)
        _finish(episode)
        if not episode.ended:
            yield f"{where}: `{FINISH}` does not end a run at once, so that no grader sees its end"
            return
        verdicts = grade(domain, episode.trial()).verdicts
    except Exception as error:
        yield f"{where}: a run that is finished at once cannot be judged: {_told(error)}"
        return
    for verdict in verdicts:
        if verdict.state == Judged.NOT_JUDGED:
            yield f"{where}: invariant '{verdict.invariant}' says nothing of a run that has ended"


def _missing(scenario: Scenario, asked: Iterable[Invariant], roles: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield the roles that the card or its invariants name and the start does not have, or not where they should be."""
    card = scenario.card
    named = [(f"item '{item.name}'", item.subject, "") for item in card.items]
    named += [(f"frame of '{table}'", selector, table) for table, selector in card.hidden.frame.items()]
    for row in asked:
        parameters = card.hidden.invariants[row.id].values()
        named += [(f"invariant '{row.id}'", value, "") for value in parameters if isinstance(value, str)]
        named += [(f"invariant '{row.id}'", f"${role}", "") for role in sorted(roles[row.id])]
    for what, name, table in named:
        if not name.startswith("$"):
            continue
        keys = scenario.roles.get(name[1:], ())
        tables = [scenario.start.get(table, {})] if table else list(scenario.start.values())
        lost = [key for key in keys if not any(key in rows for rows in tables)]
        if not keys:
            yield f"{what} needs the role {name}, which the start does not bind"
        elif lost:
            yield f"{what} needs the record '{lost[0]}' of role {name}, which the start does not have{_within(table)}"


def _within(table: str) -> str:
    return f" in table '{table}'" if table else ""


def roles_read(check: Callable[..., Any]) -> frozenset[str]:
    """Return the roles that a check takes for granted, by its own text and that of the graders' functions that it names."""
    found, rest, seen = set(), [check], set()
    while rest:
        function = rest.pop()
        if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith(GRADERS):
            continue
        seen.add(function)
        found |= set(re.findall(r"""roles\[["'](\w+)["']\]""", inspect.getsource(function)))
        rest += [function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__]
    return frozenset(found)


def _finish(episode: Episode) -> None:
    """End a run with the first call, as the card's fallback ending about the first record in view that may be named."""
    tool = episode.domain.tools[episode.lead].get(FINISH)
    if tool is None:
        return
    given: dict[str, str] = {}
    for arg in tool.args:
        if isinstance(arg, Choice):
            fallback = episode.scenario.contract.fallback
            given[arg.name] = fallback if fallback in arg.options else arg.options[0]
    rows = episode.view().rows
    for arg in tool.args:
        if isinstance(arg, Ref):
            tables = arg.tables_for(given[arg.by]) if arg.by else arg.tables
            given[arg.name] = next((record.id for table in tables for record in rows.get(table, ())), "")
    episode.call(ToolCall.of(FINISH, **given))


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
