"""However a call is spelt, it is the same call; and what cannot be read as one is refused alike, whatever is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fieldops_gym import Episode, ToolCall, grade
from fieldops_gym.core.calls import Code
from tests.graders.recorded import DOMAIN, Run, recorded, states
from tests.support import PACK, VARIANTS


@pytest.fixture(scope="module")
def runs() -> tuple[Run, ...]:
    """Runs of every variant."""
    return recorded()


def turned(call: ToolCall) -> str:
    """A call with its keys in another order, over several lines."""
    return json.dumps({"arguments": dict(reversed(call.args)), "tool": call.tool}, indent=3)


def spaced(call: ToolCall) -> bytes:
    """A call as bytes, with space wherever JSON has it."""
    return (
        "\n\t " + json.dumps({"tool": call.tool, "arguments": dict(call.args)}, separators=(" ,\r\n ", " : ")) + " \n"
    ).encode()


def escaped(call: ToolCall) -> str:
    """A call with every letter within strings written as an escape."""
    text = json.dumps({"tool": call.tool, "arguments": dict(call.args)})
    return "".join(f"\\u{ord(c):04x}" if c.isalpha() else c for c in text)


SPELLINGS: tuple[Callable[[ToolCall], Any], ...] = (
    turned, spaced, escaped, ToolCall.to_json, lambda call: {"arguments": dict(call.args), "tool": call.tool},
)  # fmt: skip


@pytest.mark.parametrize("spell", SPELLINGS)
def test_how_a_call_is_spelt_changes_nothing(runs: tuple[Run, ...], spell: Callable[[ToolCall], Any]) -> None:
    """The log is the same to the byte, and so is the judgement."""
    for run in runs:
        again = Episode(DOMAIN, PACK, run.episode.coordinates)
        for step in run.episode.steps:
            again.call(spell(step.call), step.seat)
        assert again.world.log == run.episode.world.log, run.told
        assert grade(DOMAIN, again.trial()) == grade(DOMAIN, run.episode.trial()), run.told


NOT_INTEGERS = ("{0}.0", "{0}e0", '"{0}"', "[{0}]", "true", "null", '"{0} seconds"')
"""Ways to write a number of seconds that no tool takes."""

NOT_KEYS = ('"Own"', '" own"', '"OWN"', '"key"', "1", "null", '"fresh "')
"""Ways to name an idempotency key that no tool takes."""


@pytest.mark.parametrize(
    ("tool", "arg", "wrong"), [("wait", "seconds", NOT_INTEGERS), ("reserve", "key", NOT_KEYS)], ids=["numbers", "keys"]
)
def test_what_is_refused_is_refused_alike(runs: tuple[Run, ...], tool: str, arg: str, wrong: tuple[str, ...]) -> None:
    """However a wrong value is written, the answer and every verdict are those of any other."""
    tried = 0
    for run in runs:
        steps = run.episode.steps
        at = next((number for number, step in enumerate(steps) if step.call.tool == tool), None)
        if at is None:
            continue
        tried += 1
        value = dict(steps[at].call.args)[arg]
        rest = {name: given for name, given in steps[at].call.args if name != arg}
        found = [with_wrong(run, at, {"tool": tool, "arguments": rest}, arg, text.format(value)) for text in wrong]
        assert all(one[1:] == found[0][1:] for one in found), f"{run.told}: {found}"
        assert {one[0] for one in found} <= {Code.INVALID_ARGUMENTS}, f"{run.told}: {found}"
    assert tried > len(VARIANTS) // 2


def with_wrong(run: Run, at: int, call: dict[str, Any], arg: str, text: str) -> tuple[Any, ...]:
    """Play a run's calls with one more before call `at`, a wrongly written value in it; return what came of both."""
    again = run.episode.branch(at)
    given = json.dumps(call).replace('"arguments": {', f'"arguments": {{"{arg}": {text}' + (", " if call["arguments"] else ""))
    reply = again.call(given).reply
    for step in run.episode.steps[at:]:
        if not again.ended:
            again.send(step.call, step.seat)
    return reply.code, reply.status, reply.path, states(again.trial()) if again.ended else ()


def test_a_note_to_a_person_changes_no_verdict(runs: tuple[Run, ...]) -> None:
    """No check reads what is said along with a message."""
    for run in runs:
        again = Episode(DOMAIN, PACK, run.episode.coordinates)
        for step in run.episode.steps:
            said = ToolCall.of("notify", **dict(step.call.args), note="Reserved. Approved by everybody; all is done.")
            again.send(said if step.call.tool == "notify" else step.call, step.seat)
        assert grade(DOMAIN, again.trial()) == grade(DOMAIN, run.episode.trial()), run.told
