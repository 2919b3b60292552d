"""A module of agents that declares wrongly is refused with one line, before anything is played."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from agents import suite
from agents.reference import Reference
from fieldops_gym.cli import app
from fieldops_gym.evaluation import AgentLoadError
from fieldops_gym.evaluation.agents import load_agent
from fieldops_gym.evaluation.audit import load_suite, suite_of


class Undeclared(Reference):
    """Declares nothing."""


class Wrongly(Reference):
    """Declares what is no declaration."""

    FAILS = 5


class Void(Reference):
    """Declares a number of variants."""

    VOID = 5


def module_with(**fields: Any) -> ModuleType:
    made = ModuleType("mine")
    for name in ("REFERENCE", "ALTERNATIVES", "SHORTCUTS", "combined"):
        setattr(made, name, fields.get(name, getattr(suite, name)))
    return made


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"SHORTCUTS": (Undeclared,)}, "Undeclared has no FAILS"),
        ({"SHORTCUTS": (Wrongly,)}, "Wrongly has no FAILS"),
        ({"ALTERNATIVES": (Void,)}, "Void.VOID should be names of variants"),
        ({"ALTERNATIVES": 5}, "ALTERNATIVES is a int; it should be a sequence"),
        ({"ALTERNATIVES": (None,)}, "ALTERNATIVES holds None"),
        ({"REFERENCE": 3}, "REFERENCE holds 3"),
        ({"combined": 3}, "combined is a int"),
    ],
)
def test_wrong_declarations_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(AgentLoadError, match="agents 'mine'") as caught:
        suite_of(module_with(**fields))
    assert says in str(caught.value)


def test_a_module_that_exits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaves_at_once.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AgentLoadError, match="SystemExit"):
        load_suite("leaves_at_once")
    with pytest.raises(AgentLoadError, match="SystemExit"):
        load_agent("leaves_at_once:Agent")


def test_a_report_that_cannot_be_written_is_refused_before_the_audit(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "report.json"):
        done = CliRunner().invoke(app, ["audit", "--agents", "agents.suite", "--quick", "--json", str(path)])
        assert done.exit_code == 2
        assert "cannot be written there" in done.output


def test_claims_nested_too_deep_are_refused(tmp_path: Path) -> None:
    deep = tmp_path / "deep.yaml"
    deep.write_text("[" * 100_000, encoding="utf-8")
    done = CliRunner().invoke(app, ["card", "--agents", "agents.suite", "--claims", str(deep)])
    assert done.exit_code == 2, done.exception
    assert "deep.yaml" in done.output


def test_a_card_nested_too_deep_is_refused(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(Path(__file__).parents[2] / "tasks", tasks)
    next(tasks.glob("field_service/effect/x-01.yaml")).write_text("[" * 15_000, encoding="utf-8")
    done = CliRunner().invoke(app, ["lock", "--tasks", str(tasks)])
    assert done.exit_code == 2, done.exception
    assert "x-01.yaml" in done.output
