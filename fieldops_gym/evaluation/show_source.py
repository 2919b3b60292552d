"""From a trace file to what is worth showing of it: read, checked against its digests and its results, replayed if possible.

A replay gives what the trace does not hold: the request, what the start was, which faults were armed, and verdicts where
the trial had none. It is never needed: a trace of other tasks or of another version is shown as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Foreign, ToolCall
from fieldops_gym.core.canonical import canonical, plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.episode import Episode, Step, replay
from fieldops_gym.core.judging import GraderError
from fieldops_gym.core.overrides import Overrides
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import Seeds
from fieldops_gym.core.world import GENESIS, chain_digests, tables_digest
from fieldops_gym.domains import DOMAINS
from fieldops_gym.evaluation.evidence import printable
from fieldops_gym.evaluation.results import read_rows
from fieldops_gym.evaluation.rulings import Ruling, rulings, rulings_of
from fieldops_gym.evaluation.timeline import Row, timeline
from fieldops_gym.evaluation.traces import FORMAT, Trace, TraceError, read_trace, rules_of
from fieldops_gym.evaluation.trials import TrialRow
from fieldops_gym.graders import grade, judge_so_far
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import row_of


class Heading(NamedTuple):
    """What a trial was and what it came to. `overrides` is in words; `outcome` is '' where nothing could be judged."""

    trial: str
    env: str
    agent: str
    card: str
    variant: str
    segment: str
    seeds: Seeds
    agent_seed: str
    overrides: str
    fired: tuple[str, ...]
    status: str
    outcome: str
    ending: str
    completion: str
    error: str


class Armed(NamedTuple):
    """A fault that the trial had in store, and whether it fired."""

    fault: str
    tool: str
    fired: bool


class Background(NamedTuple):
    """What a replay adds to a trace: request, the card's claim, armed faults, and who is who: (role, record ids) pairs."""

    request: str
    claim: str
    faults: tuple[Armed, ...]
    roles: tuple[tuple[str, tuple[str, ...]], ...]


class Shown(NamedTuple):
    """One episode, ready to be shown. `checks` say in a line each what was checked and what could not be."""

    heading: Heading
    rows: tuple[Row, ...]
    rulings: tuple[Ruling, ...]
    checks: tuple[str, ...]
    background: Background | None


def load(path: Path, tasks: Path | None = None) -> Shown:
    """Read a trace file and everything that goes with it.

    Raises `TraceError` for what is no whole and unaltered trace, `ResultsError` when the results beside it cannot be read,
    `CardError` for a wrong directory of `tasks`, and `OSError`.
    """
    if path.is_dir():
        found = sorted([*path.glob("traces/*.jsonl"), *(path.glob("*.jsonl") if path.name == "traces" else ())])
        raise TraceError(f"{path}: it is a directory; give {f'a trace in it, such as {found[0]}' if found else 'a trace'}")
    if not path.exists():
        raise TraceError(f"{path}: there is no such file")
    try:
        trace = read_trace(path)
        if trace.header["format"] != FORMAT:
            raise TraceError(f"{path}: its format is {trace.header['format']!r}; this version reads {FORMAT!r}")
        if trace.header["pack"] != trace.digests.pack:
            raise TraceError(f"{path}: its first and its last line name other tasks: it was changed")
        _check_chain(path, trace)
        checks = [f"all {len(trace.events)} events are as written (digest chain)", _anchor(path, trace)]
        episode, note = _replayed(path, trace, tasks)
        checks.append(note)
        ruled, note = _verdicts(trace, episode)
        checks += [note] if note else []
        background = None if episode is None else _background(episode, trace)
        return Shown(_heading(trace), _rows(trace, ruled, episode), ruled, tuple(checks), background)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise TraceError(f"{path}: not a trace as this version writes them: {type(error).__name__}: {error}") from error


