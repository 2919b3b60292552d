"""What a seat of field service sees: the tables of its view, what a brief shows, and what is put before people."""

from __future__ import annotations

from fieldops_gym.core.layout import Layout, ViewTable
from fieldops_gym.core.scenario import Scenario
from fieldops_gym.core.tools import Request, Showing
from fieldops_gym.core.world import World
from fieldops_gym.domains.field_service import features as of
from fieldops_gym.domains.field_service import rules
from fieldops_gym.domains.field_service.features import fields
from fieldops_gym.domains.field_service.notes import SENT_STATES, absorb, nothing_noted
from fieldops_gym.domains.field_service.panels import CLOCK, NO_PANEL, PROPOSALS, SITUATION
from fieldops_gym.domains.field_service.policies import POLICIES
from fieldops_gym.domains.field_service.tools import PEOPLE_SEATS, TOOLS

DECISIONS = PROPOSALS * rules.MAX_REQUESTS_EACH
"""How many decisions people can be asked for; each brings a message, and so does each answer to a message."""

WORDS = PROPOSALS * 4
"""How many words on proposals come that nobody asked for: on each, of the requester, of a stranger, a second time, too late."""

APPROVALS = (DECISIONS + WORDS) // PROPOSALS * (PROPOSALS + 1)
"""All of these on each proposal, and once more those that one brought along when it was carried over to a later workflow."""

STATEMENTS = 8
"""How many things people can tell of a machine: what each knows or believes, and what the review desk decides."""

RESERVATIONS = 5
"""One for each attempt that a budget may allow, and one that a colleague made for the same incident."""

UNASKED = len(PEOPLE_SEATS) + 5 + rules.MAX_CALLBACKS
"""How many messages come unasked.

An opening of each seat of people, a cancellation, another request, a takeover, a deployment, a review, and callbacks.
"""

MESSAGES = len(PEOPLE_SEATS) * rules.MAX_MESSAGES + DECISIONS + WORDS + UNASKED

TABLES: tuple[ViewTable, ...] = (
    ViewTable(
        "incident",
        1,
        ("id", "equipment", "requester", "region", "symptom", "urgency", "deadline", "asks", "status"),
        ("reservation",),
    ),
    ViewTable("equipment", 1, ("id", "family", "serial", "region"), ("revision",)),
    ViewTable("family", 1, ("id", "name", "trade")),
    ViewTable("delegation", 1, ("id", "scopes", "expires", "revoked")),
    ViewTable("release", 1, ("id", "workflow")),
    ViewTable(
        "manual",
        4,
        ("id", "title", "edition", "status", "rev_from", "rev_to"),
        ("remedy", "source", "remark"),
        fields(
            ("present", "there is such a row"),
            ("current", "it is in force"),
            ("covers", "it covers the machine's revision"),
            ("read", "it was read whole"),
            ("cited", "the draft cites it"),
            ("withheld", "it is another tenant's"),
            ("authority", "policy gives its source authority"),
            ("conflicts", "another edition in force that covers the revision prescribes something else"),
            ("orders", "its remark tells the reader what to do"),
            ("decided", "the review desk has decided that it holds"),
        ),
        of.manual_features,
        ("equipment", "statement", "person"),
    ),
    ViewTable(
        "part",
        6,
        ("id", "kind", "rev_from", "rev_to", "depot", "quantity", "uncertainty"),
        (),
        fields(
            ("present", "there is such a row"),
            ("fits", "it fits the machine's revision"),
            ("in_stock", "one is left"),
            ("near", "its depot is in the incident's region"),
            ("prescribed", "an edition in force and read prescribes it"),
            ("suits", "yes to all four, no to any; not known while one is not"),
            ("drafted", "it is the draft's part"),
            ("alternative", "it is an alternative of the draft"),
            ("uncertainty", "uncertainty in percent, over 20"),
        ),
        of.part_features,
        ("equipment", "manual", "statement", "person"),
    ),
    ViewTable(
        "slot",
        6,
        ("id", "technician", "skills", "region", "start", "free"),
        (),
        fields(
            ("present", "there is such a row"),
            ("skilled", "the technician knows the trade"),
            ("region", "the technician works in the incident's region"),
            ("in_time", "it starts before the deadline"),
            ("free", "a place is left"),
            ("suits", "yes to all four"),
            ("drafted", "it is the draft's slot"),
        ),
        of.slot_features,
        (),
    ),
    ViewTable(
        "person",
        5,
        ("id", "tenant", "title", "authority"),
        (),
        fields(
            ("present", "there is such a row"),
            ("own", "of the incident's tenant"),
            ("authority", "may approve reservations"),
            ("requester", "reported the incident"),
            ("asked", "was asked to approve a proposal"),
            ("informs", "may inform about machines"),
            ("consulted", "was asked for the revision"),
            ("awaited", "has not answered yet what was asked last"),
            ("evasive", "the last answer was none"),
        ),
        of.person_features,
        ("message", "statement"),
    ),
    ViewTable("policy", len(POLICIES), ("id", "operation", "rule", "text", "value")),
    ViewTable("statement", STATEMENTS, ("id", "person", "equipment", "topic", "value", "at")),
    ViewTable("note", 2, ("id", "equipment", "manual", "text", "provenance", "age")),
    ViewTable(
        "draft",
        1,
        ("id", "part", "slot", "citations", "alternatives"),
        (),
        fields(
            ("present", "it was shown"),
            ("part", "it has a part"),
            ("slot", "it has a slot"),
            ("citation", "it cites an edition"),
            ("alternative", "it names an alternative"),
        ),
        of.draft_features,
        (),
    ),
    ViewTable(
        "proposal",
        PROPOSALS,
        ("id", "hash", "incident", "part", "slot", "citations", "alternatives", "consequence", "workflow", "status"),
        (),
        fields(
            ("present", "there is such a row"),
            ("frozen", "it is frozen"),
            ("as_drafted", "it holds what the draft holds"),
            ("asked", "somebody was asked to approve it"),
            ("asked_authority", "somebody known to have authority was asked"),
            ("approved", "an approval was seen of somebody known to have authority"),
            ("vouched", "a yes was seen of somebody else"),
            ("rejected", "a rejection was seen of somebody known to have authority, in time"),
            ("change_part", "it was sent back for another part"),
            ("change_slot", "it was sent back for another slot"),
            ("awaited", "a request for its approval stands and has not been answered"),
            ("again", "it was put before people as often as it may be"),
            ("outdated", "it is known to be of an earlier workflow"),
            ("to_be_had", "its part and slot are, as last shown, to be had"),
            ("part_as_drafted", "its part is the draft's"),
            ("slot_as_drafted", "its slot is the draft's"),
            *((f"sent_{state}", f"its dispatch is known to be: {state}") for state in SENT_STATES),
        ),
        of.proposal_features,
        ("draft", "approval", "person", "release", "part", "slot"),
    ),
    ViewTable("approval", APPROVALS, ("id", "request", "proposal", "hash", "by", "disposition", "at", "expires")),
    ViewTable(
        "reservation",
        RESERVATIONS,
        ("id", "proposal", "incident", "part", "slot", "status", "at"),
        (),
        fields(
            ("present", "there is such a row"),
            ("active", "it is active"),
            ("own", "it came from a proposal of this desk"),
            ("read_back", "it was read back"),
            ("part", "its part shows it"),
            ("slot", "its slot shows it"),
            ("incident", "its incident shows it"),
            ("audit", "the audit trail shows it"),
            ("whole", "all four show it"),
            ("undo_open", "it was to be undone, and no answer came"),
        ),
        of.reservation_features,
        (),
    ),
    ViewTable(
        "message",
        MESSAGES,
        ("id", "sender", "act", "about", "at", "note"),
    ),
)

