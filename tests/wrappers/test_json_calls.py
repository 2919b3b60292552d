"""`JsonCalls`: text in, text out, nothing raises, and the wrappers beneath it still do their part."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldops_gym.wrappers import CallMenu, FaultInjection, JsonCalls, ShapedReward
from tests.counts import count
from tests.envs.playing import base_of, episode_of, fingerprint, make, play_reference, reference_call


def play(env: gymnasium.Env, **reset: Any) -> tuple[float, dict[str, Any], list[dict[str, Any]]]:
    """Let the reference play one episode in JSON; return the sum of rewards, the last info and the results."""
    env.reset(**reset)
    total, results, ended, info = 0.0, [], False, {}
    while not ended:
        answer, reward, terminated, truncated, info = env.step(reference_call(base_of(env)).to_json())
        assert answer in env.observation_space
        results.append(json.loads(answer))
        total += float(reward)
        ended = terminated or truncated
    return total, info, results


def test_the_brief_says_what_there_is_to_do_and_with_what() -> None:
    env = JsonCalls(make())
    text, info = env.reset(seed=0, options={"card": "X-01"})
    assert text in env.observation_space
    brief, episode = json.loads(text), episode_of(env)
    assert brief["request"] == episode.brief.request
    assert [tool["name"] for tool in brief["tools"]] == list(episode.brief.tools)
    assert brief["budget"]["turns"] == episode.brief.limits.turns
    assert {record["id"] for rows in brief["records"].values() for record in rows} == set(episode.lead_view.by_id)
    assert all(tool["parameters"]["additionalProperties"] is False for tool in brief["tools"])
    assert set(info) == {"action_mask", "verdicts"}
    assert "X-01" not in text


def test_the_reference_passes_in_json_and_the_log_is_that_of_arrays() -> None:
    for card, variant in (("X-01", "partial"), ("X-02", "timeout"), ("X-03", "stale")):
        options = {"card": card, "variant": variant}
        spoken, arrays = JsonCalls(make()), make()
        total, info, results = play(spoken, seed=2, options=options)
        assert (total, info["outcome"]) == (1.0, "passed")
        assert results[-1]["status"] == "ok"
        assert [result["status"] for result in results].count("unknown") == (card != "X-01")
        play_reference(arrays, seed=2, options=options)
        assert episode_of(spoken).world.log_digest() == episode_of(arrays).world.log_digest()


ODD: list[Any] = [
    "", "{", "null", "[]", "3", '"wait"', "not json at all", "{}", '{"tool": "wait"}', '{"tool": null}', '{"tool": ["wait"]}',
    '{"tool": "wait", "arguments": {"seconds": "60"}}', '{"tool": "wait", "arguments": {"seconds": 1e400}}',
    '{"tool": "wait", "arguments": {"seconds": NaN}}', '{"tool": "wait", "arguments": []}', '{"tool": "wait", "extra": 1}',
    '{"tool": "reserve", "arguments": {"proposal": {"id": 1}, "key": []}}', '{"tool": "x", "tool": "wait"}', "[" * 100_000,
    '{"tool": "' + "a" * 100_000 + '"}', '{"tool": "wait", "arguments": {"seconds": ' + "9" * 5000 + "}}", "\x00", "\ud800",
    '"{\\"tool\\": \\"finish\\"}"', b"\xff\xfe", b"", bytearray(b'{"tool": "wait"}'), None, 3, 2.5, True, [], {}, object(),
    {"tool": "wait", "arguments": {"seconds": object()}}, {1: 2}, {"tool": b"wait"}, json.dumps,
    {"tool": "wait", "arguments": {3: 4}},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ODD)))
def test_whatever_is_sent_is_answered_and_charged(number: int) -> None:
    env = JsonCalls(make())
    env.reset(seed=0)
    used = episode_of(env).lead_view.meters.turns
    answer, reward, terminated, truncated, info = env.step(ODD[number])
    assert answer in env.observation_space
    assert json.loads(answer)["status"] == "refused", ODD[number]
    assert json.loads(answer)["error"]["code"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert episode_of(env).lead_view.meters.turns == used + 1
    assert set(info) == {"action_mask", "verdicts"}


KEYS = st.sampled_from(["tool", "arguments", "seconds", "proposal", "key", "person", "kind", "x"])
WORDS = st.sampled_from(["wait", "reserve", "finish", "draft", "delete_asset", "own", "", "prp-0000000000"]) | st.text()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.fixed_dictionaries({"tool": WORDS}, optional={"arguments": st.dictionaries(KEYS, VALUES, max_size=3) | VALUES})

FUZZED = make()
"""One environment for all examples: each is sent into the state that the earlier ones left."""


@settings(max_examples=count(150, 3000))
@given(sent=st.binary() | st.text() | VALUES | CALLS | CALLS.map(json.dumps) | CALLS.map(json.dumps).map(json.dumps))
def test_nothing_that_is_sent_raises(sent: Any) -> None:
    env = JsonCalls(FUZZED)
    if base_of(env).episode is None or episode_of(env).ended:
        env.reset(seed=0)
    answer, reward, terminated, truncated, _ = env.step(sent)
    assert answer in env.observation_space
    assert json.loads(answer)["status"] in ("ok", "refused", "unknown", "restarted")
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)


def test_text_that_an_agent_wrote_comes_back_within_the_space() -> None:
    env = JsonCalls(make())
    env.reset(seed=0)
    for text in ("\x7f", "é", "\u2028", "\x00", "\ud800", '"\\', "€" * 2000):
        answer = env.step({"tool": text, "arguments": {text: text}})[0]
        assert answer in env.observation_space
        answer.encode("ascii")


def test_after_the_end_it_raises_whatever_is_sent() -> None:
    env = JsonCalls(make(budget={"turns": 1}))
    env.reset(seed=0)
    assert env.step("nonsense")[2] is True
    with pytest.raises(ResetNeeded):
        env.step("nonsense")
    env.reset()
    env.step("nonsense")


def test_wrappers_beneath_it_do_their_part() -> None:
    limited = JsonCalls(gymnasium.make("FieldOps-Effect-v0", max_episode_steps=3))
    limited.reset(seed=0)
    assert [limited.step("nonsense")[3] for _ in range(3)] == [False, False, True]
    shaped = JsonCalls(ShapedReward(make()))
    total, info, _ = play(shaped, seed=0)
    assert total == pytest.approx(2.0)
    assert info["milestones"] == len(shaped.get_wrapper_attr("names"))
    counted = JsonCalls(RecordEpisodeStatistics(make()))
    total, info, results = play(counted, seed=0)
    assert info["episode"]["l"] == len(results)
    faulty = JsonCalls(FaultInjection(make(), ["commit_then_timeout"]))
    assert play(faulty, seed=0, options={"card": "X-01"})[1]["grade"].fired == ("commit_then_timeout",)


def test_wrappers_around_it_do_their_part() -> None:
    for env in (ShapedReward(JsonCalls(make())), FaultInjection(ShapedReward(JsonCalls(make())), ["not_sent"])):
        total, info, _ = play(env, seed=0, options={"card": "X-01"})
        assert total == pytest.approx(2.0)
        assert info["is_success"]


def test_it_needs_the_array_action_of_a_fieldops_environment_beneath() -> None:
    with pytest.raises(TypeError, match="JsonCalls wraps a FieldOps environment, not CartPoleEnv"):
        JsonCalls(gymnasium.make("CartPole-v1"))
    with pytest.raises(TypeError, match="array face, not around CallMenu"):
        JsonCalls(CallMenu(make()))
    with pytest.raises(TypeError, match="array face, not around JsonCalls"):
        JsonCalls(JsonCalls(make()))


def test_the_same_episode_reads_the_same() -> None:
    texts = [JsonCalls(make()).reset(seed=4) for _ in range(2)]
    assert fingerprint(texts[0]) == fingerprint(texts[1])
    assert texts[0][0] != JsonCalls(make()).reset(seed=5)[0]
