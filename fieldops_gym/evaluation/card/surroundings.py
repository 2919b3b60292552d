"""Layers, dependencies and limitations: decided by people, and kept as data; versions are filled in."""

from __future__ import annotations

from fieldops_gym.evaluation.card import tables
from fieldops_gym.evaluation.card.grounds import Grounds
from fieldops_gym.evaluation.card.identity import VERSIONS
from fieldops_gym.evaluation.card.parts import Part, Table, words


def layers(given: Grounds) -> Part:
    """Return the four layers: who sees what, and what is graded."""
    rows = [
        (row.layer, row.holds, row.interface, row.agent_sees, row.harness_only, row.graded, words(row.modules))
        for row in tables.surroundings().layers
    ]
    columns = ("layer", "holds", "interface", "the agent sees", "the harness alone sees", "graded", "modules")
    return Part(
        "layers",
        "Layers and interfaces",
        (
            "Time is simulated, in whole seconds; nothing reads a real clock. A world changes through its log alone, and every "
            "trial makes its own from its coordinates, so there is nothing to clear.",
        ),
        (Table.of("layers", columns, rows),),
    )


def dependencies(given: Grounds) -> Part:
    """Return what can change the measured system. Each has its version, or its digest where that is what changes."""
    rows = [
        (d.component, VERSIONS[d.version](given), d.owner, d.observable, d.hidden, d.failures, d.reset, d.module)
        for d in tables.surroundings().dependencies
    ]
    columns = ("component", "version", "owner", "observable", "hidden", "failure modes", "reset", "module")
    return Part(
        "dependencies",
        "Dependencies",
        ("Owners are roles. A changed version is a changed environment.",),
        (Table.of("dependencies", columns, rows),),
    )


def limitations(given: Grounds) -> Part:
    """Return what is left out, which way that makes results wrong, and who would find out."""
    rows = [(o.about, o.what, o.direction, o.owner) for o in tables.surroundings().omissions]
    return Part(
        "limitations",
        "Limitations",
        ("`flattering`: results look better than they would without it; `severe`: worse; `open`: either way.",),
        (Table.of("limitations", ("about", "left out", "direction", "owner"), rows),),
    )