PERSON_TABLES: tuple[ViewTable, ...] = (
    ViewTable(
        "proposal", PROPOSALS, ("id", "hash", "incident", "part", "slot", "citations", "alternatives", "consequence", "status")
    ),
    ViewTable("request", DECISIONS, ("id", "proposal", "hash", "person", "at")),
    ViewTable("person", 1, ("id", "title")),
    ViewTable("review", 1, ("id", "incident", "person", "at")),
    ViewTable("knowledge", STATEMENTS, ("id", "person", "equipment", "topic", "value")),
    ViewTable("message", rules.MAX_MESSAGES, ("id", "sender", "person", "act", "about", "at", "note")),
)


def opening(scenario: Scenario, world: World) -> tuple[Showing, ...]:
    """Return what the brief shows: the incident, the machine in brief, its family, the requester, the delegation."""
    roles = scenario.roles
    shown = (("incident", "incident"), ("equipment", "equipment"), ("family", "family"), ("person", "requester"))
    pairs = [(table, roles[role][0]) for table, role in shown]
    pairs.append(("delegation", roles["delegation"][0]))
    return tuple([Showing(table, world.tables[table][key], 0, world.version(table, key)) for table, key in pairs])


def deliver(world: World, request: Request) -> tuple[Showing, ...]:
    """Return what a request shows to the person it is put before."""
    if request.kind == "review":
        asked = world.tables["review"][request.ref]
        found = [key for key, fact in world.tables["knowledge"].items() if fact.person == asked.person]
        return (
            Showing("review", asked, 0, world.version("review", asked.id)),
            *[Showing("knowledge", world.tables["knowledge"][key], 0, world.version("knowledge", key)) for key in found],
        )
    if request.kind != "approval":
        heard = world.tables["message"][request.ref]
        known = [key for key, fact in world.tables["knowledge"].items() if fact.person == heard.person]
        return (
            Showing("message", heard, 0, world.version("message", request.ref)),
            *[Showing("knowledge", world.tables["knowledge"][key], 0, world.version("knowledge", key)) for key in known],
        )
    asked = world.tables["request"][request.ref]
    plan = world.tables["proposal"][asked.proposal]
    return (
        Showing("request", asked, 0, world.version("request", asked.id)),
        Showing("proposal", plan, 0, world.version("proposal", plan.id)),
    )


LAYOUTS: dict[str, Layout] = {
    rules.LEAD: Layout(tuple(TOOLS[rules.LEAD].values()), TABLES, CLOCK, SITUATION, absorb),
    **{
        seat: Layout(tuple(tools.values()), PERSON_TABLES, NO_PANEL, NO_PANEL, nothing_noted)
        for seat, tools in TOOLS.items()
        if seat != rules.LEAD
    },
}
"""The layout of each seat's view."""
