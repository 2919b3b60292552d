"""The documentation page of an environment, in Markdown: its class's docstring, and tables of everything that is data.

What a card keeps hidden stays out of it: its variants are counted, not told.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldops_gym.core.calls import MESSAGES
from fieldops_gym.core.cards import Card, Contract, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import Fault
from fieldops_gym.core.layout import Layout
from fieldops_gym.core.people import Persona
from fieldops_gym.core.tools import Argument, Choice, Quantity, Ref, Tool, expected_by
from fieldops_gym.domains import DOMAINS
from fieldops_gym.envs import FieldOpsEnv
from fieldops_gym.envs.arguments import ARGUMENTS, OPTIONS
from fieldops_gym.envs.spaces import observation_space
from fieldops_gym.evaluation import markdown
from fieldops_gym.graders import invariants_of
from fieldops_gym.registry import EnvRow

SECTIONS = ("Observation", "Action", "Reward", "Ending", "Example")
"""The sections that the docstring of a family, or of its base, has; a page has them in this order."""

EXAMPLE_ID = "FieldOps-Effect-v0"
"""The id that the example in the base's docstring makes; a page has its own in its place."""

UNITS = {"simulated_time": "simulated seconds"}
"""Units of meters that are not plain counts."""

USED_UP = {
    "retries": "no more calls of a tool with an effect that has been sent before",
    "effect_attempts": "no more calls of tools with an effect",
}
"""What happens at the end of the meters that do not end the episode."""


def page(row: EnvRow, pack: Pack) -> str:
    """Return the page of an environment. Raises `ValueError` when its docstring lacks a section."""
    domain = DOMAINS[row.domain]
    layout = domain.layouts[domain.lead]
    cards = pack.select(row.family, "all")
    contracts = tuple(pack.contracts[name] for name in dict.fromkeys(card.contract for card in cards))
    intro, prose = _prose(class_of(row))
    parts = [
        [f"# {row.id}", intro, *_facts(row, domain, layout)],
        ["## Arguments and options", *_arguments()],
        ["## Observation", prose["Observation"], *_observation(layout)],
        ["## Action", prose["Action"], *_action(layout)],
        ["## Reward", prose["Reward"]],
        ["## Ending", prose["Ending"], *_budgets(contracts)],
        ["## Example", prose["Example"].replace(EXAMPLE_ID, row.id)],
        ["## Tools", *_tools(domain, contracts)],
        ["## Cards", *_cards(cards, pack)],
        ["## Faults", *_faults(pack, contracts)],
        ["## People", *_people(pack, contracts)],
        ["## Invariants", *_invariants(domain)],
        ["## What is unlike a real system", *_fidelity(domain)],
    ]
    return "\n\n".join(block for part in parts for block in part) + "\n"


def write(directory: Path, pages: Mapping[str, str]) -> tuple[Path, ...]:
    """Write pages, by the id of their environment, into a directory; return their files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in pages.items():
        path = directory / f"{name}.md"
        part = path.with_name(f".{path.name}.part")
        part.write_text(text, encoding="utf-8")
        written.append(part.replace(path))
    return tuple(written)


def budget_words(limits: Mapping[str, int]) -> str:
    """Return a budget in one line, with units."""
    return ", ".join(f"{limit} {UNITS.get(meter, meter.replace('_', ' '))}" for meter, limit in limits.items())


def class_of(row: EnvRow) -> type[FieldOpsEnv]:
    """Return the class behind an environment's id."""
    module, _, name = row.entry_point.partition(":")
    return getattr(import_module(module), name)


def _prose(family: type[FieldOpsEnv]) -> tuple[str, dict[str, str]]:
    """Return what a family's docstring says before its sections, and the sections by name, its own before its base's."""
    intro, own = _taken_apart(family)
    sections = _taken_apart(FieldOpsEnv)[1] | own
    if set(sections) != set(SECTIONS):
        have, need = sorted(sections), sorted(SECTIONS)
        raise ValueError(f"{family.__name__}: its docstring and its base's have sections {have}; a page needs {need}")
    return intro, sections


def _taken_apart(family: type[FieldOpsEnv]) -> tuple[str, dict[str, str]]:
    text = inspect.cleandoc(family.__doc__ or "")
    intro, *rest = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return intro.strip(), dict(zip(rest[::2], (body.strip() for body in rest[1::2]), strict=True))


def _facts(row: EnvRow, domain: Domain, layout: Layout) -> Iterator[str]:
    sizes = ", ".join(map(str, layout.catalogue.nvec))
    yield markdown.table(
        ("", ""),
        [
            ("make", f'`gymnasium.make("{row.id}")`, after `import fieldops_gym`'),
            ("domain, family", f"`{domain.name}`, `{row.family}`"),
            ("seat", f"`{domain.lead}`"),
            ("action space", f"`MultiDiscrete([{sizes}])`"),
            ("observation space", f"`Dict` of {len(layout.sections)} arrays, {layout.width} numbers in all"),
            ("call menu", f"{len(layout.catalogue.entries)} calls (`CallMenu` makes them one `Discrete`)"),
            ("reward", "0.0 or 1.0"),
        ],
    )


