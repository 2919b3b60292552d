"""Retiring held-out cards: their rows change, no other byte does, and what may not be retired is refused."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from agents.shortcuts import DoNothing
from fieldops_gym import load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.evaluation import RetireError, read_rows, retire
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.support import ENV, contents, run_with

WHY = 'opened by 12 runs: no "secret" any more, é'


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A copy of the shipped tasks."""
    return Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))


@pytest.fixture
def held_out(pack: Pack) -> tuple[str, ...]:
    return tuple(name for name, row in pack.splits.items() if row.split == "held_out")


def command(*args: str | Path) -> Result:
    return CliRunner().invoke(app, ["retire", *map(str, args)])


def manifest(tasks: Path) -> list[bytes]:
    return (tasks / "splits.yaml").read_bytes().splitlines(keepends=True)


def restyled(tasks: Path, style: Callable[[bytes], bytes]) -> bytes:
    path = tasks / "splits.yaml"
    path.write_bytes(style(path.read_bytes()))
    return path.read_bytes()


def test_only_the_rows_of_the_retired_cards_change(tasks: Path, pack: Pack) -> None:
    before, files = manifest(tasks), contents(tasks)
    done = retire(tasks, ("E-04", "X-05"), WHY)
    assert done.cards == ("X-05", "E-04")
    assert {name for name, content in contents(tasks).items() if files.get(name) != content} == {"splits.yaml"}
    changed = [(old, new) for old, new in zip(before, manifest(tasks), strict=True) if old != new]
    assert [old.split(b",")[0] for old, _ in changed] == [b"- {card: X-05", b"- {card: E-04"]
    for old, new in changed:
        assert new.startswith(old.replace(b"held_out", b"regression", 1).partition(b"reason: ")[0])
    after = load_tasks(tasks)
    for name, row in after.splits.items():
        was = pack.splits[name]
        if name in done.cards:
            assert row == was.model_copy(
                update={"split": "regression", "reason": f"{was.reason}; retired to regression: {WHY}"},
            )
        else:
            assert row == was
    assert (done.before, done.after) == (pack.digest, after.digest)
    assert done.before != done.after


def test_all_takes_every_held_out_card_and_nothing_else(tasks: Path, pack: Pack, held_out: tuple[str, ...]) -> None:
    assert retire(tasks, None, WHY).cards == held_out
    after = load_tasks(tasks).splits
    assert {name for name, row in after.items() if row.split == "regression"} == set(held_out)
    assert all(after[name] == row for name, row in pack.splits.items() if name not in held_out)
    with pytest.raises(RetireError, match="no card was named to be retired; held out are none"):
        retire(tasks, None, WHY)


def test_a_regression_card_is_selected_as_such_alone(tasks: Path) -> None:
    retire(tasks, ("X-05",), WHY)
    after = load_tasks(tasks)
    assert [card.id for card in after.select("effect", "regression")] == ["X-05"]
    assert [card.id for card in after.select("effect", "held_out")] == ["X-06"]
    for split in ("train", "development", "held_out"):
        assert "X-05" not in {card.id for card in after.select("effect", split)}
    report = run_with(after, DoNothing, 1, split="regression")
    assert (report.settings.cards, report.settings.held_out) == (("X-05",), ())
    with pytest.raises(CardError, match="no card in split 'regression'"):
        after.select("evidence", "regression")


def test_results_from_before_keep_their_pack(tasks: Path, tmp_path: Path, pack: Pack) -> None:
    run_with(load_tasks(tasks), DoNothing, 1, tmp_path / "out", cards=("X-05",))
    kept = contents(tmp_path / "out")
    retire(tasks, ("X-05",), WHY)
    report = run_with(load_tasks(tasks), DoNothing, 1, cards=("X-05",))
    assert contents(tmp_path / "out") == kept
    (row,) = read_rows(tmp_path / "out" / "results.jsonl")
    assert row.trial.startswith(pack.digest[:8])
    assert row.trial != report.rows[0].trial


def blocks(content: bytes) -> bytes:
    """Return the manifest in block style, with comments, a block scalar and quoted keys."""
    out = ["# mine\n"]
    for row in yaml.safe_load(content):
        out += [f"- card: {row['card']}   # a card\n", f"  'split':   '{row['split']}'  # keep\n", f"  group: {row['group']}\n"]
        out += [f'  content: "{row["content"]}"\n', "  reason: >-\n", f"    {row['reason']}\n", "    and so on\n", "\n"]
    return "".join(out).encode()


