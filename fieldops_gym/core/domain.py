"""What a world hands to the kernel, and all that the kernel knows of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fieldops_gym.core.layout import Layout
from fieldops_gym.core.people import Policy
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import Request, Showing, Tool
from fieldops_gym.core.world import Tables, World

if TYPE_CHECKING:
    from fieldops_gym.core.cards import Card, Contract, Variant
    from fieldops_gym.core.judging import Trial
    from fieldops_gym.core.scenario import Scenario


class Built(NamedTuple):
    """A start made from a card: tables, the roles that the setup bound, and the request's text."""

    tables: Tables
    roles: Mapping[str, tuple[str, ...]]
    request: str


class Decision(NamedTuple):
    """A policy decision: whether the call is permitted, by which rule, and why. `reads` are the records it rests on."""

    permit: bool
    rule: str
    reason: str
    reads: tuple[tuple[str, str], ...] = ()


class Ending(NamedTuple):
    """An ending that the truth accepts: a disposition and the subjects it may name. `why` is for people."""

    disposition: str
    subjects: tuple[str, ...]
    why: str


class Truth(NamedTuple):
    """What a domain knows of right endings.

    `accepted(trial)` gives the endings a rule-abiding seat may end in; `completion(trial, right)` how far the work came;
    `milestones(world, view, scenario)` a bit per name in `names`, cheap enough for every step.
    `unjudged` are tools that, like reads, can break no hard invariant: they put nothing forward.
    """

    accepted: Callable[[Trial], tuple[Ending, ...]]
    completion: Callable[[Trial, bool], str]
    names: tuple[str, ...]
    milestones: Callable[[World, Any, Scenario], tuple[bool, ...]]
    unjudged: frozenset[str]


@dataclass(frozen=True)
class Domain:
    """A world. `tools` and `layouts` are by seat; `prohibited` are names whose very use is an attempt.

    `build(card, variant, contract, stream, entities)` makes a start; `broken(tables, start)` lists broken world
    invariants; `authorise(world, seat, tool, values, now)` is asked at the time of effect; `opening(scenario, world)` says
    what a brief shows, `deliver(world, request)` what a request shows to the person asked; `teardown` gives the writes that
    end a run; `roles(card)` names what its setup binds. `conditions` are what faults may depend on, by name, over the world
    and the call's values.
    """

    name: str
    lead: str
    tables: Mapping[str, type]
    tools: Mapping[str, Mapping[str, Tool]]
    layouts: Mapping[str, Layout]
    prohibited: frozenset[str]
    build: Callable[[Card, Variant, Contract, Stream, int], Built]
    broken: Callable[[Tables, Tables], Sequence[Any]]
    authorise: Callable[[World, str, Tool, tuple[Any, ...], int], Decision]
    opening: Callable[[Scenario, World], tuple[Showing, ...]]
    deliver: Callable[[World, Request], tuple[Showing, ...]]
    teardown: Callable[[World], tuple[Any, ...]]
    people: Mapping[str, Policy]
    conditions: Mapping[str, Callable[[World, tuple[Any, ...]], bool]]
    truth: Truth
    dispositions: tuple[str, ...]
    check_card: Callable[[Card], list[str]]
    roles: Callable[[Card], frozenset[str]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        return self
