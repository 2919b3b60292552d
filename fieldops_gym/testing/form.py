"""Rules about the form of a family: its id, spec, spaces, page and tasks."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from fieldops_gym.envs.spaces import action_space, observation_space
from fieldops_gym.envs.tool_call_env import FieldOpsEnv
from fieldops_gym.packs import check, fault_problems
from fieldops_gym.testing.probe import Found, Probe, base_of, running

SECTIONS = ("Observation", "Action", "Reward", "Ending", "Example")
VARIANTS_WITHIN = 100
"""Every variant of a split occurs within so many resets."""


def registered(probe: Probe) -> Iterator[Found]:
    """The id has a string entry point, so that specs stay JSON and processes can make it."""
    spec = gymnasium.spec(probe.env_id.rpartition(":")[2])
    if not isinstance(spec.entry_point, str):
        yield Found(spec.id, f"its entry point is {spec.entry_point!r}", "register it as 'module:Class', a string")


def spec_survives_json(probe: Probe) -> Iterator[Found]:
    """`env.spec` survives JSON, and what is made from it plays the same."""
    env = probe.make()
    if env.spec is None:
        yield Found(
            "env.spec", "it is None", "make the environment with gymnasium.make, and wrappers with RecordConstructorArgs"
        )
        return
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    for seed in range(3):
        env.reset(seed=seed)
        again.reset(seed=seed)
        one, other = running(base_of(env)).coordinates, running(base_of(again)).coordinates
        if one != other:
            yield Found(f"seed {seed}", f"made from its spec it starts {other}, not {one}", "record every constructor argument")
            return


def passes_gymnasiums_check(probe: Probe) -> Iterator[Found]:
    """Gymnasium's own checker finds nothing, warnings included."""
    env = probe.make()
    if not isinstance(env.action_space, spaces.MultiDiscrete) or env.action_space != base_of(env).action_space:
        return
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            check_env(env.unwrapped)
        except Exception as error:  # a checker fails by raising whatever fits
            yield Found("gymnasium.utils.env_checker.check_env", f"{type(error).__name__}: {error}", "do as it says")
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            yield Found("gymnasium.utils.env_checker.check_env", str(warning.message), "do as it says")


def has_the_domains_spaces(probe: Probe) -> Iterator[Found]:
    """Spaces are those of the domain, so that one policy can play all its families: flat arrays, float32 in [-1, 1]."""
    base = base_of(probe.make())
    if base.action_space != action_space(base.layout):
        yield Found("action_space", f"it is {base.action_space}", f"keep {action_space(base.layout)}, sized by the domain")
    if base.observation_space != observation_space(base.layout):
        yield Found("observation_space", "it is not the domain's", "keep one 1-D Box per section of the domain's layout")
        return
    for name, space in getattr(base.observation_space, "spaces", {}).items():
        if not isinstance(space, spaces.Box) or len(space.shape) != 1 or space.dtype != np.float32:
            yield Found(f"observation_space[{name!r}]", f"it is {space}", "make it a 1-D Box of float32")


def has_a_page(probe: Probe) -> Iterator[Found]:
    """The class says what it is about; its docstring and its base's have the sections of a page, and the example runs."""
    family = type(base_of(probe.make()))
    own = inspect.cleandoc(vars(family).get("__doc__") or "")
    if not own:
        yield Found(f"docstring of {family.__name__}", "there is none", "say what the family is about")
    whole = f"{own}\n{inspect.cleandoc(FieldOpsEnv.__doc__ or '')}"
    heads = set(re.findall(r"^## (.+)$", whole, flags=re.MULTILINE))
    for section in SECTIONS:
        if section not in heads:
            yield Found(f"docstring of {family.__name__}", f"it has no section '## {section}'", "write it")
    snippet = re.search(r"^## Example$.*?```python\n(.*?)```", whole, flags=re.MULTILINE | re.DOTALL)
    if snippet is None:
        yield Found(f"docstring of {family.__name__}", "its example has no ```python block", "show a snippet that runs")
        return
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(snippet.group(1), "<example>", "exec"), {})
    except Exception as error:  # whatever an example raises is what its reader gets
        yield Found(f"example of {family.__name__}", f"it raises {type(error).__name__}: {error}", "show a snippet that runs")


def has_sound_tasks(probe: Probe) -> Iterator[Found]:
    """Cards, contracts and faults fit the domain, and every evidence path stays within the tools that are listed."""
    base = base_of(probe.make())
    for problem in fault_problems(base.pack, base.domain):
        yield Found("faults.yaml", problem, "correct the row")
    for card in base.cards:
        for problem in check(base.pack, card.id, base.domain):
            yield Found("tasks", problem, "correct the card or its contract")


def shows_every_variant(probe: Probe) -> Iterator[Found]:
    """Resets come to every variant of every card before long."""
    if probe.wrapped:
        return
    env, seen = probe.make(), set()
    env.reset(seed=0)
    for _ in range(VARIANTS_WITHIN * max(1, len(base_of(env).cards) // 6)):
        coordinates = running(base_of(env)).coordinates
        seen.add((coordinates.card, coordinates.variant))
        env.reset()
    for card, variant in probe.variants():
        if (card, variant) not in seen:
            yield Found(
                f"{card}:{variant}", "it did not occur", "draw card and variant from the seed, each with an even chance"
            )
