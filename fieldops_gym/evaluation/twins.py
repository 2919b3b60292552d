"""Two worlds that are given the same calls, and what an agent gets from each, byte for byte.

They may look different only from the first reply on that depends on a record in which they differ, or that tells of a fate
which calls met in one world only. Which records a reply depends on, the log says: those it shows and those it read.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.envs.registration import load_env_creator

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.faults import FATES, Effect
from fieldops_gym.core.layout import shown_fields
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.streams import Stream, evaluation_seeds
from fieldops_gym.core.world import Event, World
from fieldops_gym.envs.tool_call_env import FieldOpsEnv
from fieldops_gym.registry import ENVIRONMENTS, EVERY_FAMILY
from fieldops_gym.wrappers.json_calls import brief_of

JUDGED = ("verdicts", "is_success", "outcome", "grade")
"""What `info` says of the hidden truth, and only at the end."""

WHOLE = -1
"""Marks a record that a reply depends on as a whole, without showing it."""

LONG = 30
"""How many calls a random agent makes before it may finish."""

TIMED = frozenset({Effect.SLOW, Effect.LAG})
"""Effects that are no fate, and are told at once all the same: by the seconds that they take."""


class Seen(NamedTuple):
    """All that an agent gets from one step, as bytes where it is no plain value. Times are in simulated seconds."""

    observation: tuple[tuple[str, bytes], ...]
    mask: bytes
    menu_mask: bytes
    info: bytes
    json: str
    text: str
    at: int
    elapsed: int
    ended: bool


class TwinError(Exception):
    """Two worlds were to be compared in a domain that has no environment for all its families."""


def env_for(domain: Domain, pack: Pack) -> FieldOpsEnv:
    """Return an environment that plays every card of a pack already read. Raises `TwinError` when the domain has none."""
    rows = [row for row in ENVIRONMENTS if (row.domain, row.family) == (domain.name, EVERY_FAMILY)]
    if not rows:
        known = ", ".join(sorted({row.domain for row in ENVIRONMENTS if row.family == EVERY_FAMILY}))
        raise TwinError(f"domain '{domain.name}': no environment plays all its families; there are such for {known}")
    make: Any = load_env_creator(rows[0].entry_point)
    env: FieldOpsEnv = make(split="all", render_mode="ansi")
    env.domain, env.pack, env.cards = domain, pack, pack.select(EVERY_FAMILY, "all")
    return env


class Twin:
    """One of two worlds that are given the same calls: `card:variant`, in an environment of its own."""

    def __init__(self, name: str, env: FieldOpsEnv) -> None:
        self.card, self.variant = name.split(":", 1)
        self.env = env

    def reset(self, index: int) -> Seen:
        """Start on frozen evaluation seeds number `index`."""
        options = {"card": self.card, "variant": self.variant, "seeds": evaluation_seeds(index)._asdict()}
        observation, info = self.env.reset(seed=0, options=options)
        return self._seen(observation, info, json.dumps(brief_of(self.episode)))

    def call(self, call: ToolCall) -> Seen:
        """Make a call."""
        observation, _, _, _, info = self.env.step(call)
        assert self.env.result is not None
        return self._seen(observation, info, self.env.result.to_json())

    @property
    def episode(self) -> Episode:
        """The episode that is being played."""
        assert self.env.episode is not None
        return self.env.episode

    @property
    def world(self) -> World:
        """Its world."""
        return self.episode.world

    def reply(self) -> Event:
        """Return the event of the last reply, or of the last restart."""
        return next(e for e in reversed(self.world.log) if e.kind in ("result", "restart"))

    def fates(self) -> list[tuple[str, ...]]:
        """Return what has befallen calls, as it was told: the tool, how it looked, and what drawn values it showed."""
        log = self.world.log
        return [
            (log[event.ref - 1].data.tool, *_told(event.data.effect, event.data.values))
            for event in log
            if event.kind == "fault" and event.data.effect in FATES | TIMED
        ]

    def _seen(self, observation: dict[str, np.ndarray], info: dict[str, Any], text: str) -> Seen:
        result, ended, view = self.env.result, self.episode.ended, self.episode.lead_view
        told = {key: value for key, value in info.items() if not (ended and key in JUDGED)}
        return Seen(
            tuple((name, array.tobytes()) for name, array in observation.items()),
            self.env.action_masks().tobytes(),
            view.menu_mask().tobytes(),
            pickle.dumps([(key, type(value).__name__, np.asarray(value).tobytes()) for key, value in told.items()]),
            text,
            self.env.render() or "",
            view.now,
            0 if result is None else result.elapsed,
            ended,
        )


def _told(effect: str, values: tuple[tuple[str, int | str], ...]) -> tuple[str, ...]:
    """A lost request and a lost reply are told alike: by silence. So is a crash, wherever it strikes."""
    looks = "silence" if effect in (Effect.LOSE_REQUEST, Effect.LOSE_REPLY) else str(effect)
    return (looks, *(f"{name} {value}" for name, value in values))


def depends(one: Twin, other: Twin) -> bool:
    """Whether the last reply, in either world, depends on a record in which the worlds differ at that reply."""
    first, second = one.reply(), other.reply()
    records: set[tuple[str, str, int]] = set()
    for event in (first, second):
        shown = event.data if event.kind == "restart" else event.data.reply.shown
        reads = () if event.kind == "restart" else event.data.reads
        records.update((s.table, s.id, s.detail) for s in shown)
        records.update((table, key, WHOLE) for table, key in reads)
    return any(as_shown(one, *record, seq=first.seq) != as_shown(other, *record, seq=second.seq) for record in records)


def as_shown(twin: Twin, table: str, key: str, detail: int, seq: int) -> Any:
    """Return what a record shows of itself with so much detail at event `seq`, or the whole record."""
    record = twin.world.record_at(table, key, seq)
    if record is None or detail == WHOLE:
        return record
    return shown_fields(twin.episode.lead_view.layout.tables[table], record, detail)


def met_otherwise(one: Twin, other: Twin) -> bool:
    """Whether calls have met a fate in one world that is told otherwise in the other: that shows at once, whatever it is."""
    return one.fates() != other.fates()


Choice = Callable[[Episode, ToolResult | None, int], ToolCall]
"""Chooses the next call from the first world: its episode, the last result, and the number of the seeds."""

Until = Callable[[Twin, Twin], bool]
"""Tells whether two worlds may look different from here on."""


def calls_of(make: Callable[[], Any]) -> Choice:
    """Return the calls of a scripted agent, a fresh instance for each. Whatever it raises gets out."""

    def choose(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
        agent = make()
        agent.start(episode.brief, index)
        return agent.act(episode.view(), result)

    return choose


def random_calls(episode: Episode, result: ToolResult | None, index: int) -> ToolCall:
    """Choose a legal call at random; `finish` only when it has gone on for a while."""
    view, catalogue, made = episode.view(), episode.view().layout.catalogue, len(episode.steps)
    legal = np.flatnonzero(view.menu_mask()).tolist()
    legal = [entry for entry in legal if made > LONG or catalogue.entries[entry].tool != "finish"]
    choice = Stream(index, "test calls").draw(made).pick(legal)
    return catalogue.decode(catalogue.plan(catalogue.entries[choice].action), view.rows)[0]


def every(_: Episode) -> bool:
    """Count every reply."""
    return True


class Compared(NamedTuple):
    """How many replies were the same, how many of them were counted, and what differed that may not ('' if nothing did)."""

    replies: int
    counted: int
    differing: str


def compare(
    one: Twin, other: Twin, index: int, choose: Choice, until: Until = depends, counts: Callable[[Episode], bool] = every
) -> Compared:
    """Give both worlds the calls that are chosen in the first, for as long as they have to look the same.

    `until` is asked after each call; `counts` says, of the first episode, which replies are counted.
    """
    if one.reset(index) != other.reset(index):
        return Compared(0, 0, f"seeds {index}: the starts differ")
    replies = counted = 0
    while not one.episode.ended:
        made = choose(one.episode, one.env.result, index)
        seen, expected = one.call(made), other.call(made)
        if until(one, other):
            break
        differing = [name for name in Seen._fields if getattr(seen, name) != getattr(expected, name)]
        if differing:
            tools = " ".join(step.call.tool for step in one.episode.steps)
            return Compared(replies, counted, f"seeds {index}: after {tools} these differ: {', '.join(differing)}")
        replies += 1
        counted += counts(one.episode)
    return Compared(replies, counted, "")
