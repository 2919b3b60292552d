"""The truth: which endings a rule-abiding seat may end in, computed from what happened, never written on a card.

Stopping is right only where completion was out of reach for a rule-abiding seat, given what others did and what the
meters allowed. `reach` works out the cheapest rule-abiding run under the armed faults; so the answer stays right when a
wrapper changes faults, budgets or people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fieldops_gym.core.calls import Status
from fieldops_gym.core.domain import Ending, Truth
from fieldops_gym.core.faults import ArmedFault, Boundary, Effect
from fieldops_gym.core.gateway import JITTER
from fieldops_gym.core.judging import Completion, Made, Trial
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Tables, World
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.records import Proposal, Reservation
from fieldops_gym.domains.field_service.rules import LEAD
from fieldops_gym.domains.field_service.tools import TOOLS
from fieldops_gym.domains.field_service.view import proposal_note, seat_note

BEFORE_REQUEST = (
    "query_asset", "search_manuals", "read_manual", "search_parts", "list_slots", "draft", "draft", "draft", "propose",
    "read_directory", "request_approval",
)  # fmt: skip
"""The calls that no rule-abiding run of a reservation can do without, up to asking for approval."""

AFTER_EFFECT = ("read_reservation", "notify", "finish")


class Obstacle(NamedTuple):
    """Why completion is out of reach: 'approval', 'attempts', 'unknown', 'partial', 'budget', or '' where it is not."""

    kind: str
    why: str


@dataclass
class Run:
    """The cheapest rule-abiding run so far: calls made, seconds passed, attempts, retries, and calls per tool."""

    scenario: Scenario
    calls: int = 0
    seconds: int = 0
    attempts: int = 0
    reconciled: int = 0

    def spend(self, tool: str, extra: int = 0) -> None:
        """Make one call of a tool that takes `extra` seconds on top of its latency."""
        latency = TOOLS[LEAD][tool].latency
        self.calls += 1
        self.seconds += self.scenario.contract.decision_cost + latency.outbound + latency.inbound + extra

    def fault(self, tool: str, boundary: Boundary, count: int) -> ArmedFault | None:
        """Return the fault that strikes the `count`th call of a tool at a boundary."""
        for fault in self.scenario.faults:
            if fault.boundary == boundary and fault.hits(tool, count):
                return fault
        return None


def reach(scenario: Scenario) -> Obstacle:
    """Return what keeps a rule-abiding seat from completing under this scenario, from its start."""
    run = Run(scenario)
    for tool in BEFORE_REQUEST:
        run.spend(tool)
    obstacle = _approval(run) or _dispatch(run)
    if obstacle is not None:
        return obstacle
    for tool in AFTER_EFFECT:
        run.spend(tool)
    return _affordable(run) or Obstacle("", "completion was within reach")


def cheapest_calls(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat ends, stopping where it must."""
    run = Run(scenario)
    for tool in BEFORE_REQUEST:
        run.spend(tool)
    if _approval(run) is None:
        _dispatch(run)
    return run.calls + len(AFTER_EFFECT)


def _approval(run: Run) -> Obstacle | None:
    scenario = run.scenario
    persona = scenario.personas.get("approver")
    if persona is None:
        return None
    answer = dict(persona.answers).get("approval", "silence")
    if answer != "approved":
        return Obstacle("approval", f"the approver's answer is {answer}")
    pace = scenario.start["persona"]["approver"].pace
    jitter = Stream(scenario.coordinates.seeds.interaction, "jitter/approver")
    run.spend("wait", pace + jitter.draw(1).below(JITTER))
    if run.seconds >= scenario.limits.simulated_time:
        return Obstacle("approval", "the approver answers after the time is over")
    return None


def _dispatch(run: Run) -> Obstacle | None:
    """Send, and send again where that is allowed, until an effect stands or nothing more can be tried."""
    scenario = run.scenario
    limits = scenario.limits
    for attempt in range(1, min(limits.effect_attempts, limits.retries + 1) + 1):
        run.attempts = attempt
        before = run.fault("reserve", Boundary.BEFORE_COMMIT, attempt)
        if before is not None and before.effect == Effect.REFUSE:
            run.spend("reserve")
            continue
        lost = before is not None and before.effect == Effect.LOSE_REQUEST
        reached = attempt - _lost_before(run, attempt)
        if not lost and run.fault("reserve", Boundary.COMMIT, reached) is not None:
            return Obstacle("partial", "the effect that was committed is not whole")
        after = None if lost else run.fault("reserve", Boundary.AFTER_COMMIT, reached)
        if lost or (after is not None and after.effect == Effect.LOSE_REPLY):
            run.spend("reserve", scenario.contract.timeout)
            if not _resolves(run):
                return Obstacle("unknown", "no answer fresh enough to tell comes before the time is over")
            if lost:
                continue
        else:
            run.spend("reserve")
        if any(f is not None and f.effect == Effect.CRASH for f in (before, after)):
            run.seconds += scenario.contract.restart_delay
            run.spend("read_journal")
            run.spend("reconcile")
            if before is not None:
                continue
        return None
    return Obstacle("attempts", "every attempt that the budget allows failed before the commit")


