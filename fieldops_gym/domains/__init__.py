"""The worlds. Each is a package with the same files: records, generate, setup, rules, tools, people, view, truth."""

from __future__ import annotations

from fieldops_gym.core.domain import Domain
from fieldops_gym.domains.field_service import FIELD_SERVICE

DOMAINS: dict[str, Domain] = {FIELD_SERVICE.name: FIELD_SERVICE}
"""Every world by name."""
