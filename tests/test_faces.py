"""One definition, many faces: arrays, menu and JSON are the same calls under the same mask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.reference import Reference
from fieldops_gym import DOMAINS, Episode, ToolCall, evaluation_seeds, replay
from fieldops_gym.core.calls import Code, Status
from fieldops_gym.core.episode import Step
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.tools import Ref, json_schema
from fieldops_gym.envs.families import RelayEnv
from fieldops_gym.wrappers import CallMenu, JsonCalls
from tests.counts import count
from tests.support import VARIANTS, spread

SEEDS = count(3, 100)
CATALOGUE = DOMAINS["field_service"].layouts["dispatcher"].catalogue
ILLEGAL = {Code.INVALID_ARGUMENTS, Code.NOT_FOUND, Code.UNKNOWN_TOOL, Code.BUDGET_EXHAUSTED, Code.MALFORMED}
"""Refusals of a call that was not legal; the world's own refusals are evidence, and no mask foresees them."""


def started(name: str, index: int, env: Any, **options: Any) -> Any:
    """Reset an environment to a variant on frozen seeds, and return what it gives."""
    card, variant = name.split(":")
    chosen = {"card": card, "variant": variant, "seeds": evaluation_seeds(index)._asdict(), **options}
    return env.reset(seed=0, options=chosen)


def playing(env: Any) -> Episode:
    episode = env.unwrapped.episode
    assert episode is not None
    return episode


def call_of(episode: Episode, entry: int) -> ToolCall:
    """Return the call that an entry of the menu stands for now."""
    return CATALOGUE.decode(CATALOGUE.plan(CATALOGUE.entries[entry].action), episode.lead_view.rows)[0]


def entry_of(episode: Episode, call: ToolCall) -> int:
    """Return the entry of a call."""
    legal = np.flatnonzero(episode.lead_view.menu_mask()).tolist()
    return next(n for n in legal if CATALOGUE.entries[n].tool == call.tool and call_of(episode, n) == call)


def entries(env: Any, index: int, prefix: int) -> Iterator[int]:
    """Yield `prefix` entries of the reference, then legal ones at random, until the end."""
    episode, stream = playing(env), Stream(index, "test faces")
    agent = Reference()
    agent.start(episode.brief, 0)
    while not episode.ended:
        if len(episode.steps) < prefix:
            yield entry_of(episode, agent.act(episode.lead_view, env.unwrapped.result))
        else:
            yield stream.draw(len(episode.steps)).pick(np.flatnonzero(episode.lead_view.menu_mask()).tolist())


@pytest.mark.parametrize(("prefix", "name"), spread([0, 9, 13, 60]))
def test_the_same_calls_give_the_same_log(name: str, prefix: int) -> None:
    arrays, menu, spoken = RelayEnv(split="all"), CallMenu(RelayEnv(split="all")), JsonCalls(RelayEnv(split="all"))
    for index in range(SEEDS):
        for env in (arrays, menu, spoken):
            started(name, index, env)
        for entry in entries(arrays, index, prefix):
            call = call_of(playing(arrays), entry)
            ends = [env.step(action)[1:4] for env, action in ((menu, entry), (spoken, call.to_json()))]
            ends.append(arrays.step(CATALOGUE.actions[entry])[1:4])
            assert ends[0] == ends[1] == ends[2], f"{name}, seeds {index}: rewards and ends differ after {call}"
        digests = {playing(env).world.log_digest() for env in (arrays, menu, spoken)}
        assert len(digests) == 1, f"{name}, seeds {index}: {[s.call for s in playing(arrays).steps]}"


def test_a_call_is_the_same_by_kwargs_mapping_text_and_bytes() -> None:
    env = JsonCalls(RelayEnv(split="all"))
    digests = set()
    for form in (lambda c: c.to_json(), lambda c: c.to_json().encode(), lambda c: {"tool": c.tool, "arguments": dict(c.args)}):
        started("X-01:whole", 0, env)
        machine = playing(env).lead_view.rows["equipment"][0].id
        env.step(form(ToolCall.of("query_asset", equipment=machine)))
        digests.add(playing(env).world.log_digest())
    assert len(digests) == 1


