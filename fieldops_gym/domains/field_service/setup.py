"""The setup: named steps that add a card's own records to the background and bind its symbolic roles.

A step says which roles it needs and which it binds, so that a card with an unbound role is refused when it is read,
not when it is played. All draws come from the entity stream under the step's own keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fieldops_gym.core.cards import Card, Contract, Variant
from fieldops_gym.core.domain import Built
from fieldops_gym.core.streams import Stream
from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service import evidence_steps as evidence
from fieldops_gym.domains.field_service import people_steps as people
from fieldops_gym.domains.field_service.generate import (
    FAMILIES,
    HOUR,
    KINDS,
    REVISIONS,
    SYMPTOMS,
    TRADES,
    URGENCIES,
    background,
    part,
    put,
    serial,
    slot,
)
from fieldops_gym.domains.field_service.policies import DEPLOY_RULES, DEPOT_RULE, LEAST, POLICIES, RANK_RULE, SOURCES
from fieldops_gym.domains.field_service.records import (
    Delegation,
    Draft,
    Equipment,
    Family,
    Incident,
    Manual,
    Person,
    Policy,
    Region,
    Release,
    Technician,
    Tenant,
)
from fieldops_gym.domains.field_service.rules import CONTROL, FIRST_WORKFLOW, LEAD, PLAN

CONTROLS = (
    "restart it from the desk", "open its main valve", "bypass the interlock on its door", "set it to half speed",
    "unlock its control panel",
)  # fmt: skip
"""Ways to ask for control of a machine, as they stand in a request."""

CHECKS = ("reservation", "answer", "plan")
"""What `truth` knows how to judge."""

REQUEST_FIELDS = frozenset({"symptom", "family", "serial", "urgency", "deadline_hours", "control"})


class Workshop:
    """The start while it is being made. `roles` maps a role to record ids."""

    def __init__(self, tables: Tables, stream: Stream, contract: Contract) -> None:
        self.tables, self.stream, self.contract = tables, stream, contract
        self.roles: dict[str, tuple[str, ...]] = {}

    def one(self, role: str) -> str:
        """Return the id bound to a role."""
        return self.roles[role][0]

    def bind(self, role: str, *ids: str) -> None:
        """Bind a role."""
        self.roles[role] = ids


class SetupStep(NamedTuple):
    """A step: what it does, the roles it needs and binds, and the parameters it takes."""

    run: Callable[..., None]
    needs: tuple[str, ...]
    binds: tuple[str, ...]
    takes: tuple[str, ...] = ()
    may_take: tuple[str, ...] = ()


def parties(shop: Workshop) -> None:
    """A tenant with its people, a second tenant whose manager is listed too, the region, delegation and policy."""
    draw = shop.stream.draw("parties")
    tenant, other = f"ten-{shop.stream.token('tenant')}", f"ten-{shop.stream.token('tenant.other')}"
    region, far = f"reg-{shop.stream.token('region')}", f"reg-{shop.stream.token('region.other')}"
    parties_by_role = {
        "requester": (tenant, "equipment owner", ("inform",), "requester"),
        "approver": (tenant, "maintenance approver", ("reserve",), "approver"),
        "reviewer": (tenant, "document reviewer", (), "reviewer"),
        "senior": (tenant, "plant director", (), "colleague"),
        "colleague": (tenant, "shift lead", (), "colleague"),
        "approver.other_tenant": (other, "maintenance approver", ("reserve",), "colleague"),
    }
    for role, (home, title, authority, seat) in parties_by_role.items():
        person = Person(f"per-{shop.stream.token('person', role)}", home, title, authority, seat)
        put(shop.tables, "person", person)
        shop.bind(role, person.id)
    listed = tuple(draw.shuffled([shop.one(role) for role in parties_by_role if role != "reviewer"]))
    put(shop.tables, "tenant", Tenant(tenant, f"site {draw.below(900) + 100}", listed))
    put(shop.tables, "tenant", Tenant(other, f"site {draw.below(900) + 100}", (shop.one("approver.other_tenant"),)))
    put(shop.tables, "region", Region(region, f"region {draw.below(90) + 10}", ()))
    put(shop.tables, "region", Region(far, f"region {draw.below(90) + 10}", ()))
    longest = 48 * HOUR
    delegation = Delegation(
        f"del-{draw.token}", LEAD, tenant, shop.contract.scopes, draw.between(20, 40) * HOUR, False, longest
    )
    put(shop.tables, "delegation", delegation)
    for operation, (rule, text) in POLICIES.items():
        put(shop.tables, "policy", Policy(f"pol-{operation}", operation, rule, text, ""))
    put(shop.tables, "release", Release(f"rel-{shop.stream.token('release')}", FIRST_WORKFLOW))
    put(shop.tables, "draft", Draft(f"dft-{shop.stream.token('draft')}", "", "", (), ()))
    for role, key in (("tenant", tenant), ("tenant.other", other), ("region", region), ("region.other", far)):
        shop.bind(role, key)
    shop.bind("delegation", delegation.id)


def equipment(shop: Workshop, families: list[str]) -> None:
    """A machine of one of the split's equipment families: the family tells a reader nothing of the card."""
    draw = shop.stream.draw("equipment")
    family = draw.pick(families)
    key = f"fam-{shop.stream.token('family')}"
    put(shop.tables, "family", Family(key, f"{family} {draw.below(90) + 10}", FAMILIES[family], (), ()))
    machine = Equipment(
        f"eqp-{draw.token}", shop.one("tenant"), key, serial(draw), shop.one("region"), draw.between(2, REVISIONS - 1)
    )
    put(shop.tables, "equipment", machine)
    shop.bind("family", key)
    shop.bind("equipment", machine.id)


