"""Runs that leave the reference's path at one point, and trials whose log was edited: material for graders to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, Trial, grade
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Grade, Judged, Verdict
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.world import Event, World
from fieldops_gym.domains.field_service.rules import LEAD
from tests.support import episode_of

Detour = Callable[[Episode], Iterable[ToolCall]]
"""Gives calls one after the other; it can look at the episode between them."""

call = ToolCall.of


class Runner:
    """Lets the reference play, with detours: `before` a tool's first call, or `instead` of it. Each is taken once."""

    def __init__(self, domain: Domain, pack: Pack) -> None:
        self.domain, self.pack = domain, pack

    def __call__(
        self,
        name: str,
        index: int = 0,
        *,
        before: Mapping[str, Detour] | None = None,
        instead: Mapping[str, Detour] | None = None,
        overrides: Overrides = Overrides(),
        agent: Any = None,
    ) -> Trial:
        episode = episode_of(self.domain, self.pack, name, index, overrides)
        agent = agent or Reference()
        agent.start(episode.brief, index)
        detours = {**(before or {}), **(instead or {})}
        result = None
        while not episode.ended:
            wanted = agent.act(episode.view(), result)
            detour = detours.pop(wanted.tool, None)
            if detour is None:
                result = episode.call(wanted)
                continue
            for made in detour(episode):
                result = episode.call(made)
                if episode.ended:
                    break
            if before and wanted.tool in before and not episode.ended:
                # What the reference wants now may have changed by the detour.
                result = episode.call(agent.act(episode.view(), result))
        return episode.trial()

    def grade(self, trial: Trial) -> Grade:
        """Judge a trial."""
        return grade(self.domain, trial)

    def broken(self, trial: Trial) -> dict[str, Verdict]:
        """Return the broken invariants that fail a run, by id."""
        return {verdict.invariant: verdict for verdict in self.grade(trial).broken()}

    def verdict(self, trial: Trial, invariant: str) -> Verdict:
        """Return one verdict."""
        return next(v for v in self.grade(trial).verdicts if v.invariant == invariant)

    def holds(self, trial: Trial, invariant: str) -> bool:
        """Whether an invariant was judged and holds."""
        return self.verdict(trial, invariant).state == Judged.HOLDS


def calls(*made: ToolCall) -> Detour:
    """A detour of calls that are known beforehand."""
    return lambda episode: made


def role(episode: Episode, name: str) -> str:
    """Return the id bound to a role: tests may know what agents may not."""
    return episode.scenario.roles[name][0]


def plan(episode: Episode) -> str:
    """Return the id of the latest proposal."""
    return list(episode.world.tables["proposal"])[-1]


def made(episode: Episode) -> str:
    """Return the id of the latest reservation."""
    return list(episode.world.tables["reservation"])[-1]


def tell(episode: Episode, kind: str, who: str = "requester") -> ToolCall:
    """Tell somebody, the requester by default."""
    return call("notify", person=role(episode, who), kind=kind)


def end(episode: Episode, disposition: str, subject: str, kind: str) -> tuple[ToolCall, ToolCall]:
    """Tell the requester and finish."""
    return tell(episode, kind), call("finish", disposition=disposition, subject=subject)


def another_plan(episode: Episode) -> Iterable[ToolCall]:
    """Propose the same with an alternative, and get it approved."""
    part = episode.view().rows["part"][0].id
    yield call("draft", field="alternative", ref=part)
    yield call("propose")
    yield call("request_approval", proposal=plan(episode), person=role(episode, "approver"))
    yield call("wait", seconds=7200)


def edited(trial: Trial, edit: Callable[[Event], Event]) -> Trial:
    """Return a trial over the same start and an edited log, folded anew."""
    world = World(trial.world.start)
    for event in trial.world.log:
        world.apply(edit(event))
    return Trial(world, trial.scenario, trial.account, trial.ending, trial.pending, trial.as_of)


def with_card(trial: Trial, **hidden: Any) -> Trial:
    """Return a trial under the same card with another hidden contract."""
    card = trial.scenario.card
    changed = card.model_copy(update={"hidden": card.hidden.model_copy(update=hidden)})
    scenario = replace(trial.scenario, card=changed)
    return Trial(trial.world, scenario, trial.account, trial.ending, trial.pending, trial.as_of)


def commit_of(trial: Trial, tool: str) -> Event:
    """Return the commit event of the lead seat's last effective call of a tool."""
    seqs = {m.seq for m in trial.calls(LEAD) if m.call.tool == tool}
    return [e for e in trial.world.log if e.kind == "commit" and e.ref in seqs][-1]


def tools_at(trial: Trial, verdict: Verdict) -> list[str]:
    """Return the tools of the calls that a verdict's events belong to."""
    by_seq = {e.seq: e for e in trial.world.log}
    found = []
    for seq in verdict.events:
        event = by_seq[seq]
        found.append(event.data.tool if event.kind == "call" else by_seq[event.ref].data.tool)
    return found
