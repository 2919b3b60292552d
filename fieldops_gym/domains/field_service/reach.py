"""What was within reach: the cheapest rule-abiding run of a reservation, worked out from a scenario before its first call.

The run waits as the call menu lets it, gives up what is still open when policy lets it, and knows the armed faults. So
the answer stays right when a wrapper changes faults, budgets or people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fieldops_gym.core.faults import ArmedFault, Boundary, Effect
from fieldops_gym.core.gateway import JITTER
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.streams import Stream
from fieldops_gym.domains.field_service.rules import APPROVAL_SECONDS, GIVE_UP_SECONDS, LEAD
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

HOUR, QUARTER, MINUTE = 3600, 900, 60
"""What the call menu lets a seat wait."""


class Obstacle(NamedTuple):
    """Why completion is out of reach: 'approval', 'attempts', 'unknown', 'partial', 'budget', or '' where it is not."""

    kind: str
    why: str


@dataclass
class Run:
    """The cheapest rule-abiding run so far: calls made, seconds passed, attempts, requests, and calls that met a boundary.

    `unread` says that a crash has emptied the view since the approval came.
    """

    scenario: Scenario
    calls: int = 0
    seconds: int = 0
    attempts: int = 0
    requests: int = 0
    approved_until: int = 0
    unread: bool = False
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

    def wait(self, until: int) -> None:
        """Wait for a message that comes at second `until`, or until it is late, in steps that the menu has."""
        while self.seconds < until and not self.late:
            self.pause(min(self.step(HOUR), until - self.seconds))

    def pause(self, seconds: int) -> None:
        """Wait; a message that a crash has made unread again ends the first wait at once."""
        self.spend("wait", 0 if self.unread else seconds)
        self.unread = False

    def step(self, longest: int, spare: int = 0) -> int:
        """Return the longest wait of the menu that leaves a minute, and `spare` seconds more."""
        left = self.left - spare
        return next((s for s in (HOUR, QUARTER) if s <= longest and left > s + MARGIN), MINUTE)

    def strike(self, tool: str, boundary: Boundary) -> ArmedFault | None:
        """Let a call of a tool reach a boundary; return the fault that strikes it there."""
        count = self.met[tool, boundary] = self.met.get((tool, boundary), 0) + 1
        for fault in self.scenario.faults:
            if fault.boundary == boundary and fault.hits(tool, count):
                return fault
        return None


def reach(scenario: Scenario) -> Obstacle:
    """Return what keeps a rule-abiding seat from completing under this scenario, from its start."""
    run, obstacle = _cheapest(scenario)
    return _unaffordable(run) or obstacle or Obstacle("", "completion was within reach")


def cheapest_calls(scenario: Scenario) -> int:
    """Return the fewest calls in which a rule-abiding seat ends, stopping where it must."""
    return _cheapest(scenario)[0].calls


def allowed_attempts(scenario: Scenario) -> int:
    """Return how often one proposal may be sent under its own key."""
    return min(scenario.limits.effect_attempts, scenario.limits.retries + 1)


def _cheapest(scenario: Scenario) -> tuple[Run, Obstacle | None]:
    run = Run(scenario)
    if not allowed_attempts(scenario):
        for tool in (*BEFORE_REQUEST[:9], *WITHOUT_EFFECT):
            run.spend(tool)
        return run, Obstacle("attempts", "the budget allows no attempt")
    for tool in BEFORE_REQUEST[:-1]:
        run.spend(tool)
    obstacle = _approval(run) or _dispatch(run)
    done = obstacle is None or obstacle.kind == "partial"
    for tool in AFTER_EFFECT if done else WITHOUT_EFFECT:
        run.spend(tool)
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
        if min(limits.turns, limits.tool_calls) - run.calls < 1 + len(AFTER_EFFECT):
            return Obstacle("budget", "too few calls are left to send and to report what came of it")
        run.attempts += 1
        known, effect, whole = _send(run)
        if not known:
            return Obstacle("unknown", "no answer fresh enough to tell comes before the time is over")
        if effect:
            return None if whole else Obstacle("partial", "the effect that was committed is not whole")
    return Obstacle("attempts", "every attempt that the budget allows failed before the commit")


def _send(run: Run) -> tuple[bool, bool, bool]:
    """Send once. Return whether it is then known what came of it, whether an effect stands, and whether that is whole."""
    contract, sent = run.scenario.contract, run.seconds + run.scenario.contract.decision_cost
    before = run.strike("reserve", Boundary.BEFORE_COMMIT)
    if before is not None and before.effect == Effect.REFUSE:
        run.spend("reserve")
        return True, False, False
    stopped = before is not None and before.effect in (Effect.LOSE_REQUEST, Effect.CRASH)
    whole = stopped or run.strike("reserve", Boundary.COMMIT) is None
    fault = before if stopped else run.strike("reserve", Boundary.AFTER_COMMIT)
    run.calls += 1
    if fault is not None and fault.effect == Effect.CRASH:
        committed = sent + TOOLS[LEAD]["reserve"].latency.outbound
        run.seconds = committed + contract.restart_delay
        run.unread = True
        run.spend("read_journal")
        return _resolves(run, committed), not stopped, whole
    if fault is not None:
        run.seconds = sent + contract.timeout
        return _resolves(run, run.seconds), not stopped, whole
    run.seconds = sent + TOOLS[LEAD]["reserve"].latency.outbound + TOOLS[LEAD]["reserve"].latency.inbound
    return True, True, whole


def _resolves(run: Run, sent: int) -> bool:
    """Reconcile until the answer covers second `sent`; False when it is too late first."""
    while not run.late:
        fault = run.strike("reconcile", Boundary.BEFORE_COMMIT)
        seconds = int(fault.value("seconds")) if fault is not None else 0
        lag = seconds if fault is not None and fault.effect == Effect.LAG else 0
        as_of = run.seconds + run.scenario.contract.decision_cost + TOOLS[LEAD]["reconcile"].latency.outbound - lag
        run.spend("reconcile", 0 if lag else seconds)
        if as_of >= sent:
            return run.in_time
        if not run.late:
            run.pause(run.step(HOUR if sent - as_of > HOUR else QUARTER, GIVE_UP_SECONDS))
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