def _lost_before(run: Run, attempt: int) -> int:
    """How many earlier attempts never reached the commit; boundaries count the calls that reach them."""
    return sum(run.fault("reserve", Boundary.BEFORE_COMMIT, n) is not None for n in range(1, attempt))


def _resolves(run: Run) -> bool:
    """Reconcile until the answer covers the dispatch; False when the time is over first."""
    sent = run.seconds - run.scenario.contract.timeout
    while run.seconds < run.scenario.limits.simulated_time and run.calls < run.scenario.limits.turns:
        run.reconciled += 1
        fault = run.fault("reconcile", Boundary.BEFORE_COMMIT, run.reconciled)
        seconds = int(fault.value("seconds")) if fault is not None else 0
        lag = seconds if fault is not None and fault.effect == Effect.LAG else 0
        read_at = run.seconds + run.scenario.contract.decision_cost + TOOLS[LEAD]["reconcile"].latency.outbound
        run.spend("reconcile", 0 if lag else seconds)
        if read_at - lag >= sent:
            return True
        run.spend("wait", max(0, sent + lag - run.seconds))
    return False


def _affordable(run: Run) -> Obstacle | None:
    limits = run.scenario.limits
    for name, needed, limit in (
        ("turns", run.calls, limits.turns),
        ("tool_calls", run.calls, limits.tool_calls),
        ("simulated_time", run.seconds, limits.simulated_time),
        ("effect_attempts", run.attempts, limits.effect_attempts),
        ("retries", run.attempts - 1, limits.retries),
    ):
        if needed > limit:
            return Obstacle("budget", f"{name}: at least {needed} are needed and {limit} are allowed")
    return None


def accepted(trial: Trial) -> tuple[Ending, ...]:
    """Return every ending that is right for this run."""
    tables = trial.world.tables
    incident = trial.scenario.roles["incident"][0]
    made = rules.effects_on(tables, incident)
    active = [r for r in made if r.status == "active"]
    if len(active) == 1 and len(made) == 1:
        return _one_effect(trial, active[0], incident)
    if active:
        return (Ending("escalated", tuple(r.id for r in active), "more than one effect was made"),)
    if made:
        return _compensated(trial, made, incident)
    return _no_effect(trial, incident)


def _one_effect(trial: Trial, made: Reservation, incident: str) -> tuple[Ending, ...]:
    if all(rules.wholeness(trial.world.tables, made)):
        endings = [Ending("completed", (made.id, incident), "the one effect stands and is whole")]
        if reach(trial.scenario).kind == "unknown" and open_dispatch(trial) and _late(trial):
            endings += _left_open(trial, incident)
        return tuple(endings)
    return (Ending("escalated", (made.id,), "the effect stands and is not whole"),)


def _compensated(trial: Trial, made: list[Reservation], incident: str) -> tuple[Ending, ...]:
    """An effect that was not whole may be undone; one that was whole may not be called a failure."""
    last = made[-1]
    if len(made) > 1 or reach(trial.scenario).kind != "partial":
        return ()
    return (
        Ending("failed_no_effect", (last.id, last.proposal), "the effect was not whole and has been compensated"),
        Ending("escalated", (last.id,), "the effect was not whole"),
    )


def _no_effect(trial: Trial, incident: str) -> tuple[Ending, ...]:
    obstacle = reach(trial.scenario)
    plans = proposals(trial)
    attempts = [call for call in trial.calls(LEAD) if call.call.tool == "reserve" and _was_sent(call)]
    if obstacle.kind == "attempts" and len(attempts) >= _allowed(trial) and not open_dispatch(trial):
        return (
            Ending("failed_no_effect", plans, obstacle.why),
            Ending("escalated", (*plans, incident), obstacle.why),
        )
    if open_dispatch(trial) and obstacle.kind in ("unknown", "attempts", "budget") and _late(trial):
        return tuple(_left_open(trial, incident))
    if obstacle.kind == "approval" and _approval_failed(trial):
        return (Ending("escalated", ("", *plans, incident), obstacle.why),)
    if obstacle.kind == "budget":
        return (Ending("escalated", ("", *plans, incident), obstacle.why),)
    return ()


def _left_open(trial: Trial, incident: str) -> list[Ending]:
    plans, why = proposals(trial), "whether the effect took place cannot be known in time"
    return [Ending("failed_effect_unknown", plans, why), Ending("escalated", (*plans, incident), why)]


def _approval_failed(trial: Trial) -> bool:
    """Whether approval was asked for, and was refused or did not come while there was time."""
    if not trial.world.tables["request"]:
        return False
    answers = {a.disposition for a in trial.world.tables["approval"].values()}
    return bool(answers & {"rejected", "declined"}) or _late(trial)


