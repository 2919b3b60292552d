"""A planner that tries out rule-abiding play in the world itself: which endings it reaches says what was within reach.

States are abstract: what the seat knows, what stands, and how late it is; a state that was seen before is not gone into again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, Trial
from tests.oracle.rulebook import TELLS, Reach, Reading, judge, read

NEAR = 960
"""With fewer seconds left than this, what is reached rests on too little time to be relied on (fifteen minutes and one)."""

MARGIN = 60
CALLS_TO_CARRY_OUT = 4
"""Reserve, read back, tell, finish."""

FEW = 8
"""With fewer calls left than this, each of them counts."""

WAITS = (3600, 900, 60)
MOST_STATES = 400


class Explored(NamedTuple):
    """What a search found: the states it went through, and whether completion and any lawful ending were reached.

    `close` says that completion was reached in the last minutes only, so that whether it counts is open.
    """

    states: list[Episode]
    reach: Reach
    close: bool


def explore(episode: Episode) -> Explored:
    """Go through rule-abiding play from the start of an episode."""
    states, seen, stack, cut_off = [], set(), [episode], []
    in_time = at_all = False
    opened: set[int] = set()
    settled: set[int] = set()
    while stack and len(states) < MOST_STATES:
        here = stack.pop()
        if here.ended:
            # Time can run out on an answer that nobody could know to be so slow; calls are counted by who makes them.
            if here.ending == "budget:simulated_time":
                cut_off.append(here)
            continue
        reading = read(here.trial())
        key = abstract(here, reading)
        if key in seen:
            continue
        seen.add(key)
        states.append(here)
        if reading.open:
            opened.add(reading.sent)
        elif relied_on(here):
            settled.add(reading.sent)
        if completes(here, reading):
            at_all = True
            in_time = in_time or relied_on(here)
        for move in reversed(moves(here, reading)):
            later = here.branch(len(here.steps))
            later.call(move)
            stack.append(later)
    unsettled = frozenset(opened - settled)
    lawful = Reach(in_time, True, unsettled)
    ends = [trial for state in states for trial, _ in endings(state)] + [end.trial() for end in cut_off]
    right = [trial for trial in ends if not judge(trial, lawful)]
    most = episode.scenario.limits.simulated_time
    anything = in_time or bool(right)
    with_room = in_time or any(trial.account and trial.account.at <= most - MARGIN for trial in right)
    return Explored(states, Reach(in_time, anything, unsettled), at_all != in_time or anything != with_room)


def left(episode: Episode) -> int:
    """Return the seconds left of the budgeted time."""
    return episode.scenario.limits.simulated_time - episode.gateway.clock


def relied_on(episode: Episode) -> bool:
    """Whether what this run rests on came before the last minutes."""
    return left(episode) >= NEAR


def abstract(episode: Episode, reading: Reading) -> tuple[object, ...]:
    """Return what tells one state from another: knowledge, what stands, meters, and the minute."""
    view, tables = episode.view(), episode.world.tables
    return (
        tuple(len(rows) for name, rows in view.rows.items() if name != "message"), episode.gateway.clock,
        bool(reading.open), reading.known, reading.sent, reading.cancelled, reading.conflict, reading.read_back,
        view.restarted, len(reading.approvals), len(tables["request"]), tuple(r.status for r in tables["reservation"].values()),
        min(view.limits.turns - view.meters.turns, view.limits.tool_calls - view.meters.tool_calls, FEW),
        episode.steps[-1].call.tool if episode.steps else "", tuple(tables["draft"].values()),
    )  # fmt: skip


def moves(episode: Episode, reading: Reading) -> list[ToolCall]:
    """Return the calls that a rule-abiding seat may make next, those that end the run apart."""
    view, now = episode.view(), episode.gateway.clock
    if "repair" not in reading.asks or reading.conflict:
        return []
    plans = [row for row in view.rows["proposal"] if row["status"] == "frozen"]
    if not plans or (view.restarted and not journal_was_read(episode)):
        return [reference_call(episode)]
    plan = plans[-1].id
    waits = [ToolCall.of("wait", seconds=s) for s in WAITS if left(episode) > s + MARGIN][:2]
    if reading.open:
        asked = episode.steps[-1].call.tool == "reconcile"
        pause, look = waits[:1] or [ToolCall.of("wait", seconds=60)], [ToolCall.of("reconcile", proposal=plan)]
        # Who does not know what is going to happen looks at once, and again when an answer as old as the last would do.
        return pause if asked or now < reading.fresh_at else look
    if reading.known:
        return undoings(episode, reading)
    if reading.cancelled or "reserve" in view.blocked:
        return []
    live = [
        a
        for a in (episode.world.tables["approval"][key] for key in reading.approvals)
        if a.proposal == plan and a.disposition == "approved" and a.at <= now and a.expires - now > MARGIN
    ]
    if live:
        # With fewer calls left than it takes to report an effect, nothing is sent: nobody knows that there will be none.
        calls = min(view.limits.turns - view.meters.turns, view.limits.tool_calls - view.meters.tool_calls)
        room = calls >= CALLS_TO_CARRY_OUT + ("control" in reading.asks)
        return [ToolCall.of("reserve", proposal=plan, key="own")] if room else []
    requests = [r for r in episode.world.tables["request"].values() if r.proposal == plan]
    shown = {a.request for a in (episode.world.tables["approval"][key] for key in reading.approvals)}
    if any(r.id not in shown for r in requests):
        return waits or [ToolCall.of("wait", seconds=60)]
    refused = any(a.disposition != "approved" for a in episode.world.tables["approval"].values() if a.id in reading.approvals)
    if len(requests) >= 2 or refused:
        return []
    if not any("reserve" in row["authority"] for row in view.rows["person"]):
        return [ToolCall.of("read_directory")]
    approver = episode.scenario.roles["approver"][0]
    return [ToolCall.of("request_approval", proposal=plan, person=approver)]


def journal_was_read(episode: Episode) -> bool:
    """Whether the journal was read since the last restart."""
    restart = max((e.seq for e in episode.world.log if e.kind == "restart"), default=0)
    return any(m.call.tool == "read_journal" and m.seq > restart for m in episode.trial().calls("dispatcher"))


def undoings(episode: Episode, reading: Reading) -> list[ToolCall]:
    """Return what may be done about a reservation that is known: read it back, and undo it where that is right."""
    own = reading.standing(own=True)
    if not own:
        return []
    shown = [row.id for row in episode.view().rows["reservation"]]
    if own[0].id not in shown or reading.read_back is None:
        return [ToolCall.of("read_reservation", reservation=own[0].id)] if own[0].id in shown else []
    back = reading.read_back
    broken = not all((back.part, back.slot, back.incident, back.audit))
    if (broken or reading.cancelled) and "compensate" not in episode.view().blocked:
        return [ToolCall.of("compensate", reservation=own[0].id)]
    return []


def reference_call(episode: Episode) -> ToolCall:
    """Return the reference's call: how evidence is gathered is not what is searched for here."""
    agent = Reference()
    agent.start(episode.brief, 0)
    return agent.act(episode.view(), None)


