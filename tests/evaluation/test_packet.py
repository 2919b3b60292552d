"""The packet: what it holds, that its hashes tell of any change, and that nothing of another's is written over."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.reference import Reference
from fieldops_gym import evaluation_seeds, load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation import packet, read_rows
from fieldops_gym.evaluation.lock import lock_of, write_lock
from fieldops_gym.evaluation.packet import MANIFEST, PacketError, check_packet, write_packet
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import contents, run_with

NAME = "field_service"


def copied(tmp_path: Path) -> Path:
    """A copy of the shipped tasks, locked as it is."""
    tasks = Path(shutil.copytree(shipped_tasks() / NAME, tmp_path / "tasks"))
    write_lock(NAME, load_tasks(tasks))
    return tasks


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packet with a report, results and a card."""
    home = tmp_path_factory.mktemp("packet")
    pack = load_tasks(copied(home))
    run_with(pack, Reference, 1, home / "run-1", cards=("X-01",))
    (home / "audit.json").write_text("{}\n")
    (home / "card.md").write_text("# Environment card: pack 0\n")
    write_packet(home / "packet", NAME, pack, (home / "audit.json", home / "run-1"), (home / "card.md",))
    return home / "packet"


def invoke(*args: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["packet", *map(str, args)])


def test_every_part_is_there_and_every_file_has_its_hash(made: Path, pack: Pack) -> None:
    listed = json.loads((made / MANIFEST).read_text())
    found = contents(made)
    del found[MANIFEST]
    assert listed["files"] == {name: hashlib.sha256(content).hexdigest() for name, content in sorted(found.items())}
    assert (listed["pack"], listed["state"], listed["domain"]) == (pack.digest, "locked", NAME)
    names = "claims distribution faults graders lock personas policy protocol quarantine splits"
    assert {f"{name}.json" for name in names.split()} | {"starts.jsonl"} <= set(found)
    assert {"reports/audit.json", "reports/run-1/results.jsonl", "reports/run-1/run.json", "card/card.md"} <= set(found)
    for path in (shipped_tasks() / NAME).rglob("*.yaml"):
        assert found[f"tasks/{path.relative_to(shipped_tasks() / NAME).as_posix()}"] == path.read_bytes()


def test_what_it_says_is_what_the_code_and_the_cards_say(made: Path, pack: Pack) -> None:
    claims = {row["card"]: row for row in json.loads((made / "claims.json").read_text())}
    assert set(claims) == set(pack.cards)
    for name, card in pack.cards.items():
        row = claims[name]
        assert (row["claim"], row["why"], row["segment"], row["family"]) == (card.claim, card.why, card.segment, card.family)
        assert row["decided_by"] == {variant: spec.decided_by for variant, spec in card.variants.items()}
        assert row["invariants"] == list(card.hidden.invariants)
    graders = json.loads((made / "graders.json").read_text())
    assert [(row["id"], row["version"]) for row in graders] == [(row.id, row.version) for row in INVARIANTS[NAME]]
    assert all(row["checks"] and row["rationale"] and row["owner"] for row in graders)
    protocol = json.loads((made / "protocol.json").read_text())
    assert protocol["budgets"]["contracts"]["effect"] == pack.contracts["effect"].budget
    assert protocol["seeds"]["frozen"][3] == evaluation_seeds(3)._asdict()
    assert protocol["grading"]["rule"].startswith("Judge a finished run.")
    assert protocol["grading"]["severities"] == {"1": "harm", "2": "wrong", "3": "advisory"}
    assert json.loads((made / "lock.json").read_text())["parts"] == dict(lock_of(NAME, load_tasks(made.parent / "tasks")).parts)
    assert set(json.loads((made / "personas.json").read_text())) == set(pack.personas)
    assert set(json.loads((made / "faults.json").read_text())) == set(pack.faults)


def test_starts_are_those_that_results_name(made: Path, pack: Pack) -> None:
    starts = [json.loads(line) for line in (made / "starts.jsonl").read_text().splitlines()]
    variants = [(card.id, variant) for _, card in sorted(pack.cards.items()) for variant in card.variants]
    assert [(row["card"], row["variant"]) for row in starts] == [name for name in variants for _ in packet.SEEDS]
    by_name = {(row["card"], row["variant"], row["seed"]): row for row in starts}
    (row,) = read_rows(made / "reports" / "run-1" / "results.jsonl")
    assert row.digests is not None
    assert by_name[row.card, row.variant, 0]["digest"] == row.digests.start
    assert all(sum(row["counts"].values()) == row["records"] and not row["broken"] for row in starts)