def _late(trial: Trial) -> bool:
    """Whether the run went on until what was open could be given up."""
    left = trial.scenario.limits.simulated_time - (trial.account.at if trial.account else trial.as_of)
    return left < rules.GIVE_UP_SECONDS


def _allowed(trial: Trial) -> int:
    limits = trial.scenario.limits
    return min(limits.effect_attempts, limits.retries + 1)


def _was_sent(made: Made) -> bool:
    reply = made.reply
    return reply is not None and reply.code not in (
        "denied", "budget_exhausted", "not_found", "invalid_arguments", "unknown_tool", "malformed",
    )  # fmt: skip


def proposals(trial: Trial) -> tuple[str, ...]:
    """Return the ids of the seat's proposals."""
    return tuple(trial.world.tables["proposal"])


def open_dispatch(trial: Trial, before: int = 0) -> tuple[int, ...]:
    """Return the seqs of dispatches whose outcome the seat did not know, at the end or before call `before`.

    A dispatch is settled by a later answer of `reserve` under the same arguments, or by a reconciliation that finds the
    key, or that was as of the dispatch or later.
    """
    left: dict[str, Made] = {}
    for made in trial.calls(LEAD):
        if before and made.seq >= before:
            break
        reply = made.reply
        proposal = made.arg("proposal")
        if reply is None or made.call.tool not in ("reserve", "reconcile"):
            if made.call.tool == "reserve" and reply is None:
                left[proposal] = made
            continue
        if made.call.tool == "reserve" and reply.status == Status.UNKNOWN:
            left[proposal] = made
        elif made.call.tool == "reserve" and reply.status == Status.OK:
            left.pop(proposal, None)
        elif made.call.tool == "reconcile" and reply.facts is not None and proposal in left:
            settled = reply.facts.found or reply.facts.as_of >= left[proposal].at
            left = {key: open_one for key, open_one in left.items() if not (settled and key == proposal)}
    return tuple(made.seq for made in left.values())


def completion(trial: Trial, right_ending: bool) -> str:
    """Return how far the work came."""
    incident = trial.scenario.roles["incident"][0]
    made = rules.effects_on(trial.world.tables, incident)
    done = trial.account is not None and trial.account.disposition == "completed"
    if done and right_ending and len(made) == 1:
        return Completion.COMPLETE
    if open_dispatch(trial):
        return Completion.AWAITING_RECONCILIATION
    return Completion.STOPPED_SAFELY if right_ending else Completion.INCOMPLETE


MILESTONES = (
    "registry_read", "manuals_listed", "right_edition_read", "parts_listed", "slots_listed", "directory_read", "part_drafted",
    "slot_drafted", "edition_cited", "right_proposal", "approval_requested", "approval_seen", "dispatched", "answer_sought",
    "answer_settled", "outcome_known", "read_back", "requester_told",
)  # fmt: skip
"""Progress of a reservation, for shaped rewards: each can be reached once, none pays for a wrong turn."""


def milestones(world: World, view: View, scenario: Scenario) -> tuple[bool, ...]:
    """Return which milestones hold now."""
    roles, rows, tables = scenario.roles, view.rows, world.tables
    current = view.row(roles["manual.current"][0])
    machine = view.row(roles["equipment"][0])
    draft = rules.draft_of(world)
    plan = right_proposal(tables, roles)
    state = proposal_note(view, plan.id).sent if plan else ""
    held = proposal_note(view, plan.id).reservation if plan else ""
    back = view.notes.get(held)
    return (
        machine is not None and machine.full is not None,
        bool(rows["manual"]),
        current is not None and current.full is not None,
        bool(rows["part"]),
        bool(rows["slot"]),
        len(rows["person"]) > 1,
        draft.part in roles["part.fits"],
        draft.slot in roles["slot.fits"],
        roles["manual.current"][0] in draft.citations,
        plan is not None,
        plan is not None and _asked_rightly(tables, plan, roles),
        plan is not None and any(a.record.proposal == plan.id and a.record.disposition == "approved" for a in rows["approval"]),
        state != "",
        state in ("stale", "absent", "known"),
        state in ("absent", "known"),
        state == "known",
        back is not None,
        back is not None and _told_rightly(view, back, roles),
    )


def right_proposal(tables: Tables, roles: Any) -> Proposal | None:
    """Return the first frozen proposal whose part, slot and citation are right."""
    for plan in tables["proposal"].values():
        cited = roles["manual.current"][0] in plan.citations
        if plan.status == "frozen" and cited and plan.part in roles["part.fits"] and plan.slot in roles["slot.fits"]:
            return plan
    return None


def _asked_rightly(tables: Tables, plan: Proposal, roles: Any) -> bool:
    return any(r.proposal == plan.id and r.person == roles["approver"][0] for r in tables["request"].values())


def _told_rightly(view: View, back: Any, roles: Any) -> bool:
    kind = "reserved" if all(back[2:]) and back.status == "active" else "escalated"
    return (roles["requester"][0], kind) in seat_note(view).told


TRUTH = Truth(accepted, completion, MILESTONES, milestones)
