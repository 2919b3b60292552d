"""The README's snippets print what the README says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import evaluation_seeds
from fieldops_gym.evaluation.runner import run_trial

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_snippet_prints_what_is_shown(number: int) -> None:
    code, shown = BLOCKS[number]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == shown


def test_the_agent_that_is_shown_plays(domain: Domain, pack: Pack) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Looks" in block)
    made: dict[str, Any] = {}
    exec(code, made)
    run = run_trial(domain, pack, Coordinates("X-01", "whole", evaluation_seeds(0)), made["Looks"])
    assert run.status == "completed"
    assert [step.call.tool for step in getattr(run.episode, "steps", ())] == ["query_asset", "finish"]
