"""Finding an agent: every way to get it wrong has one line that says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agents.reference import Reference
from fieldops_gym.evaluation import Agent, AgentLoadError, load_agent
from fieldops_gym.evaluation.audit import load_suite

WRONG = {
    "agents.reference": "MODULE:ATTR",
    ":Reference": "MODULE:ATTR",
    "agents.reference:": "MODULE:ATTR",
    "agents.nowhere:Reference": "no module 'agents.nowhere'",
    "nowhere.at.all:Reference": "no module 'nowhere'",
    "agents.reference:Refrence": "its agents are Reference",
    "agents.reference:MARGIN": "of type int",
    "collections:OrderedDict": "lacks start(...) or act(...)",
    "broken_agents:Anything": "cannot be imported: ZeroDivisionError",
    "needy_agents:Anything": "'no_such_library'",
    "picky_agents:Picky": "without arguments",
    "halves:OnlyActs": "lacks start(...) or act(...)",
    "deaf_agents:Early": (
        "Early.start does not take what it is given (got an unexpected keyword argument 'restarted'); "
        "it has to take start(brief, seed, restarted=False)"
    ),
    "deaf_agents:Blind": "it has to take act(view, result)",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with modules of a user's own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_agents.py").write_text("1 / 0\n")
    (tmp_path / "needy_agents.py").write_text("import no_such_library\n")
    (tmp_path / "picky_agents.py").write_text(
        "class Picky:\n"
        "    def __init__(self, model): ...\n"
        "    def start(self, brief, seed, restarted=False): ...\n"
        "    def act(self, view, result): ...\n"
    )
    (tmp_path / "halves.py").write_text("class OnlyActs:\n    def act(self, view, result): ...\n")
    (tmp_path / "deaf_agents.py").write_text(
        "class Early:\n"
        "    def start(self, brief, seed): ...\n"
        "    def act(self, view, result): ...\n"
        "class Blind:\n"
        "    def start(self, *args, **kwargs): ...\n"
        "    def act(self, view): ...\n"
    )
    (tmp_path / "own_agents.py").write_text(
        "class Own:\n"
        "    def start(self, brief, seed, restarted=False): ...\n"
        "    def act(self, view, result): return None\n"
        "def make_own():\n"
        "    return Own()\n"
    )
    return tmp_path


@pytest.mark.parametrize("spec", WRONG)
def test_a_wrong_agent_is_refused_in_one_line(spec: str, here: Path) -> None:
    with pytest.raises(AgentLoadError) as caught:
        load_agent(spec)
    message = str(caught.value)
    assert WRONG[spec] in message
    assert spec in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["Own", "make_own"])
def test_classes_and_functions_are_found_in_the_working_directory(name: str, here: Path) -> None:
    source = load_agent(f"own_agents:{name}")
    first, second = source.make(), source.make()
    assert source.name == f"own_agents:{name}"
    assert first is not second
    assert type(first).__name__ == "Own"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("agents.nowhere", "agents 'agents.nowhere': there is no module 'agents.nowhere' here or installed; run from"),
        ("broken_agents", "agents 'broken_agents': module 'broken_agents' cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_module_of_agents_is_refused_in_the_same_words(name: str, says: str, here: Path) -> None:
    with pytest.raises(AgentLoadError) as caught:
        load_suite(name)
    assert says in str(caught.value)
    assert "MODULE:ATTR" not in str(caught.value)


def test_the_reference_follows_the_protocol() -> None:
    assert isinstance(load_agent("agents.reference:Reference").make(), Reference)
    assert isinstance(Reference(), Agent)
