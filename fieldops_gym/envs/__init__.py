"""The Gymnasium face: thin adapters over `Episode`, with no rules of their own."""

from fieldops_gym.envs.families import AuthorityEnv, EffectEnv, EvidenceEnv, ProposalEnv, RecoveryEnv, RelayEnv
from fieldops_gym.envs.tool_call_env import FieldOpsEnv

__all__ = ["AuthorityEnv", "EffectEnv", "EvidenceEnv", "FieldOpsEnv", "ProposalEnv", "RecoveryEnv", "RelayEnv"]
