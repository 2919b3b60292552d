"""Starts: sound, complete, and without ties that a rule would have to break."""

from __future__ import annotations

from collections import Counter

import pytest

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.domains.field_service import answers, plans, rules
from tests.counts import count
from tests.support import PACK, VARIANTS, episode_of

RESETS = count(3, 120)
"""Per variant: ten thousand in all in the full form."""


@pytest.mark.parametrize("name", VARIANTS)
def test_every_start_is_sound_and_names_only_what_exists(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(RESETS):
        scenario = episode_of(domain, pack, name, index).scenario
        start, where = scenario.start, f"{name}, seeds {index}"
        assert not domain.broken(start, start), where
        ids = {key for rows in start.values() for key in rows}
        for role, bound in scenario.roles.items():
            assert set(bound) <= ids, f"{where}: role '{role}' names what does not exist"
        right = answers.right_answer(start, scenario.roles)
        assert {right.subject, *right.cites} <= ids, where


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_is_tied_where_it_would_matter(domain: Domain, pack: Pack, name: str) -> None:
    for index in range(RESETS):
        scenario = episode_of(domain, pack, name, index).scenario
        start, where = scenario.start, f"{name}, seeds {index}"
        tenant = start["incident"][scenario.roles["incident"][0]].tenant
        listed = [start["person"][key] for key in start["tenant"][tenant].people]
        assert len([p for p in listed if rules.may_approve(p, tenant)]) == 1, f"{where}: one approver"
        assert len([p for p in listed if rules.may_inform(p, tenant)]) <= 1, f"{where}: one who may inform, at most"
        parts = plans.fitting_parts(start, scenario.roles)
        assert len({part.uncertainty for part in parts}) == len(parts), f"{where}: parts are equally uncertain"
        due = Counter(item.due for item in start["agenda"].values())
        assert all(number == 1 for number in due.values()), f"{where}: two things are due in one second"


def test_every_split_has_every_family_and_no_group_is_in_two() -> None:
    rows = PACK.splits.values()
    assert Counter(row.split for row in rows) == {"train": 12, "development": 8, "held_out": 10}
    groups = {(row.group, row.split) for row in rows}
    assert len({group for group, _ in groups}) == len(groups)
    equipment = {(name, PACK.splits[card.id].split) for card in PACK.cards.values() for name in card.equipment_families}
    assert len({name for name, _ in equipment}) == len(equipment)
    for split in ("train", "development", "held_out"):
        families = {PACK.cards[row.card].family for row in rows if row.split == split}
        assert families == {"evidence", "proposal", "authority", "effect", "recovery"}, split
