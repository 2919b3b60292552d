"""The truth about answers: what can be known by permitted means, and so what is right to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fieldops_gym.core.domain import Ending
from fieldops_gym.core.judging import Trial
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.history import shown_to
from fieldops_gym.domains.field_service.records import Knowledge, Manual
from fieldops_gym.domains.field_service.rules import LEAD

REVIEW = "request_review"
"""The tool that puts a conflict of editions before the review desk, where there is one."""

LONGEST_WAIT = 3600
"""The longest that the call menu lets a seat wait, in seconds."""


class Answer(NamedTuple):
    """What is right to say: a disposition about a record, resting on editions that are read and cited."""

    disposition: str
    subject: str
    cites: tuple[str, ...]
    why: str


def known_by(tables: Tables, equipment: str) -> str:
    """Return the person who can tell the machine's revision, '' for nobody."""
    return next((k.person for k in _informed(tables, equipment)), "")


def informers(tables: Tables, tenant: str) -> list[str]:
    """Return the people whose word on a tenant's machines counts."""
    return [key for key, person in tables["person"].items() if rules.may_inform(person, tenant)]


def _informed(tables: Tables, equipment: str) -> list[Knowledge]:
    """Return what people whose word counts know of a machine's revision."""
    whose = informers(tables, tables["equipment"][equipment].tenant)
    known = (k for k in tables["knowledge"].values() if k.equipment == equipment and k.topic == "revision")
    return [k for k in known if k.person in whose]


def revision_of(tables: Tables, equipment: str) -> int:
    """Return the revision that permitted means can find: the registry's, or a person's; 0 for none."""
    told = (int(k.value) for k in _informed(tables, equipment))
    return tables["equipment"][equipment].revision or next(told, 0)


def right_answer(tables: Tables, roles: Mapping[str, tuple[str, ...]], *, told: bool = True) -> Answer:
    """Return the right answer; without `told`, that of somebody whom nobody has told the revision."""
    machine = tables["equipment"][roles["equipment"][0]]
    revision = revision_of(tables, machine.id) if told else machine.revision
    own: list[Manual] = [tables["manual"][key] for key in tables["family"][machine.family].manuals]
    in_force = [m for m in own if m.tenant == machine.tenant and rules.is_current(m)]
    if not in_force:
        return Answer("needs_information", machine.family, (), "the family has no edition in force")
    if not revision:
        return Answer("needs_information", machine.id, (), "the machine's revision cannot be found out")
    fitting = [m for m in in_force if rules.applies(m, revision)]
    if not fitting:
        return Answer("needs_information", machine.family, (), "no edition in force covers the machine's revision")
    if len({m.remedy for m in fitting}) > 1:
        source = tables["policy"]["pol-sources"].value
        rightful = [m for m in fitting if source and m.source == source]
        if len(rightful) != 1:
            cites = tuple(sorted(m.id for m in fitting))
            return Answer("escalated", roles["incident"][0], cites, "two editions in force conflict, and neither has authority")
        fitting = rightful
    return Answer("answered", fitting[0].id, (fitting[0].id,), "the edition in force for the machine's revision")


def in_conflict(tables: Tables, roles: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether editions in force that cover the machine's revision prescribe different things."""
    machine = tables["equipment"][roles["equipment"][0]]
    own: list[Manual] = [tables["manual"][key] for key in tables["family"][machine.family].manuals]
    revision = revision_of(tables, machine.id)
    return len({m.remedy for m in own if rules.is_current(m) and m.tenant == machine.tenant and rules.applies(m, revision)}) > 1


def calls_needed(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat can answer."""
    answer = right_answer(scenario.start, scenario.roles)
    machine = scenario.start["equipment"][scenario.roles["equipment"][0]]
    calls = 3 + 2 * len(answer.cites)
    requester = scenario.start["person"][scenario.roles["requester"][0]]
    calls += "inform" not in requester.authority and not machine.revision
    if not machine.revision and answer.subject != machine.family:
        calls += 2
    if answer.disposition == "escalated" and REVIEW in scenario.contract.tools:
        persona = scenario.personas.get("reviewer")
        decides = persona is None or "review" in dict(persona.answers)
        calls += 1 + (1 if decides else _waits(scenario.limits.simulated_time))
    if answer.disposition == "escalated" or scenario.start["policy"]["pol-sources"].value:
        calls += 2
    return calls


def _waits(seconds: int) -> int:
    """Return the fewest waits after which so little is left of some seconds that what is open may be given up."""
    waits = 0
    while seconds >= rules.GIVE_UP_SECONDS:
        seconds -= LONGEST_WAIT if seconds > LONGEST_WAIT else rules.GIVE_UP_SECONDS
        waits += 1
    return waits


def endings(trial: Trial, given_up: bool) -> list[Ending]:
    """Return the right endings of a request for an answer; `given_up` says that what is open may be given up by now."""
    start, roles = trial.world.start, trial.scenario.roles
    right = right_answer(start, roles)
    found = [Ending(right.disposition, (right.subject,), right.why)]
    if right.disposition == "escalated" and REVIEW in trial.scenario.contract.tools:
        found = _reviewed(trial, right, given_up)
    said = account.at if (account := trial.account) is not None else trial.as_of
    statements = [s for s in trial.world.tables["statement"].values() if s.at <= said]
    informing = informers(start, start["equipment"][roles["equipment"][0]].tenant)
    if known_by(start, roles["equipment"][0]) and not any(s.person in informing for s in statements) and given_up:
        unknown = right_answer(start, roles, told=False)
        found.append(Ending(unknown.disposition, (unknown.subject,), "who knows the revision did not tell it in time"))
    return found


def _reviewed(trial: Trial, right: Answer, given_up: bool) -> list[Ending]:
    """A conflict of editions goes to the review desk: as it decides, or, when it does not in time, escalated."""
    said = account.at if (account := trial.account) is not None else trial.as_of
    decided = [s for s in trial.world.tables["statement"].values() if s.topic == "edition" and s.at <= said]
    shown = {s.id for _, s in shown_to(trial, LEAD) if s.table == "statement"}
    found = [Ending("answered", (str(s.value),), "the review desk has decided that it holds") for s in decided]
    if trial.world.tables["review"] and given_up and not any(s.id in shown for s in decided):
        found.append(Ending(right.disposition, (right.subject,), "the review desk did not decide in time"))
    return found
