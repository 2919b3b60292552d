"""What `fieldops run` is refused for, with the reason, before anything is played or written: a test per reason."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from fieldops_gym import DOMAINS, load_tasks, merge
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Finding, Judged, Severity
from fieldops_gym.evaluation import lock as lock_module
from fieldops_gym.evaluation import plan_trials, refusals, settings_for
from fieldops_gym.evaluation.lock import write_lock
from fieldops_gym.evaluation.refusals import reasons, roles_read
from fieldops_gym.graders import INVARIANTS, grading
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import ENV, RELAY

NAME = "field_service"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A copy of the shipped tasks, locked as it is."""
    there = Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))
    write_lock(NAME, load_tasks(there))
    return there


def play(tasks: Path, *args: str | Path) -> Result:
    command = ["run", "--env", ENV, "--seeds", "2", "--agent", "agents.reference:Reference", "--tasks", tasks, *args]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, command)])


def refused(tasks: Path, says: str) -> None:
    """The run is refused by one line, with status 2, and leaves neither results nor a line of access."""
    kept = (tasks.parent / "out", tasks.parent / "access.jsonl")
    result = play(tasks, "--cards", "X-01", "--out", kept[0], "--access-log", kept[1])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("fieldops: refused: ")
    assert result.stderr.count("\n") == 1
    assert says in result.stderr
    assert result.stdout == ""
    assert not any(path.exists() for path in kept)


def planted(monkeypatch: pytest.MonkeyPatch, **other: Any) -> None:
    """Let the domain have something else in its place."""
    monkeypatch.setitem(DOMAINS, NAME, replace(DOMAINS[NAME], **other))


def test_what_is_locked_and_sound_is_run(tasks: Path) -> None:
    assert play(tasks).exit_code == 0


def test_nothing_speaks_against_any_shipped_card(domain: Domain, tasks: Path) -> None:
    pack = load_tasks(tasks)
    plans = plan_trials(settings_for(RELAY, "any", pack, split="all", seeds=20), pack)
    assert list(reasons(domain, pack, plans)) == []
    overrides = merge([{"faults": {"append": ["crash_after_commit"]}, "budget": {"turns": 1}}])
    plans = plan_trials(settings_for(RELAY, "any", pack, split="all", seeds=4, overrides=overrides), pack)
    assert list(reasons(domain, pack, plans)) == []


def test_a_lock_that_does_not_match(tasks: Path) -> None:
    (tasks / "faults.yaml").write_text((tasks / "faults.yaml").read_text().replace("recovery: ", "recovery: perhaps ", 1))
    refused(tasks, "the lock: lock.json does not match in faults; `fieldops lock` tells")


def test_shipped_tasks_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Path(shutil.copytree(shipped_tasks(), tmp_path / "tree"))
    (tree / "lock.json").unlink()
    monkeypatch.setattr(lock_module, "shipped_tasks", lambda: tree)
    refused(tree / NAME, "the shipped tasks should have a lock.json")


def test_a_lock_that_cannot_be_read(tasks: Path) -> None:
    (tasks / "lock.json").write_text("{")
    result = play(tasks)
    assert result.exit_code == 2
    assert "lock.json: it is no lock" in result.stderr


def test_a_reset_that_breaks_a_world_invariant(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tasks / "lock.json").unlink()
    build = DOMAINS[NAME].build

    def spoilt(*args: Any) -> Any:
        built = build(*args)
        key, part = next(iter(built.tables["part"].items()))
        built.tables["part"][key] = part._replace(quantity=-1)
        return built

    planted(monkeypatch, build=spoilt)
    refused(tasks, "reset: the start of trial")
    refused(tasks, "breaks a world invariant: W-1 part")


def test_a_reset_of_a_late_seed_is_seen_too(domain: Domain, pack: Pack) -> None:
    pack = pack._replace(directory=None)
    plans = plan_trials(settings_for(ENV, "any", pack, cards=("X-01",), seeds=50), pack)
    late = plans[-1].coordinates.seeds.entity

    def spoilt(card: Any, variant: Any, contract: Any, stream: Any, entities: int) -> Any:
        built = domain.build(card, variant, contract, stream, entities)
        if stream.token("x") == type(stream)(late, "entity").token("x"):
            key, part = next(iter(built.tables["part"].items()))
            built.tables["part"][key] = part._replace(quantity=-1)
        return built

    (found,) = reasons(replace(domain, build=spoilt), pack, plans)
    assert plans[-1].trial in found


def test_a_start_that_cannot_be_made(domain: Domain, pack: Pack) -> None:
    pack = pack._replace(directory=None)
    plans = plan_trials(settings_for(ENV, "any", pack, cards=("X-01",), seeds=1), pack)
    nowhere = plans[0]._replace(coordinates=plans[0].coordinates._replace(variant="nothing"))
    assert "cannot be set up: OverrideError: card 'X-01' has no variant 'nothing'" in next(reasons(domain, pack, [nowhere]))


