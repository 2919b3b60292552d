"""Rules about steps: what they return, what is legal, and what a refused or impossible call does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from fieldops_gym.core.calls import Code, Status
from fieldops_gym.core.judging import Outcome
from fieldops_gym.envs.tool_call_env import FieldOpsEnv
from fieldops_gym.testing.probe import Found, Moment, Probe, arrays_in, base_of, call_of, running

ILLEGAL = frozenset({Code.MALFORMED, Code.UNKNOWN_TOOL, Code.INVALID_ARGUMENTS, Code.NOT_FOUND, Code.BUDGET_EXHAUSTED})
"""Refusals of a call that was not legal; whatever else is refused, the world refuses."""

AT_THE_END = {"is_success": bool, "outcome": str, "grade": object}
"""Keys of `info` that come with the last step, and only then."""


def every_step(probe: Probe) -> Iterator[tuple[str, Any, Moment]]:
    """Play every variant at random; yield where, the environment, and what each step returned."""
    env = probe.make()
    for card, variant in probe.variants():
        for index in range(probe.episodes):
            for moment in probe.played(env, index, probe.chosen(card, variant, index)):
                yield f"{card}:{variant}, seeds {index}, step {moment.step}", env, moment


def observes_within_its_space(probe: Probe) -> Iterator[Found]:
    """Every observation lies in the space, and no array is used again."""
    before: list[np.ndarray] = []
    for where, env, moment in every_step(probe):
        if not env.observation_space.contains(moment.observation):
            yield Found(where, "the observation does not lie in observation_space", "keep values within [-1, 1], float32")
            return
        now = [*arrays_in(moment.observation), *arrays_in(moment.info)]
        if any(np.shares_memory(one, other) for one in now for other in before):
            yield Found(where, "it returned an array that an earlier step returned", "return a copy each time")
            return
        before = now


def informs_in_fixed_form(probe: Probe) -> Iterator[Found]:
    """`info` has its keys, types and shapes at every step; what decides the run comes at the end and only then."""
    keys: set[str] = set()
    for where, env, moment in every_step(probe):
        base, info, ended = base_of(env), moment.info, bool(moment.terminated)
        wanted = {"verdicts": (np.int8, (len(base.invariants),)), "action_mask": (bool, info_mask_shape(env, base))}
        for name, (dtype, shape) in wanted.items():
            value = info.get(name)
            if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
                yield Found(where, f"info[{name!r}] is {value!r}", f"make it an array of {np.dtype(dtype)}, shape {shape}")
                return
        for name, kind in AT_THE_END.items():
            if (name in info) != ended or (ended and not isinstance(info[name], kind)):
                what = f"info[{name!r}] is {info.get(name, 'missing')!r}"
                yield Found(where, what, "give it with the last step, and only then")
                return
        others = set(info) - set(AT_THE_END) - {"milestones_reached"}
        if moment.step and others != keys:
            yield Found(where, f"info has keys {sorted(others)}, before {sorted(keys)}", "give the same keys at every step")
            return
        keys = others


def info_mask_shape(env: Any, base: FieldOpsEnv) -> tuple[int, ...]:
    """Return the shape of `info["action_mask"]`: per slot for the array action, per call for a menu."""
    entries = len(base.layout.catalogue.entries)
    return (entries,) if getattr(env.action_space, "n", None) == entries else (base.layout.catalogue.size,)


def rewards_what_passed(probe: Probe) -> Iterator[Found]:
    """The reward is 1.0 with the last step of a run that passed and 0.0 else; a spent budget terminates."""
    shaped = any("milestones" in moment.info for _, _, moment in _first(every_step(probe)))
    for where, env, moment in every_step(probe):
        if type(moment.reward) is not float or type(moment.terminated) is not bool or type(moment.truncated) is not bool:
            kinds = [type(value).__name__ for value in (moment.reward, moment.terminated, moment.truncated)]
            yield Found(where, f"reward, terminated and truncated are {kinds}", "return a Python float and two Python bools")
            return
        passed = moment.terminated and running(base_of(env)).ended and moment.info.get("outcome") == Outcome.PASSED
        if not shaped and moment.reward != (1.0 if passed else 0.0):
            yield Found(
                where, f"the reward is {moment.reward}, the outcome {moment.info.get('outcome')}", "pay 1.0 iff it passed"
            )
            return
        if moment.terminated != running(base_of(env)).ended:
            yield Found(where, f"terminated is {moment.terminated}", "terminate when the episode has ended, and only then")
            return


def _first(steps: Iterator[Any]) -> list[Any]:
    return [next(steps)]


def masks_exactly(probe: Probe) -> Iterator[Found]:
    """The menu's mask allows every legal call and no other, and no slot is ever without a legal value."""
    for where, env, moment in every_step(probe):
        base = base_of(env)
        mask, catalogue = base.action_masks(), base.layout.catalogue
        empty = [slot.name for slot in catalogue.slots if not mask[slot.start : slot.start + slot.size].any()]
        if empty:
            yield Found(where, f"slot '{empty[0]}' has no legal value", "leave one value legal in every slot, at the end too")
            return
        result = base.result
        if moment.step and result is not None and result.reply.code in ILLEGAL:
            label = catalogue.entries[moment.entry].label
            yield Found(where, f"'{label}' was allowed and refused as {result.reply.code}", "mask what is not legal")
            return
        if moment.step % 7 == 3 and not moment.terminated:
            forbidden = np.flatnonzero(~running(base).lead_view.menu_mask()).tolist()
            episode = running(base).branch(len(running(base).steps))
            for entry in forbidden[:: max(1, len(forbidden) // 5)]:
                reply = episode.call(call_of(base, entry)).reply if not episode.ended else None
                if reply is not None and reply.status != Status.REFUSED:
                    label = catalogue.entries[entry].label
                    yield Found(where, f"'{label}' was forbidden and answered {reply.status}", "mask by what is legal, no more")
                    return


def refuses_without_a_trace(probe: Probe) -> Iterator[Found]:
    """A refused call writes nothing outside the harness's meters."""
    for where, env, moment in every_step(probe):
        base = base_of(env)
        if not moment.step or base.result is None or base.result.reply.status != Status.REFUSED:
            continue
        log = running(base).world.log
        seq = max(event.seq for event in log if event.kind == "call")
        own = [event for event in log[seq - 1 :] if event.seq == seq or (event.ref == seq and event.kind == "commit")]
        tables = {write.table for event in own for write in event.writes} - {"meters"}
        if tables:
            yield Found(
                where, f"a refused call wrote to {', '.join(sorted(tables))}", "return an Outcome with a code and no writes"
            )
            return


def raises_for_callers_only(probe: Probe) -> Iterator[Found]:
    """An action outside the space and a step after the end raise; nothing that lies in the space does."""
    env = probe.make()
    base = base_of(env)
    if env.action_space != base.action_space:
        return
    env.reset(seed=0)
    outside = np.array(base.layout.catalogue.nvec, dtype=np.int64)
    for action, what in ((outside, "an action outside the space"), (outside[:-1], "an action that is too short")):
        try:
            env.step(action)
            yield Found("step", f"{what} was taken", "raise gymnasium.error.InvalidAction")
        except InvalidAction:
            pass
    env.action_space.seed(0)
    ended = False
    while not ended:
        _, _, ended, _, _ = env.step(env.action_space.sample(mask=base.sample_mask()))
    try:
        base.step(np.zeros(len(outside), dtype=np.int64))
        yield Found("step", "a step after the end was taken", "raise gymnasium.error.ResetNeeded")
    except ResetNeeded:
        pass
