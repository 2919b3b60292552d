"""What a lock is over: for each part of an environment, the values whose digest stands for it.

Where a part is data, its values are that data; where it is behaviour, the text of the modules that behave. What generators
make is held by its outputs on frozen seeds, so that they can be rewritten as long as they make the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.canonical import digest
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.scenario import Coordinates, Scenario, build_scenario
from fieldops_gym.core.streams import Stream, evaluation_seeds
from fieldops_gym.core.tools import Tool
from fieldops_gym.core.world import Tables, tables_digest
from fieldops_gym.domains.field_service import generate, policies
from fieldops_gym.evaluation.quarantine import Quarantine, as_data
from fieldops_gym.evaluation.worlds import GENERATOR_VERSION, distribution
from fieldops_gym.graders import invariants_of

PACKAGE = Path(__file__).parents[1]

SEEDS = (0, 1)
"""The frozen evaluation seeds, by number, whose starts are locked."""

SIZES = (60, 400)
"""About how many records the locked outputs of a generator have."""


class Field(NamedTuple):
    """What a lock has to know of a domain that `Domain` does not say.

    `background` is its generator of records that no card asks for, `rules` what policy is made of, `directory` the tables
    that say who may do what.
    """

    background: Callable[[Stream, int], Tables]
    rules: Mapping[str, Any]
    directory: tuple[str, ...]


FIELDS: Mapping[str, Field] = {
    "field_service": Field(
        background=generate.background,
        rules={
            name: getattr(policies, name)
            for name in ("POLICIES", "SOURCES", "SOURCE_RULE", "DEPOT_RULE", "RANK_RULE", "DEPLOY_RULES", "NAMING")
        },
        directory=("policy", "person", "delegation", "release"),
    )
}  # fmt: skip
"""The domains that can be locked."""

MODULES: Mapping[str, Mapping[str, str]] = {
    "": {
        "tools": "core/tools core/calls core/catalogue core/view core/layout",
        "clock": "core/gateway core/passage core/agenda core/episode",
        "personas": "core/people core/asking",
        "faults": "core/faults",
        "budgets": "core/budget",
        "invariants": "core/judging graders/grading",
    },
    "field_service": {
        "policy": "policies rules",
        "tools": (
            "records tools tool_making handlers answering proposing service people_tools rivals view features panels notes"
        ),
        "personas": "people",
        "invariants": (
            "truth reach reach_run milestones history answers plans fresh soundness "
            "graders/account graders/answers graders/authority graders/effects graders/evidence graders/frame graders/work"
        ),
    },
}
"""Modules whose text is locked, by part: those of every domain (under ''), and a domain's own, with the graders of it.

What nobody is judged by, such as mutations, is in none.
"""


class Subject(NamedTuple):
    """What is locked: a domain, a pack of it, what is set apart of that, and its starts as (card:variant, number, start)."""

    domain: Domain
    pack: Pack
    quarantine: Quarantine
    starts: tuple[tuple[str, int, Scenario], ...]

    @classmethod
    def of(cls, domain: Domain, pack: Pack, quarantine: Quarantine) -> Subject:
        """Make the starts of every card and variant."""
        starts = tuple(
            (f"{card.id}:{variant}", seed, build_scenario(domain, pack, Coordinates(card.id, variant, evaluation_seeds(seed))))
            for _, card in sorted(pack.cards.items())
            for variant in card.variants
            for seed in SEEDS
        )
        return cls(domain, pack, quarantine, starts)


def modules(domain: str, part: str) -> tuple[str, ...]:
    """Return the modules whose text belongs to a part, as paths within the package."""
    own = MODULES[domain].get(part, "").split()
    return (*MODULES[""].get(part, "").split(), *(name if "/" in name else f"domains/{domain}/{name}" for name in own))


def text_of(module: str) -> str:
    """Return a module's text, its line ends normalised. Raises `OSError`."""
    return (PACKAGE / f"{module}.py").read_text(encoding="utf-8")


def _texts(subject: Subject, part: str) -> dict[str, str]:
    """Return the digest of the text of each module that a part rests on."""
    names = modules(subject.domain.name, part)
    return {name: hashlib.sha256(text_of(name).encode("utf-8")).hexdigest() for name in names}


