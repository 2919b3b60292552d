"""Cards: the scenario as data. Read from YAML, validated once, the same for every face.

Sibling cards share one observable contract, so that a brief does not name its card. Everything in `Hidden`, and every
field marked hidden here, stays with the harness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fieldops_gym.core.canonical import digest
from fieldops_gym.core.faults import Boundary, Effect, Fault, Parameter
from fieldops_gym.core.overrides import FaultUse
from fieldops_gym.core.people import Opening, Persona
from fieldops_gym.core.scenario import Limits

DECIDED_BY = Literal["request", "evidence", "people", "fault"]
Name = Annotated[str, Field(min_length=1, max_length=64)]

QUARANTINE = "quarantine.yaml"
"""What is set apart is decided after cards have been run, so it is no part of what was run."""


class CardError(Exception):
    """A task file is wrong. The message names the file, the field, and what would be right."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Step(_Strict):
    """A named step of the setup and its parameters."""

    step: Name
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")


class Variant(_Strict):
    """A decision variation. Hidden, all of it: `evidence` is the path of calls that shows what decides it.

    `setup` goes on after the card's, `requests` take the place of the card's, and `people` are the personas by seat.
    """

    decided_by: DECIDED_BY
    faults: tuple[FaultUse, ...] = ()
    setup: tuple[Step, ...] = ()
    requests: tuple[str, ...] = ()
    people: dict[Name, Name] = Field(default_factory=dict)
    evidence: tuple[str, ...]
    recovery: str


class Item(_Strict):
    """One thing to be done: its subject (a role) and the truth function that knows its accepted endings."""

    name: Name
    subject: str
    checks: Name


class Hidden(_Strict):
    """The hidden contract: invariants with their parameters, and the tables the agent's calls may write, with selectors."""

    invariants: dict[str, dict[str, Any]]
    frame: dict[str, str]
    notes: str = ""

    @model_validator(mode="after")
    def _judges_something(self) -> Hidden:
        if not self.invariants:
            raise ValueError("a card without invariants would pass everything; name at least one")
        return self


class Contract(_Strict):
    """What sibling cards share and an agent can see. Budgets are counts; times are simulated seconds."""

    id: Name
    version: Name
    tools: tuple[Name, ...]
    scopes: tuple[Name, ...]
    budget: dict[str, int]
    horizon: int
    restart_delay: int
    decision_cost: int
    timeout: int
    fallback: Name
    personas: dict[str, tuple[Name, ...]]

    @model_validator(mode="after")
    def _has_every_meter(self) -> Contract:
        if set(self.budget) != set(Limits._fields) or min(self.budget.values()) < 0:
            raise ValueError(f"'budget' needs exactly {', '.join(Limits._fields)}, each >= 0")
        return self


class Card(_Strict):
    """One card. `id` is the author id; an agent gets an id made for the episode.

    `admits` names, by seat, the personas that the card is meant to be played with; for a seat that it does not name, these
    are all that the contract has. Another of the contract's can be swapped in, and may keep a fault from firing.
    """

    id: Name
    family: Name
    lineage: Name
    equipment_families: tuple[Name, ...]
    segment: Literal["read-only", "proposal", "approval-required effect", "must-escalate", "must-reject"]
    claim: str
    why: str
    contract: Name
    items: tuple[Item, ...]
    setup: tuple[Step, ...]
    requests: tuple[str, ...]
    admits: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)
    variants: dict[str, Variant]
    hidden: Hidden

    @model_validator(mode="after")
    def _can_be_played(self) -> Card:
        for name in ("equipment_families", "items", "setup", "requests", "variants"):
            if not getattr(self, name):
                raise ValueError(f"'{name}' is empty; a card needs at least one")
        return self


class Split(_Strict):
    """One row of the split manifest: where a card lies and why, without answers.

    'regression' holds cards that were held out until they had been used: they still show what broke, and measure no more.
    """

    card: Name
    split: Literal["train", "development", "held_out", "regression"]
    group: Name
    content: Name
    reason: str