def _arguments() -> Iterator[str]:
    given = inspect.signature(FieldOpsEnv.__init__).parameters
    yield "Keyword arguments of `gymnasium.make`:"
    rows = [(f"`{term.name}`", term.takes, f"`{given[term.name].default!r}`", term.meaning) for term in ARGUMENTS]
    yield markdown.table(("argument", "takes", "default", "meaning"), rows)
    yield "Options of `reset(options={...})`; one that is left out or None changes nothing, an unknown one is logged:"
    yield markdown.table(("option", "takes", "meaning"), [(f"`{term.name}`", term.takes, term.meaning) for term in OPTIONS])


def _observation(layout: Layout) -> Iterator[str]:
    rows = []
    for name, box in observation_space(layout).items():
        table = layout.tables.get(name)
        what = f"{table.capacity} x {len(table.fields)}: rows of table `{name}`" if table else "numbers about no single record"
        rows.append((f"`{name}`", str(box.dtype), str(box.shape), what))
    yield markdown.table(("key", "dtype", "shape", "what"), rows)
    yield "Number *n* of row *r*, both from 0, is at place *r* x (numbers per row) + *n*."
    panels = {"clock": layout.clock.fields, "situation": layout.situation.fields, "last": layout.last}
    for name in layout.sections:
        fields = panels.get(name) or layout.tables[name].fields
        yield f"### `{name}`"
        yield markdown.table(("n", "name", "meaning"), [(str(n), f"`{f.name}`", f.meaning) for n, f in enumerate(fields)])
    yield "### What replies show"
    yield "A reply in JSON shows these columns of a record; those in the last column only where it shows the record whole."
    yield markdown.table(
        ("table", "rows at most", "columns", "when whole"),
        [(f"`{t.name}`", str(t.capacity), markdown.code(t.columns), markdown.code(t.details)) for t in layout.tables.values()],
    )


def _action(layout: Layout) -> Iterator[str]:
    options = {arg.name: _levels(arg) for tool in layout.catalogue.tools for arg in tool.args if not isinstance(arg, Ref)}
    rows = []
    for place, slot in enumerate(layout.catalogue.slots):
        if slot.name == "tool" and not place:
            values = markdown.code(tool.name for tool in layout.catalogue.tools)
        elif slot.name in layout.tables:
            values = f"0 none, {'1' if slot.size == 2 else f'1 to {slot.size - 1}'} the row of table `{slot.name}`"
        else:
            values = markdown.code(options[slot.name])
        rows.append((str(place), f"`{slot.name}`", str(slot.size), values))
    yield markdown.table(("place", "slot", "size", "values, from 0"), rows)


def _budgets(contracts: Sequence[Contract]) -> Iterator[str]:
    for contract in contracts:
        rows = []
        for meter, limit in contract.budget.items():
            rows.append((f"`{meter}`", str(limit), UNITS.get(meter, "count"), USED_UP.get(meter, "the episode ends")))
        yield f"Budget of contract `{contract.id}` (version {contract.version}):"
        yield markdown.table(("meter", "limit", "unit", "when it is used up"), rows)
        yield (
            f"Times in simulated seconds: each decision takes {contract.decision_cost}, a call without an answer "
            f"{contract.timeout}, a restart after a crash {contract.restart_delay}; the horizon is {contract.horizon}. Where "
            f"the agent gives no account, the harness gives `{contract.fallback}`."
        )


def _tools(domain: Domain, contracts: Sequence[Contract]) -> Iterator[str]:
    tools = domain.tools[domain.lead]
    offered = {name for contract in contracts for name in contract.tools}
    rows = []
    for tool in tools.values():
        lag = f"{tool.latency.outbound} + {tool.latency.inbound}"
        rows.append((f"`{tool.name}`", tool.scope, str(tool.consequence), lag, "yes" if tool.name in offered else "no"))
    yield markdown.table(("tool", "scope", "consequence", "latency: out + back, simulated seconds", "offered here"), rows)
    for tool in tools.values():
        yield from _tool(tool)
    yield "### Answers"
    yield "Any call may be refused, or stay without an answer, for one of these reasons; the tools above say what theirs mean."
    yield markdown.table(("code", "message"), [(f"`{code}`", text) for code, text in MESSAGES.items()])
    yield f"Prohibited, and recorded when called: {markdown.code(sorted(domain.prohibited))}."


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### `{tool.name}`"
    traits = [f"version {tool.version}"]
    traits += ["its intent is in the journal before it is sent"] if tool.journaled else []
    traits += ["what came of it is in the journal"] if tool.recorded else []
    traits += ["irreversible"] if tool.semantics.irreversible else []
    traits += [f"counterparty: {tool.semantics.counterparty}"] if tool.semantics.counterparty else []
    yield f"{tool.description} ({'; '.join(traits)})"
    if tool.args:
        rows = [(f"`{arg.name}`", _takes(arg), arg.description) for arg in tool.args]
        yield markdown.table(("argument", "takes", "meaning"), rows)
    lines = [f"- Idempotency: {tool.semantics.idempotency}", f"- Freshness: {tool.semantics.freshness}"]
    lines += [f"- Error `{code}`: {meaning}" for code, meaning in tool.semantics.errors]
    yield "\n".join(lines)


