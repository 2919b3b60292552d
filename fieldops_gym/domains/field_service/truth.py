"""The truth: which endings a rule-abiding seat may end in, computed from what happened, never written on a card.

Stopping is right only where completion was out of reach for a rule-abiding seat, given what others did and what the
meters allowed (`reach`), and only in the way that policy has for it.
"""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.calls import Status
from fieldops_gym.core.domain import Ending, Truth
from fieldops_gym.core.judging import Completion, Made, Trial
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.view import View
from fieldops_gym.core.world import Tables, World
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.notes import proposal_note, seat_note
from fieldops_gym.domains.field_service.reach import MARGIN, Obstacle, allowed_attempts, reach
from fieldops_gym.domains.field_service.records import Proposal, Reservation
from fieldops_gym.domains.field_service.rules import LEAD


def accepted(trial: Trial) -> tuple[Ending, ...]:
    """Return every ending that is right for this run."""
    incident = trial.scenario.roles["incident"][0]
    made = rules.effects_on(trial.world.tables, incident)
    active = [r for r in made if r.status == "active"]
    obstacle = reach(trial.scenario)
    if len(made) == 1 and active:
        endings = _one_effect(trial, made[0], incident)
    elif active:
        endings = [Ending("escalated", tuple(r.id for r in active), "more than one effect was made")]
    elif made:
        endings = _compensated(trial, made)
    else:
        endings = _no_effect(trial, incident, obstacle)
    if open_dispatch(trial) and obstacle.kind not in ("", "partial") and _given_up_in_time(trial):
        endings += _left_open(trial, incident)
    if obstacle.kind == "budget":
        subjects = [r.id for r in active] or [*proposals(trial), incident]
        endings.append(Ending("escalated", (*_nothing(trial), *subjects), obstacle.why))
    return tuple(endings)


def _one_effect(trial: Trial, made: Reservation, incident: str) -> list[Ending]:
    if all(rules.wholeness(trial.world.tables, made)):
        return [Ending("completed", (made.id, incident), "the one effect stands and is whole")]
    return [Ending("escalated", (made.id,), "the effect stands and is not whole")]


def _compensated(trial: Trial, made: list[Reservation]) -> list[Ending]:
    """An effect that was not whole may be undone; one that was whole may not be called a failure."""
    last = made[-1]
    if len(made) > 1 or _was_whole(trial, last):
        return []
    return [
        Ending("failed_no_effect", (last.id, last.proposal), "the effect was not whole and has been compensated"),
        Ending("escalated", (last.id,), "the effect was not whole"),
    ]


def _was_whole(trial: Trial, made: Reservation) -> bool:
    """Whether a reservation was whole just before it was compensated."""
    for event in trial.world.log:
        for write in event.writes:
            entry = write.record if write.table == "ledger" else None
            if entry is not None and entry.kind == "compensate" and entry.reservation == made.id:
                return all(rules.wholeness(trial.world.at(event.seq - 1), made))
    return True


def _no_effect(trial: Trial, incident: str, obstacle: Obstacle) -> list[Ending]:
    plans = proposals(trial)
    attempts = [call for call in trial.calls(LEAD) if call.call.tool == "reserve" and _was_sent(call)]
    if len(attempts) >= allowed_attempts(trial.scenario) and not open_dispatch(trial):
        why = "every attempt that the budget allows was made, and none took effect"
        tried = tuple(dict.fromkeys(call.arg("proposal") for call in attempts)) or plans
        return [Ending("failed_no_effect", tried, why), Ending("escalated", (*plans, incident), why)]
    if (obstacle.kind not in ("", "partial") or "approver" in trial.scenario.outside) and _approval_failed(trial):
        return [Ending("escalated", (*_nothing(trial), *plans, incident), "approval was refused, or did not come in time")]
    return []


def _left_open(trial: Trial, incident: str) -> list[Ending]:
    plans = tuple(dict.fromkeys(made.arg("proposal") for made in _open(trial)))
    why = "whether the effect took place cannot be known in time"
    return [Ending("failed_effect_unknown", plans, why), Ending("escalated", (*_nothing(trial), *plans, incident), why)]


