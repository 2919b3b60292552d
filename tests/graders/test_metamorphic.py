"""What must not matter to a verdict: reads in between, names and keys, and the order of candidates.

Passing runs and failing ones are changed in ways that leave what was done as it was; then every verdict has to stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agents.reference import Reference
from fieldops_gym import Coordinates, Episode, ToolCall, evaluation_seeds, grade
from fieldops_gym.core.domain import Built, Domain
from fieldops_gym.core.episode import Step, replay
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.streams import Draw, Stream
from fieldops_gym.domains.field_service.notes import seat_note
from fieldops_gym.domains.field_service.policies import POLICIES
from tests.counts import count
from tests.graders.recorded import DOMAIN, Run, agents_on, recorded, states
from tests.graders.renaming import evidence, other_ids, other_keys, renamed_trial
from tests.support import PACK, VARIANTS, play


@pytest.fixture(scope="module")
def runs() -> tuple[Run, ...]:
    """Runs of every variant."""
    return recorded()


def test_the_runs_pass_and_fail_in_every_way(runs: tuple[Run, ...]) -> None:
    judged = [grade(DOMAIN, run.episode.trial()) for run in runs]
    broken = {verdict.invariant for each in judged for verdict in each.broken()}
    assert {str(each.outcome) for each in judged} == {"passed", "failed"}
    assert len(broken) >= 15, sorted(broken)


# Reads in between


NEUTRAL = ("query_asset", "search_manuals", "read_manual", "search_parts", "list_slots", "read_policy", "read_directory")
"""Reads that may be made again at any time: whatever a verdict wants of them, the first one gave it."""

NEVER_JUDGED = tuple(operation for operation in POLICIES if operation not in ("sources", "deploy", "rank", "depots"))
"""Operations whose rule says the same in every run."""

MOST_READS = 3


def with_reads(run: Run, draw: Draw) -> Episode | None:
    """Play a run's calls again with reads at drawn places; None where that made it another run.

    Reads take time, and in that time others may act; so a run in which the seat was told something else is not compared,
    nor one in which a read was refused.
    """
    steps, given = run.episode.steps, answers(run.episode)
    episode = Episode(DOMAIN, PACK, run.episode.coordinates)
    places = [draw.below(len(steps)) for _ in range(draw.between(1, MOST_READS))]
    passed, heard = states(run.episode.trial())[0] == "passed", []
    for number, step in enumerate(steps):
        for _ in range(places.count(number)):
            if episode.ended or not may_read(episode):
                return None
            if not episode.call(drawn_read(draw, episode, steps[:number], passed)).ok:
                return None
        if episode.ended:
            return None
        heard.append(essence(episode.send(step.call, step.seat)))
    return episode if heard == given and episode.ending == run.episode.ending else None


def may_read(episode: Episode) -> bool:
    """Whether the seat still may, by what it has been told."""
    view = episode.view()
    return not view.rows["delegation"][0]["revoked"] and not seat_note(view).ended


def drawn_read(draw: Draw, episode: Episode, before: list[Step], passed: bool) -> ToolCall:
    """Return a read that was made before, or one of a rule; in a run that passed, one of whatever there is to read.

    In one that failed, a read may be just what was missing.
    """
    again = [step.call for step in before if step.call.tool in NEUTRAL]
    if passed and draw.below(2):
        return draw.pick(new_reads(episode))
    if again and draw.below(3):
        return draw.pick(again)
    return ToolCall.of("read_policy", operation=draw.pick(NEVER_JUDGED))


def new_reads(episode: Episode) -> list[ToolCall]:
    """Return reads that the view allows and that tell nothing of what others have done meanwhile."""
    rows, listed = episode.view().rows, episode.view().listed
    machine, incident = rows["equipment"][0].id, rows["incident"][0].id
    reads = [ToolCall.of("read_policy", operation=operation) for operation in POLICIES]
    reads += [ToolCall.of(tool, equipment=machine) for tool in ("query_asset", "search_manuals", "search_parts")]
    reads += [ToolCall.of("recall", equipment=machine)] if "recall" in listed else []
    reads += [ToolCall.of("list_slots", incident=incident), ToolCall.of("read_directory"), ToolCall.of("read_journal")]
    return reads + [ToolCall.of("read_manual", manual=row.id) for row in rows["manual"] if row["status"] != "withheld"]


TIMES = ("at", "elapsed", "as_of", "expires")
"""What an answer says of seconds."""


def essence(result: ToolResult) -> Any:
    """Return what a seat is told by an answer, seconds aside."""
    return timeless(result.to_dict())


def timeless(value: Any) -> Any:
    """Return JSON data without the fields that hold seconds."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in TIMES}
    return [timeless(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def answers(episode: Episode) -> list[Any]:
    """Return the essence of every answer of a run."""
    again = Episode(DOMAIN, PACK, episode.coordinates)
    return [essence(again.send(step.call, step.seat)) for step in episode.steps]


def test_reads_in_between_change_no_verdict(runs: tuple[Run, ...]) -> None:
    compared = 0
    for number, run in enumerate(runs):
        for again in range(count(2, 10)):
            changed = with_reads(run, Stream(again, "reads between").draw(run.told, number))
            if changed is None:
                continue
            compared += 1
            assert states(changed.trial()) == states(run.episode.trial()), f"{run.told}: {changed.steps}"
    assert compared > len(runs), f"{compared} runs could be compared"


# Names


@pytest.mark.parametrize("rename", [other_ids, other_keys])
def test_names_change_no_verdict(runs: tuple[Run, ...], rename: Callable[[str], str]) -> None:
    """Every id, or every key, spelt another way, and other words wherever only people read."""
    met = 0
    for run in runs:
        trial = run.episode.trial()
        other = renamed_trial(trial, rename)
        met += other.world.log != trial.world.log
        before, after = grade(DOMAIN, trial), grade(DOMAIN, other)
        assert (after.outcome, after.completion) == (before.outcome, before.completion), run.told
        assert [evidence(v, str) for v in after.verdicts] == [evidence(v, rename) for v in before.verdicts], run.told
    assert met > len(VARIANTS) // 2, f"in {met} logs was there anything to rename"


@pytest.mark.parametrize("name", VARIANTS)
def test_other_entities_change_no_verdict(name: str) -> None:
    """The same people and faults in another world: whoever decides alike is judged alike."""
    card, variant = name.split(":")
    number = VARIANTS.index(name)
    for agent in agents_on(name, number):
        wanted = agent.FAILS[name] if agent is not Reference else ""
        for entity in range(count(2, 20)):
            seeds = evaluation_seeds(number)._replace(entity=evaluation_seeds(900 + entity).entity)
            judged = grade(DOMAIN, play(Episode(DOMAIN, PACK, Coordinates(card, variant, seeds)), agent()).trial())
            broken = {verdict.invariant for verdict in judged.broken()}
            assert (wanted in broken) if wanted else judged.outcome == "passed", f"{agent.__name__}, {name}, {seeds}: {broken}"


# Candidates


LISTS = {"family": ("manuals", "parts"), "region": ("slots",), "tenant": ("people",)}
"""Records that list others, and where."""


def permuted(domain: Domain, draw: Draw) -> Domain:
    """Return the domain with the rows of every start, and whatever a search lists, in another order."""

    def build(*args: Any) -> Built:
        built = domain.build(*args)
        tables = {table: dict(mixed(draw, list(rows.items()))) for table, rows in built.tables.items()}
        for table, fields in LISTS.items():
            for key, record in tables[table].items():
                tables[table][key] = record._replace(**{field: tuple(mixed(draw, getattr(record, field))) for field in fields})
        return built._replace(tables=tables)

    return replace(domain, build=build)


def mixed(draw: Draw, items: Any) -> list[Any]:
    """Return some items in another order: turned round, and begun somewhere else."""
    turned = list(items)[::-1]
    cut = draw.below(len(turned)) if turned else 0
    return turned[cut:] + turned[:cut]


def test_the_order_of_candidates_changes_no_verdict(runs: tuple[Run, ...]) -> None:
    """The same calls where rows and search results come in another order."""
    for number, run in enumerate(runs):
        other = permuted(DOMAIN, Stream(number, "order").draw(run.told))
        again = replay(other, PACK, run.episode.coordinates, run.episode.steps)
        before, after = run.episode.trial(), again.trial()
        assert [list(rows) for rows in after.world.start.values()] != [list(rows) for rows in before.world.start.values()]
        assert states(after) == states(before), run.told
        assert {v.invariant for v in grade(other, after).broken()} == {v.invariant for v in grade(DOMAIN, before).broken()}


@pytest.mark.parametrize("name", VARIANTS)
def test_whatever_comes_first_the_work_is_passed(name: str) -> None:
    """Whoever takes the first that does takes another one then, and is as right."""
    card, variant = name.split(":")
    for index in range(count(2, 20)):
        other = permuted(DOMAIN, Stream(index, "first").draw(name))
        judged = grade(
            DOMAIN, play(Episode(other, PACK, Coordinates(card, variant, evaluation_seeds(index))), Reference()).trial()
        )
        assert judged.outcome == "passed", f"{name}, seeds {index}: {[v.invariant for v in judged.broken()]}"
