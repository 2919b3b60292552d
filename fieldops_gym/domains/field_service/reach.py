"""What was within reach: the cheapest rule-abiding run, worked out from a scenario before its first call.

The run waits as the call menu lets it, gives up what is still open when policy lets it, and knows the armed faults. So
the answer stays right when a wrapper changes faults, budgets or people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fieldops_gym.core.faults import FATES, ArmedFault, Boundary, Effect, striking
from fieldops_gym.core.gateway import JITTER
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.domains.field_service import answers, plans
from fieldops_gym.domains.field_service.rules import APPROVAL_SECONDS, CONTROL, GIVE_UP_SECONDS, LEAD, REPAIR
from fieldops_gym.domains.field_service.tools import TOOLS

BEFORE_REQUEST = (
    "query_asset", "search_manuals", "read_manual", "search_parts", "list_slots", "draft", "draft", "draft", "propose",
    "read_directory", "request_approval",
)  # fmt: skip
"""The calls that no rule-abiding run of a reservation can do without, up to asking for approval."""

AFTER_EFFECT = ("read_reservation", "notify", "finish")
WITHOUT_EFFECT = ("notify", "finish")

MARGIN = 60
"""A plan that rests on so few seconds is no plan: an approval about to lapse, an answer just before the time is over."""

NEVER = 2**62
"""A second that no clock here reaches."""

SECONDS_PER_READ = 10
"""What a call that reads takes, the decision included."""

HOUR, QUARTER, MINUTE = 3600, 900, 60
"""What the call menu lets a seat wait."""


class Obstacle(NamedTuple):
    """Why completion is out of reach, or '' where it is not.

    'control' (no repair is asked for), 'approval', 'attempts', 'unknown', 'partial', 'conflict', 'cancelled', or 'budget'.
    """

    kind: str
    why: str


@dataclass
class Run:
    """The cheapest rule-abiding run so far: calls made, seconds passed, attempts, requests, and calls that met a boundary.

    `mail` holds the seconds at which messages come that have not been read, `cancelled_at` when the request is cancelled,
    and `taken` says that the key is known with other content.
    """

    scenario: Scenario
    calls: int = 0
    seconds: int = 0
    attempts: int = 0
    requests: int = 0
    approved_until: int = 0
    cancelled_at: int = NEVER
    taken: bool = False
    mail: list[int] = field(default_factory=list)
    met: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Seconds left of the budgeted time."""
        return self.scenario.limits.simulated_time - self.seconds

    @property
    def late(self) -> bool:
        """Whether policy lets what is still open be given up."""
        return self.left < GIVE_UP_SECONDS

    @property
    def in_time(self) -> bool:
        """Whether enough time is left to rely on."""
        return self.left >= GIVE_UP_SECONDS + MARGIN

    def spend(self, tool: str, extra: int = 0) -> None:
        """Make one call of a tool that takes `extra` seconds on top of its latency."""
        latency = TOOLS[LEAD][tool].latency
        self.calls += 1
        self.seconds += self.scenario.contract.decision_cost + latency.outbound + latency.inbound + extra

    @property
    def closing(self) -> int:
        """How many calls it takes to report an effect: read back, tell, finish, and refuse control if it was asked for."""
        return len(AFTER_EFFECT) + (CONTROL in asked_for(self.scenario))

    def wait(self, until: int) -> None:
        """Wait for a message that comes at second `until`, or until it is late, in steps that the menu has."""
        self.mail.append(until)
        while until in self.mail and not self.late:
            self.pause(self.step(HOUR))

    def pause(self, seconds: int) -> None:
        """Wait at most so long: until the first message that has not been read."""
        begun = self.seconds + self.scenario.contract.decision_cost
        ended = min(begun + seconds, max(begun, min(self.mail, default=NEVER)))
        self.mail = [second for second in self.mail if second > ended]
        self.spend("wait", ended - begun)

    def step(self, longest: int, spare: int = 0) -> int:
        """Return the longest wait of the menu that leaves a minute, and `spare` seconds more."""
        left = self.left - spare
        return next((s for s in (HOUR, QUARTER) if s <= longest and left > s + MARGIN), MINUTE)

    def strike(self, tool: str, boundary: Boundary) -> tuple[ArmedFault, ...]:
        """Let a call of a tool reach a boundary; return the faults that strike it there."""
        count = self.met[tool, boundary] = self.met.get((tool, boundary), 0) + 1
        return striking(self.scenario.faults, tool, boundary, count, lambda fault: True)