def _cards(cards: Sequence[Card], pack: Pack) -> Iterator[str]:
    yield "What decides a variant, and what is checked with which parameters, is hidden from agents and left out here."
    rows = [
        (card.id, pack.splits[card.id].split, card.segment, str(len(card.variants)), f"`{card.contract}`", card.claim, card.why)
        for card in cards
    ]
    yield markdown.table(("card", "split", "segment", "variants", "budget", "claim", "why"), rows)


def _faults(pack: Pack, contracts: Sequence[Contract]) -> Iterator[str]:
    offered = {name for contract in contracts for name in contract.tools}
    yield "The catalogue, for `faults=...` and `FaultInjection`; calls are counted from 1, and `times` 0 is without end."
    for fault in pack.faults.values():
        if fault.tool in offered:
            yield from _record(fault, {"parameters": _parameters(fault)})


def _parameters(fault: Fault) -> str:
    ranges = [(p.name, " or ".join(p.options) if p.options else f"{p.low} to {p.high}") for p in fault.parameters]
    return "; ".join(f"{name}: {values}" for name, values in ranges)


def _people(pack: Pack, contracts: Sequence[Contract]) -> Iterator[str]:
    yield "Scripted people, for `people=...`. Each seat has the first one named unless the card's variant has another."
    seats: dict[str, list[str]] = {}
    for contract in contracts:
        for seat, names in contract.personas.items():
            seats.setdefault(seat, []).extend(name for name in names if name not in seats.get(seat, ()))
    yield markdown.table(("seat", "personas"), [(f"`{seat}`", markdown.code(names)) for seat, names in seats.items()])
    for name in dict.fromkeys(name for names in seats.values() for name in names):
        persona = pack.personas[name]
        low, high = persona.delay
        yield from _record(persona, {"delay": f"{low} to {high} simulated seconds"})


def _record(record: Fault | Persona, told: Mapping[str, str]) -> Iterator[str]:
    """Tell a record field by field; `told` has those that need words of their own, and what is empty is left out."""
    yield f"### `{record.id}`"
    pairs = [(name, told.get(name, _words(value))) for name, value in zip(record._fields, record, strict=True)]
    yield "\n".join(f"- {name.replace('_', ' ')}: {words}" for name, words in pairs if words and name != "id")


def _words(value: Any) -> str:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return "; ".join(f"{name} {_words(item)}" for name, item in zip(value._fields, value, strict=True))
    if isinstance(value, tuple):
        return ", ".join(": ".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value)
    return "" if value is None else str(value)


def _invariants(domain: Domain) -> Iterator[str]:
    yield 'In the order of `info["verdicts"]`. Severity harm or wrong fails the episode; advisory counts for nothing.'
    rows = [
        (str(n), f"`{i.id}`", i.version, str(i.layer), i.severity.name.lower(), i.policy, i.rationale)
        for n, i in enumerate(invariants_of(domain))
    ]
    yield markdown.table(("n", "invariant", "version", "layer", "severity", "policy", "rationale"), rows)


def _fidelity(domain: Domain) -> Iterator[str]:
    where: dict[tuple[str, ...], list[str]] = {}
    for tool in domain.tools[domain.lead].values():
        for row in tool.fidelity:
            where.setdefault((row.real, row.ours, row.gap, row.leaning, markdown.code(row.verdicts)), []).append(tool.name)
    rows = [(*row, markdown.code(tools)) for row, tools in where.items()]
    yield markdown.table(("real systems", "this one", "gap", "it is", "verdicts affected", "tools"), rows)


def _takes(arg: Argument) -> str:
    if isinstance(arg, Ref) and arg.by:
        return f"by `{arg.by}`, the id of a: " + "; ".join(f"{option}: {' or '.join(tables)}" for option, tables in arg.per)
    if isinstance(arg, Quantity):
        return f"{expected_by(arg, given_missing=False)}; as an action one of {', '.join(map(str, arg.levels))}"
    return expected_by(arg, given_missing=False)


def _levels(arg: Argument) -> tuple[object, ...]:
    if isinstance(arg, Choice):
        return arg.options
    return arg.levels if isinstance(arg, Quantity) else ()