def states(name: str, index: int) -> Iterator[Episode]:
    """Yield an episode in states of every kind: along the reference's path, with a detour after each of some calls."""
    env = RelayEnv(split="all")
    started(name, index, env)
    stream = Stream(index, "test states")
    for number, entry in enumerate(entries(env, index, 10 + index)):
        if number in (0, 1, 5, 9, 12, 13, 14) or not stream.draw(number).below(8):
            yield playing(env)
        env.step(CATALOGUE.actions[entry])


def trial_call(episode: Episode, steps: list[Step], call: ToolCall) -> Any:
    """Make one call in a copy of an episode, made by running its calls again."""
    return replay(episode.domain, episode.pack, episode.coordinates, steps).call(call)


@pytest.mark.parametrize("name", ["X-01:whole", "X-02:timeout", "X-03:stale"])
def test_the_joint_mask_is_exact(name: str) -> None:
    """What it allows is put to the world; what it does not would be refused before."""
    for index in range(count(1, 10)):
        for episode in states(name, index):
            steps, mask = list(episode.steps), episode.lead_view.menu_mask()
            sampled = Stream(index, "sample").draw(len(steps)).shuffled(range(40))[: count(12, 40)]
            chosen = [n for n in range(len(mask)) if n % 40 in sampled]
            for entry in chosen:
                reply = trial_call(episode, steps, call_of(episode, entry)).reply
                label, where = CATALOGUE.entries[entry].label, f"{name}, seeds {index}, after {len(steps)} calls"
                if mask[entry]:
                    assert reply.code not in ILLEGAL, f"{where}: '{label}' is legal and was refused with {reply.code}"
                else:
                    assert reply.status == Status.REFUSED, f"{where}: '{label}' is not legal and was answered {reply.status}"
                    assert reply.code in ILLEGAL, f"{where}: '{label}' is not legal and was refused with {reply.code}"


@pytest.mark.parametrize("budget", [{"effect_attempts": 1}, {"effect_attempts": 0}, {"retries": 0}])
def test_the_mask_follows_the_visible_budget(budget: dict[str, int]) -> None:
    """Also where the reservation may not be sent again but another one could be."""
    env = RelayEnv(split="all", budget=budget)
    for index in range(count(2, 20)):
        started("X-02:not_sent", index, env)
        for entry in entries(env, index, 18):
            mask, episode = playing(env).lead_view.menu_mask(), playing(env)
            steps = list(episode.steps)
            for n in (n for n, e in enumerate(CATALOGUE.entries) if e.tool in ("reserve", "compensate")):
                code = trial_call(episode, steps, call_of(episode, n)).reply.code
                assert (code in ILLEGAL) != mask[n], f"{CATALOGUE.entries[n].label}: legal {mask[n]}, answered '{code}'"
            env.step(CATALOGUE.actions[entry])


@pytest.mark.parametrize("name", ["X-01:partial", "X-03:immediate"])
def test_all_masks_agree(name: str) -> None:
    env = RelayEnv(split="all")
    menu = CallMenu(env)
    slots = CATALOGUE.slots
    for index in range(SEEDS):
        _, info = started(name, index, menu)
        for entry in entries(env, index, 12):
            flat, joint = env.action_masks(), menu.action_masks()
            assert flat.dtype == joint.dtype == bool
            assert (info["action_mask"] == joint).all()
            assert (np.concatenate(env.sample_mask()) == flat).all()
            assert [len(part) for part in env.sample_mask()] == list(env.action_space.nvec)
            reachable = [np.zeros(slot.size, dtype=bool) for slot in slots]
            for n in np.flatnonzero(joint).tolist():
                for place, value in enumerate(CATALOGUE.entries[n].action):
                    reachable[place][value] = True
            for slot, part in zip(slots, reachable, strict=True):
                allowed = flat[slot.start : slot.start + slot.size]
                assert allowed.any(), f"slot {slot.name} allows nothing"
                assert (part <= allowed).all(), f"slot {slot.name} forbids what a legal call needs"
            tools = {CATALOGUE.entries[n].tool for n in np.flatnonzero(joint).tolist()}
            by_slot = {tool.name for tool, allowed in zip(CATALOGUE.tools, flat, strict=False) if allowed}
            assert tools == by_slot, "a tool is legal as long as one call of it is"
            _, _, _, _, info = menu.step(entry)


