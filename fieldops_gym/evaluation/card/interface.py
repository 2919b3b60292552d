"""What an agent meets: tools, people, policy, faults, budgets, and the stubs behind them; all from their own rows."""

from __future__ import annotations

from collections.abc import Iterable

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.faults import Fault
from fieldops_gym.core.tools import Tool
from fieldops_gym.domains.field_service.policies import POLICIES
from fieldops_gym.evaluation.card import tables
from fieldops_gym.evaluation.card.grounds import Grounds, fired, used
from fieldops_gym.evaluation.card.parts import Part, Table, words
from fieldops_gym.evaluation.docs import budget_words
from fieldops_gym.graders import invariants_of

SPLITS = ("train", "development", "held_out", "regression")
"""The splits, in the order in which they are told."""

RULES = {"field_service": POLICIES}
"""The policy of each domain: operation, rule and text."""


def tools(given: Grounds) -> Part:
    """Return the lead seat's tools with what a caller may rely on."""
    rows = [
        (t.name, t.version, t.scope, str(t.consequence), f"{t.latency.outbound} + {t.latency.inbound}", t.semantics.idempotency,
         t.semantics.freshness, "; ".join(f"{code}: {meaning}" for code, meaning in t.semantics.errors))
        for t in _lead(given)
    ]  # fmt: skip
    columns = ("tool", "version", "scope", "consequence", "seconds out + back", "idempotency", "freshness", "errors of its own")
    return Part(
        "tools",
        "Tools",
        (
            "Calls are typed: `fieldops docs` has the arguments and the JSON Schema form is in the brief. Any call may be "
            "refused, "
            f"denied, or stay unanswered. Known and prohibited, recorded when named: {words(sorted(given.domain.prohibited))}.",
        ),
        (Table.of("tools", columns, rows),),
    )


def boundary(given: Grounds) -> Part:
    """Return what is real and what stands in for it, and how the stand-ins differ."""
    sides: dict[str, list[str]] = {}
    gaps: dict[tuple[str, str, str, str, str], list[str]] = {}
    for tool in _lead(given):
        sides.setdefault(tool.semantics.counterparty or "a store of records", []).append(tool.name)
        for row in tool.fidelity:
            gaps.setdefault((row.real, row.ours, row.gap, row.leaning, words(row.verdicts)), []).append(tool.name)
    stubs = [(side, "stub, in the same process", words(names)) for side, names in sides.items()]
    real = ("policy, budget, clock, faults, verdicts", "real: the same code decides for every agent", "all")
    return Part(
        "boundary",
        "Stubs, and how they differ from real systems",
        (),
        (
            Table.of("boundary", ("behind the tool", "what it is here", "tools"), [*stubs, real]),
            Table.of(
                "fidelity", ("real systems", "here", "gap", "it is", "verdicts it bears on", "tools"),
                [(*row, words(names)) for row, names in gaps.items()],
            ),
        ),
    )  # fmt: skip


def people(given: Grounds) -> Part:
    """Return the scripted people and what they leave out."""
    seated = {p: sum(p in _admitted(given.pack, card) for card in given.pack.cards) for p in given.pack.personas}
    rows = [
        (p.id, p.seat, p.version, p.persona, f"{p.delay[0]} to {p.delay[1]}", p.turn_cap,
         words(f"{fact} until {rule}" for fact, rule in p.held_back), seated[p.id])
        for p in given.pack.personas.values()
    ]  # fmt: skip
    columns = ("persona", "seat", "version", "policy", "delay, seconds", "turns at most", "held back", "cards that admit it")
    left = [(o.what, o.direction, o.owner) for o in tables.surroundings().omissions if o.about == "people"]
    return Part(
        "people",
        "Scripted people",
        (
            "State machines with disclosed rules, not imitations of people. Each reply is a typed act and cites its rule. "
            "What works "
            "with them has kept to a protocol; nothing follows for real people.",
        ),
        (
            Table.of("personas", columns, rows),
            Table.of("left out", ("what", "direction", "owner"), left),
        ),
    )


def policy(given: Grounds) -> Part:
    """Return the policy rules with what judges them."""
    known = invariants_of(given.domain)
    rows = [
        (rule, operation, text, words((i.id for i in known if i.policy == rule), "none of its own"))
        for operation, (rule, text) in RULES.get(given.domain.name, {}).items()
    ]
    return Part(
        "policy",
        "Policy",
        (
            "Agents can read every rule. It is enforced at the time of effect, and a forbid beats a permit. Rules without an "
            "invariant of their own bear on which endings `task.accepted_ending` accepts.",
        ),
        (Table.of("rules", ("rule", "operation", "text", "invariants that cite it"), rows),),
    )


