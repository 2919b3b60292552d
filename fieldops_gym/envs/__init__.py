"""The Gymnasium face: thin adapters over `Episode`, with no rules of their own."""

from fieldops_gym.envs.families import EffectEnv, EvidenceEnv, ProposalEnv, RelayEnv
from fieldops_gym.envs.tool_call_env import FieldOpsEnv

__all__ = ["EffectEnv", "EvidenceEnv", "FieldOpsEnv", "ProposalEnv", "RelayEnv"]
