"""Splits, what the audit found, what is excluded, and what changed."""

from __future__ import annotations

import re
from pathlib import Path

from fieldops_gym.core.judging import Outcome
from fieldops_gym.evaluation.audit import SECTIONS
from fieldops_gym.evaluation.card import tables
from fieldops_gym.evaluation.card.grounds import Grounds, used
from fieldops_gym.evaluation.card.identity import audit_words
from fieldops_gym.evaluation.card.interface import SPLITS
from fieldops_gym.evaluation.card.parts import EnvironmentCardError, Part, Table, words
from fieldops_gym.evaluation.card.tables import Change
from fieldops_gym.evaluation.quarantine import QUARANTINE, pack_shares, retired_of

NOT_AUDITED = "not audited"


def splits(given: Grounds) -> Part:
    """Return which cards lie where, by which groups."""
    rows, manifest = [], given.pack.splits
    for split in SPLITS:
        cards = [card for _, card in sorted(given.pack.cards.items()) if manifest[card.id].split == split]
        lineages = {card.lineage for card in cards}
        kinds = {kind for card in cards for kind in card.equipment_families}
        if cards:
            rows.append((split, len(cards), len(lineages), len(kinds), words(card.id for card in cards)))
    every = [(row.card, row.split, given.pack.cards[row.card].lineage, row.content, row.reason) for row in manifest.values()]
    return Part(
        "splits",
        "Splits",
        (
            "Split by lineage and equipment family, not by row; the unit that counts is the lineage. All files are public, so "
            "`held_out` says held out from training, and only of agents that were not trained on this repository. Rules of "
            "policy may be known beforehand; facts of a card may not.",
        ),
        (
            Table.of("splits", ("split", "cards", "lineages", "equipment families", "which"), rows),
            Table.of("manifest", ("card", "split", "lineage", "content", "reason"), every),
        ),
    )


def cards(given: Grounds) -> Part:
    """Return every card: what it is for, what it depends on, and where it lies."""
    rows = []
    for name, card in sorted(given.pack.cards.items()):
        kinds = sorted({variant.decided_by for variant in card.variants.values()})
        struck = words(sorted(used(card)))
        where, split = f"{card.family}, {card.segment}", given.pack.splits[name].split
        rows.append((name, where, split, card.contract, len(card.variants), words(kinds), struck, card.claim, card.why))
    columns = ("card", "family, segment", "split", "contract", "variants", "decided by", "faults", "claim", "why")
    scopes = [(c.id, words(c.scopes), words(c.tools)) for _, c in sorted(given.pack.contracts.items())]
    return Part(
        "cards",
        "Cards",
        ("A card is a template: seeds give it new records, variants change which outcome is right.",),
        (
            Table.of("cards", columns, rows),
            Table.of("contracts", ("contract", "scopes", "tools"), scopes),
        ),
    )


def validity(given: Grounds) -> Part:
    """Return the audit's sections, and what became of the runs made for the card."""
    rows = []
    for name in dict.fromkeys([name for name, _ in SECTIONS] + ([s.name for s in given.audit.sections] if given.audit else [])):
        found = given.audit.section(name) if given.audit else None
        if found is None:
            rows.append((name, NOT_AUDITED, "", ""))
            continue
        rows.append((name, "yes" if found.holds else "NO", found.summary, found.bound))
    outcomes = {kind: sum(run.outcome == kind for run in given.runs) for kind in (Outcome.PASSED, Outcome.FAILED, Outcome.VOID)}
    rest = len(given.runs) - sum(outcomes.values())
    played = [*((str(kind), n) for kind, n in outcomes.items()), ("not judged", rest)]
    short = [
        (section.name, row.subject, row.text)
        for section in (given.audit.sections if given.audit else ())
        for row in section.short
    ]
    lead = [f"Audit: {audit_words(given)}."]
    if given.audit and given.audit.not_covered:
        lead.append(f"It does not ask about: {words(given.audit.not_covered)}.")
    return Part(
        "validity",
        "Validity",
        tuple(lead),
        (
            Table.of("audit", ("section", "holds", "seen", "bound"), rows),
            Table.of("falls short", ("section", "subject", "what"), short),
            Table.of("runs of the reference made for this card", ("outcome", "runs"), played),
        ),
    )


def exclusions(given: Grounds) -> Part:
    """Return what is set apart or retired, and the rule by which a segment becomes invalid."""
    rows = [
        (e.card, e.variant or "all", "all" if e.seeds is None else f"{e.seeds[0]} to {e.seeds[1]}", str(e.category),
         e.date.isoformat(), e.owner, e.why, words(e.runs), str(e.rerun))
        for e in given.quarantine.entries
    ]  # fmt: skip
    columns = ("card", "variant", "seeds", "category", "date", "decided by", "why", "affected runs", "rerun")
    file = given.beside(QUARANTINE)
    known = file is not None and file.is_file()
    lead = f"A segment of which more than {given.quarantine.threshold:.0%} is set apart is invalid."
    if not known:
        lead = f"These tasks have no {QUARANTINE}: nothing is set apart, and no threshold is declared."
    shares = [(s.segment, s.apart, s.n, "INVALID" if s.invalid else "valid") for s in pack_shares(given.pack, given.quarantine)]
    return Part(
        "exclusions",
        "Exclusions",
        (lead, f"Set apart: {len(rows) or 'nothing'}. Retired: {words((r.card for r in retired_of(given.pack)), 'no card')}."),
        (
            Table.of("set apart", columns, rows),
            Table.of("segments", ("segment", "variants set apart", "of", "is"), shares if known else ()),
            Table.of("retired", ("card", "reason"), [tuple(r) for r in retired_of(given.pack)]),
        ),
    )


def changes(given: Grounds) -> Part:
    """Return each version with what it says of earlier results."""
    log = given.root / "CHANGELOG.md" if given.root else None
    rows = read_changes(log) if log is not None and log.is_file() else tables.changes()
    return Part(
        "changes",
        "Changes, and what still compares",
        (
            "Results keep the version and the pack digest they were made under; results of different digests are not compared "
            "unless an entry says that they may be. A new or repaired card, tool text, persona or grader is a new pack "
            "digest or lock.",
        ),
        (
            Table.of(
                "versions",
                ("version", "is", "results from before it"),
                [(r.version, r.released, r.comparability) for r in rows],
            ),
        ),
    )


def read_changes(path: Path) -> tuple[Change, ...]:
    """Read the versions of a change log, and of each entry the bullet that says what compares.

    Raises `EnvironmentCardError` for an entry without one.
    """
    found = []
    for entry in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading = entry.splitlines()[0]
        version, _, released = heading.partition(" ")
        bullets = [" ".join(bullet.split()) for bullet in re.split(r"^- ", entry, flags=re.MULTILINE)[1:]]
        said = [bullet for bullet in bullets if re.search(r"\bcompare\b", bullet)]
        if not said:
            raise EnvironmentCardError(f"{path.name}: {version}: no line says whether results from before it still compare")
        found.append(Change(version=version, released=released.strip(" ()") or "released", comparability=said[-1]))
    return tuple(found)