def reach(scenario: Scenario) -> Obstacle:
    """Return what keeps a rule-abiding seat from completing under this scenario, from its start."""
    run, obstacle = _cheapest(scenario)
    if obstacle is not None and obstacle.kind == "unknown" and run.seconds >= scenario.limits.simulated_time:
        return obstacle
    return _unaffordable(run) or obstacle or Obstacle("", "completion was within reach")


def cheapest_calls(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat ends, stopping where it must."""
    return _cheapest(scenario)[0].calls


def allowed_attempts(scenario: Scenario) -> int:
    """Return how often one proposal may be sent under its own key."""
    return min(scenario.limits.effect_attempts, scenario.limits.retries + 1)


def asked_for(scenario: Scenario) -> tuple[str, ...]:
    """Return what the request asks for."""
    return scenario.start["incident"][scenario.roles["incident"][0]].asks


def _cheapest(scenario: Scenario) -> tuple[Run, Obstacle | None]:
    if scenario.checks != "reservation":
        count = answers.calls_needed if scenario.checks == "answer" else plans.calls_needed
        run = Run(scenario, calls=count(scenario))
        run.seconds = run.calls * SECONDS_PER_READ
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
        run.spend(tool)
    obstacle = _approval(run) or _dispatch(run)
    done = obstacle is None or obstacle.kind == "partial"
    for tool in AFTER_EFFECT if done else WITHOUT_EFFECT:
        run.spend(tool)
    if CONTROL in asked_for(scenario):
        run.spend("notify")
    return run, obstacle


def _approval(run: Run) -> Obstacle | None:
    """Ask for approval and wait for the answer. A seat that code outside plays is taken to approve at once."""
    scenario = run.scenario
    run.requests += 1
    run.spend("request_approval")
    asked = run.seconds - TOOLS[LEAD]["request_approval"].latency.inbound
    persona = scenario.personas.get("approver")
    if persona is None:
        run.approved_until = asked + APPROVAL_SECONDS
        return None
    answer = dict(persona.answers).get("approval", "silence")
    jitter = Stream(scenario.coordinates.seeds.interaction, "jitter/approver")
    delay = scenario.start["persona"]["approver"].pace + jitter.draw(run.requests).below(JITTER)
    if answer != "approved":
        run.wait(asked + delay if answer != "silence" else scenario.limits.simulated_time)
        return Obstacle("approval", f"the approver's answer is {answer}")
    run.wait(asked + delay)
    run.approved_until = asked + delay + APPROVAL_SECONDS
    if run.seconds < asked + delay or not run.in_time:
        return Obstacle("approval", "the approver answers when it is too late")
    return None


def _dispatch(run: Run) -> Obstacle | None:
    """Send, and send again where that is allowed, until an effect stands or nothing more can be tried."""
    for _ in range(allowed_attempts(run.scenario)):
        if run.seconds + MARGIN >= run.approved_until:
            obstacle = _approval(run)
            if obstacle is not None:
                return obstacle
        limits = run.scenario.limits
        if min(limits.turns, limits.tool_calls) - run.calls < 1 + run.closing:
            return Obstacle("budget", "too few calls are left to send and to report what came of it")
        run.attempts += 1
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
        return Sent(effect=effect, whole=whole)
    run.calls += 1
    if fate.effect != Effect.CRASH:
        run.seconds = sent + contract.timeout
        return Sent(_resolves(run, run.seconds), effect, whole)
    run.seconds = arrived + contract.restart_delay
    run.mail.append(run.seconds)
    called_off = run.cancelled_at <= run.seconds
    run.spend("read_journal")
    return Sent(_resolves(run, arrived), effect, whole, called_off)


def _others_act(run: Run, struck: tuple[ArmedFault, ...], now: int) -> None:
    """Let others do what the faults that struck make them do: cancel the request, or use the key."""
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