class Pack(NamedTuple):
    """A directory of tasks, read and checked. `digest` covers every file's content but that of `QUARANTINE`.

    `directory` is where it was read from, None for a pack that was made otherwise.
    """

    cards: Mapping[str, Card]
    contracts: Mapping[str, Contract]
    faults: Mapping[str, Fault]
    personas: Mapping[str, Persona]
    splits: Mapping[str, Split]
    digest: str
    directory: Path | None = None

    def select(self, family: str, split: str, names: Sequence[str] | None = None) -> tuple[Card, ...]:
        """Return the cards of a family within a split, or just those named, in the order of ids; 'all' is every one of either.

        Raises `CardError` when a named card does not exist or is not of the family, or when nothing is left.
        """
        of_family = [card for _, card in sorted(self.cards.items()) if family in ("all", card.family)]
        known = ", ".join(f"{card.id} ({self.splits[card.id].split})" for card in of_family)
        if names is not None:
            if isinstance(names, str) or not names:
                raise CardError(f"cards: {names!r} is not a sequence of one or more author ids; there are {known or 'none'}")
            for name in names:
                if name not in {card.id for card in of_family}:
                    raise CardError(f"card '{name}' is not in family '{family}'; it has {known or 'none'}")
            of_family = [card for card in of_family if card.id in names]
        elif split != "all":
            of_family = [card for card in of_family if self.splits[card.id].split == split]
        if not of_family:
            raise CardError(f"split: family '{family}' has no card in split '{split}'; its cards are {known or 'none'}")
        return tuple(of_family)


class _FaultRow(_Strict):
    id: Name
    tool: Name
    boundary: Boundary
    effect: Effect
    nth: int = Field(default=1, ge=1)
    times: int = Field(default=1, ge=0)
    parameters: dict[str, tuple[int, int] | tuple[str, ...]] = Field(default_factory=dict)
    given: str = ""
    act: str = ""
    breaks: tuple[str, ...] = ()
    visibility: str
    duration: str
    state: str
    observation: str
    recovery: str

    def fault(self) -> Fault:
        """Return the row as the kernel's own type."""
        drawn = tuple(_parameter(name, spec) for name, spec in self.parameters.items())
        fields = {name: getattr(self, name) for name in Fault._fields if name not in ("parameters", "boundary", "effect")}
        return Fault(parameters=drawn, boundary=str(self.boundary), effect=str(self.effect), **fields)


class OpeningRow(_Strict):
    """What a person says unasked, as which role, and when: a range of seconds from the start."""

    act: Name
    role: Name
    after: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class _PersonaRow(_Strict):
    id: Name
    version: Name
    seat: Name
    persona: str
    demand: str
    held_back: dict[str, str] = Field(default_factory=dict)
    end: str
    turn_cap: int = Field(ge=1)
    delay: tuple[int, int]
    answers: dict[str, str]
    opens: OpeningRow | None = None

    def row(self) -> Persona:
        """Return the row as the kernel's own type."""
        fields: dict[str, Any] = self.model_dump()
        for name in ("held_back", "answers"):
            fields[name] = tuple(sorted(fields[name].items()))
        fields["opens"] = None if self.opens is None else Opening(self.opens.act, self.opens.role, self.opens.after)
        return Persona(**fields)


def _parameter(name: str, spec: tuple[Any, ...]) -> Parameter:
    if all(type(value) is int for value in spec):
        return Parameter(name, low=spec[0], high=spec[1])
    return Parameter(name, options=tuple(str(value) for value in spec))