def hidden(pack: Pack, **update: Any) -> Pack:
    card = pack.cards["X-01"]
    changed = card.model_copy(update={"hidden": card.hidden.model_copy(update=update)})
    return pack._replace(cards={**pack.cards, "X-01": changed}, directory=None)


def against(domain: Domain, pack: Pack) -> list[str]:
    pack = pack._replace(directory=None)
    plans = plan_trials(settings_for(ENV, "any", pack, cards=("X-01",), seeds=1), pack)
    return list(reasons(domain, pack, plans))


def test_a_card_that_asks_for_nothing_hard(domain: Domain, pack: Pack) -> None:
    first, second = against(domain, hidden(pack, invariants={"efficiency.calls": {"factor": 2}}))
    assert "the card asks for no hard invariant" in first
    assert "judges nothing: no hard invariant applies to this run" in second


def test_an_invariant_that_does_not_exist(domain: Domain, pack: Pack) -> None:
    (found,) = against(domain, hidden(pack, invariants={**pack.cards["X-01"].hidden.invariants, "task.no_such": {}}))
    assert "a run that is finished at once cannot be judged: GraderError: card 'X-01' names an invariant" in found


def without_role(name: str) -> Callable[[Domain], Domain]:
    def change(domain: Domain) -> Domain:
        def build(*args: Any) -> Any:
            built = domain.build(*args)
            return built._replace(roles={role: keys for role, keys in built.roles.items() if role != name})

        return replace(domain, build=build)

    return change


def lost_record(domain: Domain) -> Domain:
    def build(*args: Any) -> Any:
        built = domain.build(*args)
        return built._replace(roles={**built.roles, "requester": ("per-0000000000",)})

    return replace(domain, build=build)


def test_a_role_that_a_grader_needs_and_nobody_has(domain: Domain, pack: Pack) -> None:
    found = against(without_role("delegation")(domain), pack)
    assert any(
        "invariant 'authority.live_at_commit' needs the role $delegation, which the start does not bind" in f for f in found
    )
    found = against(lost_record(domain), pack)
    assert any("needs the record 'per-0000000000' of role $requester, which the start does not have" in f for f in found)


def test_a_frame_over_a_role_that_is_not_in_its_table(domain: Domain, pack: Pack) -> None:
    frame = pack.cards["X-01"].hidden.frame
    (found,) = against(domain, hidden(pack, frame={**frame, "incident": "$requester"}))
    assert re.search("frame of 'incident' needs the record 'per-.*' of role .requester, .* in table 'incident'", found)
    (found,) = against(domain, hidden(pack, frame={**frame, "incident": "$nobody"}))
    assert "frame of 'incident' needs the role $nobody, which the start does not bind" in found


def test_a_grader_that_raises_or_says_nothing(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tasks / "lock.json").unlink()

    def raising(trial: Any, params: Any) -> Finding:
        raise LookupError("no such ledger")

    silent = Finding(Judged.NOT_JUDGED)
    for check, says in (
        (raising, "cannot be judged: GraderError: invariant 'task.requester_told' could not judge: LookupError"),
        (lambda trial, params: silent, "invariant 'task.requester_told' says nothing of a run that has ended"),
    ):
        rows = tuple(row._replace(check=check) if row.id == "task.requester_told" else row for row in INVARIANTS[NAME])
        with monkeypatch.context() as patch:
            patch.setitem(grading.INVARIANTS, NAME, rows)
            refused(tasks, f"graders: trial {load_tasks(tasks).digest[:8]}.X-01.")
            refused(tasks, says)


def test_a_run_that_cannot_be_finished_at_once(domain: Domain, pack: Pack) -> None:
    tools = {seat: dict(tools) for seat, tools in domain.tools.items()}
    del tools[domain.lead]["finish"]
    found = refusals.unobservable(
        SimpleNamespace(**{**vars(domain), "tools": tools}),  # type: ignore[arg-type]
        pack,
        plan_trials(settings_for(ENV, "any", pack, cards=("X-01",), seeds=1), pack)[0],
        {row.id: frozenset() for row in INVARIANTS[NAME]},
    )
    assert any("`finish`" in text or "cannot be judged" in text for text in found)


def test_what_a_check_takes_for_granted_is_read_from_its_text() -> None:
    roles = {row.id: roles_read(row.check) for row in INVARIANTS[NAME]}
    assert roles["account.right_recipient"] == {"requester"}
    assert {"incident", "requester"} <= roles["task.requester_told"]
    assert any(row.severity == Severity.HARM and not roles[row.id] for row in INVARIANTS[NAME])
