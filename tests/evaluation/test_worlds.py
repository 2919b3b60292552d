"""`fieldops world`: starts made again from their coordinates, what a manifest says of them, and frozen generators."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.shortcuts import DoNothing
from fieldops_gym import DOMAINS, __version__, evaluation_seeds, load_tasks, merge
from fieldops_gym.cli import app
from fieldops_gym.core.cards import CardError, Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.overrides import OverrideError
from fieldops_gym.core.world import tables_digest
from fieldops_gym.domains.field_service import generate, setup
from fieldops_gym.evaluation import GENERATOR_VERSION, distribution, manifest, worlds
from fieldops_gym.packs import shipped_tasks
from tests.evaluation.freeze_worlds import cases, changed, frozen
from tests.evaluation.support import run_with
from tests.support import episode_of

ROOT = Path(__file__).parents[2]
FIELD_SERVICE = "field_service"


def command(*args: str | Path, columns: str = "100") -> Result:
    return CliRunner(env={"COLUMNS": columns}).invoke(app, ["world", *map(str, args)])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_generator_makes_what_it_made_under_this_version(pack: Pack) -> None:
    held = frozen()
    again = "raise GENERATOR_VERSION and run python -m tests.evaluation.freeze_worlds"
    assert held["version"] == GENERATOR_VERSION, f"the frozen worlds are of another version: {again}"
    moved = changed(held, pack)
    assert not moved, f"the generator has changed in {len(moved)} of {len(held['cases'])} cases: {again}; the first: {moved[0]}"


def test_every_step_of_a_shipped_setup_is_frozen(pack: Pack) -> None:
    steps = {step["step"] for case in frozen()["cases"] for step in case.get("setup", ())}
    used = {step["step"] for case in cases(pack) for step in case.get("setup", ())}
    assert used <= steps, f"{used - steps} are not frozen: run python -m tests.evaluation.freeze_worlds"


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (generate, "SYMPTOMS", (*generate.SYMPTOMS, "it smells")),
        (generate, "REVISIONS", generate.REVISIONS + 1),
        (generate, "PER_SITE", generate.PER_SITE + 4),
        (setup, "CONTROLS", setup.CONTROLS[:-1]),
        (setup, "UNCERTAINTY", setup.UNCERTAINTY + 1),
    ],
)
def test_a_change_of_the_generator_is_noticed(
    module: Any, name: str, value: Any, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, value)
    assert changed(frozen(), pack)


def test_another_version_is_needed_before_changed_worlds_can_be_frozen(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\nfrom fieldops_gym.domains.field_service import generate\n"
        "generate.URGENCIES = ('low', 'high')\nfrom tests.evaluation import freeze_worlds as f\n"
        f"held = f.FROZEN.read_text()\nf.FROZEN = Path({str(tmp_path / 'frozen.json')!r})\n"
        "f.FROZEN.write_text(held)\nf.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "raise GENERATOR_VERSION in fieldops_gym/evaluation/worlds.py first" in done.stderr


def test_a_start_is_the_start_of_its_episode(pack: Pack, domain: Domain) -> None:
    made = manifest(FIELD_SERVICE, pack, "X-02", (0, 3))
    assert [(start.variant, start.seed) for start in made.starts] == [
        (v, n) for v in pack.cards["X-02"].variants for n in (0, 3)
    ]
    for start in made.starts:
        tables = episode_of(domain, pack, f"X-02:{start.variant}", start.seed).world.start
        assert start.seeds == evaluation_seeds(start.seed)
        assert dict(start.counts) == {name: len(rows) for name, rows in tables.items()}
        assert start.records == sum(map(len, tables.values()))
        assert dict(start.digests) == {name: tables_digest(tables, name) for name in tables}
        assert start.digest == tables_digest(tables)
        assert start.broken == ()
    assert made.sound


def test_results_of_a_run_name_the_same_starts(pack: Pack, tmp_path: Path) -> None:
    overrides = merge([{"entities": 150}])
    rows = run_with(pack, DoNothing, 3, tmp_path / "out", cards=("X-01",), overrides=overrides).rows
    starts = {(s.variant, s.seed): s for s in manifest(FIELD_SERVICE, pack, "X-01", range(3), None, overrides).starts}
    for number, row in enumerate(rows):
        assert row.digests is not None
        assert row.digests.start == starts[row.variant, number].digest
        assert row.seeds == starts[row.variant, number].seeds


def test_what_is_said_once(pack: Pack) -> None:
    made = manifest(FIELD_SERVICE, pack, "X-05", (7,), next(iter(pack.cards["X-05"].variants)))
    assert (made.version, made.generator, made.pack) == (__version__, GENERATOR_VERSION, pack.digest)
    assert (made.domain, made.card, made.split, made.entities) == (FIELD_SERVICE, "X-05", "held_out", 60)
    assert len(made.starts) == 1


def test_the_distribution_is_the_generators_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = distribution(FIELD_SERVICE)
    assert found["families"] == generate.FAMILIES
    assert (found["kinds"], found["symptoms"]) == (list(generate.KINDS), list(generate.SYMPTOMS))
    assert (found["revisions"], found["records_per_site"]) == (generate.REVISIONS, generate.PER_SITE)
    monkeypatch.setattr(generate, "URGENCIES", ("never",))
    assert distribution(FIELD_SERVICE)["urgencies"] == ["never"]
    assert set(worlds.CONSTANTS) == set(DOMAINS)


def test_ranges_cover_all_starts_and_are_reached(pack: Pack, domain: Domain) -> None:
    made = manifest(FIELD_SERVICE, pack, "X-01", range(5), "whole")
    starts = [episode_of(domain, pack, "X-01:whole", number).world.start for number in range(5)]
    deadlines = [record.deadline for start in starts for record in start["incident"].values()]
    assert made.observed["incident.deadline"] == (min(deadlines), max(deadlines))
    assert made.observed["incident.deadline"][0] < made.observed["incident.deadline"][1]


def test_more_entities_make_a_larger_world(pack: Pack) -> None:
    (small,), (large,) = (
        manifest(FIELD_SERVICE, pack, "X-01", (0,), "whole", merge([{"entities": n}])).starts for n in (60, 600)
    )
    assert small.records < 100 < 500 < large.records < 700


@pytest.mark.parametrize("entities", [60, 200])
@pytest.mark.parametrize("card", ["X-01", "E-01", "A-04"])
def test_what_entities_stands_for_is_what_the_counts_say(pack: Pack, card: str, entities: int) -> None:
    text = flat(command("--card", card, "--seeds", "0", "--entities", str(entities), columns="80").stdout)
    start = manifest(FIELD_SERVICE, pack, card, (0,), None, merge([{"entities": entities}])).starts[0]
    rules = start.counts["policy"]
    made = start.records - rules
    assert f"split {pack.splits[card].split}, entities {entities} entities: how many records" in text
    assert f"in sites of {generate.PER_SITE} (one at least); it made {made}" in text
    assert f"and {rules} rules of policy, which are not counted in it" in text
    assert abs(made - entities) < 1.5 * generate.PER_SITE


def test_an_unsound_start_is_told(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[FIELD_SERVICE]

    def build(*args: Any) -> Any:
        built = domain.build(*args)
        key, part = next(iter(built.tables["part"].items()))
        built.tables["part"][key] = part._replace(quantity=-1)
        return built

    monkeypatch.setitem(worlds.DOMAINS, FIELD_SERVICE, replace(domain, build=build))
    made = manifest(FIELD_SERVICE, pack, "X-01", (0,), "whole")
    assert not made.sound
    assert re.fullmatch(r"W-1 part prt-[0-9a-f]{10} quantity is -1", made.starts[0].broken[0])
    done = command("--card", "X-01", "--seeds", "0")
    assert done.exit_code == 1
    assert "World invariants are broken:" in done.stdout
    assert "partial, seed 0: W-1 part" in done.stdout


def test_two_processes_print_the_same_bytes(tmp_path: Path) -> None:
    printed = []
    for seed in ("1", "2"):
        for form in ("--json", "--out"):
            extra = [form] if form == "--json" else [form, str(tmp_path / seed)]
            line = [sys.executable, "-m", "fieldops_gym.cli", "world", "--card", "X-03", "--seeds", "0,1,2", *extra]
            done = subprocess.run(
                line, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": "80"}, capture_output=True, check=True
            )
            printed.append(done.stdout)
    assert printed[0] == printed[2]
    assert printed[1] == printed[3]
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes() == printed[0]
    given = json.loads(printed[0])
    assert {"generator", "version", "pack", "distribution", "observed", "starts"} <= set(given)
    assert {"card", "variant", "seed", "seeds", "counts", "digests", "digest", "broken"} <= set(given["starts"][0])
    assert b"/" not in printed[0].replace(b"fieldops-worlds/1", b"")


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_the_tables_say_the_same_and_fit(columns: str, pack: Pack) -> None:
    done = command("--card", "X-01", "--seeds", "0,1", "--variant", "whole", columns=columns)
    assert (done.exit_code, done.stderr) == (0, "")
    made = manifest(FIELD_SERVICE, pack, "X-01", (0, 1), "whole")
    assert max(map(len, done.stdout.splitlines())) <= int(columns)
    text = flat(done.stdout)
    for start in made.starts:
        assert f"whole {start.seed} {start.records} holds {start.digest[:16]}" in text
        assert " ".join(map(str, (start.seed, *start.seeds))) in text
    assert f"generator {GENERATOR_VERSION}, package {__version__}, pack {pack.digest[:8]}" in text
    assert "revisions 6" in text
    assert "urgencies low, normal, high" in text
    assert "Every start keeps the world invariants." in text


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--card", "X-99", "--seeds", "0"), "card 'X-99': there is no such card; there are "),
        (("--card", "X-01", "--seeds", "0", "--variant", "half"), "it has no variant 'half'; it has whole, partial"),
        (("--card", "X-01", "--seeds", "0,x"), "--seeds: 'x' is not a number >= 0; give for example --seeds 0,1,2"),
        (("--card", "X-01", "--seeds", "-1"), "--seeds: '-1' is not a number >= 0"),
        (("--card", "X-01", "--seeds", ""), "--seeds: '' is not a number >= 0"),
        (("--card", "X-01", "--seeds", "1,1"), "seeds: [1, 1] are not one or more different numbers >= 0"),
        (("--card", "X-01", "--seeds", "0", "--entities", "0"), "--entities"),
        (("--card", "X-01", "--seeds", "0", "--tasks", "no/such"), "no/such: there is no such directory"),
        (("--card", "X-01", "--seeds", "0", "--out", "no/such/file"), "no/such"),
    ],
)
def test_a_wrong_command_says_what_would_be_right(args: tuple[str, ...], says: str) -> None:
    done = command(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_arguments_raise(pack: Pack) -> None:
    with pytest.raises(CardError, match=r"seeds: \[\] are not one or more different numbers"):
        manifest(FIELD_SERVICE, pack, "X-01", ())
    with pytest.raises(OverrideError, match="gremlins"):
        manifest(FIELD_SERVICE, pack, "X-01", (0,), None, merge([{"faults": ["gremlins"]}]))


def test_a_pack_of_ones_own_has_its_own_digest(tmp_path: Path, pack: Pack) -> None:
    tasks = Path(shutil.copytree(shipped_tasks() / FIELD_SERVICE, tmp_path / "tasks"))
    (tasks / "splits.yaml").write_bytes((tasks / "splits.yaml").read_bytes() + b"# mine\n")
    done = command("--card", "X-01", "--seeds", "0", "--tasks", tasks, "--json")
    given = json.loads(done.stdout)
    assert given["pack"] == load_tasks(tasks).digest != pack.digest
    assert given["starts"][0]["digest"] == manifest(FIELD_SERVICE, pack, "X-01", (0,)).starts[0].digest