def _generator(subject: Subject) -> Any:
    name = subject.domain.name
    streams = [Stream(evaluation_seeds(seed).entity, "entity") for seed in SEEDS]
    made = [tables_digest(FIELDS[name].background(stream, size)) for size in SIZES for stream in streams]
    return [GENERATOR_VERSION, distribution(name), made]


def _starts(subject: Subject) -> Any:
    return [
        [name, seed, tables_digest(start.start), dict(start.roles), start.brief.episode, start.brief.request, start.faults]
        for name, seed, start in subject.starts
    ]


def _cards(subject: Subject) -> Any:
    return {name: card.model_dump(mode="json") for name, card in subject.pack.cards.items()}


def _policy(subject: Subject) -> Any:
    field = FIELDS[subject.domain.name]
    directory = [
        [name, seed, [tables_digest(start.start, table) for table in field.directory]] for name, seed, start in subject.starts
    ]
    scopes = {contract.id: contract.scopes for contract in subject.pack.contracts.values()}
    return [field.rules, directory, scopes, _texts(subject, "policy")]


def _tools(subject: Subject) -> Any:
    domain = subject.domain
    seats = {seat: [_tool(tool) for tool in tools.values()] for seat, tools in domain.tools.items()}
    listed = {contract.id: contract.tools for contract in subject.pack.contracts.values()}
    return [seats, listed, sorted(domain.prohibited), domain.dispositions, _texts(subject, "tools")]


def _tool(tool: Tool) -> dict[str, Any]:
    """Return what a tool says of itself; its latency is the clock's, its handler is held by its module's text."""
    named = {field.name: getattr(tool, field.name) for field in dataclasses.fields(tool)}
    return {
        name: [[type(arg).__name__, arg] for arg in value] if name == "args" else value
        for name, value in named.items()
        if name not in ("handler", "latency")
    }


CLOCK = ("horizon", "restart_delay", "decision_cost", "timeout")
"""Fields of a contract that are times, in simulated seconds."""


def _clock(subject: Subject) -> Any:
    latencies = {seat: {tool.name: tool.latency for tool in tools.values()} for seat, tools in subject.domain.tools.items()}
    times = {contract.id: [getattr(contract, name) for name in CLOCK] for contract in subject.pack.contracts.values()}
    return [latencies, times, _texts(subject, "clock")]


def _personas(subject: Subject) -> Any:
    admitted = {contract.id: contract.personas for contract in subject.pack.contracts.values()}
    return [subject.pack.personas, admitted, _texts(subject, "personas")]


def _faults(subject: Subject) -> Any:
    return [subject.pack.faults, sorted(subject.domain.conditions), _texts(subject, "faults")]


def _budgets(subject: Subject) -> Any:
    limits = {contract.id: [contract.budget, contract.fallback] for contract in subject.pack.contracts.values()}
    return [limits, _texts(subject, "budgets")]


def _invariants(subject: Subject) -> Any:
    papers = [
        [*row[:-1], row.check.__module__, getattr(row.check, "__qualname__", "")] for row in invariants_of(subject.domain)
    ]
    return [papers, _texts(subject, "invariants")]


def _splits(subject: Subject) -> Any:
    return {name: row.model_dump(mode="json") for name, row in subject.pack.splits.items()}


PARTS: Mapping[str, tuple[str, Callable[[Subject], Any]]] = {
    "generator": ("what the generators make on frozen seeds", _generator),
    "starts": ("the start of every card and variant on frozen seeds", _starts),
    "cards": ("the cards", _cards),
    "policy": ("policy, directory and authority", _policy),
    "tools": ("tools, their semantics, and what a seat sees", _tools),
    "clock": ("clock and latency", _clock),
    "personas": ("personas and how they decide", _personas),
    "faults": ("the fault catalogue", _faults),
    "budgets": ("budgets", _budgets),
    "invariants": ("invariants, their papers and the modules that judge", _invariants),
    "splits": ("the split manifest", _splits),
    "quarantine": ("what is set apart", lambda subject: as_data(subject.quarantine)),
}
"""Each part: what it is, and its values."""


def part_digests(subject: Subject) -> dict[str, str]:
    """Return the digest of each part."""
    return {name: digest(values(subject)) for name, (_, values) in PARTS.items()}
