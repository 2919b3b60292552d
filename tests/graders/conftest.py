"""A runner for every test of graders."""

from __future__ import annotations

import pytest

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from tests.graders.runs import Runner


@pytest.fixture
def run(domain: Domain, pack: Pack) -> Runner:
    """Plays and judges runs with detours."""
    return Runner(domain, pack)
