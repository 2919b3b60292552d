"""The world is the fold of its start over its log, and the log admits nothing else."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from fieldops_gym import Episode
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.world import GENESIS, Change, Event, World, WorldError, Write, chain_digests, diff, fold, tables_digest
from tests.core.helpers import Mixed
from tests.counts import count
from tests.support import VARIANTS, episode_of, play


class Thing(NamedTuple):
    id: str
    size: int


def small_world() -> World:
    return World({"thing": {"a": Thing("a", 1)}, "other": {}})


def put(seq: int, at: int, *writes: Write) -> Event:
    return Event(seq, at, "harness", "commit", 0, writes, "")


def test_world_is_the_fold_of_its_log_after_every_step(domain: Domain, pack: Pack) -> None:
    committed = 0
    for index in range(count(15, 500)):
        episode = episode_of(domain, pack, VARIANTS[index % len(VARIANTS)], index)
        folded = {name: dict(rows) for name, rows in episode.world.start.items()}
        seen = 0

        def each(now: Episode, folded: dict = folded) -> None:
            nonlocal seen
            log = now.world.log
            folded.update(fold(folded, log[seen:]))
            seen = len(log)
            assert folded == now.world.tables

        play(episode, Mixed(steady=70 + index % 25), seed=index, each=each)
        assert fold(episode.world.start, episode.world.log) == episode.world.tables
        assert tables_digest(folded) == episode.world.digest()
        committed += len(episode.world.tables["ledger"])
    assert committed >= count(15, 500) // 4, "too few effects happened for the test to mean anything"


def test_the_start_is_never_written(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    before = tables_digest(episode.world.start)
    play(episode, Mixed(95))
    assert tables_digest(episode.world.start) == before
    assert episode.world.digest() != before


def test_at_gives_the_tables_after_any_event(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-03:immediate", 1)
    digests: dict[int, str] = {0: episode.world.digest()}

    def each(now: Episode) -> None:
        digests[len(now.world.log)] = now.world.digest()

    play(episode, Mixed(90), each=each)
    for seq, expected in digests.items():
        assert tables_digest(episode.world.at(seq)) == expected
    assert len(set(digests.values())) > len(digests) / 2


def test_record_at_agrees_with_the_folded_tables(domain: Domain, pack: Pack) -> None:
    episode = play(episode_of(domain, pack, "X-01:whole", 2), Mixed(90))
    world = episode.world
    for event in world.log[::5]:
        tables = world.at(event.seq)
        for table, rows in world.tables.items():
            for key in rows:
                assert world.record_at(table, key, event.seq) == tables[table].get(key)


@pytest.mark.parametrize("seq", [0, 2, -1, 7])
def test_a_gap_in_the_log_is_refused(seq: int) -> None:
    world = small_world()
    with pytest.raises(WorldError, match="does not follow 0"):
        world.apply(put(seq, 0))
    assert not world.log


def test_the_same_event_twice_is_refused() -> None:
    world = small_world()
    world.apply(put(1, 5))
    with pytest.raises(WorldError, match="event seq 1 does not follow 1"):
        world.apply(put(1, 5))


def test_time_that_runs_back_is_refused() -> None:
    world = small_world()
    world.apply(put(1, 5))
    with pytest.raises(WorldError, match="before the world's 5 s"):
        world.apply(put(2, 4, Write("thing", "a", None)))
    assert world.tables["thing"] == {"a": Thing("a", 1)}
    world.apply(put(2, 5))
    assert world.now == 5


def test_an_unknown_table_is_refused_and_named() -> None:
    world = small_world()
    with pytest.raises(WorldError, match="table 'nothing'"):
        world.apply(put(1, 0, Write("nothing", "a", Thing("a", 2))))
    assert not world.log


def test_a_refused_event_writes_nothing_at_all() -> None:
    world = small_world()
    with pytest.raises(WorldError):
        world.apply(put(1, 0, Write("thing", "a", Thing("a", 2)), Write("nothing", "a", None)))
    assert world.tables == fold(world.start, world.log)
    assert world.version("thing", "a") == 0


def test_versions_and_deletion() -> None:
    world = small_world()
    assert world.version("thing", "a") == 0
    world.apply(put(1, 1, Write("thing", "a", Thing("a", 2))))
    world.apply(put(2, 9, Write("thing", "a", None)))
    assert world.version("thing", "a") == 2
    assert world.record_at("thing", "a", 0) == Thing("a", 1)
    assert world.record_at("thing", "a", 1) == Thing("a", 2)
    assert world.record_at("thing", "a", 2) is None
    assert world.record_at("thing", "b", 2) is None
    assert "a" not in world.tables["thing"]
    assert world.at(1)["thing"] == {"a": Thing("a", 2)}


def test_deleting_what_is_not_there_changes_nothing() -> None:
    world = small_world()
    world.apply(put(1, 0, Write("other", "x", None)))
    assert world.tables == {"thing": {"a": Thing("a", 1)}, "other": {}}


def test_diff_names_every_record_that_differs_and_no_other() -> None:
    before = {"thing": {"a": Thing("a", 1), "b": Thing("b", 1), "c": Thing("c", 1)}, "gone": {"x": Thing("x", 1)}}
    after = {"thing": {"b": Thing("b", 2), "c": Thing("c", 1), "d": Thing("d", 1)}, "new": {"y": Thing("y", 1)}}
    assert diff(before, after) == (
        Change("gone", "x", Thing("x", 1), None),
        Change("new", "y", None, Thing("y", 1)),
        Change("thing", "a", Thing("a", 1), None),
        Change("thing", "b", Thing("b", 1), Thing("b", 2)),
        Change("thing", "d", None, Thing("d", 1)),
    )
    assert diff(after, after) == ()


def test_diff_of_a_run_is_what_its_log_wrote(domain: Domain, pack: Pack) -> None:
    episode = play(episode_of(domain, pack, "X-01:whole", 3), Mixed(90))
    written = {(write.table, write.id) for event in episode.world.log for write in event.writes}
    changed = {(change.table, change.id) for change in diff(episode.world.start, episode.world.tables)}
    assert changed
    assert changed <= written


def test_the_digest_chain_covers_every_field_of_every_event() -> None:
    world = small_world()
    assert world.log_digest() == GENESIS
    world.apply(put(1, 1, Write("thing", "a", Thing("a", 2))))
    world.apply(put(2, 2))
    whole = world.log_digest()
    first, second = world.log
    changed = [
        first._replace(at=0), first._replace(actor="x"), first._replace(kind="x"), first._replace(ref=1),
        first._replace(writes=()), first._replace(writes=(Write("thing", "a", Thing("a", 3)),)), first._replace(data="x"),
    ]  # fmt: skip
    assert whole not in {chain_digests([event, second])[-1] for event in changed}
    assert chain_digests([first, second])[-1] == whole
    assert chain_digests([first])[-1] == chain_digests([first, second])[0]


def test_digests_of_one_table_see_only_that_table() -> None:
    world = small_world()
    other, whole = world.digest("other"), world.digest()
    world.apply(put(1, 0, Write("thing", "a", Thing("a", 2))))
    assert world.digest("other") == other
    assert world.digest() != whole
