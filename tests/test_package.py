"""The package as it is imported: light, registered, documented, typed."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium
import pytest

import fieldops_gym
from fieldops_gym import envs, wrappers
from fieldops_gym.registry import ENVIRONMENTS, register_envs, row_of

HEAVY = ("torch", "stable_baselines3", "sb3_contrib", "pettingzoo", "scipy", "openai", "typer", "rich", "pandas", "matplotlib")
OWN = ("agents", "tests", "examples")
MODULES = [module.name for module in pkgutil.walk_packages(fieldops_gym.__path__, "fieldops_gym.")]


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that are loaded after `statement` in a fresh interpreter."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        "import fieldops_gym",
        "import gymnasium; gymnasium.make('fieldops_gym:FieldOps-Effect-v0').reset(seed=0)",
        "import fieldops_gym.wrappers",
    ],
)
def test_importing_and_making_pulls_in_nothing_heavy(statement: str) -> None:
    loaded = loaded_by(statement)
    assert {"fieldops_gym", "gymnasium", "numpy", "pydantic"} <= loaded
    assert loaded & set(HEAVY + OWN) == set()


def test_the_bare_id_needs_the_import_and_the_prefixed_one_does_not() -> None:
    code = "import gymnasium\ntry:\n    gymnasium.make('FieldOps-Effect-v0')\nexcept gymnasium.error.NameNotFound:\n    pass\n"
    loaded_by(code + "else:\n    raise SystemExit('found without an import')")
    loaded_by("import gymnasium, fieldops_gym\ngymnasium.make('FieldOps-Effect-v0')")
    loaded_by("import gymnasium\ngymnasium.make('fieldops_gym:FieldOps-Effect-v0')")


def test_registering_again_changes_nothing(recwarn: pytest.WarningsRecorder) -> None:
    before = {row.id: gymnasium.registry[row.id] for row in ENVIRONMENTS}
    register_envs()
    importlib.reload(fieldops_gym)
    assert {row.id: gymnasium.registry[row.id] for row in ENVIRONMENTS} == before
    assert [str(warning.message) for warning in recwarn if "verrid" in str(warning.message)] == []


@pytest.mark.parametrize("row", ENVIRONMENTS, ids=lambda row: row.id)
def test_every_row_of_the_registry_can_be_made(row: object) -> None:
    assert isinstance(row, fieldops_gym.registry.EnvRow)
    base = gymnasium.make(row.id).unwrapped
    assert isinstance(base, envs.FieldOpsEnv)
    assert (base.domain.name, base.family) == (row.domain, row.family)
    assert row_of(f"fieldops_gym:{row.id}") == row_of(row.id) == row


def test_an_unknown_id_is_told_what_there_is() -> None:
    with pytest.raises(KeyError, match="no environment 'FieldOps-Affect-v0'; there are FieldOps-Evidence-v0"):
        row_of("FieldOps-Affect-v0")


@pytest.mark.parametrize("module", [fieldops_gym, envs, wrappers], ids=lambda module: module.__name__)
def test_public_names_exist_and_are_documented(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert sorted(set(names)) == sorted(names)
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert (value.__doc__ or "").strip(), f"{name} has no docstring of its own"


def test_every_module_says_what_it_is_about() -> None:
    assert len(MODULES) > 40
    assert [name for name in MODULES if not (importlib.import_module(name).__doc__ or "").strip()] == []


@pytest.mark.parametrize("name", [name for name in envs.__all__ if name != "FieldOpsEnv"])
def test_a_family_says_what_goes_in_and_what_comes_out(name: str) -> None:
    own, base = (inspect.getdoc(one) or "" for one in (getattr(envs, name), envs.FieldOpsEnv))
    heads = [line for line in (base + "\n" + own).splitlines() if line.startswith("## ")]
    assert heads == ["## Observation", "## Action", "## Reward", "## Ending", "## Example"]
    assert "gymnasium.make(" in base
    assert own
    assert own != base


def test_the_package_is_typed_and_knows_its_version() -> None:
    assert Path(fieldops_gym.__file__).with_name("py.typed").is_file()
    assert fieldops_gym.__version__ == version("fieldops-gym")


def test_every_registered_environment_is_exported() -> None:
    assert {row.entry_point.split(":")[1] for row in ENVIRONMENTS} | {"FieldOpsEnv"} == set(envs.__all__)
