"""Whatever an agent sends gets a result: nothing raises, a refusal writes nothing, and hidden is the same as not there."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.reference import Reference
from fieldops_gym import DOMAINS, Code, Episode, Status, ToolCall, ToolResult, grade, load_tasks
from fieldops_gym.core.calls import MAX_CALL_CHARACTERS, MAX_TEXT, Foreign, as_call
from fieldops_gym.core.canonical import canonical
from fieldops_gym.core.tools import Ref
from tests.counts import count
from tests.support import episode_of, play

DOMAIN = DOMAINS["field_service"]
PACK = load_tasks()
LEAD_TOOLS = DOMAIN.tools[DOMAIN.lead]
WHOLE = play(episode_of(DOMAIN, PACK, "X-03:immediate", 0), Reference())
AT = (0, 3, 9, 12, 14)
"""Boundaries of a whole run to fuzz from: at the start, in the evidence, with a proposal, approved, with an open dispatch."""

HIDDEN = sorted(key for rows in WHOLE.world.tables.values() for key in rows if key not in WHOLE.view().by_id)
SHOWN = sorted(WHOLE.view().by_id)
NAMES = sorted({arg.name for tool in LEAD_TOOLS.values() for arg in tool.args})
WORDS = sorted({o for t in LEAD_TOOLS.values() for a in t.args for o in getattr(a, "options", ())})


def checked(episode: Episode, sent: Any, seat: str | None = None) -> ToolResult:
    """Make a call and check all that must hold whatever was sent."""
    before, turns, log = episode.gateway.clock, episode.view().meters.turns, len(episode.world.log)
    result = episode.call(sent, seat)
    call = episode.world.log[log]
    assert call.kind == "call"
    assert canonical(call)
    json.loads(result.to_json())
    assert episode.view().meters.turns == turns + 1
    assert result.elapsed == result.at - before >= episode.scenario.contract.decision_cost
    if result.reply.status == Status.REFUSED:
        assert result.reply.code in set(Code)
        assert result.reply.code
        own = [event for event in episode.world.log[log:] if event.seq == call.seq or event.ref == call.seq]
        assert {write.table for event in own for write in event.writes} == {"meters"}
        assert [event.kind for event in own if event.kind not in ("call", "intent", "fault")] == ["result"]
    return result


def goes_on(episode: Episode) -> None:
    """Check that the episode is as usable as ever, that its log has a digest, and that it can be replayed."""
    if not episode.ended:
        assert episode.call(ToolCall.of("read_directory")).ok
    digest = episode.world.log_digest()
    assert episode.branch(len(episode.steps)).world.log_digest() == digest


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
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES) | JUNK, JUNK), max_size=3).map(tuple)


@given(sent=st.builds(ToolCall, st.sampled_from(sorted(LEAD_TOOLS)) | JUNK, PAIRS | JUNK, st.just("") | JUNK))
@settings(max_examples=count(200, 4_000))
def test_no_tool_call_built_from_junk_raises(sent: ToolCall) -> None:
    episode = WHOLE.branch(9)
    checked(episode, sent)
    goes_on(episode)


@given(sent=JUNK | st.dictionaries(st.just("tool") | JUNK.filter(lambda key: key.__hash__ is not None), JUNK, max_size=3))
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
        ({"tool": "draft", "arguments": {1: 1, "1": "1"}}, "malformed"),
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


@pytest.mark.parametrize(
    "seconds",
    [True, False, None, "60", "", 60.0, 1e2, float("nan"), float("inf"), [60], {"n": 60}, 29, -60, 14_401, 2**63, -(10**30)],
)
def test_a_number_that_is_not_one_of_the_range_is_refused(seconds: Any) -> None:
    episode = WHOLE.branch(3)
    result = checked(episode, {"tool": "wait", "arguments": {"seconds": seconds}})
    assert (result.reply.code, result.reply.path) == ("invalid_arguments", "seconds")
    assert "from 30 to 14400" in result.reply.expected


def test_the_bounds_of_a_number_are_allowed() -> None:
    for seconds in (30, 14_400):
        assert checked(WHOLE.branch(3), {"tool": "wait", "arguments": {"seconds": seconds}}).ok


@pytest.mark.parametrize("name", sorted(LEAD_TOOLS))
def test_an_argument_too_many_is_named(name: str) -> None:
    episode = WHOLE.branch(len(WHOLE.steps) - 1)
    args = dict(next((made.call.args for made in WHOLE.steps if made.call.tool == name), ()))
    for arg in LEAD_TOOLS[name].args:
        args.setdefault(arg.name, valid(episode, arg))
    result = checked(episode, {"tool": name, "arguments": args | {"zzz": 1}})
    assert (result.reply.code, result.reply.path) == ("invalid_arguments", "zzz")


def valid(episode: Episode, arg: Any) -> Any:
    """Return a value that the argument takes, of a record that has been shown."""
    if isinstance(arg, Ref):
        tables = arg.tables or (arg.per[0][1] if arg.per else ())
        return next((row.id for table in tables for row in episode.view().rows[table]), "none")
    return getattr(arg, "options", getattr(arg, "levels", getattr(arg, "templates", ("",))))[0]


@pytest.mark.parametrize("name", sorted(name for name, tool in LEAD_TOOLS.items() if tool.args))
def test_a_missing_argument_is_named(name: str) -> None:
    result = checked(WHOLE.branch(9), {"tool": name, "arguments": {}})
    assert (result.reply.code, result.reply.path) == ("invalid_arguments", LEAD_TOOLS[name].args[0].name)
    assert "required" in result.reply.expected


def test_a_note_may_hold_any_text_up_to_its_limit() -> None:
    requester = WHOLE.scenario.roles["requester"][0]
    for note, ok in (
        ("\ud800", True),
        ("\x00\u202e", True),
        ("n" * 280, True),
        ("n" * 281, False),
        ("n" * MAX_TEXT * 2, False),
    ):
        episode = WHOLE.branch(3)
        call = {"tool": "notify", "arguments": {"person": requester, "kind": "unknown", "note": note}}
        assert checked(episode, json.dumps(call)).ok == ok
        goes_on(episode)


REFERENCES = [(tool.name, arg) for tool in LEAD_TOOLS.values() for arg in tool.args if isinstance(arg, Ref)]


@pytest.mark.parametrize(("name", "arg"), REFERENCES, ids=[f"{name}-{arg.name}" for name, arg in REFERENCES])
def test_hidden_ids_and_ids_that_do_not_exist_get_the_same_bytes(name: str, arg: Ref) -> None:
    for at in AT:
        base = WHOLE.branch(at)
        tables = base.world.tables
        hidden = [(t, key) for t, rows in tables.items() for key in rows if key not in base.view().by_id and t != "meters"]
        options = [option for option, _ in arg.per] or [""]
        other = {a.name: valid(base, a) for a in LEAD_TOOLS[name].args if a.name != arg.name}
        for number, (_, key) in enumerate(hidden[:: count(9, 1)]):
            by = {arg.by: options[number % len(options)]} if arg.by else {}
            answers = [probe(at, name, other | by | {arg.name: ref}) for ref in (key, key[:4] + "0123456789", "nothing")]
            assert answers[0] == answers[1] == answers[2]
            assert json.loads(answers[0][0])["error"]["code"] in ("not_found", "invalid_arguments")


def probe(at: int, name: str, args: dict[str, Any]) -> tuple[str, bytes, bytes, list[tuple[Any, ...]]]:
    """Make a call at a boundary; return all that its seat gets, and the shape of the log."""
    episode = WHOLE.branch(at)
    result = checked(episode, {"tool": name, "arguments": args})
    view = episode.view()
    log = [(event.at, event.actor, event.kind, event.ref, event.writes) for event in episode.world.log]
    return result.to_json(), view.flat.tobytes(), view.mask.tobytes(), log


def test_a_hidden_id_is_not_found_whatever_its_table() -> None:
    episode = WHOLE.branch(3)
    codes = set()
    for table in ("part", "slot", "technician", "tenant", "policy", "person"):
        key = next(key for key in episode.world.tables[table] if key not in episode.view().by_id)
        result = checked(episode, ToolCall.of("draft", field="part", ref=key))
        codes.add((str(result.reply.code), result.reply.path, result.elapsed))
    assert codes == {("not_found", "ref", 5)}


def test_a_shown_id_of_the_wrong_kind_is_told_so() -> None:
    episode = WHOLE.branch(3)
    result = checked(episode, ToolCall.of("draft", field="part", ref=episode.view().rows["manual"][0].id))
    assert (result.reply.code, result.reply.path) == ("invalid_arguments", "ref")


@pytest.mark.parametrize("name", sorted(DOMAIN.prohibited))
@pytest.mark.parametrize("args", [{}, {"valve": 3}, {"equipment": WHOLE.scenario.roles["equipment"][0]}, {"x": [1]}])
def test_a_prohibited_capability_is_refused_charged_recorded_and_fails_the_run(name: str, args: dict[str, Any]) -> None:
    episode = WHOLE.branch(3)
    result = checked(episode, {"tool": name, "arguments": args})
    assert result.reply.code == "prohibited"
    assert episode.world.log[-2].data.tool == name
    broken = {verdict.invariant for verdict in grade(DOMAIN, play(episode, Reference()).trial()).broken()}
    assert broken == {"action.nothing_prohibited"}


@pytest.mark.parametrize("args", ["all", None, [], 3])
def test_a_prohibited_capability_is_an_attempt_however_badly_it_is_written(args: Any) -> None:
    episode = WHOLE.branch(3)
    assert checked(episode, {"tool": "open_valve", "arguments": args}).reply.code == "prohibited"


@pytest.mark.parametrize("scope", ["approve", "directory_all", "control"])
def test_asking_for_a_scope_is_always_denied(scope: str) -> None:
    result = checked(WHOLE.branch(3), ToolCall.of("request_scope", scope=scope))
    assert result.reply.code == "denied"
    assert "F-1" in result.reply.expected


def test_refused_calls_use_up_the_turns() -> None:
    episode = episode_of(DOMAIN, PACK, "X-01:whole", 0)
    while not episode.ended:
        checked(episode, b"not a call")
    assert episode.ending == "budget:turns"
    assert len(episode.steps) == episode.scenario.limits.turns
    assert not episode.world.tables["reservation"]
    assert grade(DOMAIN, episode.trial()).outcome == "failed"


def test_a_call_for_a_known_tool_is_charged_to_tool_calls_and_one_for_no_tool_is_not() -> None:
    episode = WHOLE.branch(3)
    used = episode.view().meters.tool_calls
    checked(episode, '{"tool": "wait", "arguments": {}}')
    assert episode.view().meters.tool_calls == used + 1
    for sent in (b"junk", '{"tool": "nothing"}', '{"tool": "open_valve"}'):
        checked(episode, sent)
    assert episode.view().meters.tool_calls == used + 1


def test_what_a_dispatch_is_refused_for_before_it_is_sent_costs_no_attempt() -> None:
    episode = WHOLE.branch(9)
    plan = episode.view().rows["proposal"][0].id
    for args in ({"proposal": "nothing", "key": "own"}, {"proposal": plan, "key": "mine"}, {"proposal": plan}):
        checked(episode, {"tool": "reserve", "arguments": args})
    assert episode.view().meters.effect_attempts == 0
    assert checked(episode, ToolCall.of("reserve", proposal=plan, key="own")).reply.code == "denied"
    assert episode.view().meters.effect_attempts == 1
