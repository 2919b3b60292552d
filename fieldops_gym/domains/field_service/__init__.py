"""Field service (AR-09): incidents on equipment, remedies from manuals, proposals, approvals, reservations."""

from __future__ import annotations

from fieldops_gym.core.domain import Domain
from fieldops_gym.domains.field_service.card_checks import check_card, roles_of
from fieldops_gym.domains.field_service.people import POLICIES_BY_SEAT
from fieldops_gym.domains.field_service.records import TABLES
from fieldops_gym.domains.field_service.rules import LEAD, authorise, nothing_to_undo
from fieldops_gym.domains.field_service.service import undo_sent, was_sent
from fieldops_gym.domains.field_service.setup import build
from fieldops_gym.domains.field_service.soundness import unsound
from fieldops_gym.domains.field_service.tools import DISPOSITIONS, PROHIBITED, TOOLS
from fieldops_gym.domains.field_service.truth import TRUTH
from fieldops_gym.domains.field_service.view import LAYOUTS, deliver, opening

FIELD_SERVICE = Domain(
    name="field_service",
    lead=LEAD,
    tables=TABLES,
    tools=TOOLS,
    layouts=LAYOUTS,
    prohibited=PROHIBITED,
    build=build,
    broken=unsound,
    authorise=authorise,
    opening=opening,
    deliver=deliver,
    teardown=nothing_to_undo,
    people=POLICIES_BY_SEAT,
    conditions={"was_sent": was_sent, "undo_sent": undo_sent},
    truth=TRUTH,
    dispositions=tuple(DISPOSITIONS),
    check_card=check_card,
    roles=roles_of,
)
"""The domain, as `Episode` takes it."""