def test_what_slots_allow_is_answered_whatever_they_make_together() -> None:
    """A mask per slot cannot say what goes with what: such a call is refused with a code, and never an exception."""
    env = RelayEnv(split="all")
    codes: set[str] = set()
    for index in range(count(20, 300)):
        started(VARIANTS[index % len(VARIANTS)], index, env)
        env.action_space.seed(index)
        while not playing(env).ended:
            observation, reward, _, _, _ = env.step(env.action_space.sample(mask=env.sample_mask()))
            assert env.result is not None
            assert env.observation_space.contains(observation)
            assert reward in (0.0, 1.0)
            reply = env.result.reply
            assert (reply.status == Status.REFUSED) == bool(reply.code) or reply.status == Status.UNKNOWN
            codes.add(str(reply.code))
    assert Code.INVALID_ARGUMENTS in codes, "no sample left out what its tool needs; the test says nothing"
    assert "" in codes


def test_the_menu_is_a_list_of_different_calls() -> None:
    menu = CallMenu(RelayEnv(split="all"))
    assert len(set(menu.labels)) == len(menu.labels) < 200
    assert len({entry.action for entry in CATALOGUE.entries}) == len(CATALOGUE.entries)
    assert {entry.tool for entry in CATALOGUE.entries} == {tool.name for tool in CATALOGUE.tools}
    assert sum(CATALOGUE.nvec) < 200


SCHEMAS = [json_schema(tool) for tools in DOMAINS["field_service"].tools.values() for tool in tools.values()]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema["name"])
def test_schemas_are_flat_closed_and_described(schema: dict[str, Any]) -> None:
    parameters = schema["parameters"]
    assert set(schema) == {"name", "description", "parameters"}
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", schema["name"])
    assert len(schema["description"]) > 20
    assert parameters["type"] == "object"
    assert parameters["additionalProperties"] is False
    assert set(parameters["required"]) <= set(parameters["properties"])
    for name, spec in parameters["properties"].items():
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name)
        assert spec["type"] in ("string", "integer"), f"{name} is not flat: {spec}"
        assert spec["description"].strip(), f"{name} has no description"
        assert set(spec) <= {"type", "description", "enum", "minimum", "maximum", "maxLength"}


def test_tools_take_at_most_two_references() -> None:
    for tools in DOMAINS["field_service"].tools.values():
        for tool in tools.values():
            assert sum(isinstance(arg, Ref) for arg in tool.args) <= 2, tool.name


def test_every_value_that_a_schema_lists_is_taken() -> None:
    """What a JSON agent reads in the schema is what the world takes: the faces cannot drift apart."""
    env = JsonCalls(RelayEnv(split="all"))
    for index, name in enumerate(VARIANTS):
        started(name, index, env)
        for entry in entries(env, index, 14):
            call = call_of(playing(env), entry)
            tool = playing(env).domain.tools["dispatcher"][call.tool]
            properties = json_schema(tool)["parameters"]["properties"]
            for argument, value in call.args:
                spec = properties[argument]
                assert value in spec.get("enum", [value])
                if spec["type"] == "integer":
                    assert spec["minimum"] <= value <= spec["maximum"]
            env.step(call.to_json())


def test_what_an_action_comes_to_is_kept_only_where_it_lasts() -> None:
    """An action may name a place in two tables; which of them it means can change when the first is filled."""
    finish = [entry for entry in CATALOGUE.entries if entry.tool == "finish" and "completed" in entry.label]
    both = [max(places) for places in zip(*(entry.action for entry in finish), strict=True)]
    assert not CATALOGUE.plan(both).fixed
    assert all(CATALOGUE.plan(entry.action).fixed for entry in CATALOGUE.entries)