def _heading(trace: Trace) -> Heading:
    given = {**trace.header, **trace.header["coordinates"], **trace.grade}
    apart = ("seeds", "overrides", "fired")
    words = {name: printable(str(given[name])) for name in Heading._fields if name not in apart}
    fired = tuple(printable(str(name)) for name in given["fired"])
    return Heading(**words, seeds=Seeds(**given["seeds"]), overrides=_overrides(given["overrides"]), fired=fired)


def _overrides(given: Mapping[str, Any]) -> str:
    """Return what was overridden in words, '' for nothing."""
    plainly = plain(Overrides())
    told = []
    for name, value in given.items():
        if value != plainly.get(name):
            items = value if isinstance(value, list) else [value]
            words = [_use(name, item) if isinstance(item, list) else str(item) for item in items]
            told.append(f"{name} {', '.join(words) or 'none'}")
    return printable("; ".join(told))


def _use(name: str, item: list[Any]) -> str:
    """Return an override's entry: of a fault's use its id, which comes first, of others name and value."""
    return str(item[0]) if "fault" in name else "=".join(map(str, item))


def _check_chain(path: Path, trace: Trace) -> None:
    """Compute the chain again from the lines. Records are objects there and arrays in the chain, in the same order."""
    last = GENESIS
    for number, event in enumerate(trace.events, start=1):
        body = [value for name, value in event.items() if name not in ("line", "digest")]
        last = hashlib.sha256(last.encode("ascii") + canonical(_arrays(body))).hexdigest()
        if event["seq"] != number or event["digest"] != last:
            raise TraceError(f"{path}: event {number} (line {number + 1}) is not as it was written: its digest does not fit")
    if trace.digests.log != last:
        raise TraceError(f"{path}: its events do not end where its last line says: some are missing, or were changed")


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [_arrays(item) for item in value.values()]
    return [_arrays(item) for item in value] if isinstance(value, list) else value


def _anchor(path: Path, trace: Trace) -> str:
    """Hold a trace against its line in the results beside it; raise `TraceError` when they differ."""
    places = [directory / "results.jsonl" for directory in (path.absolute().parent.parent, path.absolute().parent)]
    results = next((place for place in places if place.is_file()), None)
    if results is None:
        return "no results.jsonl beside it, so nothing else vouches for it"
    row = next((row for row in read_rows(results) if row.trial == trace.header["trial"]), None)
    if row is None:
        return "results.jsonl beside it has no line for this trial"
    for name, here, there in _pairs(trace, row):
        if here != there:
            raise TraceError(f"{path}: its {name} is not the one in results.jsonl beside it: one of the two was changed")
    return "results.jsonl beside it has the same digests and outcome"


def _pairs(trace: Trace, row: TrialRow) -> list[tuple[str, Any, Any]]:
    """Return what a trace and its line of results both say: (name, in the trace, in the results)."""
    header, end, there = trace.header, trace.grade, plain(row)
    broken = [v for v in end["verdicts"] if v["state"] == "broken"]
    here = {name: header["coordinates"][name] for name in ("card", "variant", "seeds")}
    here |= {"segment": header["segment"], "agent": header["agent"]}
    here |= {name: end[name] for name in ("digests", "status", "outcome", "ending", "completion", "error")}
    here["broken"] = [v["invariant"] for v in broken if v["severity"] != "advisory"]
    here["advisory"] = [v["invariant"] for v in broken if v["severity"] == "advisory"]
    return [(name, value, there[name]) for name, value in here.items()]


def _replayed(path: Path, trace: Trace, tasks: Path | None) -> tuple[Episode | None, str]:
    """Run the trace's calls again from its coordinates; return the episode if it is the same one, and what was found."""
    if not trace.events:
        return None, "not replayed: no call was made"
    try:
        domain = row_of(trace.header["env"]).domain
    except KeyError as error:
        return None, f"not replayed: {error.args[0]}"
    pack = load_tasks(tasks, domain)
    if pack.digest != trace.header["pack"]:
        return None, "not replayed: it was made with other tasks than these; --tasks DIR says which"
    return _again(path, trace, domain, pack)


