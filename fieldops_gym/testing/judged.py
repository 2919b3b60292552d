"""Rules about what is judged: the world stays sound, idle agents fail, right ones pass, and nothing hidden shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.judging import Outcome
from fieldops_gym.graders import grade
from fieldops_gym.testing.probe import Found, Probe, base_of, running
from fieldops_gym.wrappers.json_calls import brief_of

LONGEST_WAIT = 3600


def keeps_its_world_sound(probe: Probe) -> Iterator[Found]:
    """World invariants hold at every start, and after random calls but for those that a fired fault is declared to break."""
    env = probe.make()
    base = base_of(env)
    for card, variant in probe.variants():
        for index in range(probe.episodes):
            where = f"{card}:{variant}, seeds {index}"
            for _ in probe.played(env, index, probe.chosen(card, variant, index)):
                pass
            episode = running(base)
            start, tables = episode.world.start, episode.world.tables
            fired = {event.data.fault for event in episode.world.log if event.kind == "fault"}
            declared = {rule for fault in episode.scenario.faults if fault.id in fired for rule in fault.breaks}
            for when, found, excused in (
                ("the start", base.domain.broken(start, start), set()),
                ("the end", base.domain.broken(tables, start), declared),
            ):
                left = [item for item in found if item.rule not in excused]
                if left:
                    yield Found(
                        f"{where}, {when}", f"{left[0].rule}: {left[0].text}", "mend the setup or the handler that broke it"
                    )
                    return


def fails_who_does_nothing(probe: Probe) -> Iterator[Found]:
    """An agent that only waits passes no variant."""
    if probe.wrapped:
        return
    for episode, where in _episodes(probe):
        while not episode.ended:
            episode.call(ToolCall.of("wait", seconds=LONGEST_WAIT))
        if grade(episode.domain, episode.trial()).outcome == Outcome.PASSED:
            yield Found(where, "waiting passed it", "let the card ask for something that waiting does not give")
            return


def passes_who_does_it_right(probe: Probe) -> Iterator[Found]:
    """The agent that is given passes every variant; bare, every fault that is armed fires under it."""
    if probe.make_agent is None:
        return
    for episode, where in _episodes(probe):
        agent, result = probe.make_agent(), None
        agent.start(episode.brief, 0)
        while not episode.ended:
            result = episode.call(agent.act(episode.lead_view, result))
        judged = grade(episode.domain, episode.trial())
        if judged.outcome != Outcome.PASSED and not (probe.wrapped and judged.outcome == Outcome.VOID):
            broken = [f"{verdict.invariant}: {verdict.actual}, expected {verdict.expected}" for verdict in judged.broken()]
            what = f"it is {judged.outcome}: {'; '.join(broken) or 'a fault never fired'}"
            yield Found(where, what, "correct the card, its truth, or the agent")
            return


def _episodes(probe: Probe) -> Iterator[tuple[Episode, str]]:
    env = probe.make()
    for card, variant in probe.variants():
        for index in range(probe.episodes):
            env.reset(seed=index, options=probe.chosen(card, variant, index))
            yield running(base_of(env)), f"{card}:{variant}, seeds {index}"


def shows_nothing_hidden(probe: Probe) -> Iterator[Found]:
    """No author id, lineage, fault or persona is in a brief, a rendering or a result."""
    env = probe.make(render_mode="ansi")
    base = base_of(env)
    for card, variant in probe.variants():
        lineage = base.pack.cards[card].lineage
        names = {card, lineage, *base.pack.faults, *base.pack.personas} - _words_of(base)
        for moment in probe.played(env, 8, probe.chosen(card, variant, 3)):
            episode = running(base)
            texts = [json.dumps(brief_of(episode)), base.render() or ""]
            texts += [base.result.to_json()] if base.result is not None else []
            texts += [moment.observation] if isinstance(moment.observation, str) else []
            told = {name: value for name, value in moment.info.items() if name != "grade"}
            texts += [repr(value) for value in told.values() if not isinstance(value, np.ndarray)]
            shown = next((name for name in sorted(names) if any(name in text for text in texts)), None)
            if shown is not None:
                where = f"{card}:{variant}, seeds 3, step {moment.step}"
                yield Found(where, f"'{shown}' can be read", "give agents ids made for the episode, and nothing of the card's")
                return


def _words_of(base: Any) -> set[str]:
    """Return words that agents may read although something hidden has the same name: codes, tools and tables."""
    tools = base.domain.tools[base.domain.lead]
    codes = {code for tool in tools.values() for code, _ in tool.semantics.errors}
    return codes | set(tools) | set(base.domain.tables)
