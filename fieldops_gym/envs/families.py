"""The families. Each is a docstring and a name; everything else is in the base class and the cards."""

from __future__ import annotations

from typing import ClassVar

from fieldops_gym.envs.tool_call_env import FieldOpsEnv


class EffectEnv(FieldOpsEnv):
    """Exactly one reservation, although answers get lost (`FieldOps-Effect-v0`).

    Observation: a `Dict` of 1-D float32 `Box` in [-1, 1]: `clock`, `situation`, `last`, and a table each for manuals, parts,
    slots, people, draft, proposals and reservations; 1 yes, -1 no, 0 not known or no such row.
    Action: `MultiDiscrete`: the tool, then one slot per referred table (a position in the view, 0 none) and one per other
    argument. Slots the tool does not take are ignored; an illegal call is refused, logged and charged.
    Reward: 1.0 when the episode ends passed, else 0.0.
    Ending: `finish`, or the end of the turns, tool calls or simulated time, which are in the observation.

        import gymnasium, fieldops_gym
        env = gymnasium.make("FieldOps-Effect-v0")
        observation, info = env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """

    family: ClassVar[str] = "effect"


class EvidenceEnv(FieldOpsEnv):
    """Which manual holds (`FieldOps-Evidence-v0`)."""

    family: ClassVar[str] = "evidence"


class ProposalEnv(FieldOpsEnv):
    """A plan, and no effect (`FieldOps-Proposal-v0`)."""

    family: ClassVar[str] = "proposal"
