"""What is wrong with a card of field service beyond its form: steps, roles, families, truths and request texts."""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter

from fieldops_gym.core.cards import Card, Step
from fieldops_gym.domains.field_service.generate import FAMILIES
from fieldops_gym.domains.field_service.setup import CHECKS, REQUEST_FIELDS, STEPS


def roles_of(card: Card) -> frozenset[str]:
    """Return the roles that a card's setup binds, whatever the variant."""
    return frozenset(role for step in card.setup if step.step in STEPS for role in STEPS[step.step].binds)


def check_card(card: Card) -> list[str]:
    """Return what is wrong with a card's setup, roles and request texts; empty when nothing is."""
    bound: set[str] = set()
    problems = _step_problems("setup", card.setup, bound) + _text_problems("requests", card.requests)
    for name, variant in card.variants.items():
        problems += _step_problems(f"variants.{name}.setup", variant.setup, set(bound))
        problems += _text_problems(f"variants.{name}.requests", variant.requests)
    for family in card.equipment_families:
        if family not in FAMILIES:
            problems.append(f"equipment_families: '{family}' is not a family; there are {', '.join(FAMILIES)}")
    for item in card.items:
        if item.checks not in CHECKS:
            problems.append(f"items.{item.name}.checks: there is no truth '{item.checks}'; there is {', '.join(CHECKS)}")
        if item.subject.removeprefix("$") not in bound or not item.subject.startswith("$"):
            problems.append(f"items.{item.name}.subject: '{item.subject}' is not a bound role; bound are {sorted(bound)}")
    for table, selector in card.hidden.frame.items():
        if selector.startswith("$") and selector[1:] not in bound:
            problems.append(f"hidden.frame.{table}: '{selector}' is not a bound role; bound are {sorted(bound)}")
    return problems


def _step_problems(field: str, steps: Sequence[Step], bound: set[str]) -> list[str]:
    """Return what is wrong with some steps, and add the roles that they bind to `bound`."""
    problems: list[str] = []
    for number, step in enumerate(steps):
        where = f"{field}.{number}"
        known = STEPS.get(step.step)
        if known is None:
            problems.append(f"{where}: there is no step '{step.step}'; there are {', '.join(STEPS)}")
            continue
        problems += [
            f"{where}: step '{step.step}' needs role '${need}', which no earlier step binds"
            for need in known.needs
            if need not in bound
        ]
        if not set(known.takes) <= set(step.with_) <= {*known.takes, *known.may_take}:
            right = [*known.takes, *(f"{name} (optional)" for name in known.may_take)]
            problems.append(f"{where}: step '{step.step}' takes {right}, not {sorted(step.with_)}")
        bound.update(known.binds)
    return problems


def _text_problems(field: str, texts: Sequence[str]) -> list[str]:
    return [
        f"{field}.{number}: there is no field '{name}'; there are {sorted(REQUEST_FIELDS)}"
        for number, text in enumerate(texts)
        for name in sorted({name for _, name, _, _ in Formatter().parse(text) if name is not None} - REQUEST_FIELDS)
    ]
