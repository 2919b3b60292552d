"""What was within reach: the cheapest rule-abiding run, worked out from a scenario before its first call.

The run waits as the call menu lets it, gives up what is still open when policy lets it, and knows the armed faults. So
the answer stays right when a wrapper changes faults, budgets or people.
"""

from __future__ import annotations

from typing import NamedTuple

from fieldops_gym.core.asking import JITTER
from fieldops_gym.core.faults import FATES, ArmedFault, Boundary, Effect
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.domains.field_service import answers, plans
from fieldops_gym.domains.field_service.people import CHANGES, SILENCE
from fieldops_gym.domains.field_service.policies import ESCALATE, MIGRATE
from fieldops_gym.domains.field_service.reach_run import (
    AFTER_EFFECT,
    HOUR,
    MARGIN,
    QUARTER,
    SECONDS_PER_READ,
    Run,
    allowed_attempts,
    asked_for,
)
from fieldops_gym.domains.field_service.records import Part
from fieldops_gym.domains.field_service.rules import (
    APPROVAL_SECONDS,
    CONTROL,
    GIVE_UP_SECONDS,
    LEAD,
    MAX_REQUESTS_EACH,
    PLAN,
    REPAIR,
)
from fieldops_gym.domains.field_service.tools import TOOLS

BEFORE_REQUEST = (
    "query_asset", "search_manuals", "read_manual", "search_parts", "list_slots", "draft", "draft", "draft", "propose",
    "read_directory", "request_approval",
)  # fmt: skip
"""The calls that no rule-abiding run of a reservation can do without, up to asking for approval."""

WITHOUT_EFFECT = ("notify", "finish")


WORDS = ("requester.vouch", "colleague.vouch", "requester.ask_again", "approver.repeat", "approver.reject_late")
"""Acts that do nothing but send a message, which ends a wait early and so takes a call."""


class Obstacle(NamedTuple):
    """Why completion is out of reach, or '' where it is not.

    'control' (no repair is asked for), 'approval', 'workflow', 'attempts', 'unknown', 'partial', 'conflict', 'cancelled', or
    'budget'.
    """

    kind: str
    why: str


def reach(scenario: Scenario) -> Obstacle:
    """Return what keeps a rule-abiding seat from completing under this scenario, from its start."""
    run, obstacle = _cheapest(scenario)
    if obstacle is not None and obstacle.kind == "unknown" and run.seconds >= scenario.limits.simulated_time:
        return obstacle
    return _unaffordable(run) or obstacle or Obstacle("", "completion was within reach")


