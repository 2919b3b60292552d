"""Whatever an agent sends gets a result: nothing raises, and the episode goes on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldops_gym import Status, ToolCall
from fieldops_gym.core.calls import MAX_CALL_CHARACTERS, Foreign, as_call
from tests.core.probing import AT, DOMAIN, LEAD_TOOLS, WHOLE, checked, goes_on
from tests.counts import count

HIDDEN = sorted(key for rows in WHOLE.world.tables.values() for key in rows if key not in WHOLE.view().by_id)
SHOWN = sorted(WHOLE.view().by_id)
NAMES = sorted({arg.name for tool in LEAD_TOOLS.values() for arg in tool.args})
WORDS = sorted({o for t in LEAD_TOOLS.values() for a in t.args for o in getattr(a, "options", ())})

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(SHOWN + HIDDEN + WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TOOL_NAMES = st.sampled_from([*LEAD_TOOLS, *DOMAIN.prohibited, "decide", "say", "", "finish ", "WAIT"]) | st.text(max_size=12)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), JSON, max_size=4)
ALMOST = st.fixed_dictionaries({"tool": TOOL_NAMES | JSON, "arguments": ARGUMENTS | JSON}) | JSON
SURROGATES = st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE00F), max_size=6)


def as_json(value: Any) -> str:
    """Return JSON with NaN and infinities, as careless senders do."""
    return json.dumps(value)


@given(at=st.sampled_from(AT), sent=st.binary(max_size=80) | st.text(max_size=80) | SURROGATES)
@settings(max_examples=count(100, 2_000))
def test_no_bytes_and_no_text_as_a_call_raise(at: int, sent: bytes | str) -> None:
    episode = WHOLE.branch(at)
    assert checked(episode, sent).reply.status == Status.REFUSED
    goes_on(episode)


@given(at=st.sampled_from(AT), sent=st.lists(ALMOST, min_size=1, max_size=4), twice=st.booleans(), raw=st.booleans())
@settings(max_examples=count(200, 4_000))
def test_nothing_that_is_almost_a_call_raises(at: int, sent: list[Any], twice: bool, raw: bool) -> None:
    episode = WHOLE.branch(at)
    for value in sent:
        if not episode.ended:
            text = as_json(as_json(value)) if twice else as_json(value)
            checked(episode, value if raw else text.encode())
    goes_on(episode)


@given(at=st.sampled_from(AT), tool=st.sampled_from(sorted(LEAD_TOOLS)), data=st.data())
@settings(max_examples=count(200, 4_000))
def test_known_tools_with_values_of_any_kind_do_not_raise(at: int, tool: str, data: st.DataObject) -> None:
    episode = WHOLE.branch(at)
    args = {arg.name: data.draw(JSON) for arg in LEAD_TOOLS[tool].args}
    checked(episode, {"tool": tool, "arguments": args})
    goes_on(episode)


JUNK = (
    st.none()
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.integers()
    | st.floats()
    | st.lists(st.integers(), max_size=2)
    | st.sets(st.integers(), max_size=2)
    | st.tuples(st.text(max_size=3), st.integers())
    | st.just(object())
    | st.just(np.int64(60))
    | st.just(Foreign("x", "y"))
    | st.just(Foreign(object(), []))  # ty: ignore[invalid-argument-type]
)


def hashable(value: Any) -> bool:
    """Tell whether a value can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


PAIRS = st.lists(st.tuples(st.sampled_from(NAMES) | JUNK, JUNK), max_size=3).map(tuple)


@given(sent=st.builds(ToolCall, st.sampled_from(sorted(LEAD_TOOLS)) | JUNK, PAIRS | JUNK, st.just("") | JUNK))
@settings(max_examples=count(200, 4_000))
def test_no_tool_call_built_from_junk_raises(sent: ToolCall) -> None:
    episode = WHOLE.branch(9)
    checked(episode, sent)
    goes_on(episode)