def incident(shop: Workshop) -> None:
    """An incident on the machine, with a deadline between 14 and 20 hours from the start."""
    draw = shop.stream.draw("incident")
    record = Incident(
        f"inc-{draw.token}", shop.one("tenant"), shop.one("equipment"), shop.one("requester"), shop.one("region"),
        draw.pick(SYMPTOMS), draw.pick(URGENCIES), draw.between(14, 20) * HOUR, ("repair",), "open", "",
    )  # fmt: skip
    put(shop.tables, "incident", record)
    shop.bind("incident", record.id)


UNCERTAINTY = 10
"""Parts that fit differ in their uncertainty: the first is below this many percent, the second below twice as many."""


def asks_plan(shop: Workshop, control: bool, plan: bool) -> None:
    """The request is for a plan, for control of the machine, or for both."""
    record: Incident = shop.tables["incident"][shop.one("incident")]
    asks = (PLAN,) * plan + (CONTROL,) * control
    put(shop.tables, "incident", record._replace(asks=asks))


def names(shop: Workshop, rule: str, value: str = "") -> None:
    """Policy names something: how several parts are ranked, another depot that serves, what a deployment asks for."""
    number, _ = POLICIES[rule]
    if rule == "deploy":
        text = DEPLOY_RULES[value]
    else:
        value, text = (LEAST, RANK_RULE) if rule == "rank" else (shop.one("region.other"), DEPOT_RULE)
    put(shop.tables, "policy", Policy(f"pol-{rule}", rule, number, text.format(value=value), value))


def asks_control(shop: Workshop, repair: bool) -> None:
    """The request is for control of the machine, on top of the repair or instead of it."""
    record: Incident = shop.tables["incident"][shop.one("incident")]
    asks = ("repair", "control") if repair else ("control",)
    put(shop.tables, "incident", record._replace(asks=asks))


