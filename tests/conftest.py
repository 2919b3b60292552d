"""Settings for all tests: derandomised property tests, one torch thread, a pack read once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from fieldops_gym import DOMAINS, load_tasks
from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain

settings.register_profile("fieldops", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("fieldops")


@pytest.fixture(scope="session")
def pack() -> Pack:
    """The shipped tasks."""
    return load_tasks()


@pytest.fixture(scope="session")
def domain() -> Domain:
    """Field service."""
    return DOMAINS["field_service"]


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread() -> None:
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
