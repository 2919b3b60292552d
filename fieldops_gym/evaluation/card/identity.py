"""Which environment this is: versions, digests, and what is under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fieldops_gym import __version__
from fieldops_gym.evaluation.card.grounds import SEEDS, Grounds
from fieldops_gym.evaluation.card.parts import Part, Table, words
from fieldops_gym.evaluation.lock import FORMAT as LOCK_FORMAT
from fieldops_gym.evaluation.lock_parts import PARTS
from fieldops_gym.evaluation.traces import FORMAT as TRACE_FORMAT
from fieldops_gym.evaluation.trials import FORMAT as RESULTS_FORMAT
from fieldops_gym.evaluation.worlds import GENERATOR_VERSION
from fieldops_gym.registry import ENVIRONMENTS

SHORT = 16
"""Hex digits of a digest that a table shows, where it is not the pack's."""

UNDER_TEST = (
    "an agent as it was run: model or policy, prompts, harness and budget together; the lead seat's calls are what is judged"
)


def _part(name: str) -> Callable[[Grounds], str]:
    return lambda given: given.lock.found.parts[name][:SHORT]


VERSIONS: Mapping[str, Callable[[Grounds], str]] = {
    "package": lambda _: __version__,
    "generator": lambda _: GENERATOR_VERSION,
    "pack": lambda given: given.pack.digest[:SHORT],
    "results": lambda _: f"{RESULTS_FORMAT}, {TRACE_FORMAT}",
    "policy": _part("policy"),
    "tools": _part("tools"),
    "personas": _part("personas"),
    "contracts": _part("budgets"),
    "faults": _part("faults"),
    "invariants": _part("invariants"),
}
"""How the version of a component is found."""


def audit_words(given: Grounds) -> str:
    """Return what audit the card rests on, in a few words."""
    if given.audit is None:
        return "not audited"
    holds = sum(section.holds for section in given.audit.sections)
    return f"{given.audit.form} form, agents {given.audit.agents}: {holds} of {len(given.audit.sections)} sections hold"


def identity(given: Grounds) -> Part:
    """Return what names the environment, and one digest per part of it."""
    environments = [row.id for row in ENVIRONMENTS if row.domain == given.domain.name]
    rows = [
        ("package", f"fieldops_gym {__version__}"),
        ("domain", given.domain.name),
        ("environments", words(environments)),
        ("under test", UNDER_TEST),
        ("pack digest", given.pack.digest),
        ("cards", f"{len(given.pack.cards)}, {sum(len(card.variants) for card in given.pack.cards.values())} variants"),
        ("lock", f"{given.lock.found.digest}; {given.lock.told}"),
        ("results format", RESULTS_FORMAT),
        ("seeds", "three per episode: entity (world), interaction (people), fault; training and frozen seeds are disjoint"),
        ("audit", audit_words(given)),
        (
            "runs made for this card",
            f"{len(given.runs)}: {given.suite.module}'s reference, every variant, seeds 0 to {SEEDS - 1}",
        ),
    ]
    digests = [(name, what, given.lock.found.parts[name]) for name, (what, _) in PARTS.items()]
    return Part(
        "identity",
        "Identity",
        ("A result means something only together with these.",),
        (
            Table.of("environment", ("what", "value"), rows),
            Table.of(
                "digests", ("part", "over", "SHA-256"), digests, f"As in the lock ({LOCK_FORMAT}), made anew for this card."
            ),
        ),
    )