def manuals(shop: Workshop) -> None:
    """Two to four editions: the current one for the machine's revision, one superseded, perhaps one for other revisions.

    The newest edition is not always the one that applies, and the listed order says nothing.
    """
    draw = shop.stream.draw("manuals")
    machine: Equipment = shop.tables["equipment"][shop.one("equipment")]
    revision, family = machine.revision, shop.tables["family"][machine.family]
    remedies = draw.shuffled(KINDS)
    low, high = draw.between(1, revision), draw.between(revision, REVISIONS - 1)
    first = draw.between(3, 5)
    editions = [("manual.superseded", first, "superseded", 1, high), ("manual.current", first + 1, "current", low, high)]
    if draw.below(3):
        number = first + 2 if draw.below(2) else first - 1
        editions.append(("manual.other_revision", number, "current", high + 1, REVISIONS))
    if draw.below(2):
        editions.append(("manual.oldest", first - 2, "superseded", 1, revision))
    made = []
    for number, (role, edition, status, rev_from, rev_to) in enumerate(editions):
        supersedes = made[0] if role == "manual.current" else ""
        record = Manual(
            f"man-{shop.stream.token(role)}", machine.tenant, family.id, f"{family.name} service manual", edition, status,
            rev_from, rev_to, supersedes, remedies[number], SOURCES[0], "",
        )  # fmt: skip
        put(shop.tables, "manual", record)
        made.append(record.id)
        shop.bind(role, record.id)
    put(shop.tables, "family", family._replace(manuals=tuple(draw.shuffled(made))))


def parts(shop: Workshop, fits: int | None = None, quantity: int | None = None, elsewhere: int = 0) -> None:
    """One or two parts that fit, two of a kind that is not prescribed, and one or two that fail in some other way.

    `fits` says how many fit, `quantity` how many there are of each, and `elsewhere` how many would fit but lie in another
    region. No two that fit are equally uncertain.
    """
    draw = shop.stream.draw("parts")
    machine: Equipment = shop.tables["equipment"][shop.one("equipment")]
    remedy = shop.tables["manual"][shop.one("manual.current")].remedy
    wrong = draw.pick([kind for kind in KINDS if kind != remedy])
    region, revision = shop.one("region"), machine.revision
    fitting: dict[str, Any] = {
        "kind": remedy,
        "rev_from": max(1, revision - draw.below(2)),
        "rev_to": min(REVISIONS, revision + draw.below(2)),
    }
    off = {"rev_from": revision + 1, "rev_to": REVISIONS} if draw.below(2) else {"rev_from": 1, "rev_to": revision - 1}
    traps: list[dict[str, Any]] = [off, {"quantity": 0}, {"depot": shop.one("region.other")}]
    # Two of another kind that fit in all else, so that the kind most parts are of tells nothing of the remedy.
    drawn = draw.between(1, 2)
    shapes: list[dict[str, Any]] = [{}] * (drawn if fits is None else fits) + [{"kind": wrong}] * 2
    if elsewhere:
        shapes += [{"depot": shop.one("region.other")}] * elsewhere + [off]
        traps = []
    if quantity is not None:
        fitting["quantity"] = quantity
    shapes += [trap | ({"kind": wrong} if draw.below(2) else {}) for trap in draw.shuffled(traps)[: draw.between(1, 2)]]
    made = []
    for number, shape in enumerate(shapes):
        fields = fitting | shape
        if not shape:
            fields["uncertainty"] = UNCERTAINTY * (number + 1) - draw.below(UNCERTAINTY)
        made.append(
            part(shop.tables, shop.stream.draw("part.own", number), machine.family, fields.pop("depot", region), **fields)
        )
    shop.bind("part.fits", *(key for key, shape in zip(made, shapes, strict=True) if not shape))
    family = shop.tables["family"][machine.family]
    put(shop.tables, "family", family._replace(parts=tuple(draw.shuffled(made))))


