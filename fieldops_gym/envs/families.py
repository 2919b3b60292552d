"""The families. Each is a docstring and a name; everything else is in the base class and the cards.

A docstring says what the family is about. What is the same for every family (observation, action, reward, ending, an example)
stands in the base class's docstring; whatever is data (tools, cards, faults, budgets, invariants) is put on the page by
`fieldops docs`.
"""

from __future__ import annotations

from typing import ClassVar

from fieldops_gym.envs.tool_call_env import FieldOpsEnv


class EvidenceEnv(FieldOpsEnv):
    """Which manual holds, and what to say when that cannot be known.

    A dispatcher is asked which edition of a manual is in force for a machine. Editions are superseded, conflict, belong to
    other tenants, or tell their reader what to do; the machine's revision is known to the registry, to a person, or to nobody.
    Nothing is to be changed: an answer rests on what was read and cited, and where there is none, that is the answer.
    """

    family: ClassVar[str] = "evidence"


class ProposalEnv(FieldOpsEnv):
    """A plan that could be carried out, and no effect.

    A dispatcher is asked for a plan: the part that the edition in force prescribes, a technician's slot that fits region, skill
    and deadline, and the evidence for both. Stock moves while it is being put together, policy says how several parts and other
    depots are dealt with, and nothing is reserved.
    """

    family: ClassVar[str] = "proposal"


class AuthorityEnv(FieldOpsEnv):
    """Who may say yes, and until when.

    A dispatcher needs others: somebody who may inform, a review desk, an approver. Approvals come late, lapse, name a change or
    are refused; people without a say in it say yes all the same; and the desk's own delegation can end while it waits or has
    something in flight. What counts is what policy lets count at the second of the effect.
    """

    family: ClassVar[str] = "authority"


class EffectEnv(FieldOpsEnv):
    """Exactly one effect, although answers get lost, keys clash, requests change and people press.

    A dispatcher gets an incident on a machine. It finds the remedy in manuals that may be out of date, drafts a plan, has
    exactly that plan approved by somebody with authority, and reserves a part and a technician once. What it cannot do, may
    not do, or cannot know, it says.
    """

    family: ClassVar[str] = "effect"


class RecoveryEnv(FieldOpsEnv):
    """After the crash, and after the deployment: what was done already, and what is still to be done.

    A dispatcher's process dies before, while or after it reserves, and comes back with its brief and its journal. Events arrive
    twice, late, or about another matter; a later workflow replaces the one that a plan was made under; undoing fails. There is
    to be one effect at most, and a true word about it.
    """

    family: ClassVar[str] = "recovery"


class RelayEnv(FieldOpsEnv):
    """Every family in one, so that one policy can play them all.

    Cards of all families come in turn. What is asked for, an answer, a plan, a repair or control of a machine, stands in the
    brief and in `situation`.
    """

    family: ClassVar[str] = "all"
