"""Running trials: which ones a run has, playing one, and playing them all with results kept on the way.

Three things are never mixed up: an agent that plays badly (`completed`, and the grade says how), an agent that raises
(`agent_error`, a failed trial), and a harness that cannot judge (`infra_error`, no outcome, shown in the denominator).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldops_gym.core.calls import Status, ToolCall, as_call
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.gateway import ToolResult
from fieldops_gym.core.judging import Grade
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import Seeds, Stream, evaluation_seeds
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.access import check_access_log, held_out_cards, record_access
from fieldops_gym.evaluation.agents import Agent, AgentSource
from fieldops_gym.evaluation.evidence import Breach, breaches
from fieldops_gym.evaluation.lock import held_lock
from fieldops_gym.evaluation.quarantine import quarantine_of, retired_of
from fieldops_gym.evaluation.results import ResultsDir, ResultsError
from fieldops_gym.evaluation.summary import FailureKey, Report, failure_key, failures
from fieldops_gym.evaluation.traces import Trace, trace_of
from fieldops_gym.evaluation.trials import RunSettings, TrialPlan, TrialRow, TrialStatus, row_of, trial_id
from fieldops_gym.graders import grade
from fieldops_gym.registry import row_of as env_row

AGENT_SEEDS = 2**31
NO_OVERRIDES = Overrides()


@dataclass(frozen=True)
class TrialRun:
    """A trial that was run. `grade` is there when it was judged, `episode` when it could be set up; else `error` says why."""

    status: TrialStatus
    episode: Episode | None
    grade: Grade | None
    error: str = ""


class _AgentError(Exception):
    """The agent raised. Carries what, and where in its code."""


def settings_for(
    env_id: str,
    agent: str,
    pack: Pack,
    cards: tuple[str, ...] | None = None,
    split: str = "train",
    seeds: int = 20,
    overrides: Overrides = NO_OVERRIDES,
) -> RunSettings:
    """Return the settings of a run over a split, or over just the cards named (then the split reads 'named').

    Raises `KeyError` for an unknown environment, `CardError` for cards that are not there, `LockError` for a wrong lock file.
    """
    row = env_row(env_id)
    chosen = tuple(card.id for card in pack.select(row.family, split, cards))
    held = held_lock(pack, row.domain)
    lock = "" if held is None else held.digest
    return RunSettings.of(row, agent, "named" if cards is not None else split, chosen, seeds, overrides, pack, lock)


def plan_trials(settings: RunSettings, pack: Pack) -> tuple[TrialPlan, ...]:
    """Return the trials of a run in order: by card, then by seed number; seed number i takes variant i modulo their count."""
    plans = []
    for name in settings.cards:
        card = pack.cards[name]
        variants = tuple(card.variants)
        for number in range(settings.seeds):
            variant = variants[number % len(variants)]
            coordinates = Coordinates(name, variant, evaluation_seeds(number), settings.overrides)
            plans.append(TrialPlan(trial_id(settings.pack, name, variant, number), card.segment, coordinates))
    return tuple(plans)


def agent_seed(seeds: Seeds) -> int:
    """Return the seed that an agent gets: an int in [0, 2**31) that tells neither card nor variant nor seed number."""
    return Stream(seeds.interaction, "agent").draw("seed").below(AGENT_SEEDS)


def run_trial(domain: Domain, pack: Pack, coordinates: Coordinates, make: Callable[[], Agent]) -> TrialRun:
    """Play one trial with a fresh agent and judge it. Nothing that the agent or the harness raises gets out."""
    episode = None
    try:
        episode = Episode(domain, pack, coordinates)
        unsound = domain.broken(episode.world.tables, episode.world.start)
        if unsound:
            return TrialRun(TrialStatus.INFRA_ERROR, episode, None, f"unsound at reset: {'; '.join(map(_plainly, unsound))}")
        _play(episode, make, agent_seed(coordinates.seeds))
        return TrialRun(TrialStatus.COMPLETED, episode, grade(domain, episode.trial()))
    except _AgentError as raised:
        return TrialRun(TrialStatus.AGENT_ERROR, episode, None, str(raised))
    except Exception as error:  # whatever else is raised here is a defect of the harness, and must not look like a score
        return TrialRun(TrialStatus.INFRA_ERROR, episode, None, _told(error))


def run(
    settings: RunSettings,
    pack: Pack,
    agent: AgentSource,
    out: Path | None = None,
    resume: bool = False,
    watch: Callable[[TrialRow], None] | None = None,
    access_log: Path | None = None,
) -> Report:
    """Run every trial in order and return the report. `watch` is called with each result, those of a resumed run first.

    With `out`, each trial leaves a trace and a line of results there; without, nothing is written. With `access_log`, a line
    that says which held-out cards the run opens is appended to that file before the first trial. Raises `ResultsError`
    when `out` holds something else, or a run that `resume` does not allow to go on, or when the settings are of another
    pack, `AccessLogError` when the log cannot be used, and `QuarantineError` when the file of what is set apart is wrong.
    Whether the lock holds is not asked here: `check_run` does, and `fieldops run` begins with it.
    """
    _check_fit(settings, pack)
    quarantine = quarantine_of(pack, settings.domain)
    plans = plan_trials(settings, pack)
    if access_log is not None:
        check_access_log(access_log)
    store = None if out is None else ResultsDir.open(out, settings, resume)
    if access_log is not None:
        record_access(access_log, settings, resumed=store is not None and store.resumed)
    rows = list(_resumed(store, plans))
    examples: dict[FailureKey, tuple[Breach, ...]] = {}
    for row in rows:
        _keep_example(examples, row, store.trace if store is not None else None)
        if watch is not None:
            watch(row)
    for plan in plans[len(rows) :]:
        played = run_trial(DOMAINS[settings.domain], pack, plan.coordinates, agent.make)
        row = _record(settings, plan, played, store, examples)
        rows.append(row)
        if watch is not None:
            watch(row)
    return Report(settings, tuple(rows), failures(rows, examples, quarantine), out, quarantine, retired_of(pack))


def _check_fit(settings: RunSettings, pack: Pack) -> None:
    """Refuse settings that would label results wrongly: with the digest or the held-out cards of other tasks."""
    opened = held_out_cards(pack, settings.cards)
    if (settings.pack, settings.held_out) != (pack.digest, opened):
        raise ResultsError(
            f"settings: they have pack '{settings.pack}' and held-out cards {list(settings.held_out)}, the tasks given have "
            f"'{pack.digest}' and {list(opened)}; make the settings by settings_for(...) with the same tasks"
        )


def _record(
    settings: RunSettings, plan: TrialPlan, played: TrialRun, store: ResultsDir | None, examples: dict[Any, Any]
) -> TrialRow:
    """Turn a played trial into its row, and store both; a trace costs time, so it is made only when somebody needs it."""
    trace = _trace(settings, plan, played) if store is not None else None
    digests = None if trace is None else trace.digests
    row = row_of(plan, settings, played.status, played.grade, played.error, digests)
    if store is not None and trace is not None:
        store.keep(row, trace)
    _keep_example(examples, row, lambda _: trace or _trace(settings, plan, played))
    return row


def _trace(settings: RunSettings, plan: TrialPlan, played: TrialRun) -> Trace:
    seed = agent_seed(plan.coordinates.seeds)
    return trace_of(plan, settings, seed, played.episode, played.status, played.grade, played.error)


def _keep_example(examples: dict[FailureKey, tuple[Breach, ...]], row: TrialRow, trace: Callable[[str], Trace] | None) -> None:
    key = failure_key(row)
    if key is not None and key not in examples and trace is not None:
        examples[key] = breaches(trace(row.trial)) if row.status == TrialStatus.COMPLETED else ()


def _resumed(store: ResultsDir | None, plans: tuple[TrialPlan, ...]) -> tuple[TrialRow, ...]:
    if store is None:
        return ()
    for number, row in enumerate(store.rows):
        if number >= len(plans) or row.trial != plans[number].trial:
            raise ResultsError(f"{store.results}: line {number + 1} is of trial '{row.trial}', which does not come there")
    return store.rows


def _play(episode: Episode, make: Callable[[], Agent], seed: int) -> None:
    """Let an agent play to the end; after a crash of its process a new instance goes on. Raises `_AgentError`."""
    view, lead = episode.view(), episode.lead
    agent = _begin(episode, make, seed, restarted=False)
    result: ToolResult | None = None
    charged = 0
    while not episode.ended:
        if result is not None and result.reply.status == Status.RESTARTED:
            agent, charged = _begin(episode, make, seed, restarted=True), 0
        call = _next_call(agent, view, result)
        asked = _model_calls(agent)
        if asked > charged:
            episode.charge_model_calls(asked - charged)
            charged = asked
        if not episode.ended:
            result = episode.send(call, lead)


def _begin(episode: Episode, make: Callable[[], Agent], seed: int, restarted: bool) -> Agent:
    try:
        agent = make()
        agent.start(episode.brief, seed, restarted=restarted)
    except (Exception, SystemExit) as error:
        raise _AgentError(_told(error)) from error
    return agent


def _next_call(agent: Agent, view: Any, result: ToolResult | None) -> ToolCall:
    # Reading what came back is part of the agent's turn: an object that raises when it is looked at is the agent's doing.
    try:
        return as_call(agent.act(view, result))
    except (Exception, SystemExit) as error:
        raise _AgentError(_told(error)) from error


def _model_calls(agent: Agent) -> int:
    """Return how often an agent says it has asked a model so far; an agent that says nothing has asked none."""
    try:
        asked = getattr(agent, "model_calls", 0)
    except (Exception, SystemExit) as error:
        raise _AgentError(_told(error)) from error
    if type(asked) is not int or asked < 0:
        raise _AgentError(f"model_calls: {asked!r} is not a count")
    return asked


def _told(error: BaseException) -> str:
    """Return an error as one line that is the same in every run: no paths, no addresses."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is not None:
        text += f" ({Path(frame.tb_frame.f_code.co_filename).name}, line {frame.tb_lineno})"
    return re.sub(r"0x[0-9a-fA-F]+", "0x...", text)


def _plainly(unsound: Any) -> str:
    return " ".join(str(item) for item in unsound)