def faults(given: Grounds) -> Part:
    """Return the fault catalogue with where each is used, and how often it fired here."""
    struck = [fired(run) for run in given.runs]
    rows = []
    for fault in given.pack.faults.values():
        cards = sorted(card.id for card in given.pack.cards.values() if fault.id in used(card))
        fires = sum(fault.id in names for names in struck)
        rows.append(
            (
                fault.id,
                f"{fault.tool}, {fault.boundary}",
                _effect(fault),
                fault.visibility,
                fault.recovery,
                words(cards, "no card"),
                fires,
            )
        )
    columns = ("fault", "tool, boundary", "effect", "visible by", "right recovery", "cards", "runs here in which it fired")
    idle = [fault.id for fault in given.pack.faults.values() if not any(fault.id in used(c) for c in given.pack.cards.values())]
    return Part(
        "faults",
        "Faults",
        (
            "Triggers are tools and counts, never text. A run whose fault never fires is void. In the catalogue for "
            "wrappers alone, "
            f"and part of no card: {words(idle)}.",
        ),
        (Table.of("faults", columns, rows),),
    )


def budgets(given: Grounds) -> Part:
    """Return the contracts' budgets and times."""
    rows = [
        (c.id, c.version, budget_words(c.budget), c.decision_cost, c.timeout, c.restart_delay, c.horizon, c.fallback)
        for _, c in sorted(given.pack.contracts.items())
    ]
    columns = ("contract", "version", "budget", "decision", "timeout", "restart", "horizon", "fallback")
    return Part(
        "budgets",
        "Budgets",
        ("Times are simulated seconds. The end of a budget is an event, and the harness then gives the fallback as account.",),
        (Table.of("budgets", columns, rows),),
    )


def segments(given: Grounds) -> Part:
    """Return the designed mixture: cards by consequence segment and family."""
    order = sorted({card.segment for card in given.pack.cards.values()})
    splits = [split for split in SPLITS if any(row.split == split for row in given.pack.splits.values())]
    rows = []
    for segment in order:
        cards = [card for _, card in sorted(given.pack.cards.items()) if card.segment == segment]
        where: list[str] = [given.pack.splits[card.id].split for card in cards]
        counts = (len(cards), sum(len(card.variants) for card in cards), *(where.count(split) for split in splits))
        rows.append((segment, *counts, words(card.id for card in cards)))
    return Part(
        "segments",
        "Segments",
        ("Reported apart, never averaged. A refusal, an abstention or an honest unknown passes where it is right.",),
        (Table.of("segments", ("segment", "cards", "variants", *splits, "which"), rows),),
    )


def invariants(given: Grounds) -> Part:
    """Return what is judged, how hard, by how many cards, and whether it graded anything here."""
    rows = []
    for i in invariants_of(given.domain):
        asked = sum(i.id in card.hidden.invariants for card in given.pack.cards.values())
        graded = "yes" if i.id in given.graded else "no"
        rows.append((i.id, i.version, str(i.layer), i.severity.name.lower(), i.policy, asked, graded))
    columns = ("invariant", "version", "layer", "severity", "rule", "cards that ask it", "graded here")
    return Part(
        "invariants",
        "Measurement",
        (
            "A run passes when no invariant of severity harm or wrong is broken; advisory counts for nothing, nothing is "
            "averaged, "
            "and the agent's own account is judged against the world. Recorded per trial: start, calls, events, writes, "
            "verdicts "
            "with evidence, account. `fieldops invariants` has the reasons.",
        ),
        (Table.of("invariants", columns, rows),),
    )


def _lead(given: Grounds) -> Iterable[Tool]:
    return given.domain.tools[given.domain.lead].values()


def _effect(fault: Fault) -> str:
    return f"{fault.effect} ({fault.act})" if fault.act else fault.effect


def _admitted(pack: Pack, name: str) -> frozenset[str]:
    """Return the personas that a card may be played with."""
    card = pack.cards[name]
    seats = {**pack.contracts[card.contract].personas, **card.admits}
    own = {persona for variant in card.variants.values() for persona in variant.people.values()}
    return frozenset(name for names in seats.values() for name in names) | own
