"""Hidden text stays hidden: canaries in every hidden field of the tasks never appear in anything an agent gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from agents.reference import Reference
from fieldops_gym import DOMAINS, Episode, ToolCall, evaluation_seeds
from fieldops_gym.core import passage
from fieldops_gym.core.cards import Card, Pack, Split, Variant
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import Fault
from fieldops_gym.core.overrides import FaultUse
from fieldops_gym.core.people import Persona
from fieldops_gym.core.streams import Stream
from fieldops_gym.envs.families import RelayEnv
from fieldops_gym.wrappers import CallMenu, JsonCalls
from fieldops_gym.wrappers.json_calls import brief_of
from tests.counts import count
from tests.support import spread

SEEDS = count(3, 60)
MARK = "canary"
"""What every planted text has in it, and nothing else."""


def canary(*where: str) -> str:
    """Return the text to plant at a place; the place is told when it is found where it should not be."""
    return f"{MARK}:{'/'.join(where)}"


def marked_variant(name: str, variant: Variant) -> Variant:
    faults = tuple(FaultUse(canary("fault", use.fault), use.nth, use.times, use.values) for use in variant.faults)
    evidence = tuple(canary("evidence", name, step) for step in variant.evidence)
    people = {seat: canary("persona", persona) for seat, persona in variant.people.items()}
    texts = {"evidence": evidence, "recovery": canary("recovery", name)}
    return variant.model_copy(update={"faults": faults, "people": people, **texts})


def marked_card(card: Card) -> Card:
    """Replace every hidden text of a card. What its own setup needs (roles, steps, requests) is not text for people."""
    params = {name: {**given, canary("parameter"): canary("value")} for name, given in card.hidden.invariants.items()}
    hidden = card.hidden.model_copy(update={"invariants": params, "notes": canary("notes")})
    items = tuple(item.model_copy(update={"name": canary("item")}) for item in card.items)
    return card.model_copy(
        update={
            "id": canary("card", card.id), "lineage": canary("lineage"), "equipment_families": (canary("equipment family"),),
            "segment": canary("segment"), "claim": canary("claim"), "why": canary("why"), "items": items, "hidden": hidden,
            "variants": {canary("variant", name): marked_variant(name, v) for name, v in card.variants.items()},
        }
    )  # fmt: skip


def marked_fault(fault: Fault) -> Fault:
    texts = {name: canary("fault", name) for name in ("visibility", "duration", "state", "observation", "recovery")}
    return fault._replace(id=canary("fault", fault.id), **texts)


def marked_persona(persona: Persona) -> Persona:
    texts = {name: canary("persona", name) for name in ("version", "persona", "demand", "end")}
    held = tuple((canary("held back"), rule) for _, rule in persona.held_back)
    return persona._replace(id=canary("persona", persona.id), held_back=held, **texts)


def marked_split(split: Split) -> Split:
    return split.model_copy(update={"card": canary("card", split.card), "group": canary("group"), "reason": canary("reason")})


def marked(pack: Pack) -> Pack:
    """Return the pack with canaries in every hidden text field."""
    cards = [marked_card(card) for card in pack.cards.values()]
    contracts = {
        key: contract.model_copy(
            update={
                "id": canary("contract"),
                "version": canary("contract version"),
                "personas": {
                    seat: tuple(canary("persona", name) for name in names) for seat, names in contract.personas.items()
                },
            }
        )
        for key, contract in pack.contracts.items()
    }
    splits = [marked_split(split) for split in pack.splits.values()]
    return Pack(
        {card.id: card for card in cards},
        contracts,
        {fault.id: fault for fault in map(marked_fault, pack.faults.values())},
        {persona.id: persona for persona in map(marked_persona, pack.personas.values())},
        {split.card: split for split in splits},
        canary("digest"),
    )


def texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield every text in a value, however deep: attributes, slots, keys, and the names of arrays' places."""
    assert depth < 20, "something refers to itself"
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from texts(item, depth + 1)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from texts(item, depth + 1)
    elif isinstance(value, BaseModel):
        yield from texts(value.model_dump(), depth + 1)
    elif isinstance(value, (bytes, int, float, np.ndarray, np.generic)) or value is None:
        yield repr(value)
    else:
        names = [name for name in dir(value) if not name.startswith("_")]
        for name in names:
            item = getattr(value, name)
            if not callable(item):
                yield from texts(item, depth + 1)


