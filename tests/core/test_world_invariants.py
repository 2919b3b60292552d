"""World invariants hold at every start and after every event, but for what a fault that fired is declared to break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.world import Tables
from tests.core.helpers import Mixed, Player
from tests.counts import count
from tests.support import VARIANTS, episode_of, play


def declared(episode: Episode, seq: int) -> set[str]:
    """Return the rules that the faults fired by event `seq` are declared to break."""
    fired = {event.data.fault for event in episode.world.log[:seq] if event.kind == "fault"}
    return {rule for fault in episode.scenario.faults if fault.id in fired for rule in fault.breaks}


@pytest.mark.parametrize("name", VARIANTS)
def test_they_hold_after_every_event(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(3, 60)):
        player = Player(episode_of(domain, pack, name, index), Mixed(70 + index % 3 * 10), index)
        episode = player.episode
        assert not domain.broken(episode.world.start, episode.world.start)
        player.step(60)
        tables: Tables = {table: dict(rows) for table, rows in episode.world.start.items()}
        for event in episode.world.log:
            for table, key, record in event.writes:
                if record is None:
                    tables[table].pop(key, None)
                else:
                    tables[table][key] = record
            if event.writes:
                rules = {item.rule for item in domain.broken(tables, episode.world.start)}
                assert rules <= declared(episode, event.seq), f"{name} {index}: event {event.seq}"


@pytest.mark.parametrize("entities", [60, 1_000])
def test_they_hold_at_the_start_of_worlds_of_every_size(domain: Domain, pack: Pack, entities: int) -> None:
    for index in range(count(10, 300) if entities == 60 else count(1, 10)):
        start = episode_of(domain, pack, "X-01:whole", index, merge([{"entities": entities}])).world.start
        assert not domain.broken(start, start)


def _of(tables: Tables, table: str) -> Any:
    return next(iter(tables[table].values()))


def _held(tables: Tables, table: str) -> Any:
    return tables[table][getattr(_of(tables, "reservation"), table)]


BREAKERS: dict[str, Callable[[Tables], Any]] = {
    "W-1": lambda t: ("part", _of(t, "part")._replace(quantity=-1)),
    "W-2": lambda t: ("part", _held(t, "part")._replace(quantity=99)),
    "W-3": lambda t: ("part", _of(t, "part")._replace(reserved=("res-nobody",))),
    "W-4": lambda t: ("slot", _held(t, "slot")._replace(capacity=0)),
    "W-5": lambda t: ("slot", _of(t, "slot")._replace(technician="tec-nobody")),
    "W-6": lambda t: ("part", _held(t, "part")._replace(reserved=())),
    "W-7": lambda t: ("slot", _held(t, "slot")._replace(taken=())),
    "W-8": lambda t: ("incident", _held(t, "incident")._replace(reservation="")),
    "W-9": lambda t: ("audit", _of(t, "audit")._replace(reservation="res-other")),
    "W-10": lambda t: ("ledger", _of(t, "ledger")._replace(kind="compensate")),
    "W-11": lambda t: ("delegation", _of(t, "delegation")._replace(expires=10**9)),
    "W-12": lambda t: ("manual", next(m for m in t["manual"].values() if m.status == "superseded")._replace(status="current")),
}
"""For each rule, a record that breaks it."""


@pytest.mark.parametrize("rule", BREAKERS)
def test_each_can_be_broken(domain: Domain, pack: Pack, rule: str) -> None:
    episode = play(episode_of(domain, pack, "X-01:whole", 0), Reference())
    tables = {table: dict(rows) for table, rows in episode.world.tables.items()}
    assert not domain.broken(tables, episode.world.start)
    table, record = BREAKERS[rule](tables)
    tables[table][record.id] = record
    found = domain.broken(tables, episode.world.start)
    assert rule in {item.rule for item in found}, found
    assert all(item.text for item in found)
