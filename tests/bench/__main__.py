"""`make bench`: every speed claim as a ratio or a rate of one run on one core, with its target."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import fieldops_gym
from agents.reference import Reference
from fieldops_gym import DOMAINS, Coordinates, Episode, evaluation_seeds, grade, load_tasks
from fieldops_gym.wrappers import CallMenu
from tests.bench.noop import make_noop

PAIRS = 5
EPISODES = 60
ENV_ID = "FieldOps-Effect-v0"


class Row(NamedTuple):
    """One claim: its figure, its target, whether more is better, and what was measured."""

    name: str
    figure: float
    target: float
    more_is_better: bool
    note: str

    @property
    def met(self) -> bool:
        """Whether the figure meets the target."""
        return self.figure >= self.target if self.more_is_better else self.figure <= self.target


class Script(NamedTuple):
    """Pre-drawn calls of one episode, as actions, with the reset that they were drawn for."""

    seed: int
    options: dict[str, Any]
    actions: list[np.ndarray]
    accepted: int


def draw_scripts(number: int, options: dict[str, Any], longest: int) -> list[Script]:
    """Draw legal calls from the call menu and map them back to actions.

    `finish` and the call that uses up a budget are left out: grading has a row of its own.
    """
    env = CallMenu(gymnasium.make(ENV_ID))
    base: Any = env.unwrapped
    finishing = np.array([label.startswith("finish") for label in env.labels])
    rng = np.random.default_rng(0)
    scripts = []
    for seed in range(number):
        _, info = env.reset(seed=seed, options=options)
        actions, accepted, ended = [], 0, False
        while not ended and len(actions) < longest:
            choice = int(rng.choice(np.flatnonzero(info["action_mask"] & ~finishing)))
            _, _, ended, _, info = env.step(choice)
            if not ended:
                actions.append(base.layout.catalogue.actions[choice])
                accepted += base.result.ok
        scripts.append(Script(seed, options, actions, accepted))
    return scripts


def seconds_per_step(env: gymnasium.Env, scripts: list[Script], *, collecting: bool = True) -> float:
    """Play scripts and return seconds per step, resets not counted.

    Without `collecting` the garbage collector rests, as in the standard library's `timeit`: what it costs depends on
    everything else in the process.
    """
    spent, steps = 0.0, 0
    if not collecting:
        gc.collect()
        gc.disable()
    for script in scripts:
        env.reset(seed=script.seed, options=script.options)
        step, actions = env.step, script.actions
        began = time.perf_counter()
        for action in actions:
            step(action)
        spent += time.perf_counter() - began
        steps += len(actions)
    gc.enable()
    return spent / steps


def step_rows() -> list[Row]:
    """Steps per second of the made environment against the no-op with the same spaces."""
    scripts = draw_scripts(EPISODES, {}, 60)
    share = sum(s.accepted for s in scripts) / sum(len(s.actions) for s in scripts)
    made, noop = gymnasium.make(ENV_ID), make_noop()
    rows = []
    for collecting, name in ((True, ""), (False, ", collector off")):
        pairs = [
            (seconds_per_step(noop, scripts, collecting=collecting), seconds_per_step(made, scripts, collecting=collecting))
            for _ in range(PAIRS)
        ]
        base, ours = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
        note = f"no-op {base * 1e6:.2f} us, ours {ours * 1e6:.2f} us a step"
        rows.append(Row(f"steps per second, as a share of the no-op's{name}", ratio, 1 / 5, True, note))
    return [
        *rows,
        Row("share of the drawn calls that were accepted", share, 0.5, True, f"{sum(len(s.actions) for s in scripts)} calls"),
    ]


def reset_row() -> Row:
    """Seeded reset and grading together."""
    env = gymnasium.make(ENV_ID)
    domain, pack = DOMAINS["field_service"], load_tasks()
    trials = [_played(domain, pack, index).trial() for index in range(40)]

    def both() -> None:
        for seed, trial in enumerate(trials):
            env.reset(seed=seed)
            trial._made.clear()
            trial.__dict__.pop("by_kind", None)
            trial.__dict__.pop("fired", None)
            grade(domain, trial)

    spent = statistics.median(_timed(both) for _ in range(PAIRS)) / len(trials)
    return Row("seeded reset and grading, ms", spent * 1e3, 1.3, False, f"{len(trials)} reference trials, medians of {PAIRS}")


def _played(domain: Any, pack: Any, index: int) -> Episode:
    cards = [(card.id, variant) for card in pack.cards.values() for variant in card.variants]
    card, variant = cards[index % len(cards)]
    episode = Episode(domain, pack, Coordinates(card, variant, evaluation_seeds(index)))
    agent, result = Reference(), None
    while not episode.ended:
        result = episode.call(agent.act(episode.lead_view, result))
    return episode


def episodes_row() -> Row:
    """Judged reference episodes a second, traces not written."""
    domain, pack = DOMAINS["field_service"], load_tasks()
    number = 200

    def judged() -> None:
        for index in range(number):
            grade(domain, _played(domain, pack, index).trial())

    spent = statistics.median(_timed(judged) for _ in range(PAIRS))
    return Row("judged reference episodes a second", number / spent, 500, True, f"{number} episodes, medians of {PAIRS}")


def import_row() -> Row:
    """Importing the package in a fresh interpreter, that of the interpreter itself taken off."""
    code = "import time; t = time.perf_counter(); import fieldops_gym; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(PAIRS)]
    return Row("import, s", statistics.median(times), 0.6, False, f"medians of {PAIRS} fresh interpreters")


def growth_rows() -> list[Row]:
    """A step in a large world against a small one, and late in an episode against early."""
    env = gymnasium.make(ENV_ID)
    small, large = draw_scripts(20, {}, 60), draw_scripts(20, {"entities": 10_000}, 60)
    size = statistics.median(
        seconds_per_step(env, large, collecting=False) / seconds_per_step(env, small, collecting=False) for _ in range(PAIRS)
    )
    gc.disable()
    age = statistics.median(_late_over_early(env, 20) for _ in range(PAIRS))
    gc.enable()
    return [
        Row("step with 10,000 entities, over one with 60", size, 1.3, False, "legal calls; collector off, as in timeit"),
        Row("step at call 200, over an early one", age, 1.3, False, "calls 180-220 over 20-60; collector off"),
    ]


def _late_over_early(env: gymnasium.Env, episodes: int) -> float:
    """Repeat the same reads all along, so that only the episode's age differs."""
    catalogue = DOMAINS["field_service"].layouts["dispatcher"].catalogue
    names = ("query_asset", "search_manuals", "search_parts", "list_slots", "read_directory", "read_policy")
    cycle = [next(e.action for e in catalogue.entries if e.tool == name) for name in names]
    actions = [np.array(cycle[n % len(cycle)], dtype=np.int64) for n in range(240)]
    early = late = 0.0
    for seed in range(episodes):
        env.reset(seed=seed, options={"budget": {"turns": 1000, "tool_calls": 1000}})
        marks = []
        for number, action in enumerate(actions):
            if number in (20, 60, 180, 220):
                marks.append(time.perf_counter())
            env.step(action)
        early += marks[1] - marks[0]
        late += marks[3] - marks[2]
    return late / early


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    """Measure, print, and return 1 when a target was missed."""
    console = Console(width=120)
    rows: list[Row] = []
    for measure in (step_rows, lambda: [reset_row()], lambda: [episodes_row()], lambda: [import_row()], growth_rows):
        with console.status("measuring"):
            rows += measure()
    table = Table("claim", "figure", "target", "met", "measured")
    for row in rows:
        sign = ">=" if row.more_is_better else "<="
        table.add_row(row.name, f"{row.figure:.3g}", f"{sign} {row.target:g}", "yes" if row.met else "NO", row.note)
    console.print(f"fieldops_gym {fieldops_gym.__version__}, gymnasium {gymnasium.__version__}, one process")
    console.print(table)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
