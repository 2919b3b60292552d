"""What an environment is made with, and what `reset` takes as options: the one list for code, messages and documentation."""

from __future__ import annotations

from typing import NamedTuple

from fieldops_gym.core.overrides import KEYS


class Term(NamedTuple):
    """An argument or an option: its name, what it takes, and what it does."""

    name: str
    takes: str
    meaning: str


ARGUMENTS = (
    Term("split", "'train', 'development', 'held_out', 'regression' or 'all'", "plays the cards of this split"),
    Term("cards", "a sequence of card ids", "plays just these cards, whatever their split"),
    Term("tasks", "a directory", "plays these tasks instead of the shipped ones"),
    Term(
        "faults",
        "a sequence of fault ids, or of mappings with fault, nth, times, values; or {'append': such a sequence}",
        "puts these faults in the place of each card's own, or adds them",
    ),
    Term(
        "budget", "a mapping of meters to limits >= 0 (counts; simulated seconds)", "sets these limits instead of a card's own"
    ),
    Term("people", "a mapping of seats to personas, or to 'outside'", "seats these people instead of a card's own"),
    Term("entities", "an integer >= 0", "asks for about so many records, the rules of policy not counted (60 without it)"),
    Term("verdicts", "'end' or 'every_step'", 'when `info["verdicts"]` is filled; every step is privileged, for training only'),
    Term("render_mode", "None or 'ansi'", "what `render()` returns: nothing, or text"),
)
"""The keyword arguments of `gymnasium.make`, in the order of the constructor's."""

OPTIONS = (
    Term("card", "a card id", "plays this card, whatever its split"),
    Term("variant", "a variant of the card", "plays this variant; without `card`, of a card that has it"),
    Term("seeds", "a mapping of some of entity, interaction, fault to integers >= 0", "sets these seeds instead of drawn ones"),
    Term("layers", "a sequence of mappings of the options below", "what wrappers such as `FaultInjection` fill in"),
    *(Term(term.name, term.takes, "as the argument does, for this episode") for term in ARGUMENTS if term.name in KEYS),
)
"""The options of `reset`. None, or an option left out, changes nothing."""