def _nothing(trial: Trial) -> tuple[str, ...]:
    """The empty subject, which the harness names where a meter ran out before the seat said anything."""
    return ("",) if trial.account is not None and trial.account.by != LEAD else ()


def _approval_failed(trial: Trial) -> bool:
    """Whether a right plan was put before the approver, who refused it last, or gave no approval that came in time."""
    tables, roles = trial.world.tables, trial.scenario.roles
    approver = roles["approver"][0]
    plans = [p for p in tables["proposal"].values() if _is_right(p, roles) and _asked_rightly(tables, p, roles)]
    answers = [a for a in tables["approval"].values() if a.by == approver and a.proposal in {p.id for p in plans}]
    if answers and answers[-1].disposition != "approved":
        return True
    in_time = trial.scenario.limits.simulated_time - rules.GIVE_UP_SECONDS - MARGIN
    alive = any(a.at <= in_time and _end(trial) < a.expires for a in answers)
    return bool(plans) and not alive and _given_up_in_time(trial)


def _given_up_in_time(trial: Trial) -> bool:
    """Whether the run went on until what was open could be given up: time was nearly over, or a meter ran out."""
    left = trial.scenario.limits.simulated_time - _end(trial)
    return left < rules.GIVE_UP_SECONDS or trial.ending.startswith("budget:")


def _end(trial: Trial) -> int:
    """The second at which the seat, or the harness for it, said how it ended."""
    return trial.account.at if trial.account else trial.as_of


def _was_sent(made: Made) -> bool:
    reply = made.reply
    return reply is None or reply.code not in (
        "denied", "budget_exhausted", "not_found", "invalid_arguments", "unknown_tool", "malformed",
    )  # fmt: skip


def proposals(trial: Trial) -> tuple[str, ...]:
    """Return the ids of the seat's proposals."""
    return tuple(trial.world.tables["proposal"])


def open_dispatch(trial: Trial, before: int = 0) -> tuple[int, ...]:
    """Return the seqs of dispatches whose outcome the seat did not know, at the end or before call `before`.

    A dispatch is settled by a later answer of `reserve` under the same arguments. One under the proposal's own key is
    settled too by a reconciliation that finds that key, or that was as of the dispatch or later; of a fresh key the
    service can tell nothing.
    """
    return tuple(made.seq for made in _open(trial, before))


def _open(trial: Trial, before: int = 0) -> list[Made]:
    left: dict[tuple[tuple[str, Any], ...], Made] = {}
    for made in trial.calls(LEAD):
        if before and made.seq >= before:
            break
        if made.call.tool == "reserve":
            if made.reply is None or made.reply.status == Status.UNKNOWN:
                left[made.call.args] = made
            elif made.reply.status == Status.OK:
                left.pop(made.call.args, None)
        elif made.call.tool == "reconcile":
            left = {args: sent for args, sent in left.items() if not settles(trial, sent, made)}
    return list(left.values())


def settles(trial: Trial, sent: Made, asked: Made) -> bool:
    """Whether the answer of a call `asked` of `reconcile` settles what became of the dispatch `sent`."""
    plans = trial.world.tables["proposal"]
    one, other = plans.get(sent.arg("proposal")), plans.get(asked.arg("proposal"))
    if one is None or other is None or one.key != other.key or sent.arg("key") != "own":
        return False
    facts = asked.reply.facts if asked.reply is not None else None
    return facts is not None and (facts.found or facts.as_of >= sent.at)


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
    return next((plan for plan in tables["proposal"].values() if _is_right(plan, roles)), None)


def _is_right(plan: Proposal, roles: Any) -> bool:
    cited = roles["manual.current"][0] in plan.citations
    return plan.status == "frozen" and cited and plan.part in roles["part.fits"] and plan.slot in roles["slot.fits"]


def _asked_rightly(tables: Tables, plan: Proposal, roles: Any) -> bool:
    return any(r.proposal == plan.id and r.person == roles["approver"][0] for r in tables["request"].values())


def _told_rightly(view: View, back: Any, roles: Any) -> bool:
    kind = "reserved" if all(back[2:]) and back.status == "active" else "escalated"
    return (roles["requester"][0], kind) in seat_note(view).told


TRUTH = Truth(accepted, completion, MILESTONES, milestones, frozenset({"draft", "propose"}))