@pytest.mark.parametrize(
    "style",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.rstrip(b"\n"),
        lambda content: content.replace(b"in train only", "nur \U0001f512 dort".encode()),
        blocks,
    ],
    ids=["crlf", "bom", "no line end", "beyond the basic plane", "blocks"],
)
def test_other_styles_keep_all_other_bytes(tasks: Path, style: Callable[[bytes], bytes]) -> None:
    before = restyled(tasks, style)
    retire(tasks, ("X-06",), "used")
    after = (tasks / "splits.yaml").read_bytes()
    start, end = before.index(b"X-06"), before.index(b"E-01")
    assert after.startswith(before[:start])
    assert after.endswith(before[end:])
    rows = load_tasks(tasks).splits
    assert rows["X-06"].split == "regression"
    assert rows["X-06"].reason.endswith("; retired to regression: used")
    if style is blocks:
        assert after[start:].startswith(b"X-06   # a card\n  'split':   regression  # keep\n  group: ")


@pytest.mark.parametrize(
    "style",
    [
        lambda content: content.replace(b"split: held_out", b"split: &h held_out", 1).replace(
            b"group: physical-control", b"group: *h"
        ),
        lambda content: content.replace(
            b"- {card: X-06, split: held_out, group: physical-control,", b"- {<<: {split: held_out}, card: X-06, group: p,"
        ),
    ],
    ids=["alias", "merge"],
)
def test_a_manifest_that_shares_values_is_left_alone(tasks: Path, style: Callable[[bytes], bytes]) -> None:
    before = restyled(tasks, style)
    with pytest.raises(RetireError, match="write them out, row by row"):
        retire(tasks, ("X-05", "X-06"), WHY)
    assert (tasks / "splits.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--cards", "X-99", "--reason", "used"), "card 'X-99': there is no such card; held out are X-05, X-06"),
        (("--cards", "X-05,X-01", "--reason", "used"), "card 'X-01': it is in split 'train', so it cannot be retired"),
        (("--cards", "X-05"), "--reason"),
        (("--cards", "X-05", "--reason", " "), "reason: ' ' is not a line of text"),
        (("--cards", "X-05", "--reason", "a\nb"), "reason: 'a\\nb' is not a line of text"),
        (("--cards", "X-05", "--all", "--reason", "used"), "give either --cards X-05,... or --all"),
        (("--reason", "used"), "give either --cards X-05,... or --all"),
        (("--cards", "", "--reason", "used"), "card '': there is no such card"),
    ],
)
def test_what_may_not_be_retired_is_refused(tasks: Path, args: tuple[str, ...], says: str) -> None:
    before = contents(tasks)
    done = command("--tasks", tasks, *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert contents(tasks) == before


def test_a_wrong_pack_is_named(tasks: Path) -> None:
    assert "there is no such directory" in command("--tasks", tasks / "no", "--all", "--reason", "used").stderr
    (tasks / "effect" / "x-05.yaml").write_bytes(b"\xff")
    done = command("--tasks", tasks, "--all", "--reason", "used")
    assert done.exit_code == 2
    assert done.stderr.startswith("fieldops: effect/x-05.yaml: (the whole file): it should be UTF-8")


def test_rows_elsewhere_are_not_rewritten(tasks: Path) -> None:
    (tasks / "effect" / "splits.yaml").write_bytes((tasks / "splits.yaml").read_bytes())
    (tasks / "splits.yaml").write_text("[]\n")
    done = command("--tasks", tasks, "--cards", "X-05", "--reason", "used")
    assert done.exit_code == 2
    assert "splits.yaml: it has no row for X-05" in done.stderr


def test_the_command_says_what_it_did(tasks: Path, pack: Pack) -> None:
    path = tasks / "splits.yaml"
    path.chmod(0o640)
    done = command("--tasks", tasks, "--cards", "X-05, X-06", "--reason", "used")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].endswith("splits.yaml: X-05, X-06 read split regression now")
    assert f"pack {pack.digest[:8]} is pack {load_tasks(tasks).digest[:8]} now" in done.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not list(tasks.glob(".*"))
    listed = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["list", "--tasks", str(tasks)])
    assert next(line for line in listed.stdout.splitlines() if line.startswith("X-05")).split()[1] == "regression"
    run = ["run", "--env", ENV, "--agent", "agents.shortcuts:DoNothing", "--seeds", "1", "--split", "regression"]
    assert "split regression: 2 cards x 1 seed" in CliRunner().invoke(app, [*run, "--tasks", str(tasks)]).stdout


def test_the_pack_of_an_installed_package_is_not_rewritten(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    shutil.copytree(root / "fieldops_gym", tmp_path / "fieldops_gym", ignore=shutil.ignore_patterns("__pycache__"))
    shipped = Path(shutil.copytree(root / "tasks", tmp_path / "fieldops_gym" / "_tasks")) / "field_service"
    (tmp_path / "linked").symlink_to(shipped)
    before = contents(shipped)
    for directory in (shipped, tmp_path / "linked"):
        done = subprocess.run(
            [sys.executable, "-m", "fieldops_gym.cli", "retire", "--tasks", directory, "--all", "--reason", "used"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "it is part of the installed package; give a checkout's or a copy of your own" in done.stderr
    assert contents(shipped) == before