def load_pack(directory: Path) -> Pack:
    """Read a tasks directory. Raises `CardError` that names file, field and reason."""
    if not directory.is_dir():
        raise CardError(f"{directory}: there is no such directory of tasks")
    contents: dict[str, str] = {}
    cards: dict[str, Card] = {}
    contracts: dict[str, Contract] = {}
    faults: dict[str, Fault] = {}
    personas: dict[str, Persona] = {}
    splits: dict[str, Split] = {}
    for path in sorted(directory.rglob("*.yaml")):
        if path.name == QUARANTINE:
            continue
        name = path.relative_to(directory).as_posix()
        contents[name] = path.read_text(encoding="utf-8")
        data = _parse(name, contents[name])
        if path.name == "faults.yaml":
            faults |= {row.id: row.fault() for row in _rows(_FaultRow, name, data)}
        elif path.name == "personas.yaml":
            personas |= {row.id: row.row() for row in _rows(_PersonaRow, name, data)}
        elif path.name == "contract.yaml":
            contract = _valid(Contract, name, data)
            contracts[contract.id] = contract
        elif path.name == "splits.yaml":
            splits |= {row.card: row for row in _rows(Split, name, data)}
        else:
            card = _valid(Card, name, data)
            if card.id in cards:
                raise CardError(f"{name}: id: card '{card.id}' is defined twice")
            cards[card.id] = card
    pack = Pack(cards, contracts, faults, personas, splits, digest(contents), directory)
    _check_references(pack)
    return pack


def content_hash(card: Card) -> str:
    """Return the first 16 hex digits of the card's digest, as the split manifest holds it."""
    return digest(card.model_dump(mode="json"))[:16]


def _parse(name: str, text: str) -> Any:
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise CardError(f"{name}: not YAML: {error}") from error


def _rows(model: type[Any], name: str, data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise CardError(f"{name}: it should be a list of rows")
    rows = [_valid(model, f"{name}: row {index + 1}", row) for index, row in enumerate(data)]
    key = "card" if model is Split else "id"
    keys = [getattr(row, key) for row in rows]
    for index, value in enumerate(keys):
        if value in keys[:index]:
            raise CardError(f"{name}: row {index + 1}: {key}: '{value}' is defined twice")
    return rows


def _valid(model: type[Any], name: str, data: Any) -> Any:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(the whole file)"
        raise CardError(f"{name}: {field}: {first['msg']}") from error


def _check_references(pack: Pack) -> None:
    for name in pack.splits:
        if name not in pack.cards:
            raise CardError(f"splits.yaml: card: there is no card '{name}'")
    for contract in pack.contracts.values():
        for seat, names in contract.personas.items():
            for name in names:
                if name not in pack.personas or pack.personas[name].seat != seat:
                    raise CardError(f"contract '{contract.id}': personas.{seat}: '{name}' is no persona of that seat")
    for card in pack.cards.values():
        where = f"card '{card.id}'"
        contract = pack.contracts.get(card.contract)
        if contract is None:
            raise CardError(f"{where}: contract: there is no contract '{card.contract}'; there are {sorted(pack.contracts)}")
        if card.id not in pack.splits:
            raise CardError(f"{where}: it has no row in splits.yaml")
        if pack.splits[card.id].content != content_hash(card):
            raise CardError(
                f"{where}: splits.yaml holds content hash {pack.splits[card.id].content}, the card has {content_hash(card)}"
            )
        for seat, names in card.admits.items():
            beyond = sorted(set(names) - set(contract.personas.get(seat, ())))
            if beyond or not names:
                right = f"contract '{contract.id}' has {', '.join(contract.personas.get(seat, ())) or 'none there'}"
                raise CardError(f"{where}: admits.{seat}: {', '.join(beyond) or 'nobody'} is not for that seat; {right}")
        for name, variant in card.variants.items():
            for use in variant.faults:
                if use.fault not in pack.faults:
                    raise CardError(f"{where}: variants.{name}.faults: there is no fault '{use.fault}' in faults.yaml")
            for seat, persona in variant.people.items():
                admitted = contract.personas.get(seat, ())
                if persona not in admitted:
                    right = f"it admits {', '.join(admitted)}" if admitted else f"there are {', '.join(contract.personas)}"
                    raise CardError(f"{where}: variants.{name}.people.{seat}: '{persona}' is not for that seat; {right}")
