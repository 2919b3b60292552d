"""A built wheel, installed where nothing else of the project is: it brings its tasks, its ids and its command."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from fieldops_gym import load_tasks

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command with nothing of this checkout in its environment; return what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FIELDOPS", "COVERAGE"))}
    clean |= {"COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout. Without isolation, so that no registry is asked."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an empty environment that has the wheel; its dependencies are lent by a path file."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=venv.parent)
    python = venv / "bin" / "python"
    target = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=venv.parent).strip()
    # A path file adds the folder, but not the path files in it: the editable install of this checkout stays out.
    lent = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    Path(target, "lent.pth").write_text("\n".join(lent) + "\n")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=venv.parent)
    return venv / "bin"


def test_the_wheel_has_the_package_and_the_tasks_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fieldops_gym"}
    assert "fieldops_gym/py.typed" in names
    packed = {name.removeprefix("fieldops_gym/_tasks/") for name in names if name.startswith("fieldops_gym/_tasks/")}
    assert packed == {str(path.relative_to(ROOT / "tasks")) for path in (ROOT / "tasks").rglob("*") if path.is_file()}
    assert len(packed) > 5
    assert not any("__pycache__" in name for name in names)


def test_the_installed_package_makes_its_environment(installed: Path, tmp_path: Path) -> None:
    code = (
        "import fieldops_gym, gymnasium\n"
        "print(fieldops_gym.__file__)\n"
        "env = gymnasium.make('fieldops_gym:FieldOps-Effect-v0')\n"
        "observation, info = env.reset(seed=0)\n"
        "assert observation in env.observation_space\n"
        "print(env.step(env.action_space.sample())[1])\n"
        "print(sorted(env.unwrapped.pack.cards))\n"
    )
    where, reward, cards = run(installed / "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parent)
    assert reward == "0.0"
    assert cards == str(sorted(load_tasks().cards))


def test_the_installed_command_lists_the_cards(installed: Path, tmp_path: Path) -> None:
    text = run(installed / "fieldops", "list", cwd=tmp_path)
    assert [word for word in ("FieldOps-Effect-v0", "X-01", "X-02", "X-03") if word not in text] == []


def test_the_installed_package_plays_as_the_checkout_does(installed: Path, tmp_path: Path) -> None:
    code = (
        "from fieldops_gym import Coordinates, DOMAINS, Episode, evaluation_seeds, load_tasks\n"
        "episode = Episode(DOMAINS['field_service'], load_tasks(), Coordinates('X-01', 'whole', evaluation_seeds(0)))\n"
        "episode.call('nonsense')\n"
        "print(episode.world.log_digest(), episode.pack.digest)\n"
    )
    there = run(installed / "python", "-c", code, cwd=tmp_path)
    here = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert there == here