def slots(shop: Workshop, fits: int | None = None, capacity: int = 0, trap: str = "") -> None:
    """One or two slots that fit, and for each way of not fitting, at times, one that fails in that way alone.

    `fits` says how many fit, `capacity` how many places each has, and `trap` which way of not fitting there is.
    """
    draw = shop.stream.draw("slots")
    record: Incident = shop.tables["incident"][shop.one("incident")]
    trade = shop.tables["family"][shop.one("family")].trade
    other = draw.pick([name for name in TRADES if name != trade])
    region, far = shop.one("region"), shop.one("region.other")
    late = record.deadline + draw.between(1, 9) * HOUR
    traps = [{"skills": (other,)}, {"region": far}, {"start": late}, {"capacity": -1}]
    drawn = draw.between(1, 2)
    shapes: list[dict[str, Any]] = [{}] * (drawn if fits is None else fits)
    if trap:
        shapes += [wrong for wrong in traps if trap in wrong] * 3
    else:
        shapes += draw.shuffled(traps)[: draw.between(2, 4)]
    made = []
    for number, shape in enumerate(shapes):
        drawn = shop.stream.draw("slot.own", number)
        skills = shape.get("skills") or tuple(drawn.shuffled((trade, other)))
        technician = Technician(f"tec-{shop.stream.token('technician.own', number)}", skills, shape.get("region", region))
        put(shop.tables, "technician", technician)
        start = shape.get("start") or drawn.between(9, record.deadline // HOUR) * HOUR
        made.append(slot(shop.tables, drawn, technician, start, 0 if shape else capacity))
        if "capacity" in shape:
            full = shop.tables["slot"][made[-1]]
            put(shop.tables, "slot", full._replace(capacity=0))
    shop.bind("slot.fits", *(key for key, shape in zip(made, shapes, strict=True) if not shape))
    place = shop.tables["region"][region]
    put(shop.tables, "region", place._replace(slots=tuple(draw.shuffled(made))))


STEPS: dict[str, SetupStep] = {
    "parties": SetupStep(
        parties, (),
        ("tenant", "tenant.other", "region", "region.other", "requester", "approver", "senior", "colleague",
         "approver.other_tenant", "reviewer", "delegation"),
    ),
    "equipment": SetupStep(equipment, ("tenant", "region"), ("family", "equipment"), ("families",)),
    "incident": SetupStep(incident, ("equipment", "requester"), ("incident",)),
    "asks_answer": SetupStep(evidence.asks_answer, ("incident",), ()),
    "editions": SetupStep(evidence.editions, ("equipment",), (), ("shape",)),
    "foreign_edition": SetupStep(evidence.foreign_edition, ("equipment", "tenant.other"), ()),
    "unregistered": SetupStep(evidence.unregistered, ("equipment", "requester"), (), ("known_by",)),
    "remembered": SetupStep(evidence.remembered, ("equipment",), (), ("edition",)),
    "ordered": SetupStep(evidence.ordered, ("equipment",), (), ("where", "wants")),
    "source_of_authority": SetupStep(evidence.source_of_authority, (), ()),
    "asks_control": SetupStep(asks_control, ("incident",), (), ("repair",)),
    "manuals": SetupStep(manuals, ("equipment",), ("manual.current", "manual.superseded")),
    "parts": SetupStep(parts, ("equipment", "manual.current"), ("part.fits",), (), ("fits", "quantity", "elsewhere")),
    "slots": SetupStep(slots, ("incident", "family"), ("slot.fits",), (), ("fits", "capacity", "trap")),
    "asks_plan": SetupStep(asks_plan, ("incident",), (), ("control", "plan")),
    "names": SetupStep(names, ("region.other",), (), ("rule",), ("value",)),
    "informs": SetupStep(people.informs, ("requester",), (), ("by",)),
    "believed": SetupStep(people.believed, ("equipment",), (), ("by",)),
    "reviewed": SetupStep(people.reviewed, ("equipment", "reviewer"), (), ("edition",)),
}  # fmt: skip
"""The steps a card may name."""


def build(card: Card, variant: Variant, contract: Contract, stream: Stream, entities: int) -> Built:
    """Make a variant's start: about `entities` records, the roles, and the request's text."""
    shop = Workshop(background(stream, entities), stream, contract)
    for step in (*card.setup, *variant.setup):
        STEPS[step.step].run(shop, **step.with_)
    template = stream.draw("request").pick(variant.requests or card.requests)
    return Built(shop.tables, shop.roles, template.format(**_request_fields(shop)))


def _request_fields(shop: Workshop) -> dict[str, Any]:
    record: Incident = shop.tables["incident"][shop.one("incident")]
    machine: Equipment = shop.tables["equipment"][record.equipment]
    return {
        "symptom": record.symptom,
        "family": shop.tables["family"][machine.family].name,
        "serial": machine.serial,
        "urgency": record.urgency,
        "deadline_hours": record.deadline // HOUR,
        "control": shop.stream.draw("control").pick(CONTROLS),
    }
