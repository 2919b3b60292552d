"""The lock: what is shipped is what it says, every part is seen to change, and no process, platform or seed moves it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.reference import Reference
from fieldops_gym import DOMAINS, load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.tools import Latency
from fieldops_gym.domains.field_service import generate
from fieldops_gym.evaluation import lock as lock_module
from fieldops_gym.evaluation import lock_parts, settings_for
from fieldops_gym.evaluation.audit.locked import lock as lock_section
from fieldops_gym.evaluation.lock import Lock, LockError, State, check_lock, differences, held_lock, lock_of, write_lock
from fieldops_gym.evaluation.lock_parts import MODULES, PACKAGE, PARTS, Subject, modules, part_digests, text_of
from fieldops_gym.evaluation.quarantine import NOTHING
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import ENV, run_with

NAME = "field_service"


def invoke(*args: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, args)])


def copied(tmp_path: Path) -> Path:
    """A copy of the shipped tasks, without their lock."""
    return Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))


def test_what_is_shipped_is_what_its_lock_says(pack: Pack) -> None:
    checked = check_lock(NAME, pack)
    assert checked.differ == (), (
        "run `fieldops lock --write`, raise the version, and say in CHANGELOG.md whether results compare"
    )
    assert checked.state == State.LOCKED
    assert tuple(checked.found.parts) == tuple(PARTS)
    assert len(set(checked.found.parts.values())) == len(PARTS)


def test_other_processes_make_the_same_lock(tmp_path: Path) -> None:
    code = (
        "from fieldops_gym import load_tasks\nfrom fieldops_gym.evaluation.lock import lock_of\n"
        "print(lock_of('field_service', load_tasks()).to_json())"
    )
    texts = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
        texts.add(done.stdout)
    assert texts == {lock_of(NAME, load_tasks()).to_json() + "\n"}


def with_card(pack: Pack, **update: Any) -> Pack:
    return pack._replace(cards={**pack.cards, "X-01": pack.cards["X-01"].model_copy(update=update)})


def with_contract(pack: Pack, **update: Any) -> Pack:
    changed = pack.contracts["effect"].model_copy(update=update)
    return pack._replace(contracts={**pack.contracts, "effect": changed})


def with_first(rows: Any, **update: Any) -> dict[str, Any]:
    key = next(iter(rows))
    return {**rows, key: rows[key]._replace(**update)}


def slower(domain: Domain) -> Domain:
    tools = {seat: dict(tools) for seat, tools in domain.tools.items()}
    tools[domain.lead]["wait"] = replace(tools[domain.lead]["wait"], latency=Latency(7, 7))
    return replace(domain, tools=tools)


def reworded(domain: Domain) -> Domain:
    tools = {seat: dict(tools) for seat, tools in domain.tools.items()}
    tools[domain.lead]["wait"] = replace(tools[domain.lead]["wait"], description="Dawdle.")
    return replace(domain, tools=tools)


CHANGES: dict[str, tuple[Callable[[Domain, Pack], tuple[Domain, Pack]], tuple[str, ...]]] = {
    "a claim": (lambda d, p: (d, with_card(p, claim="another")), ("cards",)),
    "a request": (lambda d, p: (d, with_card(p, requests=("Mend {serial}.",))), ("starts", "cards")),
    "a scope": (lambda d, p: (d, with_contract(p, scopes=("read",))), ("starts", "policy")),
    "a tool listed": (lambda d, p: (d, with_contract(p, tools=("finish",))), ("tools",)),
    "a tool's words": (lambda d, p: (reworded(d), p), ("tools",)),
    "a latency": (lambda d, p: (slower(d), p), ("clock",)),
    "a timeout": (lambda d, p: (d, with_contract(p, timeout=31)), ("clock",)),
    "a persona": (lambda d, p: (d, p._replace(personas=with_first(p.personas, turn_cap=99))), ("personas",)),
    "a fault": (lambda d, p: (d, p._replace(faults=with_first(p.faults, recovery="pray"))), ("faults",)),
    "a budget": (lambda d, p: (d, with_contract(p, budget={**p.contracts["effect"].budget, "turns": 7})), ("budgets",)),
    "a split": (
        lambda d, p: (d, p._replace(splits={**p.splits, "X-01": p.splits["X-01"].model_copy(update={"reason": "why not"})})),
        ("splits",),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_moves_its_part_and_no_other(name: str, domain: Domain, pack: Pack) -> None:
    change, moved = CHANGES[name]
    assert differences(lock_of(domain, pack), lock_of(*change(domain, pack))) == moved


def test_a_generator_that_makes_something_else_is_seen(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lock_of(NAME, pack)
    monkeypatch.setattr(generate, "SYMPTOMS", (*generate.SYMPTOMS, "it smells"))
    assert "generator" in differences(before, lock_of(NAME, pack))


def test_a_rule_is_seen(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lock_of(NAME, pack)
    field = lock_parts.FIELDS[NAME]
    other = field._replace(rules={**field.rules, "RANK_RULE": "Whatever."})
    monkeypatch.setattr(lock_parts, "FIELDS", {NAME: other})
    assert differences(before, lock_of(NAME, pack)) == ("policy",)


def test_an_invariants_papers_are_seen(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    before, known = lock_of(NAME, pack), lock_parts.invariants_of
    monkeypatch.setattr(lock_parts, "invariants_of", lambda domain: tuple(row._replace(version="99") for row in known(domain)))
    assert differences(before, lock_of(NAME, pack)) == ("invariants",)


def test_every_module_that_judges_is_locked_by_its_text_and_mutations_are_not(
    domain: Domain, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging = modules(NAME, "invariants")
    graders = {f"graders/{path.stem}" for path in (PACKAGE / "graders").glob("*.py")} - {"graders/__init__"}
    assert graders <= set(judging)
    assert {f"domains/{NAME}/truth", f"domains/{NAME}/reach", "core/judging"} <= set(judging)
    assert not [name for name in judging if "mutation" in name]
    subject = Subject(domain, pack, NOTHING, ())
    before = part_digests(subject)
    for name in judging:
        with monkeypatch.context() as patch:
            patch.setattr(lock_parts, "text_of", lambda each, name=name: text_of(each) + ("#" if each == name else ""))
            after = part_digests(subject)
        assert [part for part in PARTS if before[part] != after[part]] == ["invariants"], name


BY_OUTPUT = {
    "core": {"canonical", "cards", "domain", "overrides", "scenario", "streams", "world"},
    f"domains/{NAME}": {"card_checks", "evidence_steps", "generate", "people_steps", "setup"},
}
"""Modules that are held by what they make, or make nothing."""


@pytest.mark.parametrize("folder", BY_OUTPUT)
def test_no_module_of_the_environment_is_left_out(folder: str) -> None:
    named = [name for part in PARTS for name in modules(NAME, part)]
    assert len(named) == len(set(named))
    own = {name.removeprefix(f"{folder}/") for name in named if name.startswith(f"{folder}/")}
    there = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert own | BY_OUTPUT[folder] == there
    assert not own & BY_OUTPUT[folder]
    assert set(MODULES) == {"", *DOMAINS}


def test_line_ends_do_not_count(pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lock_of(NAME, pack)
    for part in PARTS:
        for name in modules(NAME, part):
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((PACKAGE / f"{name}.py").read_bytes().replace(b"\n", b"\r\n"))
    monkeypatch.setattr(lock_parts, "PACKAGE", tmp_path)
    assert differences(before, lock_of(NAME, pack)) == ()


def test_lock_and_quarantine_are_no_part_of_the_packs_digest(pack: Pack, tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    write_lock(NAME, load_tasks(tasks))
    (tasks / "quarantine.yaml").write_text("threshold: 0.5\n")
    assert load_tasks(tasks).digest == pack.digest
    assert check_lock(NAME, load_tasks(tasks)).differ == ("quarantine",)


def test_tasks_of_ones_own_may_be_unlocked_and_are_held_to_a_lock_that_they_have(tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    assert check_lock(NAME, load_tasks(tasks)).state == State.UNLOCKED
    result = invoke("lock", "--tasks", tasks)
    assert (result.exit_code, "the tasks have no lock.json" in result.stdout) == (1, True)
    assert invoke("lock", "--tasks", tasks, "--write").exit_code == 0
    assert (tasks / "lock.json").is_file()
    assert invoke("lock", "--tasks", tasks).exit_code == 0
    text = (tasks / "faults.yaml").read_text()
    (tasks / "faults.yaml").write_text(text.replace("recovery: ", "recovery: perhaps ", 1))
    result = invoke("lock", "--tasks", tasks)
    assert result.exit_code == 1
    assert "lock.json does not match in faults;" in result.stdout
    again = invoke("lock", "--tasks", tasks, "--write")
    assert "changed: faults\n" in again.stdout
    assert "a new version of the environment, and a line in the change log on whether earlier results still" in again.stdout
    assert "nothing has changed" in invoke("lock", "--tasks", tasks, "--write").stdout


def test_a_copy_of_the_whole_tree_has_its_lock_above_its_tasks(tmp_path: Path, pack: Pack) -> None:
    tree = Path(shutil.copytree(shipped_tasks(), tmp_path / "tree"))
    there = load_tasks(tree / NAME)
    assert held_lock(there, NAME) == held_lock(pack, NAME) is not None
    write_lock(NAME, there)
    assert not (tree / NAME / "lock.json").exists()


def test_the_shipped_tasks_are_never_unlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Path(shutil.copytree(shipped_tasks(), tmp_path / "tree"))
    (tree / "lock.json").unlink()
    monkeypatch.setattr(lock_module, "shipped_tasks", lambda: tree)
    checked = check_lock(NAME, load_tasks(tree / NAME))
    assert checked.state == State.MISSING
    assert write_lock(NAME, load_tasks(tree / NAME))[0] == tree / "lock.json"


def test_the_installed_tasks_are_not_locked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_module, "PACKAGE", tmp_path)
    with pytest.raises(LockError, match="part of the installed package; give a checkout's"):
        write_lock(NAME, load_tasks(copied(tmp_path)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "it is no lock: JSONDecodeError"),
        ("[]", "it is no lock: TypeError"),
        ('{"format": "fieldops-lock/1"}', "it is no lock: KeyError: 'version'"),
        ('{"format": "other", "version": "1", "domain": "field_service", "parts": {}}', "its format should be fieldops-lock/1"),
        ('{"format": "fieldops-lock/1", "version": "1", "domain": "payables", "parts": {}}', "it is of domain 'payables'"),
    ],
)
def test_a_wrong_lock_is_told(text: str, says: str, tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    (tasks / "lock.json").write_text(text)
    result = invoke("lock", "--tasks", tasks)
    assert result.exit_code == 2
    assert result.stderr.startswith("fieldops: lock.json: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_part_that_only_one_has_differs(pack: Pack) -> None:
    found = lock_of(NAME, pack)
    older = found._replace(parts={name: value for name, value in found.parts.items() if name != "clock"})
    assert differences(older, found) == differences(found, older) == ("clock",)
    assert differences(found._replace(version="0.0.1"), found) == ()


def bench(domain: Domain, pack: Pack) -> Any:
    return SimpleNamespace(domain=domain, pack=pack)


def locked(tmp_path: Path) -> Pack:
    """A copy of the shipped tasks, locked as it is."""
    tasks = copied(tmp_path)
    write_lock(NAME, load_tasks(tasks))
    return load_tasks(tasks)


def test_the_audits_section_has_a_row_per_part(domain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = locked(tmp_path)
    section = lock_section(bench(domain, pack))
    assert section.holds
    assert [row.subject for row in section.rows] == list(PARTS)
    changed = lock_section(bench(slower(domain), pack))
    assert [row.subject for row in changed.short] == ["clock"]
    unlocked = lock_section(bench(domain, pack._replace(directory=None)))
    assert (unlocked.holds, unlocked.summary) == (True, "unlocked")
    monkeypatch.setattr("fieldops_gym.evaluation.audit.locked.check_lock", _fails)
    assert not lock_section(bench(domain, pack)).holds


def _fails(*_: Any) -> None:
    raise LockError("no")


def test_results_name_the_lock_or_say_that_there_is_none(tmp_path: Path) -> None:
    pack = locked(tmp_path)
    run_with(pack, Reference, 1, tmp_path / "locked", cards=("X-01",))
    held = json.loads((tmp_path / "locked" / "run.json").read_text())["lock"]
    assert held == lock_of(NAME, pack).digest == settings_for(ENV, "any", pack).lock
    (tmp_path / "tasks" / "lock.json").unlink()
    run_with(load_tasks(tmp_path / "tasks"), Reference, 1, tmp_path / "open", cards=("X-01",))
    assert json.loads((tmp_path / "open" / "run.json").read_text())["lock"] == ""


def test_a_lock_is_read_as_it_was_written(pack: Pack, tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    path, _ = write_lock(NAME, load_tasks(tasks))
    assert Lock(**json.loads(path.read_text())) == lock_of(NAME, load_tasks(tasks))
