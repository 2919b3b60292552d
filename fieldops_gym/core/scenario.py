"""A scenario: one card with its coordinates resolved into a start, armed faults, personas and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.faults import ArmedFault, Fault, Parameter
from fieldops_gym.core.overrides import OverrideError, Overrides, plain_use
from fieldops_gym.core.people import OUTSIDE, SPEAK, UNASKED, AgendaItem, Persona, PersonaState
from fieldops_gym.core.streams import Seeds, Stream
from fieldops_gym.core.world import Tables

if TYPE_CHECKING:
    from fieldops_gym.core.cards import Card, Contract, Pack, Variant
    from fieldops_gym.core.domain import Domain


MOST_SECONDS = 10**9
"""The longest that a fault may take, in simulated seconds."""


class Coordinates(NamedTuple):
    """What fixes an episode: author id of the card, variant, seeds, overrides. Replay needs these and the calls."""

    card: str
    variant: str
    seeds: Seeds
    overrides: Overrides = Overrides()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Coordinates:
        """Read coordinates back from their JSON form (`canonical.plain` of this tuple)."""
        overrides = {name: _tuples(value) for name, value in given["overrides"].items()}
        return cls(given["card"], given["variant"], Seeds(**given["seeds"]), Overrides(**overrides))


class Meters(NamedTuple):
    """What a seat has used so far, in counts. Time is the world's clock.

    `effect_attempts` counts calls of tools that make effects, `retries` those of a tool that has been
    sent before, which a call that policy denied was not. `model_calls` counts what an agent's harness
    charges for asking a model.
    """

    id: str
    turns: int = 0
    tool_calls: int = 0
    retries: int = 0
    effect_attempts: int = 0
    model_calls: int = 0


class Limits(NamedTuple):
    """The budget: counts, and simulated seconds. The end of turns, tool calls, model calls or time ends the run."""

    turns: int
    tool_calls: int
    retries: int
    effect_attempts: int
    simulated_time: int
    model_calls: int


class Brief(NamedTuple):
    """What the lead seat is given at the start, and again after a crash. The episode id is made for the episode."""

    episode: str
    seat: str
    request: str
    tools: tuple[str, ...]
    scopes: tuple[str, ...]
    limits: Limits


@dataclass(frozen=True)
class Scenario:
    """Everything that is decided before the first call. `roles` binds the card's symbolic roles to record ids."""

    coordinates: Coordinates
    card: Card
    contract: Contract
    roles: Mapping[str, tuple[str, ...]]
    start: Tables
    faults: tuple[ArmedFault, ...]
    personas: Mapping[str, Persona]
    limits: Limits
    brief: Brief

    @property
    def lead(self) -> str:
        """The seat that is under test."""
        return self.brief.seat

    @property
    def checks(self) -> str:
        """Name of the truth that knows the accepted endings of what is to be done."""
        return self.card.items[0].checks

    @property
    def outside(self) -> frozenset[str]:
        """Seats that code outside plays."""
        return frozenset(seat for seat, name in self.coordinates.overrides.people if name == OUTSIDE)


def build_scenario(domain: Domain, pack: Pack, coordinates: Coordinates) -> Scenario:
    """Resolve coordinates. Raises `OverrideError` or `KeyError` with what was wrong in them."""
    card = pack.cards.get(coordinates.card)
    if card is None:
        raise OverrideError(f"there is no card '{coordinates.card}'; there are {', '.join(sorted(pack.cards))}")
    if coordinates.variant not in card.variants:
        raise OverrideError(f"card '{card.id}' has no variant '{coordinates.variant}'; it has {', '.join(card.variants)}")
    contract = pack.contracts[card.contract]
    seeds, overrides = coordinates.seeds, coordinates.overrides
    entity = Stream(seeds.entity, "entity")
    variant = card.variants[coordinates.variant]
    built = domain.build(card, variant, contract, entity, overrides.entities)
    personas = _personas(pack, contract, variant, overrides)
    pace = Stream(seeds.interaction, "pace")
    states = {
        seat: PersonaState(seat, persona.id, pace.draw(seat).between(*persona.delay), 0, 0)
        for seat, persona in personas.items()
    }
    limits = _limits(contract, overrides)
    agenda = _openings(personas, built.roles, Stream(seeds.interaction, "opening"))
    start = built.tables | {"persona": states, "meters": {domain.lead: Meters(domain.lead)}, "agenda": agenda, "message": {}}
    brief = Brief(f"ep-{entity.token('episode')}", domain.lead, built.request, contract.tools, contract.scopes, limits)
    faults = _armed(pack, variant.faults, overrides, Stream(seeds.fault, "fault"))
    return Scenario(coordinates, card, contract, built.roles, start, faults, personas, limits, brief)


