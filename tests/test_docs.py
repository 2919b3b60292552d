"""The documentation page of every environment: whole, true to the environment, with a snippet that runs and no answers."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from itertools import dropwhile, takewhile
from pathlib import Path

import gymnasium
import pytest
from typer.testing import CliRunner

from fieldops_gym import DOMAINS, ENVIRONMENTS, load_tasks
from fieldops_gym.cli import app
from fieldops_gym.core.cards import Card, Pack
from fieldops_gym.core.tools import Ref
from fieldops_gym.envs import FieldOpsEnv
from fieldops_gym.evaluation import docs
from fieldops_gym.graders import invariants_of
from fieldops_gym.registry import EnvRow

EACH = pytest.mark.parametrize("row", ENVIRONMENTS, ids=lambda row: row.id)
ORDER = (
    "Arguments and options",
    *docs.SECTIONS,
    "Tools",
    "Cards",
    "Faults",
    "People",
    "Invariants",
    "What is unlike a real system",
)


def pack_of(row: EnvRow) -> Pack:
    return load_tasks(None, row.domain)


def page(row: EnvRow) -> str:
    return docs.page(row, pack_of(row))


def cards_of(row: EnvRow) -> list[Card]:
    return list(pack_of(row).select(row.family, "all"))


def part(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its level or above."""
    level = heading.split(" ")[0]
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, f"there is no {heading}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.MULTILINE)[0]


def table(text: str) -> list[list[str]]:
    """Return the rows of the first table, without its head."""
    lines = dropwhile(lambda line: not line.startswith("|"), text.splitlines())
    rows = list(takewhile(lambda line: line.startswith("|"), lines))
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in rows[2:]]


@EACH
def test_a_page_has_every_section_in_order(row: EnvRow) -> None:
    text = page(row)
    assert text.startswith(f"# {row.id}\n")
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == ORDER
    for name in ORDER:
        assert len(part(text, f"## {name}").strip()) > 40


@EACH
def test_the_snippet_runs_as_it_stands(row: EnvRow, tmp_path: Path) -> None:
    snippets = re.findall(r"```python\n(.+?)```", part(page(row), "## Example"), re.DOTALL)
    assert snippets
    for code in snippets:
        assert row.id in code
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


@EACH
def test_arguments_and_options_are_those_of_the_environment(row: EnvRow) -> None:
    own = part(page(row), "## Arguments and options")
    given = dict(list(inspect.signature(FieldOpsEnv.__init__).parameters.items())[1:-1])  # but for `self`, and the unknown
    assert [(cells[0], cells[2]) for cells in table(own)] == [(f"`{n}`", f"`{p.default!r}`") for n, p in given.items()]
    options = table(own.partition("Options of `reset")[2])
    assert [cells[0] for cells in options] == [
        f"`{name}`" for name in ("card", "variant", "seeds", "layers", "faults", "budget", "people", "entities")
    ]
    assert all(all(cells) for cells in (*table(own), *options))


@EACH
def test_observation_and_action_are_those_of_the_environment(row: EnvRow) -> None:
    text, env = page(row), gymnasium.make(row.id)
    spaces, layout = env.observation_space, env.unwrapped.layout
    assert [cells[:3] for cells in table(part(text, "## Observation"))] == [
        [f"`{name}`", str(box.dtype), str(box.shape)] for name, box in spaces.items()
    ]
    for name, box in spaces.items():
        numbers = table(part(part(text, "## Observation"), f"### `{name}`"))
        rows = layout.tables[name].capacity if name in layout.tables else 1
        assert rows * len(numbers) == box.shape[0]
        assert all(len(cells) == 3 and cells[2] for cells in numbers)
    slots = table(part(text, "## Action"))
    assert [int(cells[2]) for cells in slots] == list(env.action_space.nvec)
    for cells in slots:
        assert cells[3].startswith("0 none") or cells[3].count("`") == 2 * int(cells[2])


@EACH
def test_every_tool_has_its_arguments_and_what_its_answers_mean(row: EnvRow) -> None:
    text, domain = page(row), DOMAINS[row.domain]
    listed = {cells[0].strip("`"): cells for cells in table(part(text, "## Tools"))}
    assert list(listed) == list(domain.tools[domain.lead])
    for tool in domain.tools[domain.lead].values():
        lag = f"{tool.latency.outbound} + {tool.latency.inbound}"
        assert listed[tool.name][1:4] == [tool.scope, str(tool.consequence), lag]
        own = part(part(text, "## Tools"), f"### `{tool.name}`")
        for words in (tool.description, tool.semantics.idempotency, tool.semantics.freshness):
            assert words in own
        for code, meaning in tool.semantics.errors:
            assert f"- Error `{code}`: {meaning}" in own
        for arg in tool.args:
            line = next(line for line in own.splitlines() if line.startswith(f"| `{arg.name}` |"))
            assert arg.description in line
            assert not isinstance(arg, Ref) or all(table in line for table in arg.tables)
    assert all(f"`{name}`" in text for name in domain.prohibited)


