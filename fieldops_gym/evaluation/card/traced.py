"""Claims traced to cards, faults and invariants, the level of evidence each has, and how to read results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation.card.coverage import Cell, cells
from fieldops_gym.evaluation.card.grounds import Grounds, decided, fired, used
from fieldops_gym.evaluation.card.parts import EnvironmentCardError, Part, Table, words
from fieldops_gym.evaluation.card.tables import Claim, Claims, dimensions

OWN = "give claims of your own by --claims FILE"


class Standing(NamedTuple):
    """What a claim has: its level, and what keeps it from more, '' if nothing does."""

    level: str
    lacks: str


def cards_of(claim: Claim, pack: Pack) -> tuple[str, ...]:
    """Return the cards that a claim rests on."""
    return tuple(sorted(pack.cards)) if claim.cards == "every" else tuple(claim.cards)


def check_traces(claims: Claims, pack: Pack, invariants: frozenset[str]) -> None:
    """Raise `EnvironmentCardError` for a claim that traces to a card, fault, invariant or dimension that is not there."""
    known = {dimension.dimension for dimension in dimensions()}
    for claim in claims.claims:
        where = f"claim '{claim.id}'"
        for name in cards_of(claim, pack):
            if name not in pack.cards:
                raise EnvironmentCardError(f"{where}: there is no card '{name}' in these tasks; {OWN}")
        cards = [pack.cards[name] for name in cards_of(claim, pack)]
        for name in claim.faults:
            if name not in pack.faults:
                raise EnvironmentCardError(f"{where}: there is no fault '{name}' in these tasks; {OWN}")
            if not any(name in used(card) for card in cards):
                raise EnvironmentCardError(f"{where}: no variant of its cards has fault '{name}'; {OWN}")
        for name in claim.invariants:
            if name not in invariants:
                raise EnvironmentCardError(f"{where}: there is no invariant '{name}'; `fieldops invariants` lists them")
            if not any(name in card.hidden.invariants for card in cards):
                raise EnvironmentCardError(f"{where}: none of its cards asks invariant '{name}'; {OWN}")
        for name in claim.needs:
            if name not in known:
                raise EnvironmentCardError(f"{where}: there is no dimension '{name}'; there are {', '.join(sorted(known))}")


def standing(claim: Claim, given: Grounds, marked: Iterable[Cell], shown: Callable[[str], str]) -> Standing:
    """Return the level of evidence of a claim, given the marked cells. `shown(reference)` is '' if it is shown, "
    "else why not."""
    cards = cards_of(claim, given.pack)
    runs = [run for run in given.runs if given.card_of(run).id in cards]
    struck = {fault for run in runs for fault in fired(run)}
    graded = {verdict.invariant for run in runs for verdict in decided(run)}
    covered = {cell.dimension for cell in marked if set(cell.cards) & set(cards)}
    lacks = [f"fault {name} never fired" for name in claim.faults if name not in struck]
    lacks += [f"{name} graded nothing" for name in claim.invariants if name not in graded]
    lacks += [f"{name} is not covered" for name in claim.needs if name not in covered]
    reasons: dict[str, list[str]] = {}
    for reference in given.claims.mechanics:
        if why := shown(reference):
            reasons.setdefault(why, []).append(reference)
    lacks += [f"{', '.join(references)}: {why}" for why, references in reasons.items()]
    return Standing("structural" if lacks else "mechanics", "; ".join(lacks))


def claims_part(given: Grounds) -> Part:
    """Return what the environment may be cited for, and what it may not."""
    claimed = [
        (claim.id, claim.statement, claim.conditions, _cards(claim, given.pack), words(claim.faults), words(claim.invariants),
         words(claim.needs))
        for claim in given.claims.claims
    ]  # fmt: skip
    columns = ("claim", "statement", "under", "cards", "faults", "invariants", "dimensions it needs")
    refused = [(row.what, row.why, row.owner) for row in given.claims.not_claimed]
    lead = "Results may be cited for the claims below, under their conditions, and for nothing in the second table."
    return Part(
        "claims",
        "Claims, and what is not claimed",
        (lead,),
        (Table.of("claimed", columns, claimed), Table.of("not claimed", ("what", "why not", "who could show it"), refused)),
    )


def _cards(claim: Claim, pack: Pack) -> str:
    return f"every card ({len(pack.cards)})" if claim.cards == "every" else words(claim.cards)


def evidence_part(given: Grounds, shown: Callable[[str], str]) -> Part:
    """Return the levels of evidence, and the one that each claim has."""
    levels = [(row.level, row.comes_from, row.supports, row.here) for row in given.claims.levels]
    rows, marked = [], cells(given)
    for claim in given.claims.claims:
        held = standing(claim, given, marked, shown)
        rows.append((claim.id, held.level, held.lacks or "nothing that this card can have"))
    return Part(
        "evidence",
        "Level of evidence",
        (
            "A level is never raised by words. A claim about an agent has the level of that agent's own recorded runs, and "
            "this "
            "card has none of those.",
        ),
        (
            Table.of("claims", ("claim", "level here", "what is lacking for mechanics"), rows),
            Table.of("levels", ("level", "comes from", "supports", "in this card"), levels),
        ),
    )


def reading_part(given: Grounds) -> Part:
    """Return how to read results, sources and cases."""
    sentences = [(row.too_much, row.instead) for row in given.claims.sentences]
    sources = [(row.source, row.taken, row.left) for row in given.claims.sources]
    return Part(
        "reading",
        "How to cite a result",
        (
            "Name version, pack digest, split, segment, seeds, budget, agent, n, void and what failed. Every count traces "
            "to rows "
            "in results.jsonl, each row to a trace; segments are never averaged.",
        ),
        (
            Table.of("sentences", ("says too much", "may be said"), sentences),
            Table.of("sources", ("source or case", "what is taken", "what is not"), sources),
        ),
    )
