"""The lock: whether every part of the environment is what `lock.json` says it is."""

from __future__ import annotations

from fieldops_gym.evaluation.audit.playing import Bench
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.lock import LockError, State, check_lock
from fieldops_gym.evaluation.lock_parts import PARTS
from fieldops_gym.evaluation.quarantine import QuarantineError

BOUND = "every part is as lock.json has it"


def lock(bench: Bench) -> Section:
    """Every part is as the lock has it. Tasks of one's own may have no lock; the section says so, and holds."""
    try:
        checked = check_lock(bench.domain, bench.pack)
    except (LockError, QuarantineError, OSError) as error:
        return Section("lock", BOUND, "it could not be checked", (Row("lock.json", False, " ".join(str(error).split())),))
    if checked.held is None:
        return Section("lock", BOUND, checked.state, (Row("lock.json", checked.state == State.UNLOCKED, checked.told),))
    names = dict.fromkeys((*checked.found.parts, *checked.differ))
    rows = tuple(_row(name, checked.held.parts.get(name), checked.found.parts.get(name)) for name in names)
    return Section("lock", BOUND, f"{sum(row.holds for row in rows)} of {len(rows)} parts", rows)


def _row(name: str, held: str | None, found: str | None) -> Row:
    what = PARTS[name][0] if name in PARTS else "a part that this version does not have"
    figures = {"lock": held or "none", "found": found or "none"}
    return Row(name, held == found, f"{what}: {'as locked' if held == found else 'not as locked'}", figures)
