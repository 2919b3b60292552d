"""Finished trials under other names: every id, hash, key and word of a start and its log replaced, consistently."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fieldops_gym import Trial
from fieldops_gym.core.judging import Verdict
from fieldops_gym.core.world import World

Rename = Callable[[str], str]

TOKEN = re.compile(r"(?<![0-9a-z])(?:[0-9a-f]{16}|[0-9a-f]{10})(?![0-9a-z])")
"""What ids and hashes are made of: ten or sixteen hex digits."""

KEY = re.compile(r"(?<![0-9a-z])key-([0-9a-f]{10,16})(?![0-9a-z])")
"""An idempotency key."""

COMPLEMENT = str.maketrans("0123456789abcdef", "fedcba9876543210")

WORDS = ("name", "serial", "symptom", "urgency", "title", "text", "remark", "note")
"""Fields that people read and nothing is decided by."""


def other_ids(text: str) -> str:
    """Give every id and hash another one, so that whatever came first by id comes last."""
    return TOKEN.sub(lambda found: found[0].translate(COMPLEMENT), text)


def other_keys(text: str) -> str:
    """Spell every idempotency key another way."""
    return KEY.sub(lambda found: f"Idem/{found[1][::-1].upper()}=", text)


OTHER_WORDS = ("name", "serial", "symptom", "urgency", "title", "text", "remark", "note")


def renamed(value: Any, rename: Rename) -> Any:
    """Return a value with every string in it renamed; what only people read becomes something else."""
    if isinstance(value, dict):
        return {rename(key): renamed(inner, rename) for key, inner in value.items()}
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        if names is None:
            return tuple(renamed(inner, rename) for inner in value)
        pairs = zip(names, value, strict=True)
        return type(value)(*[OTHER_WORDS if is_word(name, inner) else renamed(inner, rename) for name, inner in pairs])
    return rename(value) if type(value) is str else value


def is_word(name: str, value: Any) -> bool:
    """Whether a field holds what only people read."""
    return name in WORDS and type(value) is str and value != ""


def renamed_trial(trial: Trial, rename: Rename) -> Trial:
    """Return a trial over the renamed start and log, under the scenario renamed alike."""
    start = renamed(trial.world.start, rename)
    world = World(start)
    for event in trial.world.log:
        world.apply(renamed(event, rename))
    roles = {role: renamed(ids, rename) for role, ids in trial.scenario.roles.items()}
    scenario = replace(trial.scenario, roles=roles, start=start, brief=renamed(trial.scenario.brief, rename))
    account = renamed(trial.account, rename)
    return Trial(world, scenario, account, trial.ending, renamed(trial.pending, rename), trial.as_of)


def evidence(verdict: Verdict, rename: Rename) -> tuple[Any, ...]:
    """Return what a verdict says, its ids renamed: its state, and the events and records that it cites."""
    return verdict.invariant, verdict.state, verdict.events, frozenset(renamed(verdict.records, rename))
