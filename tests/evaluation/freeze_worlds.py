"""Frozen worlds: what the generator makes of frozen seeds, kept in `frozen_worlds.json` under its version.

`python -m tests.evaluation.freeze_worlds` writes the file anew; it refuses while starts have changed under the same version.
Each case holds its own setup, so that a change of cards is no change of the generator.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fieldops_gym import DOMAINS, load_tasks
from fieldops_gym.core.canonical import digest
from fieldops_gym.core.cards import Card, Contract, Pack, Variant
from fieldops_gym.core.streams import Stream, evaluation_seeds
from fieldops_gym.core.world import tables_digest
from fieldops_gym.domains.field_service.generate import background
from fieldops_gym.evaluation import GENERATOR_VERSION

FROZEN = Path(__file__).with_name("frozen_worlds.json")
SEEDS = (0, 1)
SIZES = (60, 400)
SCOPES = ("read", "propose")
REQUEST = "{symptom} {family} {serial} {urgency} {deadline_hours} {control}"


def digests(case: dict[str, Any], pack: Pack) -> list[str]:
    """Return the digest of a case's start (tables, roles and what a request says) for each frozen seed."""
    streams = [Stream(evaluation_seeds(seed).entity, "entity") for seed in SEEDS]
    if "entities" in case:
        return [tables_digest(background(stream, case["entities"])) for stream in streams]
    some: Card = next(iter(pack.cards.values()))
    contract: Contract = next(iter(pack.contracts.values())).model_copy(update={"scopes": SCOPES})
    variant = next(iter(some.variants.values())).model_copy(update={"setup": (), "requests": ()})
    card = some.model_validate({**some.model_dump(by_alias=True), "setup": case["setup"], "requests": [REQUEST]})
    built = [DOMAINS["field_service"].build(card, variant, contract, stream, SIZES[0]) for stream in streams]
    return [digest([start.tables, dict(start.roles), start.request]) for start in built]


def cases(pack: Pack) -> list[dict[str, Any]]:
    """Return a case per size of the background and per setup that a shipped variant has."""
    setups: dict[str, list[Any]] = {}
    for card in pack.cards.values():
        for variant in card.variants.values():
            steps = _steps(card, variant)
            setups.setdefault(json.dumps(steps), steps)
    return [*({"entities": size} for size in SIZES), *({"setup": steps} for steps in setups.values())]


def frozen() -> dict[str, Any]:
    """Return what is frozen: the version, and cases with their digests."""
    return json.loads(FROZEN.read_text(encoding="ascii"))


def changed(held: dict[str, Any], pack: Pack) -> list[dict[str, Any]]:
    """Return the frozen cases of which the generator makes something else now."""
    return [case for case in held["cases"] if digests(case, pack) != case["digests"]]


def _steps(card: Card, variant: Variant) -> list[Any]:
    return [step.model_dump(by_alias=True) for step in (*card.setup, *variant.setup)]


def main() -> None:
    """Write the file anew, unless a start has changed and the version has not."""
    pack = load_tasks()
    if FROZEN.exists() and frozen()["version"] == GENERATOR_VERSION:
        moved = changed(frozen(), pack)
        if moved:
            sys.exit(
                f"{len(moved)} frozen starts have changed: raise GENERATOR_VERSION in fieldops_gym/evaluation/worlds.py first"
            )
    lines = ",\n".join(json.dumps({**case, "digests": digests(case, pack)}) for case in cases(pack))
    FROZEN.write_text(f'{{"version": "{GENERATOR_VERSION}", "cases": [\n{lines}\n]}}\n', encoding="ascii")


if __name__ == "__main__":
    main()
