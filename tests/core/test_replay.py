"""Replay, fork and branch: the recorded calls made again from the coordinates give the same log, anywhere, in any order."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fieldops_gym
from agents.random_agent import RandomAgent
from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, ToolCall, merge, replay
from fieldops_gym.core.canonical import plain
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.episode import EpisodeError
from fieldops_gym.core.overrides import Overrides
from tests.core.helpers import Mixed, Player
from tests.counts import count
from tests.support import VARIANTS, episode_of, play

ELSEWHERE = """
import json, sys
from fieldops_gym import DOMAINS, Coordinates, Step, ToolCall, load_tasks, replay
from fieldops_gym.core.calls import Foreign

def call(given):
    args = [(name, Foreign(**value) if isinstance(value, dict) else value) for name, value in given["args"]]
    return ToolCall(given["tool"], tuple(args), given["malformed"])

pack = load_tasks()
for line in sys.stdin:
    run = json.loads(line)
    steps = [Step(s["seat"], call(s["call"]), s["crash"]) for s in run["steps"]]
    episode = replay(DOMAINS["field_service"], pack, Coordinates.of(run["coordinates"]), steps)
    print(json.dumps([episode.world.log_digest(), episode.world.digest(), episode.brief.request, episode.ended]))
"""

JUNK = (b"\xff", "{", '{"tool": "open_valve"}', '{"tool": "wait", "arguments": {"seconds": 1e3}}', '{"tool": "draft"}')

LAYERS = (
    {},
    {"budget": {"turns": 25, "retries": 0}},
    {"people": {"approver": "approver.deliberate", "requester": "outside"}},
    {"faults": {"append": [{"fault": "crash_after_commit", "nth": 2}, "slow_reconcile"]}},
    {"faults": [{"fault": "partial_effect", "values": {"table": "slot"}}], "entities": 300},
)


def recorded(domain: Domain, pack: Pack) -> list[Episode]:
    """Return finished episodes of every variant: clean ones, odd ones, random ones, with junk and crashes among them."""
    episodes = []
    for number, name in enumerate(VARIANTS):
        overrides = merge([LAYERS[number % len(LAYERS)]])
        episodes.append(play(episode_of(domain, pack, name, number), Reference()))
        episodes.append(play(episode_of(domain, pack, name, number, overrides), RandomAgent(), seed=number))
        player = Player(episode_of(domain, pack, name, number, overrides), Mixed(85), number)
        odd = player.episode
        while not odd.ended:
            player.step(4)
            if not odd.ended:
                player.result = odd.call(JUNK[len(odd.steps) % len(JUNK)])
            if not odd.ended and len(odd.steps) % 3 == 0:
                player.crash()
        episodes.append(odd)
    return episodes


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_another_process_gives_the_same_logs(domain: Domain, pack: Pack, hash_seed: str) -> None:
    episodes = recorded(domain, pack)
    lines = [json.dumps({"coordinates": plain(e.coordinates), "steps": plain(e.steps)}) for e in episodes]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(fieldops_gym.__file__).parents[1],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    there = [json.loads(line) for line in done.stdout.splitlines()]
    here = [[e.world.log_digest(), e.world.digest(), e.brief.request, e.ended] for e in episodes]
    assert there == here
    assert len({digest for digest, *_ in here}) > len(episodes) * 9 // 10, "few cards look alike to the reference"


def test_coordinates_come_back_whole_from_json() -> None:
    for layer in LAYERS:
        coordinates = Coordinates("X-01", "whole", fieldops_gym.evaluation_seeds(0), merge([layer]))
        back = Coordinates.of(json.loads(json.dumps(plain(coordinates))))
        assert back == coordinates
        assert type(back.overrides) is Overrides


def test_replay_of_all_steps_is_the_run(domain: Domain, pack: Pack) -> None:
    for episode in recorded(domain, pack):
        again = replay(domain, pack, episode.coordinates, episode.steps)
        assert again.world.log == episode.world.log
        assert again.account == episode.account
        assert again.pending == episode.pending


@pytest.mark.parametrize("name", VARIANTS)
def test_branch_at_any_boundary_continues_as_the_original(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(count(1, 10)):
        episode, flats = episode_of(domain, pack, name, index), []
        play(episode, Mixed(90), index, each=lambda now, flats=flats: flats.append(now.view().flat.copy()))
        for at in range(len(episode.steps)):
            branch = episode.branch(at)
            assert branch.world.log == episode.world.log[: len(branch.world.log)]
            for number, made in enumerate(episode.steps[at:], at):
                branch.send(made.call, made.seat)
                assert np.array_equal(branch.view().flat, flats[number])
            assert branch.ended
            assert branch.world.log == episode.world.log


def test_a_branch_lives_its_own_life(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-03:stale", 5)
    Player(episode, Reference()).step(8)
    before, flat = episode.world.log_digest(), episode.view().flat.copy()
    branch = episode.branch(8)
    play(branch, Mixed(60), seed=9)
    assert branch.world.log_digest() != before
    assert episode.world.log_digest() == before
    assert np.array_equal(episode.view().flat, flat)
    assert play(episode, Reference()).world.log == play(episode.branch(8), Reference()).world.log


def test_a_call_after_the_end_is_the_callers_mistake(domain: Domain, pack: Pack) -> None:
    episode = play(episode_of(domain, pack, "X-01:whole", 0), Reference())
    digest = episode.world.log_digest()
    with pytest.raises(EpisodeError, match="has ended"):
        episode.call(ToolCall.of("wait", seconds=60))
    with pytest.raises(EpisodeError, match="has ended"):
        episode.crash()
    assert episode.world.log_digest() == digest
    assert len(episode.branch(len(episode.steps)).steps) == len(episode.steps)


def fleet(domain: Domain, pack: Pack, size: int) -> list[Player]:
    """Return started episodes with their agents, all over the variants and overrides."""
    made = []
    for number in range(size):
        overrides = merge([LAYERS[number % len(LAYERS)]])
        episode = episode_of(domain, pack, VARIANTS[number % len(VARIANTS)], number, overrides)
        made.append(Player(episode, Mixed(80), number))
    return made


def digests(players: list[Player]) -> list[str]:
    """Return the log digests of finished episodes."""
    assert all(player.episode.ended for player in players)
    return [player.episode.world.log_digest() for player in players]


def sequential(domain: Domain, pack: Pack, size: int) -> list[str]:
    """Return the log digests of the fleet, one episode played after the other."""
    players = fleet(domain, pack, size)
    for player in players:
        player.step(100)
    return digests(players)


def test_64_interleaved_episodes_equal_sequential_ones(domain: Domain, pack: Pack) -> None:
    players = fleet(domain, pack, 64)
    while any(not player.episode.ended for player in players):
        for player in players:
            player.step()
    assert digests(players) == sequential(domain, pack, 64)


def test_episodes_in_8_threads_equal_sequential_ones(domain: Domain, pack: Pack) -> None:
    players = fleet(domain, pack, 64)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda player: player.step(100), players))
    finally:
        sys.setswitchinterval(switch)
    assert digests(players) == sequential(domain, pack, 64)


def test_an_episode_touches_no_global_state(domain: Domain, pack: Pack) -> None:
    before = (dict(os.environ), Path.cwd(), random.getstate(), np.random.get_state()[1].tolist(), sys.getrecursionlimit())
    for name in VARIANTS:
        play(episode_of(domain, pack, name, 0), Mixed(80))
    after = (dict(os.environ), Path.cwd(), random.getstate(), np.random.get_state()[1].tolist(), sys.getrecursionlimit())
    assert after == before


def test_global_random_state_does_not_touch_an_episode(domain: Domain, pack: Pack) -> None:
    def poisoned(seed: int) -> str:
        def each(episode: Episode) -> None:
            random.seed(seed)
            np.random.seed(seed)

        return play(episode_of(domain, pack, "X-03:stale", 1), Mixed(80), each=each).world.log_digest()

    states = random.getstate(), np.random.get_state()
    try:
        assert poisoned(1) == poisoned(2)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def test_the_order_of_episodes_does_not_matter(domain: Domain, pack: Pack) -> None:
    forwards = [play(episode_of(domain, pack, name, 7), Mixed(80)).world.log_digest() for name in VARIANTS]
    backwards = [play(episode_of(domain, pack, name, 7), Mixed(80)).world.log_digest() for name in reversed(VARIANTS)]
    assert forwards == backwards[::-1]