def given(env: Any, base: RelayEnv, observation: Any, info: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text that an agent can get of a step."""
    episode, result = base.episode, base.result
    assert episode is not None
    yield from texts(observation)
    yield from texts({key: value for key, value in info.items() if key != "grade"})
    yield from texts(episode.brief)
    yield json.dumps(brief_of(episode))
    yield base.render() or ""
    if result is not None:
        yield result.to_json()
        yield from texts(result)
    for name, rows in episode.lead_view.rows.items():
        for row in rows:
            for column in base.layout.tables[name].columns + base.layout.tables[name].details:
                yield from texts(row[column])
    yield from texts(episode.lead_view.notes)
    yield from texts(list(episode.lead_view.by_id))


def error_texts(episode: Episode) -> Iterator[Any]:
    """Yield calls of every kind that is refused, so that each error is seen."""
    view = episode.view()
    incident = view.rows["incident"][0].id
    hidden = next(key for key in episode.world.tables["part"] if key not in view.by_id)
    yield "nonsense"
    yield '{"tool": 3}'
    yield '{"tool": "teleport", "arguments": {}}'
    yield '{"tool": "open_valve", "arguments": {}}'
    yield ToolCall.of("query_asset", equipment=incident).to_json()
    yield '{"tool": "query_asset", "arguments": {}}'
    yield ToolCall.of("draft", field="part", ref=hidden).to_json()
    yield '{"tool": "wait", "arguments": {"seconds": 1}}'
    yield '{"tool": "propose", "arguments": {}}'
    yield '{"tool": "request_scope", "arguments": {"scope": "control"}}'


class Player:
    """Chooses calls: the reference's until something was dispatched and so many were made, then legal entries at random."""

    def __init__(self, base: RelayEnv, index: int, steps: int) -> None:
        self.base, self.index, self.steps = base, index, steps

    def __call__(self) -> int | ToolCall:
        episode = self.base.episode
        assert episode is not None
        view = episode.lead_view
        if view.meters.effect_attempts == 0 or view.meters.turns < self.steps:
            agent = Reference()
            agent.start(episode.brief, 0)
            return agent.act(view, self.base.result)
        legal = np.flatnonzero(view.menu_mask()).tolist()
        return Stream(self.index, "canary calls").draw(view.meters.turns).pick(legal)


def entry_of(base: RelayEnv, call: ToolCall) -> int:
    """Return the menu's entry of a call that names shown records."""
    assert base.episode is not None
    view, catalogue = base.episode.lead_view, base.layout.catalogue
    for number in np.flatnonzero(view.menu_mask()).tolist():
        entry = catalogue.entries[number]
        if entry.tool == call.tool and catalogue.decode(catalogue.plan(entry.action), view.rows)[0] == call:
            return number
    raise AssertionError(f"{call} is not on the menu")


def play_arrays(env: RelayEnv, index: int, options: dict[str, Any]) -> Iterator[str]:
    observation, info = env.reset(seed=index, options=options)
    yield from given(env, env, observation, info)
    choose, done = Player(env, index, 18), False
    while not done:
        choice = choose()
        entry = choice if isinstance(choice, int) else entry_of(env, choice)
        observation, _, done, _, info = env.step(env.layout.catalogue.actions[entry])
        yield from given(env, env, observation, info)


def play_menu(env: CallMenu, index: int, options: dict[str, Any]) -> Iterator[str]:
    base = env.unwrapped
    assert isinstance(base, RelayEnv)
    yield from env.labels
    observation, info = env.reset(seed=index, options=options)
    choose, done = Player(base, index, 15), False
    while not done:
        choice = choose()
        observation, _, done, _, info = env.step(choice if isinstance(choice, int) else entry_of(base, choice))
        yield from given(env, base, observation, info)


def play_json(env: JsonCalls, index: int, options: dict[str, Any]) -> Iterator[str]:
    base = env.unwrapped
    assert isinstance(base, RelayEnv)
    observation, info = env.reset(seed=index, options=options)
    yield observation
    assert base.episode is not None
    for attempt in error_texts(base.episode):
        observation, _, _, _, info = env.step(attempt)
        assert '"error"' in observation, f"{attempt} was meant to be refused"
        yield from given(env, base, observation, info)
    choose, done = Player(base, index, 30), False
    while not done:
        choice = choose()
        if isinstance(choice, int):
            catalogue = base.layout.catalogue
            planned = catalogue.plan(catalogue.entries[choice].action)
            choice = catalogue.decode(planned, base.episode.lead_view.rows)[0]
        observation, _, done, _, info = env.step(choice.to_json())
        yield from given(env, base, observation, info)


FACES = {"arrays": (RelayEnv, play_arrays), "menu": (CallMenu, play_menu), "json": (JsonCalls, play_json)}


def seen(pack: Pack, face: str, name: str, index: int) -> Iterator[str]:
    """Play one episode through a face and yield all that it gives."""
    base = RelayEnv(split="all", render_mode="ansi")
    base.pack = pack
    wrap, play = FACES[face]
    env = base if wrap is RelayEnv else wrap(base)
    card, variant = name.split(":")
    options = {"seeds": evaluation_seeds(index)._asdict(), "card": card, "variant": variant}
    if pack.digest.startswith(MARK):
        options |= {"card": canary("card", card), "variant": canary("variant", variant)}
    return play(env, index, options)


@pytest.fixture(scope="module")
def planted(pack: Pack) -> Pack:
    return marked(pack)


@pytest.mark.parametrize(("face", "name"), spread(sorted(FACES)))
def test_no_canary_reaches_an_agent(planted: Pack, face: str, name: str) -> None:
    for index in range(SEEDS):
        for text in seen(planted, face, name, index):
            assert MARK not in text, f"{name} through {face}, seeds {index}: {text[:200]}"


@pytest.mark.parametrize(("face", "name"), spread(sorted(FACES)))
def test_no_name_of_card_lineage_split_variant_or_fault_reaches_an_agent(pack: Pack, face: str, name: str) -> None:
    card = pack.cards[name.split(":")[0]]
    names = {*pack.cards, *pack.faults, *pack.personas, card.lineage, card.segment, *(s.split for s in pack.splits.values())}
    # An error code has the same name as this fault; so do plain words and variants, which is what canaries are for.
    names -= {"not_sent", *DOMAINS["field_service"].tables, *card.items[0].checks.split()}
    for text in seen(pack, face, name, 0):
        found = [word for word in names if word in text]
        assert not found, f"{name} through {face}: {found} in {text[:200]}"


def test_every_hidden_text_field_is_planted(planted: Pack) -> None:
    """What is not planted is named here, with the reason why it may be seen or cannot be text."""
    open_fields = {
        "Card": {
            "family",
            "contract",
            "setup",
            "requests",
            "admits",
        },  # what is played, with whom, and what is asked for
        "Variant": {"decided_by", "setup", "requests"},  # one of four words; how it starts, and what is asked for
        "Hidden": {"frame"},  # tables and selectors that graders resolve
        "Split": {"split", "content"},  # one of three words; a hash
        "Fault": {
            "tool",
            "boundary",
            "effect",
            "nth",
            "times",
            "parameters",
            "given",
            "act",
            "breaks",
        },  # what the kernel runs on
        "Persona": {"seat", "turn_cap", "delay", "answers", "opens"},  # what policies run on
    }
    card = next(iter(planted.cards.values()))
    models = [card, next(iter(card.variants.values())), card.hidden, next(iter(planted.splits.values()))]
    tuples = [next(iter(planted.faults.values())), next(p for p in planted.personas.values() if p.held_back)]
    for value in (*models, *tuples):
        fields = type(value).model_fields if hasattr(type(value), "model_fields") else value._fields
        for name in set(fields) - open_fields[type(value).__name__]:
            item = getattr(value, name)
            assert not item or MARK in "".join(texts(item)) or name == "faults", f"{type(value).__name__}.{name}: {item!r}"
    assert any(MARK in use.fault for c in planted.cards.values() for v in c.variants.values() for use in v.faults)


def test_the_planted_tasks_play_the_same_game(domain: Domain, pack: Pack, planted: Pack) -> None:
    """Only names differ, so observations do not."""
    plain, other = (list(seen(p, "arrays", "X-03:immediate", 0)) for p in (pack, planted))
    assert plain == other


@pytest.mark.parametrize("leak", ["message", "row", "info"])
def test_a_planted_leak_is_caught(planted: Pack, monkeypatch: pytest.MonkeyPatch, leak: str) -> None:
    if leak == "message":
        original = passage.ToolResult.to_dict
        monkeypatch.setattr(passage.ToolResult, "to_dict", lambda self: {**original(self), "hint": canary("leak")})
    elif leak == "row":
        monkeypatch.setattr("fieldops_gym.envs.tool_call_env.render_text", lambda episode, result: episode.coordinates.card)
    else:
        shown = RelayEnv._info
        monkeypatch.setattr(
            RelayEnv, "_info", lambda self, judged: shown(self, judged) | {"card": np.array([self.episode.coordinates.card])}
        )
    with pytest.raises(AssertionError, match=MARK):
        test_no_canary_reaches_an_agent(planted, "json", "X-01:whole")