def test_any_change_is_told(made: Path, tmp_path: Path) -> None:
    there = Path(shutil.copytree(made, tmp_path / "there"))
    result = invoke(there, "--check")
    assert result.exit_code == 0
    assert "all as its manifest says" in result.stdout
    (there / "claims.json").write_bytes((there / "claims.json").read_bytes() + b" ")
    (there / "lock.json").unlink()
    (there / "card" / "more.md").write_text("more")
    assert check_packet(there)[1] == (("claims.json",), ("lock.json",), ("card/more.md",))
    result = invoke(there, "--check")
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if ": " in line][:3] == [
        "claims.json: changed", "lock.json: missing", "card/more.md: extra",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "it is no packet: it has no MANIFEST.json"), ("[", "it is no manifest"), ("{}", "it is no manifest: KeyError")],
)
def test_what_is_no_packet_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    result = invoke(tmp_path, "--check")
    assert result.exit_code == 2
    assert says in result.stderr


def test_two_packets_are_the_same_in_any_process(tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "fieldops_gym.cli", "packet", str(tmp_path / seed), "--tasks", str(tasks)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    tasks, target = copied(tmp_path), tmp_path / "target"
    target.mkdir()
    (target / "diary.txt").write_text("mine")
    result = invoke(target, "--tasks", tasks)
    assert (result.exit_code, contents(target)) == (2, {"diary.txt": b"mine"})
    assert "it is in use; give a new or an empty directory" in result.stderr
    (target / "diary.txt").unlink()
    result = invoke(target, "--tasks", tasks)
    assert result.exit_code == 0
    assert hashlib.sha256((target / MANIFEST).read_bytes()).hexdigest() in result.stdout
    assert not list(tmp_path.glob(".*"))


def test_nothing_is_left_of_a_packet_that_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = load_tasks(copied(tmp_path))
    write, written = Path.write_bytes, []

    def full(path: Path, content: bytes) -> int:
        written.append(path)
        if len(written) > 3:
            raise OSError("no space left")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        write_packet(tmp_path / "target", NAME, pack)
    assert len(written) > 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tasks"]


def test_tasks_that_are_not_what_they_were_are_not_handed_on(tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    (tasks / "faults.yaml").write_text((tasks / "faults.yaml").read_text().replace("recovery: ", "recovery: perhaps ", 1))
    result = invoke(tmp_path / "target", "--tasks", tasks)
    assert result.exit_code == 2
    assert "the tasks are not what they were: lock.json does not match in faults" in result.stderr
    (tasks / "lock.json").unlink()
    assert invoke(tmp_path / "target", "--tasks", tasks).exit_code == 0
    assert json.loads((tmp_path / "target" / MANIFEST).read_text())["state"] == "unlocked"


def test_wrong_reports_are_told(tmp_path: Path) -> None:
    tasks = copied(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "audit.json").write_text(name)
    target, empty = tmp_path / "target", tmp_path / "empty"
    empty.mkdir()
    both = ("--report", tmp_path / "one" / "audit.json", "--report", tmp_path / "two" / "audit.json")
    for args, says in (
        (("--report", tmp_path / "none.json"), "there is no such file; a report is written by"),
        (both, "there is another report of that name already, reports/audit.json; rename one"),
        (("--card", tmp_path / "none"), "there is no such file"),
        (("--card", tmp_path), "it is no directory of results, which has a run.json; name files one by one"),
        (("--card", Path("README.md")), "it is not what `fieldops card --markdown FILE` or `--json FILE` writes"),
        (("--report", tmp_path), "it is no directory of results, which has a run.json; name files one by one"),
        (("--report", empty), "it is no directory of results"),
    ):
        result = invoke(target, "--tasks", tasks, *args)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert says in result.stderr
        assert not target.exists()
    assert "it takes nothing but DIR" in invoke(target, "--check", "--tasks", tasks).stderr


def test_a_pack_without_a_directory_has_no_files(pack: Pack, tmp_path: Path) -> None:
    with pytest.raises(PacketError, match="not read from a directory"):
        write_packet(tmp_path / "target", NAME, pack._replace(directory=None))
