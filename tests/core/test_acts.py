"""What others do in a run: acts that faults put on the agenda, cancellations, and what people say unasked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, ToolCall, grade, load_tasks, merge
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.faults import FATES, ArmedFault, striking
from fieldops_gym.packs import shipped_tasks
from tests.core.helpers import has_approval, run_until
from tests.counts import count
from tests.support import episode_of, play

FORMS = [(by, left) for by in ("colleague", "stranger") for left in ("active", "compensated")]


def approved(domain: Domain, pack: Pack, *uses: Any, index: int = 0) -> Episode:
    """Return an episode under some faults in which the proposal has just been approved."""
    overrides = merge([{"faults": list(uses)}])
    return run_until(episode_of(domain, pack, "X-01:whole", index, overrides), Reference(), has_approval)


def reserve(episode: Episode, key: str = "own") -> Any:
    return episode.call(ToolCall.of("reserve", proposal=episode.view().rows["proposal"][0].id, key=key))


def acts(episode: Episode) -> list[tuple[str, str, str]]:
    """Return (actor, tool, why it was refused) of every act."""
    return [(e.actor, e.data.call.tool, str(e.data.code)) for e in episode.world.log if e.kind == "act"]


@pytest.mark.parametrize(("by", "left"), FORMS)
def test_a_claimed_key_is_refused_and_shows_what_is_this_tenants(domain: Domain, pack: Pack, by: str, left: str) -> None:
    for index in range(count(3, 40)):
        episode = approved(domain, pack, {"fault": "key_taken", "values": {"by": by, "left": left}}, index=index)
        result = reserve(episode)
        assert result.reply.code == "key_reused"
        (made,) = episode.world.tables["reservation"].values()
        incident = episode.scenario.roles["incident"][0]
        assert (made.status, made.incident == incident) == (left, by == "colleague")
        assert [row.id for row in episode.view().rows["reservation"]] == ([made.id] if by == "colleague" else [])
        assert {entry.seat for entry in episode.world.tables["ledger"].values()} == {"rival"}
        assert not domain.broken(episode.world.tables, episode.world.start)
        found = episode.call(ToolCall.of("reconcile", proposal=episode.view().rows["proposal"][0].id)).reply.facts
        assert (found.found, found.same) == (True, False)
        assert bool(found.reservation) == (by == "colleague")


def test_a_colleague_keeps_to_policy(domain: Domain, pack: Pack) -> None:
    use = {"fault": "key_taken", "nth": 2, "values": {"by": "colleague", "left": "active"}}
    episode = approved(domain, pack, use)
    assert reserve(episode).ok
    reserve(episode, "fresh")
    assert acts(episode)[-1] == ("rival", "claim_key", "key_reused")
    assert {entry.seat for entry in episode.world.tables["ledger"].values()} == {"dispatcher"}
    episode = approved(domain, pack, use)
    assert reserve(episode, "fresh").ok
    assert reserve(episode).ok, "the key is free, but something stands for the incident"
    assert acts(episode)[-1] == ("rival", "claim_key", "conflict")
    cancelled = {"fault": "cancellation_race", "values": {"seconds": 0}}
    episode = approved(domain, pack, cancelled, use)
    assert reserve(episode).reply.code == "conflict"
    reserve(episode)
    assert acts(episode)[-1] == ("rival", "claim_key", "conflict")
    assert not episode.world.tables["reservation"]


@pytest.mark.parametrize("seconds", [0, 1, 11, 500])
def test_a_cancellation_takes_hold_when_it_is_due(domain: Domain, pack: Pack, seconds: int) -> None:
    episode = approved(domain, pack, {"fault": "cancellation_race", "values": {"seconds": seconds}})
    result, incident = reserve(episode), episode.scenario.roles["incident"][0]
    fired = next(e for e in episode.world.log if e.kind == "fault")
    assert result.ok == (seconds > 0), "what is cancelled before the commit is not committed"
    episode.call(ToolCall.of("wait", seconds=3600))
    (act,) = [e for e in episode.world.log if e.kind == "act" and e.data.call.tool == "cancel"]
    assert (act.actor, act.at, act.ref) == ("requester", fired.at + seconds, fired.ref)
    assert episode.world.tables["incident"][incident].status == "cancelled"
    assert [row["act"] for row in episode.view().rows["message"]][-1] == "cancelled"
    assert episode.view().rows["incident"][0]["status"] == "cancelled"


@pytest.mark.parametrize("boundary", ["before_commit", "after_commit"])
def test_a_cancellation_on_either_side_of_the_commit(domain: Domain, pack: Pack, boundary: str) -> None:
    at_once = pack.faults["cancellation_race"]._replace(id="at_once", boundary=boundary)
    moved = pack._replace(faults={**pack.faults, "at_once": at_once})
    episode = approved(domain, moved, {"fault": "at_once", "values": {"seconds": 0}})
    result, after = reserve(episode), boundary == "after_commit"
    assert result.ok == after
    assert [made.status for made in episode.world.tables["reservation"].values()] == ["active"] * after
    call = max(e.seq for e in episode.world.log if e.kind == "call")
    kinds = [e.kind for e in episode.world.log if e.seq > call]
    acted = ["fault", "agenda", "act"]
    assert kinds == (["intent", "commit", *acted, "result"] if after else ["intent", *acted, "result"])
    (planned,) = [e for e in episode.world.log if e.kind == "agenda"]
    ((table, _, item),) = planned.writes
    assert (table, item.seat, item.rule, item.ref) == ("agenda", "requester", "at_once", call)
    assert not episode.world.tables["agenda"], "what has been done is on no agenda"
    assert not domain.broken(episode.world.tables, episode.world.start)


@pytest.mark.parametrize(("seconds", "pending"), [(20_000, 0), (10**6, 1)])
def test_a_cancellation_after_the_end_changes_no_verdict(domain: Domain, pack: Pack, seconds: int, pending: int) -> None:
    episode = approved(domain, pack, {"fault": "cancellation_race", "values": {"seconds": seconds}})
    trial = play(episode, Reference()).trial()
    assert trial.account.disposition == "completed"
    assert len(trial.pending) == pending, "what falls due within the horizon happens, the rest is listed"
    assert episode.world.tables["incident"][episode.scenario.roles["incident"][0]].status == (
        "open" if pending else "cancelled"
    )
    assert grade(domain, trial).outcome == "passed"


def test_what_is_cancelled_is_refused_and_shown(domain: Domain, pack: Pack) -> None:
    lost = {"fault": "timeout_before_send"}
    episode = approved(domain, pack, {"fault": "cancellation_race", "times": 0}, lost)
    assert reserve(episode).reply.code == "timeout"
    assert episode.view().rows["incident"][0]["status"] == "open", "nobody has told this seat"
    again = reserve(episode)
    assert again.reply.code == "conflict"
    assert '"status": "cancelled"' in again.to_json()
    assert episode.view().rows["incident"][0]["status"] == "cancelled"
    for _ in range(2):
        episode.call(ToolCall.of("wait", seconds=3600))
    assert [code for _, tool, code in acts(episode) if tool == "cancel"] == ["", "conflict"], "it can be cancelled once"
    assert len([m for m in episode.world.tables["message"].values() if m.act == "cancelled"]) == 1


def test_acts_and_one_fate_strike_together_and_a_second_fate_does_not(domain: Domain, pack: Pack) -> None:
    taken = {"fault": "key_taken", "values": {"by": "stranger", "left": "active"}}
    episode = approved(domain, pack, "cancellation_race", taken, "timeout_before_send", "not_sent")
    assert reserve(episode).reply.code == "timeout"
    fired = [e.data.fault for e in episode.world.log if e.kind == "fault"]
    assert fired == ["cancellation_race", "key_taken", "timeout_before_send"]
    assert grade(domain, play(episode, Reference()).trial()).outcome == "void"


def test_lag_and_slowness_add_up(domain: Domain, pack: Pack) -> None:
    both = [{"fault": name, "values": {"seconds": 700}} for name in ("slow_reconcile", "stale_reconcile")]
    episode = approved(domain, pack, "commit_then_timeout", *both)
    reserve(episode)
    result = episode.call(ToolCall.of("reconcile", proposal=episode.view().rows["proposal"][0].id))
    assert result.elapsed > 700
    assert result.at - result.reply.facts.as_of > 1400


def test_which_faults_strike_is_a_matter_of_tool_boundary_count_and_order() -> None:
    def armed(effect: str, nth: int = 1, given: str = "") -> ArmedFault:
        return ArmedFault(effect, "reserve", "before_commit", effect, nth, 1, (), given, "", ())

    faults = [armed("act"), armed("refuse"), armed("crash"), armed("slow", given="no"), armed("slow"), armed("lag", 2)]

    def names(number: int, boundary: str = "before_commit", tool: str = "reserve") -> list[str]:
        found = striking(faults, tool, boundary, number, lambda f: f.given != "no")
        return [f.id for f in found]

    assert names(1) == ["act", "refuse", "slow"]
    assert names(2) == ["lag"]
    assert names(3) == names(1, "after_commit") == names(1, tool="reconcile") == []
    assert {"refuse", "crash"} <= FATES


@pytest.mark.parametrize("variant", ["control_pressed", "with_repair_pressed"])
def test_what_a_person_opens_with_comes_once_and_when_the_interaction_seed_says(
    domain: Domain, pack: Pack, variant: str
) -> None:
    dues = set()
    for index in range(count(8, 100)):
        episode = episode_of(domain, pack, f"X-06:{variant}", index)
        (item,) = episode.world.start["agenda"].values()
        assert 60 <= item.due <= 600
        dues.add(item.due)
        for _ in range(4):
            episode.call(ToolCall.of("wait", seconds=3600))
        said = [row for row in episode.view().rows["message"] if row["act"] == "insisted"]
        assert [(row["sender"], row["at"]) for row in said] == [(episode.scenario.roles["senior"][0], item.due)]
        assert [tool for _, tool, _ in acts(episode)].count("speak") == 1
    assert len(dues) > count(8, 100) // 2


def test_a_person_who_is_replaced_opens_with_nothing_and_one_who_is_put_in_does(domain: Domain, pack: Pack) -> None:
    for person in ("colleague.busy", "outside"):
        assert not episode_of(domain, pack, "X-06:control_pressed", 0, merge([{"people": {"colleague": person}}])).world.start[
            "agenda"
        ]
    overrides = merge([{"people": {"colleague": "colleague.insisting"}}])
    (item,) = episode_of(domain, pack, "X-01:whole", 0, overrides).world.start["agenda"].values()
    (same,) = episode_of(domain, pack, "X-06:control_pressed", 0).world.start["agenda"].values()
    assert item.due == same.due, "when it comes is a matter of the interaction seed alone"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "faults.yaml",
            "act: rival.claim_key",
            "act: rival.sing",
            "fault 'key_taken': there is no act 'rival.sing'; there are",
        ),
        ("faults.yaml", "act: requester.cancel", "act: cancel", "fault 'cancellation_race': there is no act 'cancel'"),
        ("faults.yaml", "act: requester.cancel", "act: approver.cancel", "there is no act 'approver.cancel'; there are"),
        ("faults.yaml", "act: requester.cancel", "act: dispatcher.withdraw", "there is no act 'dispatcher.withdraw'"),
        (
            "faults.yaml",
            "act: requester.cancel",
            "act: approver.decide",
            "takes ['disposition', 'request']; the fault gives []",
        ),
        (
            "faults.yaml",
            "by: [colleague, stranger]",
            "by: [colleague, martian]",
            "'key_taken': parameter 'by': 'martian' is none",
        ),
        ("faults.yaml", "{seconds: [1, 20]}", "{seconds: [a, b]}", "parameter 'seconds' is a range of integers"),
        ("faults.yaml", "{seconds: [1, 20]}", "{seconds: [20, 1]}", "parameter 'seconds': 20 is above 1"),
        (
            "faults.yaml",
            "boundary: before_commit\n  effect: act\n  act: requester.cancel",
            "boundary: on_reply\n  effect: act\n  act: requester.cancel",
            "effect 'act' does nothing at boundary 'on_reply'; it does at before_commit, after_commit",
        ),
        ("faults.yaml", "left: [active, compensated]", "right: [a, b]", "fault 'key_taken': act 'rival.claim_key' takes ['by'"),
        (
            "faults.yaml",
            "  act: rival.take_stock\n",
            "",
            "fault 'stock_taken': effect 'act', and no other, takes the field 'act'",
        ),
        (
            "faults.yaml",
            "effect: slow\n",
            "effect: slow\n  act: requester.cancel\n",
            "fault 'slow_reconcile': effect 'act', and no",
        ),
        ("personas.yaml", "role: senior", "role: mayor", "'colleague.insisting': opens.role: 'mayor' is bound by no step"),
        ("personas.yaml", "act: insisted, role", "act: sang, role", "'colleague.insisting': opens.act: 'sang' is none of"),
        ("personas.yaml", "after: [60, 600]", "after: [600, 60]", "'colleague.insisting': opens.after: 600 is above 60"),
        (
            "effect/x-06.yaml",
            "{repair: false}",
            "{mend: false}",
            "variants.control.setup.0: step 'asks_control' takes ['repair']",
        ),
        (
            "effect/x-06.yaml",
            "just {control}, within",
            "just {contrl}, within",
            "variants.control.requests.2: there is no field",
        ),
    ],
)
def test_a_wrong_row_is_told_what_is_wrong(tasks: Path, file: str, old: str, new: str, says: str) -> None:
    path = tasks / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if file != "effect/x-06.yaml" else text.replace(old, new))
    splits = tasks / "splits.yaml"
    lines = splits.read_text().splitlines()
    if file.startswith("effect"):
        with pytest.raises(CardError) as caught:
            load_tasks(tasks)
        have = str(caught.value).rsplit(" ", 1)[1]
        splits.write_text("\n".join(_with_hash(line, have) if "X-06" in line else line for line in lines))
    with pytest.raises(CardError) as caught:
        load_tasks(tasks)
    assert says in str(caught.value)


def _with_hash(line: str, content: str) -> str:
    before, after = line.split('content: "', 1)
    return f'{before}content: "{content}"{after[after.index(chr(34)) + 1 :]}'


def test_a_variants_people_have_to_be_admitted(tasks: Path) -> None:
    path = tasks / "effect" / "x-06.yaml"
    path.write_text(path.read_text().replace("requester: requester.insisting", "requester: approver.prompt"))
    with pytest.raises(CardError) as caught:
        load_tasks(tasks)
    have = str(caught.value).rsplit(" ", 1)[1]
    splits = tasks / "splits.yaml"
    splits.write_text("\n".join(_with_hash(x, have) if "X-06" in x else x for x in splits.read_text().splitlines()))
    with pytest.raises(CardError, match=r"people.requester: 'approver.prompt' is not for that seat; it admits requester"):
        load_tasks(tasks)
