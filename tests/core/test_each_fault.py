"""Each fault of people, of time and of recovery, alone: it fires at its boundary, and the state is what its row says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agents.reference import Reference
from fieldops_gym import Episode, merge
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.domains.field_service.rules import APPROVAL_SECONDS
from tests.counts import count
from tests.support import episode_of, play

AUTHORITY, RECOVERY, CALLED_OFF = "A-03:in_time", "R-02:silent", "R-06:stands"


class Proof(NamedTuple):
    """How a fault is proven: in which variant, with which other faults, at which boundary, and what is so then."""

    variant: str
    boundary: str
    holds: Callable[[Episode], Any]
    others: tuple[Any, ...] = ()


CANCELLED = ({"fault": "cancellation_race", "values": {"seconds": 2}},)


LOST = (*CANCELLED, "compensation_lost")


def table(episode: Episode, name: str) -> list[Any]:
    return list(episode.world.tables[name].values())


def acts(episode: Episode) -> list[str]:
    return [m.act for m in table(episode, "message") if m.to == episode.lead]


def codes(episode: Episode, tool: str) -> list[str]:
    """Return what the calls of a tool were answered with, in order; 'crash' where none was."""
    return [m.reply.code if m.reply else "crash" for m in episode.trial().calls(episode.lead) if m.call.tool == tool]


def revoked(episode: Episode) -> bool:
    return [d.revoked for d in table(episode, "delegation")] == [True]


def by(episode: Episode, role: str) -> list[Any]:
    return [a for a in table(episode, "approval") if a.by == episode.scenario.roles[role][0]]


def ledger(episode: Episode) -> list[tuple[str, str]]:
    return [(entry.kind, entry.seat) for entry in table(episode, "ledger")]


def stands(episode: Episode) -> bool:
    """Whether the desk has reserved once, and nothing else was entered."""
    return ledger(episode) == [("reserve", episode.lead)]


def restarts(episode: Episode) -> list[int]:
    """Return how long each crash kept the process down, in seconds."""
    at = {kind: [e.at for e in episode.world.log if e.kind == kind] for kind in ("crash", "restart")}
    return [up - down for down, up in zip(at["crash"], at["restart"], strict=True)]


def slow(episode: Episode, tool: str) -> int:
    """Return the longest that a call of a tool took, in seconds."""
    return max(m.replied_at - m.at for m in episode.trial().calls(episode.lead) if m.call.tool == tool)


PROOFS: dict[str, Proof] = {
    "takeover_at_proposal": Proof(AUTHORITY, "after_commit", lambda e: revoked(e) and not table(e, "request")),
    "takeover_in_wait": Proof(AUTHORITY, "after_commit", lambda e: revoked(e) and "taken_over" in acts(e)),
    "takeover_in_flight": Proof(AUTHORITY, "before_commit", lambda e: revoked(e) and codes(e, "reserve") == [""]),
    "delegation_lapse": Proof(
        AUTHORITY, "after_commit", lambda e: not revoked(e) and table(e, "delegation")[0].expires < e.gateway.clock
    ),
    "approval_delay": Proof(AUTHORITY, "after_commit", lambda e: any(a.at >= a.expires for a in by(e, "approver"))),
    "requester_confirms": Proof(
        AUTHORITY, "after_commit", lambda e: [(a.disposition, a.request) for a in by(e, "requester")] == [("approved", "")]
    ),
    "stranger_confirms": Proof(
        AUTHORITY,
        "after_commit",
        lambda e: [(a.disposition, a.request) for a in by(e, "approver.other_tenant")] == [("approved", "")],
    ),
    "stock_taken_in_wait": Proof(AUTHORITY, "after_commit", lambda e: ("reserve", "rival") in ledger(e)),
    "workflow_deployed": Proof(
        RECOVERY, "after_commit", lambda e: [r.workflow for r in table(e, "release")] == ["wf-2"] and "deployed" in acts(e)
    ),
    "duplicate_approval": Proof(RECOVERY, "before_commit", lambda e: len({a.request for a in by(e, "approver")}) == 1 and (
        [a.disposition for a in by(e, "approver")] == ["approved", "approved"])),
    "late_rejection": Proof(
        RECOVERY,
        "after_commit",
        lambda e: [a.at - a.expires >= 0 for a in by(e, "approver") if a.disposition == "rejected"] == [True],
    ),
    "late_callback": Proof(RECOVERY, "after_commit", lambda e: acts(e).count("callback") == 1),
    "duplicate_callback": Proof(
        RECOVERY, "after_commit", lambda e: acts(e).count("callback") == 2, ("late_callback",)
    ),
    "stray_callback": Proof(
        RECOVERY, "before_commit", lambda e: acts(e).count("callback") == 1 and ("reserve", "operations") in ledger(e)
    ),
    "crash_after_record": Proof(RECOVERY, "on_reply", lambda e: codes(e, "reserve") == [""] and len(restarts(e)) == 1),
    "long_crash_before_dispatch": Proof(
        RECOVERY, "before_commit", lambda e: restarts(e)[0] > APPROVAL_SECONDS and codes(e, "reserve") == ["crash", ""]
    ),
    "asked_again": Proof(RECOVERY, "after_commit", lambda e: acts(e).count("asked_again") == 1),
    "undone_meanwhile": Proof(RECOVERY, "after_commit", lambda e: ledger(e) == [("reserve", e.lead), ("compensate", "rival")]),
    "compensation_failure": Proof(
        CALLED_OFF, "before_commit", lambda e: stands(e) and "timeout" in codes(e, "compensate"), CANCELLED
    ),
    "compensation_refused": Proof(
        CALLED_OFF, "before_commit", lambda e: stands(e) and "not_sent" in codes(e, "compensate"), CANCELLED
    ),
    "compensation_lost": Proof(
        CALLED_OFF,
        "after_commit",
        lambda e: ledger(e) == [("reserve", e.lead), ("compensate", e.lead)] and codes(e, "compensate") == ["timeout"],
        CANCELLED,
    ),
    "reconcile_silent": Proof(
        CALLED_OFF,
        "before_commit",
        lambda e: set(codes(e, "reconcile")) == {"timeout"},
        (*CANCELLED, "compensation_lost", "read_back_silent"),
    ),
    "read_back_silent": Proof(
        CALLED_OFF, "before_commit", lambda e: codes(e, "read_reservation")[:2] == ["", "timeout"], LOST
    ),
    "dependency_slowdown": Proof(RECOVERY, "before_commit", lambda e: slow(e, "search_parts") >= 300),
    "permission_denied": Proof(RECOVERY, "before_commit", lambda e: codes(e, "search_parts") == ["denied", ""]),
    "malformed_output": Proof(RECOVERY, "on_reply", lambda e: codes(e, "search_parts") == ["unreadable", ""]),
    "malformed_receipt": Proof(
        RECOVERY, "on_reply", lambda e: codes(e, "reserve") == ["unreadable"] and ledger(e) == [("reserve", e.lead)]
    ),
}  # fmt: skip
"""Every fault that `test_faults` does not have already."""


@pytest.mark.parametrize("name", PROOFS)
def test_it_fires_at_its_boundary_and_leaves_the_state_it_says(domain: Domain, pack: Pack, name: str) -> None:
    proof = PROOFS[name]
    assert pack.faults[name].boundary == proof.boundary
    for index in range(count(5, 100)):
        episode = play(episode_of(domain, pack, proof.variant, index, merge([{"faults": [name, *proof.others]}])), Reference())
        where = f"{name} on seeds {index}: {acts(episode)}, {ledger(episode)}"
        events = [event for event in episode.world.log if event.kind == "fault" and event.data.fault == name]
        assert events, f"{where}: it did not fire"
        for event in events:
            call = episode.world.log[event.ref - 1]
            assert (call.kind, call.data.tool) == ("call", pack.faults[name].tool), where
            assert event.data.boundary == proof.boundary, where
        assert proof.holds(episode), where


@pytest.mark.parametrize("name", PROOFS)
def test_without_it_the_state_is_another(domain: Domain, pack: Pack, name: str) -> None:
    """The same proof does not hold where the fault is missing: it is the fault that makes it so."""
    proof = PROOFS[name]
    episode = play(episode_of(domain, pack, proof.variant, 0, merge([{"faults": list(proof.others)}])), Reference())
    with pytest.raises((AssertionError, IndexError)):
        assert proof.holds(episode)


def test_what_is_put_off_is_what_people_do_and_nothing_else(domain: Domain, pack: Pack) -> None:
    """A delay of the answer leaves what other faults bring where it is."""
    uses = ["requester_confirms", "approval_delay"]
    episode = play(episode_of(domain, pack, AUTHORITY, 0, merge([{"faults": uses}])), Reference())
    asked = next(e.at for e in episode.world.log if e.kind == "commit" and e.data == "request_approval")
    assert by(episode, "requester")[0].at - asked <= 240
    assert by(episode, "approver")[0].at - asked >= APPROVAL_SECONDS
