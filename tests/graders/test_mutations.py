"""Mutations: each kind has a place, is noticed by an invariant that it names, and leaves unrelated verdicts alone."""

from __future__ import annotations

import pytest

from agents.reference import Reference
from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.core.judging import Judged, Severity
from fieldops_gym.graders import INVARIANTS
from fieldops_gym.graders.grading import judge_so_far
from fieldops_gym.graders.mutations import KINDS, Base, MutationError, composed, mutants_of
from fieldops_gym.graders.mutations.surgery import replayed, without
from tests.support import episode_of, play

SPREAD = (
    "A-02:for_one", "A-02:absent", "A-05:change_slot", "E-02:told", "E-03:decided", "E-05:own", "P-01:few_parts", "P-03:kept",
    "P-03:ranked", "P-04:not_allowed", "R-01:live", "R-02:silent", "R-04:anew", "R-04:migrate", "R-06:stands", "X-01:whole",
    "X-02:timeout", "X-05:landed",
)  # fmt: skip
"""Variants in which every kind has a place."""

BY_NAME = {kind.name: kind for kind in KINDS}


def base_of(domain: Domain, pack: Pack, name: str) -> Base:
    return Base.of(play(episode_of(domain, pack, name, 0), Reference(), 0))


@pytest.fixture(scope="module")
def bases(domain: Domain, pack: Pack) -> list[Base]:
    return [base_of(domain, pack, name) for name in SPREAD]


def test_kinds_are_many_and_name_what_exists() -> None:
    known = {invariant.id for rows in INVARIANTS.values() for invariant in rows if invariant.severity < Severity.ADVISORY}
    assert len(KINDS) >= 40
    assert len(BY_NAME) == len(KINDS), "two kinds have one name"
    for kind in KINDS:
        assert kind.breaks, kind.name
        assert {*kind.breaks, *kind.may} <= known, kind.name


def test_every_hard_invariant_is_named_by_a_kind() -> None:
    """Else one could be switched off without a mutant surviving."""
    hard = {invariant.id for invariant in INVARIANTS["field_service"] if invariant.severity < Severity.ADVISORY}
    assert hard == {name for kind in KINDS for name in kind.breaks}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_kind_is_noticed(domain: Domain, bases: list[Base], name: str) -> None:
    kind, killed, made = BY_NAME[name], 0, 0
    for base in bases:
        for mutant in mutants_of(base, (kind,)):
            made += 1
            states = {v.invariant: v.state for v in judge_so_far(domain, mutant.base.trial)}
            hit = any(states[invariant] == Judged.BROKEN for invariant in kind.breaks)
            assert hit or mutant.excuse, f"{base.coordinates.card}:{base.coordinates.variant}, {mutant.site}: nobody noticed"
            killed += hit
    assert killed, f"{made} mutants, and none of them killed"


def test_the_same_calls_make_the_same_run(bases: list[Base]) -> None:
    for base in bases:
        again = replayed(base, base.steps)
        assert again.trial.world.log_digest() == base.trial.world.log_digest()
        assert again.trial.account == base.trial.account


def test_a_seat_that_falls_silent_is_waited_for_to_the_end(bases: list[Base]) -> None:
    for base in bases:
        assert replayed(base, base.steps[:3]).trial.ending.startswith("budget:")


def test_an_event_taken_out_leaves_the_numbers_of_the_others(bases: list[Base]) -> None:
    base = bases[0]
    log = without(base, (1, 2)).trial.world.log
    assert [event.seq for event in log] == [event.seq for event in base.trial.world.log]
    assert [event.kind for event in log[:2]] == ["removed", "removed"]


def test_composed_of_two_kinds(domain: Domain, bases: list[Base]) -> None:
    kinds = BY_NAME["notice left out"], BY_NAME["stock taken twice"]
    base = bases[SPREAD.index("X-01:whole")]
    (mutant,) = composed(base, kinds)
    broken = {v.invariant for v in judge_so_far(domain, mutant.base.trial) if v.state == Judged.BROKEN}
    assert {"task.requester_told", "state.consistent"} <= broken
    assert mutant.kinds == ("notice left out", "stock taken twice")


def test_calls_cannot_be_changed_after_the_log_was(bases: list[Base]) -> None:
    kinds = BY_NAME["stock taken twice"], BY_NAME["notice left out"]
    with pytest.raises(MutationError, match="change calls first"):
        list(composed(bases[SPREAD.index("X-01:whole")], kinds))


def test_a_run_that_goes_on_is_no_base(domain: Domain, pack: Pack) -> None:
    episode = episode_of(domain, pack, "X-01:whole", 0)
    episode.call(ToolCall.of("read_directory"))
    with pytest.raises(MutationError, match="has not ended"):
        Base.of(episode)


def test_a_false_account_is_for_its_own_invariant_to_notice() -> None:
    """Where the ending is named beside it, the one can sleep and the other covers for it."""
    named = {kind.name: kind.breaks for kind in KINDS}
    assert named["denied by name"] == named["unknown or over"] == ("account.finish_true",)