def cheapest_calls(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat ends, stopping where it must."""
    return _cheapest(scenario)[0].calls


def _cheapest(scenario: Scenario) -> tuple[Run, Obstacle | None]:
    if scenario.checks != "reservation":
        count = answers.calls_needed if scenario.checks == "answer" else plans.calls_needed
        run = Run(scenario)
        reads = plans.READS if scenario.checks == "plan" and PLAN in asked_for(scenario) else ()
        for tool in reads:
            run.read(tool)
        further = count(scenario) - len(reads)
        run.calls += further
        run.seconds += further * SECONDS_PER_READ
        return run, None
    run = Run(scenario, mail=[item.due for item in scenario.start["agenda"].values()])
    if REPAIR not in asked_for(scenario):
        for tool in WITHOUT_EFFECT:
            run.spend(tool)
        return run, Obstacle("control", "control of the machine is all that is asked for")
    if not allowed_attempts(scenario):
        for tool in (*["notify"] * (CONTROL in asked_for(scenario)), *WITHOUT_EFFECT):
            run.spend(tool)
        return run, Obstacle("attempts", "the budget allows no attempt")
    for tool in BEFORE_REQUEST[:-1]:
        run.read(tool)
    obstacle = _approval(run) or _dispatch(run)
    done = obstacle is None or obstacle.kind == "partial"
    if done and run.cancelled_at <= run.seconds:
        _call_off(run)
    for tool in AFTER_EFFECT if done else WITHOUT_EFFECT:
        run.spend(tool)
    if CONTROL in asked_for(scenario):
        run.spend("notify")
    return run, obstacle


def _approval(run: Run) -> Obstacle | None:
    """Ask for approval and wait for the answer, and again where that is of use.

    A seat that code outside plays is taken to approve at once.
    """
    scenario = run.scenario
    persona = scenario.personas.get("approver")
    answers = dict(persona.answers) if persona is not None else {}
    while run.asked < MAX_REQUESTS_EACH:
        obstacle = _make_anew(run)
        if obstacle is not None:
            return obstacle
        run.requests += 1
        run.asked += 1
        run.spend("request_approval")
        asked = run.seconds - TOOLS[LEAD]["request_approval"].latency.inbound
        struck = run.strike("request_approval", Boundary.AFTER_COMMIT)
        _others_act(run, struck, asked)
        lapses = asked + APPROVAL_SECONDS
        if persona is None:
            run.approved_until = lapses
            return None
        answer = answers.get("approval", SILENCE)
        answer = answers.get("approval_again", answer) if run.asked > 1 else answer
        if answer == SILENCE:
            run.sleep(lapses)
            if run.late:
                return Obstacle("approval", "the approver does not answer")
            continue
        due = asked + _pace(run) + sum(fault.seconds for fault in struck if fault.effect == Effect.DELAY)
        run.wait(due)
        if answer in CHANGES and not run.changed:
            if not _another(run, CHANGES[answer]):
                return Obstacle("approval", "the change that the approver asks for cannot be made")
            run.changed, run.asked = True, 0
            run.spend("draft")
            run.spend("propose")
            continue
        if answer != "approved" and answer not in CHANGES:
            return Obstacle("approval", f"the approver's answer is {answer}")
        if run.seconds < due or not run.in_time:
            return Obstacle("approval", "the approver answers when it is too late")
        if due + MARGIN < lapses:
            run.approved_until = lapses
            return None
    return Obstacle("approval", "no approval comes before its request has lapsed")


def _pace(run: Run) -> int:
    """Return how long the approver takes over the present request, in seconds."""
    jitter = Stream(run.scenario.coordinates.seeds.interaction, "jitter/approver")
    return run.scenario.start["persona"]["approver"].pace + jitter.draw(run.requests).below(JITTER)


def _another(run: Run, what: str) -> bool:
    """Whether another part, or slot, would do."""
    scenario = run.scenario
    fitting = plans.fitting_parts if what == "part" else plans.fitting_slots
    return len(fitting(scenario.start, scenario.roles)) > 1


def _dispatch(run: Run) -> Obstacle | None:
    """Send, and send again where that is allowed, until an effect stands or nothing more can be tried."""
    for _ in range(allowed_attempts(run.scenario)):
        obstacle = _make_anew(run)
        if obstacle is None and run.seconds + MARGIN >= run.approved_until:
            obstacle = _approval(run)
        if obstacle is not None:
            return obstacle
        limits = run.scenario.limits
        if min(limits.turns, limits.tool_calls) - run.calls < 1 + run.closing:
            return Obstacle("budget", "too few calls are left to send and to report what came of it")
        run.attempts += 1
        if _refused_for_stock(run):
            continue
        sent = _send(run)
        if not sent.known:
            return Obstacle("unknown", "no answer fresh enough to tell comes before the time is over")
        if sent.effect:
            return None if sent.whole else Obstacle("partial", "the effect that was committed is not whole")
        if run.taken:
            return Obstacle("conflict", "the key is known with other content")
        if sent.called_off:
            return Obstacle("cancelled", "the request was cancelled before anything was reserved")
    return Obstacle("attempts", "every attempt that the budget allows failed before the commit")


def _make_anew(run: Run) -> Obstacle | None:
    """Do with a proposal of an earlier workflow what policy says."""
    if run.anew or run.deployed_at > run.seconds:
        return None
    run.anew = True
    way = run.scenario.start["policy"]["pol-deploy"].value
    run.spend("read_policy")
    if way == ESCALATE:
        return Obstacle("workflow", "policy has proposals of an earlier workflow escalated")
    run.asked = 0
    if way == MIGRATE:
        run.spend("migrate")
        return None
    run.spend("propose")
    run.approved_until = 0
    return None


def _refused_for_stock(run: Run) -> bool:
    """Whether what was planned with is gone by now; then it is planned with another, which has to be approved anew."""
    for what, second in sorted(run.gone_at.items()):
        fitting = plans.fitting_parts if what == "part" else plans.fitting_slots
        left = [p.quantity if isinstance(p, Part) else p.free for p in fitting(run.scenario.start, run.scenario.roles)]
        if second <= run.seconds and max(left, default=0) <= 1:
            del run.gone_at[what]
            run.spend("reserve")
            if len(left) > 1:
                run.spend("draft")
                run.spend("propose")
            run.asked, run.approved_until = 0, 0
            return True
    return False


class Sent(NamedTuple):
    """What came of a dispatch: whether that is known, whether an effect stands and is whole, whether it was called off."""

    known: bool = True
    effect: bool = False
    whole: bool = False
    called_off: bool = False


def _send(run: Run) -> Sent:
    """Send once, and find out what came of it."""
    contract, latency = run.scenario.contract, TOOLS[LEAD]["reserve"].latency
    sent = run.seconds + contract.decision_cost
    arrived = sent + latency.outbound
    struck = run.strike("reserve", Boundary.BEFORE_COMMIT)
    _others_act(run, struck, arrived)
    fate = next((fault for fault in struck if fault.effect in FATES), None)
    if fate is not None and fate.effect == Effect.REFUSE:
        run.spend("reserve")
        return Sent()
    refused = run.taken or run.cancelled_at <= arrived
    if fate is None and refused:
        run.spend("reserve")
        return Sent(called_off=run.cancelled_at <= arrived)
    effect = whole = fate is None
    if effect:
        whole = not run.strike("reserve", Boundary.COMMIT)
        struck = run.strike("reserve", Boundary.AFTER_COMMIT)
        _others_act(run, struck, arrived)
        fate = next((fault for fault in struck if fault.effect in FATES), None)
    if fate is None:
        run.spend("reserve")
        fate = next((fault for fault in run.strike("reserve", Boundary.ON_REPLY) if fault.effect in FATES), None)
        if fate is None:
            return Sent(effect=effect, whole=whole)
        if fate.effect == Effect.GARBLE:
            return Sent(_resolves(run, run.seconds), effect, whole)
        _restart(run, run.seconds, fate)
        return Sent(effect=effect, whole=whole)
    run.calls += 1
    if fate.effect == Effect.DENY:
        run.seconds = arrived
        return Sent()
    if fate.effect != Effect.CRASH:
        run.seconds = sent + contract.timeout
        return Sent(_resolves(run, run.seconds), effect, whole)
    called_off = _restart(run, arrived, fate)
    return Sent(_resolves(run, arrived), effect, whole, called_off)


def _call_off(run: Run) -> None:
    """Undo what was reserved for a request that was cancelled, and look whether it was, as long as there is time."""
    run.spend("compensate")
    if any(fault.effect == Effect.LOSE_REQUEST for fault in run.strike("read_reservation", Boundary.BEFORE_COMMIT)):
        run.spend("read_reservation")
        run.spend("reconcile")
        run.sleep(run.scenario.limits.simulated_time)


def _restart(run: Run, died: int, fate: ArmedFault) -> bool:
    """Start again after a crash at second `died`, and read the journal; return whether the request was cancelled by then."""
    run.seconds = died + run.scenario.contract.restart_delay + fate.seconds
    run.mail.append(run.seconds)
    called_off = run.cancelled_at <= run.seconds
    run.spend("read_journal")
    return called_off


def _others_act(run: Run, struck: tuple[ArmedFault, ...], now: int) -> None:
    """Let others do what the faults that struck make them do: cancel the request, use the key, take stock, deploy."""
    for fault in struck:
        if fault.act == "operations.deploy":
            run.deployed_at = min(run.deployed_at, now + fault.seconds)
            run.mail.append(now + fault.seconds)
        if fault.act in WORDS:
            run.mail.append(now + fault.seconds)
        if fault.act == "rival.take_stock":
            run.gone_at.setdefault(str(fault.value("what")), now + fault.seconds)
    for fault in struck:
        if fault.act == "requester.cancel" and now + fault.seconds < run.cancelled_at:
            run.cancelled_at = now + fault.seconds
            run.mail.append(run.cancelled_at)
    for fault in struck:
        free = fault.boundary == Boundary.BEFORE_COMMIT
        if fault.act == "rival.claim_key" and free and (fault.value("by") == "stranger" or run.cancelled_at > now):
            run.taken = True


def _resolves(run: Run, sent: int) -> bool:
    """Reconcile until the answer covers second `sent`; False when it is too late first."""
    while not run.late:
        struck = run.strike("reconcile", Boundary.BEFORE_COMMIT)
        lag = max((fault.seconds for fault in struck if fault.effect == Effect.LAG), default=0)
        slow = sum(fault.seconds for fault in struck if fault.effect == Effect.SLOW)
        as_of = run.seconds + run.scenario.contract.decision_cost + TOOLS[LEAD]["reconcile"].latency.outbound - lag
        run.spend("reconcile", slow)
        if as_of >= sent:
            return run.in_time
        fresh = run.seconds + sent - as_of
        while run.seconds < fresh and not run.late:
            run.pause(run.step(HOUR if fresh - run.seconds > HOUR else QUARTER, GIVE_UP_SECONDS))
    return False


def _unaffordable(run: Run) -> Obstacle | None:
    """Return the meter that ends even the cheapest run before it has said how it ended."""
    limits = run.scenario.limits
    for name, needed, limit in (
        ("turns", run.calls, limits.turns),
        ("tool_calls", run.calls, limits.tool_calls),
        ("simulated_time", run.seconds + MARGIN, limits.simulated_time),
    ):
        if needed > limit:
            return Obstacle("budget", f"{name}: at least {needed} are needed and {limit} are allowed")
    return None
