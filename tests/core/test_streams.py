"""Keyed randomness: frozen vectors, disjoint ranges, and that no draw moves another."""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, evaluation_seeds, training_seeds
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.streams import EVALUATION_SEEDS, TRAINING_SEEDS, Stream
from tests.core.helpers import has_proposal, run_until
from tests.counts import count
from tests.support import episode_of


def test_draw_vectors() -> None:
    draw = Stream(7, "entity").draw("part", 3)
    assert draw.token == "cc8a453c2f"
    assert (draw.below(1000), draw.between(-5, 5), draw.pick("abcdef")) == (405, 5, "f")
    assert draw.shuffled(range(8)) == [2, 0, 1, 5, 3, 4, 7, 6]
    assert draw.below(2**40) == 140136230882


def test_draw_vectors_at_the_edges() -> None:
    assert Stream(0, "").draw().token == "c702bb8e11"
    assert Stream(0, "").draw().below(2**60) == 1103187502184122059
    jitter = Stream(2**32 - 1, "jitter/approver")
    assert [jitter.draw(turn).below(60) for turn in range(1, 9)] == [55, 15, 51, 53, 8, 40, 55, 50]


def test_token_vectors() -> None:
    assert Stream(7, "entity").token("ten", 0) == "a3d90a1813"
    assert Stream(0, "").token() == "0398843168"
    assert Stream(2**32 - 1, "jitter/approver").token("é", "1") == "5e8492bd6a"


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, (687613757, 1739051935, 824128016)),
        (1, (1780375194, 956773089, 393743675)),
        (2**31, (42103517, 1670065428, 1403461923)),
        (2**63, (254915408, 806964572, 105027385)),
    ],
)
def test_training_seed_vectors(seed: int, expected: tuple[int, int, int]) -> None:
    assert tuple(training_seeds(seed)) == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, (2284517824, 2878673410, 4258913502)),
        (1, (3800456992, 3445430481, 2260710688)),
        (999, (2433865983, 3471819033, 3001606534)),
    ],
)
def test_evaluation_seed_vectors(index: int, expected: tuple[int, int, int]) -> None:
    assert tuple(evaluation_seeds(index)) == expected


def test_training_and_evaluation_seeds_never_meet() -> None:
    assert not set(TRAINING_SEEDS[:: 2**20]) & set(EVALUATION_SEEDS[:: 2**20])
    assert TRAINING_SEEDS.stop <= EVALUATION_SEEDS.start
    for number in range(count(2_000, 50_000)):
        assert all(seed in TRAINING_SEEDS for seed in training_seeds(number))
        assert all(seed in EVALUATION_SEEDS for seed in evaluation_seeds(number))


def test_the_three_seeds_differ_from_each_other_and_from_their_neighbours() -> None:
    drawn = [seed for number in range(500) for seed in evaluation_seeds(number)]
    assert len(set(drawn)) == len(drawn)


def test_a_draw_depends_on_its_key_alone() -> None:
    stream = Stream(3, "people")
    alone = stream.draw("approver", 1).below(10**6)
    for turn in range(50):
        stream.draw("colleague", turn).below(10)
        stream.token("colleague", turn)
    assert stream.draw("approver", 1).below(10**6) == alone


def test_every_part_of_a_key_counts() -> None:
    tokens = {
        Stream(seed, name).token(*key)
        for seed in (1, 2, 12)
        for name in ("a", "ab", "a/b")
        for key in ((), ("",), ("a",), ("a", 1), ("a1",), (1, "a"), ("a", 1, 1), ("a", 11))
    }
    # ("",) and () are one key: nothing was named in either.
    assert len(tokens) == 3 * 3 * 7


@pytest.mark.parametrize("bound", [1, 2, 3, 60, 1000])
def test_draws_stay_within_bounds_and_reach_them(bound: int) -> None:
    drawn = [Stream(1, "bounds").draw(number).below(bound) for number in range(40 * bound)]
    assert min(drawn) == 0
    assert max(drawn) == bound - 1


def approval_delay(episode: Episode) -> int:
    """Ask the approver for a decision, and return the seconds that it will take."""
    row = episode.view().rows["proposal"][0]
    episode.call(ToolCall.of("request_approval", proposal=row.id, person=episode.scenario.roles["approver"][0]))
    asked = episode.world.log[-2]
    assert asked.kind == "asked"
    item = next(write.record for write in asked.writes if write.table == "agenda")
    return item.due - asked.at


def test_one_persons_turns_move_nobody_elses_delay(domain: Domain, pack: Pack) -> None:
    for index in range(count(3, 50)):
        quiet, busy = (run_until(episode_of(domain, pack, "X-01:whole", index), Reference(), has_proposal) for _ in range(2))
        for episode in (quiet, busy):
            episode.call(ToolCall.of("read_directory"))
        for role in ("requester", "colleague", "senior"):
            for topic in ("revision", "access"):
                assert busy.call(ToolCall.of("ask", person=busy.scenario.roles[role][0], topic=topic)).ok
        assert approval_delay(busy) == approval_delay(quiet)