def check_overrides(pack: Pack, card: Card, overrides: Overrides) -> None:
    """Raise `OverrideError` when overrides name a fault, parameter, seat, persona or meter that the card does not have."""
    contract = pack.contracts[card.contract]
    _limits(contract, overrides)
    for variant in card.variants.values():
        _personas(pack, contract, variant, overrides)
        _armed(pack, variant.faults, overrides, Stream(0, "check"))


def _openings(personas: Mapping[str, Persona], roles: Mapping[str, tuple[str, ...]], stream: Stream) -> dict[str, AgendaItem]:
    """Return what people will say unasked, as acts on the agenda."""
    agenda = {}
    for seat, persona in personas.items():
        if persona.opens is not None:
            draw = stream.draw(seat)
            call = ToolCall.of(SPEAK, act=persona.opens.act, person=roles[persona.opens.role][0])
            item = AgendaItem(f"act-{draw.token}", draw.between(*persona.opens.after), seat, call, UNASKED, 0)
            agenda[item.id] = item
    return agenda


def _personas(pack: Pack, contract: Contract, variant: Variant, overrides: Overrides) -> dict[str, Persona]:
    chosen = {seat: names[0] for seat, names in contract.personas.items()} | variant.people
    for seat, name in overrides.people:
        if seat not in chosen:
            raise OverrideError(f"people: there is no seat '{seat}' here; there are {', '.join(sorted(chosen))}")
        if name == OUTSIDE:
            del chosen[seat]
            continue
        if name not in contract.personas[seat]:
            raise OverrideError(f"people: seat '{seat}' admits {', '.join(contract.personas[seat])} or {OUTSIDE}, not '{name}'")
        chosen[seat] = name
    return {seat: pack.personas[name] for seat, name in chosen.items()}


def _limits(contract: Contract, overrides: Overrides) -> Limits:
    limits = dict(contract.budget)
    for meter, limit in overrides.budget:
        if meter not in limits:
            raise OverrideError(f"budget: there is no meter '{meter}'; there are {', '.join(sorted(limits))}")
        limits[meter] = limit
    # The view has one row per effect an agent may make, so no override may allow more.
    limits["effect_attempts"] = min(limits["effect_attempts"], contract.budget["effect_attempts"])
    limits["simulated_time"] = min(limits["simulated_time"], contract.horizon)
    return Limits(**limits)


def _armed(pack: Pack, own: tuple[Any, ...], overrides: Overrides, stream: Stream) -> tuple[ArmedFault, ...]:
    uses = tuple(plain_use(use) for use in own) if overrides.faults is None else overrides.faults
    armed = []
    for number, (name, nth, times, values) in enumerate(uses + overrides.extra_faults):
        fault = pack.faults.get(name)
        if fault is None:
            raise OverrideError(f"faults: there is no fault '{name}'; there are {', '.join(sorted(pack.faults))}")
        armed.append(_arm(fault, nth, times, dict(values), stream, number))
    return tuple(armed)


def _arm(fault: Fault, nth: int, times: int, values: dict[str, int | str], stream: Stream, number: int) -> ArmedFault:
    drawn: list[tuple[str, int | str]] = []
    for parameter in fault.parameters:
        if parameter.name in values:
            drawn.append((parameter.name, _given(fault, parameter, values.pop(parameter.name))))
            continue
        draw = stream.draw(fault.id, parameter.name, number)
        word = draw.pick(parameter.options) if parameter.options else draw.between(parameter.low, parameter.high)
        drawn.append((parameter.name, word))
    if values:
        raise OverrideError(f"faults: '{fault.id}' has no parameter '{min(values)}'")
    return ArmedFault(
        fault.id, fault.tool, fault.boundary, fault.effect,
        nth or fault.nth, fault.times if times < 0 else times, tuple(drawn), fault.given, fault.act, fault.breaks,
    )  # fmt: skip


def _given(fault: Fault, parameter: Parameter, value: int | str) -> int | str:
    """Return a value given for a parameter. It may lie beyond the range that values are drawn from, not beyond its kind."""
    if parameter.options and value not in parameter.options:
        raise OverrideError(f"faults: '{fault.id}': {parameter.name}: {value!r} is none of {', '.join(parameter.options)}")
    if not parameter.options and (type(value) is not int or value < 0):
        raise OverrideError(f"faults: '{fault.id}': {parameter.name}: {value!r} is not an integer >= 0")
    if not parameter.options and int(value) > MOST_SECONDS:
        raise OverrideError(f"faults: '{fault.id}': {parameter.name}: {value!r} is above {MOST_SECONDS}")
    return value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