@EACH
def test_every_card_is_there_with_its_claim_and_without_its_answers(row: EnvRow) -> None:
    text, pack = page(row), pack_of(row)
    listed = {cells[0]: cells for cells in table(part(text, "## Cards"))}
    assert sorted(listed) == sorted(card.id for card in cards_of(row))
    for card in cards_of(row):
        count = str(len(card.variants))
        assert listed[card.id][1:4] == [pack.splits[card.id].split, card.segment, count]
        assert listed[card.id][5:] == [card.claim, card.why]
        for name, variant in card.variants.items():
            told = part(text, "## Cards")
            assert ", ".join(variant.evidence) not in text
            assert len(variant.recovery) < 20 or variant.recovery not in told
            assert not any(use.fault in told for use in variant.faults)
            assert not re.search(rf"\b{name}\b", " ".join(listed[card.id][:5]))
    assert not re.search(r"[{}]|evidence path|factor", part(text, "## Invariants"))


@EACH
def test_faults_people_budgets_and_invariants_are_there_whole(row: EnvRow) -> None:
    text, pack, domain = page(row), pack_of(row), DOMAINS[row.domain]
    contracts = [pack.contracts[name] for name in {card.contract for card in cards_of(row)}]
    for fault in pack.faults.values():
        own = part(part(text, "## Faults"), f"### `{fault.id}`")
        for name in ("tool", "boundary", "effect", "visibility", "duration", "state", "observation", "recovery"):
            assert f"- {name}: {getattr(fault, name)}" in own
        assert all(parameter.name in own for parameter in fault.parameters)
    people = part(text, "## People")
    for name in {name for contract in contracts for names in contract.personas.values() for name in names}:
        persona = pack.personas[name]
        assert f"- demand: {persona.demand}" in part(people, f"### `{name}`")
        assert f"- delay: {persona.delay[0]} to {persona.delay[1]} simulated seconds" in people
    budget = part(text, "## Ending")
    for contract in contracts:
        for meter, limit in contract.budget.items():
            unit = "simulated seconds" if "time" in meter else "count"
            assert f"| `{meter}` | {limit} | {unit} |" in budget
    rows = table(part(text, "## Invariants"))
    assert [cells[1:7] for cells in rows] == [
        [f"`{i.id}`", i.version, str(i.layer), i.severity.name.lower(), i.policy, i.rationale] for i in invariants_of(domain)
    ]


@EACH
def test_a_docstring_without_a_section_is_refused(row: EnvRow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FieldOpsEnv, "__doc__", (FieldOpsEnv.__doc__ or "").replace("## Example", "## Sample"))
    with pytest.raises(ValueError, match=r"its docstring and its base's have sections .*'Sample'.*a page needs"):
        page(row)


def test_the_command_prints_pages_or_writes_one_file_each(tmp_path: Path) -> None:
    runner, pages = CliRunner(env={"COLUMNS": "40"}), {row.id: page(row) for row in ENVIRONMENTS}
    everything = runner.invoke(app, ["docs"])
    assert (everything.exit_code, everything.stdout) == (0, "\n".join(pages.values()))
    for name, text in pages.items():
        one = runner.invoke(app, ["docs", name])
        assert (one.exit_code, one.stdout) == (0, text)
    written = runner.invoke(app, ["docs", "--out", str(tmp_path / "deep" / "docs")])
    files = {path.name: path.read_text() for path in (tmp_path / "deep" / "docs").iterdir()}
    assert files == {f"{name}.md": text for name, text in pages.items()}
    assert sorted(written.stdout.splitlines()) == sorted(str(tmp_path / "deep" / "docs" / name) for name in files)


def test_a_wrong_id_or_directory_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for args, says in (
        (["Nothing-v0"], f"there are {ENVIRONMENTS[0].id}"),
        (["--out", str(tmp_path / "file")], "file: it is a file; give a directory"),
        (["--out", str(tmp_path / "file" / "deep")], "deep: not a directory"),
        (["--tasks", "no/such/place"], "no/such/place"),
    ):
        result = CliRunner().invoke(app, ["docs", *args])
        assert (result.exit_code, result.stdout) == (2, "")
        assert says in result.stderr
        assert result.stderr.count("\n") == 1
        assert "Errno" not in result.stderr
