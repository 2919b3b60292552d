"""Same seed, same trace, whatever global random state does; and no source of chance but the seeds in the package."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import fieldops_gym
from fieldops_gym.envs import EffectEnv
from tests.counts import count
from tests.envs.playing import base_of, coordinates_of, fingerprint, legal_actions, make

STEPS = 300


def poison(number: int) -> None:
    """Set every global random state to something that no other call of this function sets it to."""
    random.seed(number)
    np.random.seed(number % 2**32)


def trace(env: gymnasium.Env, seed: int, steps: int, salt: int) -> Iterator[tuple[str, Any]]:
    """Yield what each of `steps` steps returned, over as many episodes as they take, with global state poisoned."""
    poison(salt)
    yield "reset", fingerprint(env.reset(seed=seed))
    actions = legal_actions(base_of(env), seed)
    for step in range(steps):
        action = next(actions)
        poison(salt + 2 * step + 1)
        answer = env.step(action)
        yield f"step {step} {action.tolist()}", fingerprint(answer)
        if answer[2] or answer[3]:
            poison(salt + 2 * step + 2)
            yield f"reset after step {step}", fingerprint(env.reset())


def first_difference(one: Iterator[tuple[str, Any]], other: Iterator[tuple[str, Any]]) -> str | None:
    """Return where two traces part, or None. Both are run side by side, so that one may disturb the other."""
    for left, right in zip(one, other, strict=True):
        if left != right:
            return f"{left} is not {right}"
    return None


def nondeterminism(build: Callable[[], gymnasium.Env], seed: int, steps: int = STEPS) -> str | None:
    """Play one environment, another, and a deep copy of one that was used, side by side; return where they part."""
    used = build()
    for _ in trace(used, seed + 1, 20, salt=99):
        pass
    copied = copy.deepcopy(used)
    found = first_difference(trace(build(), seed, steps, salt=10_000), trace(build(), seed, steps, salt=20_000_000))
    return found or first_difference(trace(used, seed, steps, salt=30_000), trace(copied, seed, steps, salt=40_000))


@pytest.mark.parametrize("verdicts", ["end", "every_step"])
def test_same_seed_same_trace_whatever_global_random_state_does(verdicts: str) -> None:
    for seed in range(count(2, 20)):
        assert nondeterminism(lambda: make(verdicts=verdicts), seed) is None


def test_other_seed_other_trace() -> None:
    traces = [tuple(trace(make(), seed, 30, salt=1)) for seed in range(4)]
    assert len(set(traces)) == 4


def test_without_a_seed_the_series_goes_on_and_is_the_environments_own() -> None:
    env, twin, never = make(), make(), make()
    env.reset(seed=5)
    twin.reset(seed=5)
    never.reset()
    started = set()
    for _ in range(6):
        for each in (env, twin, never):
            each.reset()
        assert coordinates_of(env) == coordinates_of(twin)
        started |= {coordinates_of(env).seeds, coordinates_of(never).seeds}
    assert len(started) == 12, "an episode came twice"


def test_global_random_state_is_left_alone() -> None:
    poison(7)
    before, numpys = random.getstate(), fingerprint(np.random.get_state())
    for _ in trace_untouched(seed=3):
        pass
    assert random.getstate() == before
    assert fingerprint(np.random.get_state()) == numpys


def trace_untouched(seed: int) -> Iterator[Any]:
    env = make()
    yield env.reset(seed=seed)
    actions = legal_actions(base_of(env), seed)
    for _ in range(40):
        answer = env.step(next(actions))
        yield answer
        if answer[2]:
            yield env.reset()


class LateChance(EffectEnv):
    """A planted defect: after many steps one number of the observation comes from global random state."""

    source: Callable[[], float] = staticmethod(random.random)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.count = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        self.count += 1
        if self.count >= 290:
            observation["clock"][0] = self.source()
        return observation, *rest


class LateNumpyChance(LateChance):
    """The same with NumPy's."""

    source = staticmethod(np.random.random)


class SharedBetweenCopies(EffectEnv):
    """A planted defect: a counter that a deep copy shares with its original."""

    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    def __init__(self) -> None:
        super().__init__()
        self.counter = self.Counter()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.counter.value = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        self.counter.value += 1
        observation["clock"][0] = self.counter.value / 1000
        return observation, *rest


@pytest.mark.parametrize("planted", [LateChance, LateNumpyChance, SharedBetweenCopies])
def test_the_check_finds_a_planted_defect(planted: type[EffectEnv]) -> None:
    assert nondeterminism(planted, seed=0) is not None


def test_trace_spans_episodes() -> None:
    assert sum(name.startswith("reset") for name, _ in trace(make(), 0, STEPS, salt=1)) >= 3


BANNED = re.compile(
    r"\bnp\.random\b|\bnumpy\.random\b|(?<![\w.])random\.\w|^\s*(import|from) random\b"
    r"|\btime\.time\b|\bperf_counter\b|\bmonotonic\b"
    r"|\bdatetime\.(now|utcnow|today)\b|\bdate\.today\b|\bos\.environ\b|\bos\.getenv\b|\buuid[14]\b|\bsecrets\.|\burandom\b",
    re.MULTILINE,
)
PACKAGE = Path(fieldops_gym.__file__).parent


def banned(text: str) -> list[str]:
    """Return the uses of chance, wall clock and process environment in source text."""
    return [found.group(0) for found in BANNED.finditer(text)]


STATE_ALONE = re.compile(r"^\s*import random\n|(np\.)?random\.(getstate|setstate|get_state|set_state|seed)\(", re.MULTILINE)
"""What the conformance suite does to chance: it keeps, disturbs and restores the state of generators, and draws nothing."""


def test_no_chance_clock_or_environment_variable_in_the_package() -> None:
    # The command line is outside of any world: progress bars may look at the clock there.
    files = [path for path in PACKAGE.rglob("*.py") if (PACKAGE / "cli") not in path.parents]
    assert len(files) > 30
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in files}
    found = {name: banned(STATE_ALONE.sub("", text) if name.startswith("testing/") else text) for name, text in texts.items()}
    assert {name: uses for name, uses in found.items() if uses} == {}


@pytest.mark.parametrize("line", ["x = random.random()", "np.random.rand()", "from random import choice"])
def test_the_conformance_suite_may_not_draw_either(line: str) -> None:
    assert banned(STATE_ALONE.sub("", f"import random\nrandom.seed(1)\n{line}\nnp.random.set_state(s)\n"))


@pytest.mark.parametrize(
    "line",
    ["x = np.random.rand()", "rng = numpy.random.default_rng()", "import random", "random.choice(a)", "t = time.time()",
     "datetime.now()", "os.environ['A']", "uuid4()"],
)  # fmt: skip
def test_the_ban_bites(line: str) -> None:
    assert banned(line)
