"""The families. Each is a docstring and a name; everything else is in the base class and the cards.

A docstring is the prose of the family's page: sections Observation, Action, Reward, Ending and Example, in this order. Whatever
is data (tools, cards, faults, budgets, invariants) is put there by `fieldops docs`, and not written here.
"""

from __future__ import annotations

from typing import ClassVar

from fieldops_gym.envs.tool_call_env import FieldOpsEnv


class EffectEnv(FieldOpsEnv):
    """Exactly one effect, although answers get lost, keys clash, requests change and people press.

    A dispatcher gets an incident on a machine. It finds the remedy in manuals that may be out of date, drafts a plan, has
    exactly that plan approved by somebody with authority, and reserves a part and a technician once. What it cannot do, may
    not do, or cannot know, it says.

    ## Observation

    A `Dict` of 1-D float32 arrays in [-1, 1], the same for every family of the domain: `clock` (time and budget, each as the
    share left), `situation`, `last` (the last result), and one array per table of the view, row after row. Predicates are 1
    for yes, -1 for no, 0 for not known; a row that is not there is all 0. They tell what this seat has been shown, as it was
    shown: a stale read stays stale until it is read again. `info["action_mask"]` holds what is legal now, bool, slot after
    slot, as `env.unwrapped.action_masks()` does for MaskablePPO and `sample_mask()` for `action_space.sample(mask=...)`.

    ## Action

    A `MultiDiscrete`: the tool, then one slot per table that tools refer to (a position in the view, 0 for none) and one per
    other argument. Slots that the tool does not take are ignored. Nothing that lies in the space raises: an illegal call,
    such as one about an empty row, is refused, logged, charged to the budget and takes its time, as is one that policy
    denies. An action outside the space raises `InvalidAction`.

    ## Reward

    1.0 at the end of an episode that passes, else 0.0. It passes when no hard invariant is broken and every fault that was
    armed has fired. `info["verdicts"]` has the invariants one by one, int8: 0 not judged, 1 holds, 2 broken, 3 not
    applicable; `info["grade"]` says why.

    ## Ending

    `terminated` comes with the tool `finish`, which gives the agent's account, or when the turns, tool calls or simulated
    time are used up; the budget is in the observation. `truncated` is never set. What others still owe then happens up to the
    card's horizon before anything is judged.

    ## Example

    ```python
    import gymnasium
    import fieldops_gym

    env = gymnasium.make("FieldOps-Effect-v0")
    env.action_space.seed(7)
    observation, info = env.reset(seed=7)
    terminated = False
    while not terminated:
        action = env.action_space.sample(mask=env.unwrapped.sample_mask())
        observation, reward, terminated, truncated, info = env.step(action)
    print(reward, [verdict.invariant for verdict in info["grade"].broken()])
    ```
    """

    family: ClassVar[str] = "effect"


class EvidenceEnv(FieldOpsEnv):
    """Which manual holds (`FieldOps-Evidence-v0`)."""

    family: ClassVar[str] = "evidence"


class ProposalEnv(FieldOpsEnv):
    """A plan, and no effect (`FieldOps-Proposal-v0`)."""

    family: ClassVar[str] = "proposal"
