"""Where tasks come from: the pack shipped with the package, or a directory of the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from fieldops_gym.core.cards import Card, CardError, Pack, load_pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import Fault, misfit
from fieldops_gym.core.overrides import OverrideError, Overrides
from fieldops_gym.core.people import SPEAK, Opening
from fieldops_gym.core.scenario import check_overrides
from fieldops_gym.core.tools import Choice, Tool
from fieldops_gym.domains import DOMAINS
from fieldops_gym.graders import invariants_of

FRAME_SELECTORS = ("own", "proposed")
KERNEL_TABLES = ("agenda", "message", "meters", "persona")


def shipped_tasks() -> Path:
    """Return the directory of the pack that comes with the package: inside a wheel, or beside a checkout."""
    installed = Path(__file__).with_name("_tasks")
    return installed if installed.is_dir() else Path(__file__).parent.with_name("tasks")


def load_tasks(tasks: str | Path | None = None, domain: str = "field_service") -> Pack:
    """Read and check a pack for a domain. Raises `CardError` that names the file, the card, the field and the reason."""
    directory = Path(tasks) if tasks is not None else shipped_tasks() / domain
    pack = read_pack(directory)
    problems = [
        problem
        for card_problems in (check(pack, name, DOMAINS[domain]) for name in sorted(pack.cards))
        for problem in card_problems
    ]
    problems = fault_problems(pack, DOMAINS[domain]) + problems
    if problems:
        files = _files(directory)
        raise CardError("\n".join(_placed(problem, files) for problem in problems))
    return pack


def read_pack(directory: Path) -> Pack:
    """Read a pack, whatever its domain. Raises `CardError` that names the file, the field and the reason."""
    try:
        return load_pack(directory)
    except CardError as error:
        raise CardError(_placed(str(error), _files(directory))) from error
    except UnicodeDecodeError as error:
        # The error does not say where the bytes came from.
        name = next(path.relative_to(directory).as_posix() for path in sorted(directory.rglob("*.yaml")) if not _text(path))
        raise CardError(f"{name}: (the whole file): it should be UTF-8, byte {error.start} is not: {error.reason}") from error


def _text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _files(directory: Path) -> Mapping[str, str]:
    """Return the file of each card and contract, by `card 'ID'` and `contract 'ID'`; what cannot be read is left out."""
    found = {}
    for path in sorted(directory.rglob("*.yaml")) if directory.is_dir() else ():
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            kind = "contract" if path.name == "contract.yaml" else "card"
            found[f"{kind} '{data.get('id')}'"] = path.relative_to(directory).as_posix()
    return found


def _placed(problem: str, files: Mapping[str, str]) -> str:
    """Put the file before a problem that names a card, or the contract that is at fault."""
    named = re.match(r"(?:card '.*?': )?(contract '.*?'): |(card '.*?'): ", problem)
    file = files.get(named[1] or named[2]) if named else None
    return problem if file is None else f"{file}: {problem}"


def fault_problems(pack: Pack, domain: Domain) -> list[str]:
    """Return what would keep a fault of the catalogue from striking, or from doing anything when it does."""
    problems = []
    for fault in pack.faults.values():
        wrong = misfit(fault)
        if fault.tool not in domain.tools[domain.lead]:
            wrong = f"there is no tool '{fault.tool}'"
        wrong = wrong or act_problem(fault, domain)
        if fault.given and fault.given not in domain.conditions:
            wrong = f"there is no condition '{fault.given}'; there is {', '.join(domain.conditions)}"
        if wrong:
            problems.append(f"faults.yaml: fault '{fault.id}': {wrong}")
    return problems


def act_problem(fault: Fault, domain: Domain) -> str:
    """Return what is wrong with the act that a fault puts on the agenda, '' when nothing is."""
    if not fault.act:
        return ""
    seat, _, name = fault.act.partition(".")
    tool = None if seat == domain.lead else domain.tools.get(seat, {}).get(name)
    if tool is None:
        known = [f"{seat}.{tool}" for seat, tools in domain.tools.items() if seat != domain.lead for tool in tools]
        return f"there is no act '{fault.act}'; there are {', '.join(known)}"
    own = {parameter.name for parameter in fault.parameters} - {"seconds"}
    takes, given = {arg.name for arg in tool.args}, {arg.name for arg in domain.tools[domain.lead][fault.tool].args}
    if not own <= takes <= own | given:
        return f"act '{fault.act}' takes {sorted(takes)}; the fault gives {sorted(own)} and the call {sorted(given)}"
    options = {arg.name: arg.options for arg in tool.args if isinstance(arg, Choice)}
    for parameter in fault.parameters:
        for word in parameter.options:
            if word not in options.get(parameter.name, (word,)):
                return f"parameter '{parameter.name}': '{word}' is none of {', '.join(options[parameter.name])}"
    return ""


def opening_problems(opens: Opening | None, speak: Tool, roles: frozenset[str]) -> list[str]:
    """Return what is wrong with what a persona says unasked."""
    if opens is None:
        return []
    acts = next(arg.options for arg in speak.args if isinstance(arg, Choice))
    problems = []
    if opens.act not in acts:
        problems.append(f"act: '{opens.act}' is none of {', '.join(acts)}")
    if opens.role not in roles:
        problems.append(f"role: '{opens.role}' is bound by no step of the setup; bound are {', '.join(sorted(roles))}")
    if opens.after[0] > opens.after[1]:
        problems.append(f"after: {opens.after[0]} is above {opens.after[1]}")
    return problems


def use_problems(pack: Pack, card: Card, variant: str) -> list[str]:
    """Return what is wrong with the values that a variant gives to its faults."""
    try:
        check_overrides(pack, card.model_copy(update={"variants": {variant: card.variants[variant]}}), Overrides())
    except OverrideError as error:
        return [f"variants.{variant}: {error}"]
    return []


def _domain_problems(card: Card, domain: Domain) -> list[str]:
    try:
        return domain.check_card(card)
    except Exception as error:  # a card may hold anything, and its author is to be told what, by one line
        return [f"its setup, items, frame or requests cannot be read: {type(error).__name__}: {error}"]


def check(pack: Pack, name: str, domain: Domain) -> list[str]:
    """Return what is wrong with one card beyond its form: setup, roles, tools, invariants, frame, evidence paths."""
    card, known = pack.cards[name], {invariant.id for invariant in invariants_of(domain)}
    contract = pack.contracts[card.contract]
    tools = domain.tools[domain.lead]
    problems = _domain_problems(card, domain)
    problems += [f"contract '{contract.id}': tools: there is no tool '{tool}'" for tool in contract.tools if tool not in tools]
    problems += [f"hidden.invariants: there is no invariant '{i}'" for i in card.hidden.invariants if i not in known]
    for table, selector in card.hidden.frame.items():
        if table not in domain.tables and table not in KERNEL_TABLES:
            problems.append(f"hidden.frame: there is no table '{table}'")
        if selector not in FRAME_SELECTORS and not selector.startswith("$"):
            problems.append(f"hidden.frame.{table}: '{selector}' is none of {', '.join(FRAME_SELECTORS)} or a $role")
    for variant, spec in card.variants.items():
        missing = [tool for tool in spec.evidence if tool not in contract.tools]
        problems += [f"variants.{variant}.evidence: '{tool}' is not in contract '{contract.id}'" for tool in missing]
        problems += use_problems(pack, card, variant)
    seats = [seat for seat in contract.personas if seat not in domain.people]
    problems += [
        f"contract '{contract.id}': personas: there is no seat '{seat}'; there are {', '.join(domain.people)}" for seat in seats
    ]
    problems += [
        f"contract '{contract.id}': personas.{seat}: '{persona}': opens.{wrong}"
        for seat, personas in contract.personas.items()
        if seat in domain.people
        for persona in personas
        for wrong in opening_problems(pack.personas[persona].opens, domain.tools[seat][SPEAK], domain.roles(card))
    ]
    if contract.fallback not in domain.dispositions:
        problems.append(f"contract '{contract.id}': fallback: there is no disposition '{contract.fallback}'")
    return [f"card '{name}': {problem}" for problem in problems]
