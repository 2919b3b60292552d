"""The cheapest rule-abiding run, as far as it has come: what it has spent, and what it may still rely on."""

from __future__ import annotations

from dataclasses import dataclass, field

from fieldops_gym.core.faults import FATES, ArmedFault, Boundary, Effect, striking
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.domains.field_service.rules import CONTROL, GIVE_UP_SECONDS, LEAD
from fieldops_gym.domains.field_service.tools import TOOLS

AFTER_EFFECT = ("read_reservation", "notify", "finish")

MARGIN = 60
"""A plan that rests on so few seconds is no plan: an approval about to lapse, an answer just before the time is over."""

NEVER = 2**62
"""A second that no clock here reaches."""

SECONDS_PER_READ = 10
"""What a call that reads takes, the decision included."""

HOUR, QUARTER, MINUTE = 3600, 900, 60
"""What the call menu lets a seat wait."""


@dataclass
class Run:
    """The cheapest rule-abiding run so far: calls made, seconds passed, attempts, requests, and calls that met a boundary.

    `mail` holds the seconds at which messages come that have not been read, `cancelled_at` when the request is cancelled,
    `deployed_at` when a later workflow comes into force, `gone_at` when what was planned with is taken by others. `taken`
    says that the key is known with other content, `asked` how often the present proposal was put before people, `changed`
    that it was made anew for a change that was required, and `anew` that the workflow in force has been taken into account.
    """

    scenario: Scenario
    calls: int = 0
    seconds: int = 0
    attempts: int = 0
    requests: int = 0
    approved_until: int = 0
    asked: int = 0
    changed: bool = False
    anew: bool = False
    cancelled_at: int = NEVER
    deployed_at: int = NEVER
    gone_at: dict[str, int] = field(default_factory=dict)
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

    def read(self, tool: str) -> None:
        """Make one call of a tool that reads or drafts, and again where it was not answered."""
        for _ in range(self.scenario.limits.turns + 1):
            struck = self.strike(tool, Boundary.BEFORE_COMMIT)
            slow = sum(fault.seconds for fault in struck if fault.effect == Effect.SLOW)
            struck += self.strike(tool, Boundary.ON_REPLY)
            lost = any(fault.effect in (Effect.LOSE_REQUEST, Effect.LOSE_REPLY) for fault in struck)
            self.spend(tool, slow + (self.scenario.contract.timeout if lost else 0))
            if not any(fault.effect in FATES for fault in struck):
                return

    def sleep(self, until: int) -> None:
        """Let time pass until second `until`, or until it is late, in steps that the menu has."""
        while self.seconds < until and not self.late:
            self.pause(self.step(HOUR if until - self.seconds > HOUR else QUARTER, GIVE_UP_SECONDS))

    def strike(self, tool: str, boundary: Boundary) -> tuple[ArmedFault, ...]:
        """Let a call of a tool reach a boundary; return the faults that strike it there."""
        count = self.met[tool, boundary] = self.met.get((tool, boundary), 0) + 1
        return striking(self.scenario.faults, tool, boundary, count, lambda fault: True)


def allowed_attempts(scenario: Scenario) -> int:
    """Return how often one proposal may be sent under its own key."""
    return min(scenario.limits.effect_attempts, scenario.limits.retries + 1)


def asked_for(scenario: Scenario) -> tuple[str, ...]:
    """Return what the request asks for."""
    return scenario.start["incident"][scenario.roles["incident"][0]].asks