def _again(path: Path, trace: Trace, domain: str, pack: Pack) -> tuple[Episode | None, str]:
    try:
        episode = replay(DOMAINS[domain], pack, Coordinates.of(trace.header["coordinates"]), _steps(trace))
    except Exception as error:  # coordinates and calls may be anything in a file that others wrote
        return None, f"not replayed: {' '.join(f'{type(error).__name__}: {error}'.split())}"
    if tables_digest(episode.world.start) != trace.digests.start:
        return None, "not replayed: its coordinates give another start here, so it is of another version or was changed"
    log = zip(episode.world.log, chain_digests(episode.world.log), strict=False)
    for number, (event, (made, link)) in enumerate(zip(trace.events, log, strict=False), start=1):
        if event["digest"] != link:
            return None, f"not replayed: here its calls lead elsewhere from event {number} on, so it is of another version"
        # Digests cover values, not the names that a trace gives them.
        if event != {"line": "event", **plain(made), "digest": link}:
            raise TraceError(f"{path}: event {number} (line {number + 1}) is not as it was written: its names were changed")
    if len(episode.world.log) != len(trace.events):
        return None, "not replayed: here its calls leave another number of events, so it is of another version"
    return episode, "replayed here: the same calls gave the same events"


def _steps(trace: Trace) -> list[Step]:
    steps = []
    for event in trace.events:
        if event["kind"] == "call":
            data = event["data"]
            args = tuple((name, Foreign(**value) if isinstance(value, Mapping) else value) for name, value in data["args"])
            steps.append(Step(event["actor"], ToolCall(data["tool"], args, data["malformed"])))
        elif event["kind"] == "crash" and event["ref"] == 0:
            steps.append(Step(event["data"], ToolCall(""), crash=True))
        elif event["kind"] == "model_calls":
            steps.append(Step(event["actor"], ToolCall(""), model_calls=event["data"]))
    return steps


def _verdicts(trace: Trace, episode: Episode | None) -> tuple[tuple[Ruling, ...], str]:
    """Return the trace's own verdicts, or those on its replay where it has none, and what a replay has to say of them."""
    held = rulings(trace)
    if episode is None:
        return held, "" if held else "no verdicts: the trial was not judged"
    trial = episode.trial()
    try:
        graded = grade(episode.domain, trial) if episode.ended else None
        found = judge_so_far(episode.domain, trial) if graded is None else graded.verdicts
    except GraderError as error:
        return held, f"it cannot be graded here: {error}"
    here = rulings_of(found, rules_of(episode))
    if not held:
        when = "" if graded else ", up to where the run broke off"
        return here, f"the trial was not judged: the verdicts below are from the replay{when}"
    said = {ruling.invariant: ruling.state for ruling in held}
    other = [ruling.invariant for ruling in here if ruling.state != said.get(ruling.invariant)]
    other += ["the outcome"] if graded is None or graded.outcome != trace.grade["outcome"] else []
    if other:
        return held, f"GRADED OTHERWISE HERE: {', '.join(other)}; the graders have changed since, or the trace was"
    return held, "graded again here: the same verdicts"


def _rows(trace: Trace, ruled: tuple[Ruling, ...], episode: Episode | None) -> tuple[Row, ...]:
    if episode is None:
        return timeline(trace, ruled)
    return timeline(trace, ruled, episode.world.start, {name: fault.state for name, fault in episode.pack.faults.items()})


def _background(episode: Episode, trace: Trace) -> Background:
    scenario, fired = episode.scenario, list(episode.trial().fired)
    armed = []
    for fault in scenario.faults:
        armed.append(Armed(fault.id, fault.tool, fault.id in fired))
        if fault.id in fired:
            fired.remove(fault.id)
    calls = [event["data"]["args"] for event in trace.events if event["kind"] == "call"]
    seen = {value for args in calls for _, value in args if isinstance(value, str)}
    roles = tuple((role, keys) for role, keys in sorted(scenario.roles.items()) if len(keys) == 1 and keys[0] in seen)
    return Background(printable(scenario.brief.request), scenario.card.claim, tuple(armed), roles)