def completes(episode: Episode, reading: Reading) -> bool:
    """Whether the run can be completed from here, by the rules."""
    back = reading.read_back
    if not reading.known or back is None or not all((back.part, back.slot, back.incident, back.audit)) or reading.cancelled:
        return False
    return any(
        not judge(trial, Reach()) for trial, said in endings(episode, ("completed",)) if trial.account and said == "completed"
    )


def endings(episode: Episode, dispositions: tuple[str, ...] = tuple(TELLS)) -> Iterator[tuple[Trial, str]]:
    """Yield trials in which the seat tells and finishes here, in each way that the view lets it."""
    view = episode.view()
    incident = view.rows["incident"][0]
    subjects = [incident.id, *(row.id for row in view.rows["proposal"]), *(row.id for row in view.rows["reservation"])]
    for disposition in dispositions:
        for subject in subjects:
            ended = told_and_finished(episode, TELLS[disposition], disposition, subject)
            if ended is not None:
                yield ended.trial(), disposition


def told_and_finished(episode: Episode, kind: str, disposition: str, subject: str) -> Episode | None:
    """Return the episode ended in a way, None where the catalogue has no such call or the budget ends it first."""
    end = episode.branch(len(episode.steps))
    requester, asks = end.view().rows["incident"][0]["requester"], end.view().rows["incident"][0]["asks"]
    kinds = (["refused"] if "control" in asks and kind != "refused" else []) + [kind]
    for word in kinds:
        if end.ended:
            return None
        end.call(ToolCall.of("notify", person=requester, kind=word))
    if end.ended:
        return None
    result = end.call(ToolCall.of("finish", disposition=disposition, subject=subject))
    return end if result.ok else None
