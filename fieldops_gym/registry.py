"""The table of environment ids, one row each, and their registration with Gymnasium."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium


class EnvRow(NamedTuple):
    """An environment id, its entry point (a string, so that specs stay JSON), its domain and family."""

    id: str
    entry_point: str
    domain: str
    family: str


EVERY_FAMILY = "all"
"""The family of an environment that plays the cards of every family."""

ENVIRONMENTS: tuple[EnvRow, ...] = (
    EnvRow("FieldOps-Evidence-v0", "fieldops_gym.envs.families:EvidenceEnv", "field_service", "evidence"),
    EnvRow("FieldOps-Proposal-v0", "fieldops_gym.envs.families:ProposalEnv", "field_service", "proposal"),
    EnvRow("FieldOps-Authority-v0", "fieldops_gym.envs.families:AuthorityEnv", "field_service", "authority"),
    EnvRow("FieldOps-Effect-v0", "fieldops_gym.envs.families:EffectEnv", "field_service", "effect"),
    EnvRow("FieldOps-Recovery-v0", "fieldops_gym.envs.families:RecoveryEnv", "field_service", "recovery"),
    EnvRow("FieldOps-Relay-v0", "fieldops_gym.envs.families:RelayEnv", "field_service", EVERY_FAMILY),
)
"""Every environment of the package."""


def register_envs() -> None:
    """Register what is not registered yet; calling it again does nothing."""
    for row in ENVIRONMENTS:
        if row.id not in gymnasium.registry:
            gymnasium.register(row.id, entry_point=row.entry_point)


def row_of(env_id: str) -> EnvRow:
    """Return the row of an id, with or without its `fieldops_gym:` prefix. Raises `KeyError` that lists the ids."""
    name = env_id.removeprefix("fieldops_gym:")
    for row in ENVIRONMENTS:
        if row.id == name:
            return row
    raise KeyError(f"there is no environment '{name}'; there are {', '.join(row.id for row in ENVIRONMENTS)}")