@given(sent=JUNK | st.dictionaries(st.just("tool") | JUNK.filter(hashable), JUNK, max_size=3))
@settings(max_examples=count(100, 2_000))
def test_no_object_as_a_call_raises(sent: Any) -> None:
    episode = WHOLE.branch(3)
    checked(episode, sent)
    goes_on(episode)


@given(sent=st.one_of(ALMOST, ALMOST.map(as_json), st.binary(max_size=40), st.builds(ToolCall, JUNK, PAIRS | JUNK, JUNK)))
@settings(max_examples=count(200, 2_000))
def test_reading_a_call_twice_changes_nothing(sent: Any) -> None:
    call = as_call(sent)
    assert as_call(call) == call


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {"field": "part"}
    value["ref"] = value
    return value


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"", "malformed"),
        (b"\xff\xfe{}", "malformed"),
        ("", "malformed"),
        ("{", "malformed"),
        ("null", "malformed"),
        ("[]", "malformed"),
        ('"wait"', "malformed"),
        ("NaN", "malformed"),
        ("{}", "malformed"),
        ('{"tool": 3}', "malformed"),
        ('{"tool": ["wait"], "arguments": {}}', "malformed"),
        ('{"tool": "wait", "arguments": {"seconds": 60}, "reason": "tired"}', "malformed"),
        (json.dumps(json.dumps({"tool": "wait", "arguments": {"seconds": 60}})), "malformed"),
        ('{"tool": "wait", "arguments": "{\\"seconds\\": 60}"}', "invalid_arguments"),
        ('{"tool": "wait", "arguments": null}', "invalid_arguments"),
        ('{"tool": "wait", "arguments": [60]}', "invalid_arguments"),
        ('{"tool": "wait"}', "invalid_arguments"),
        ('{"tool": "wait", "arguments": {}}', "invalid_arguments"),
        ('{"tool": "nothing", "arguments": "x"}', "malformed"),
        ('{"tool": "", "arguments": {}}', "unknown_tool"),
        ('{"tool": "Wait", "arguments": {"seconds": 60}}', "unknown_tool"),
        ('{"tool": "wait ", "arguments": {"seconds": 60}}', "unknown_tool"),
        ('{"tool": "\\ud800", "arguments": {}}', "unknown_tool"),
        ('{"tool": "decide", "arguments": {}}', "unknown_tool"),
        ("x" * (MAX_CALL_CHARACTERS + 1), "malformed"),
        (json.dumps({"tool": "t" * 60_000}), "unknown_tool"),
        (json.dumps({"tool": "draft", "arguments": {"field": "part", "ref": "r" * 60_000}}), "invalid_arguments"),
        (json.dumps({"tool": "draft", "arguments": {str(n): n for n in range(3_000)}}), "invalid_arguments"),
        (nested(30_000), "malformed"),
        ('{"tool": "draft", "arguments": {"field": ' + nested(20_000) + "}}", "malformed"),
        ('{"tool": "wait", "arguments": {"seconds": ' + "9" * 5_000 + "}}", "malformed"),
        ({"tool": "draft", "arguments": {"field": deep(50_000)}}, "invalid_arguments"),
        ({"tool": "draft", "arguments": circular()}, "invalid_arguments"),
        ({"tool": "draft", "arguments": {1: 1, "1": "1"}}, "invalid_arguments"),
        ({"tool": "draft", ("arguments",): {}}, "malformed"),
        (None, "malformed"),
        (7, "malformed"),
        (object(), "malformed"),
        (["tool", "wait"], "malformed"),
        (memoryview(b"{}"), "malformed"),
        (ToolCall("wait", (("seconds", 60),), "as an agent can set it"), "invalid_arguments"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_code(sent: Any, code: str) -> None:
    episode = WHOLE.branch(3)
    assert checked(episode, sent).reply.code == code
    goes_on(episode)
