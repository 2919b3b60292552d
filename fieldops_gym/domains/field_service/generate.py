"""The generated background: sites with their equipment, manuals, parts, technicians, slots and people.

A coverage-weighted synthetic distribution; no figure here estimates how often anything occurs in the field. One hash per
record. The card's own records are added by `setup`.
"""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.streams import Draw, Stream
from fieldops_gym.core.world import Tables
from fieldops_gym.domains.field_service.policies import SOURCES
from fieldops_gym.domains.field_service.records import (
    TABLES,
    Equipment,
    Family,
    Incident,
    Manual,
    Part,
    Person,
    Region,
    Slot,
    Technician,
    Tenant,
)

HOUR = 3600

FAMILIES: dict[str, str] = {
    "chiller": "cooling", "compressor": "pneumatics", "boiler": "heating", "conveyor": "mechanics", "pump": "hydraulics",
    "lift": "mechanics", "generator": "power", "press": "hydraulics", "kiln": "heating", "fan": "ventilation",
    "mixer": "mechanics", "crane": "mechanics", "dryer": "ventilation", "lathe": "mechanics", "robot": "controls",
    "scale": "controls", "furnace": "heating", "turbine": "power", "extruder": "mechanics", "packer": "controls",
}  # fmt: skip
"""Equipment families and the trade that serves each."""

TRADES = tuple(sorted(set(FAMILIES.values())))
KINDS = ("valve", "seal", "bearing", "filter", "relay", "sensor", "belt", "coil")
"""Kinds of parts, which are also what manuals prescribe."""

REVISIONS = 6
"""Equipment revisions run from 1 to this."""

PER_SITE = 16
"""Records of one background site."""

OWN = 46
"""About how many records the cards' own setup adds."""

SYMPTOMS = ("it stops after a few minutes", "it runs hot", "it leaks", "it will not start", "it is far too loud")
URGENCIES = ("low", "normal", "high")


def background(stream: Stream, entities: int) -> Tables:
    """Return tables with so many background sites that the world has about `entities` records (at least one site)."""
    tables: Tables = {name: {} for name in TABLES}
    names = tuple(FAMILIES)
    for site in range(max(1, round((entities - OWN) / PER_SITE))):
        _site(tables, stream, site, names)
    return tables


def _site(tables: Tables, stream: Stream, site: int, names: tuple[str, ...]) -> None:
    draw = stream.draw("site", site)
    tenant, region, family = f"ten-{stream.token('ten', site)}", f"reg-{stream.token('reg', site)}", f"fam-{draw.token}"
    name = draw.pick(names)
    trade = FAMILIES[name]
    people = tuple(f"per-{stream.token('per', site, n)}" for n in range(2))
    titles = ("operations manager", "shift lead")
    for key, title, authority in zip(people, titles, (("reserve",), ()), strict=True):
        put(tables, "person", Person(key, tenant, title, authority, "colleague"))
    put(tables, "tenant", Tenant(tenant, f"site {draw.below(900) + 100}", people))
    revision = draw.between(1, REVISIONS)
    manuals = tuple(_manual(tables, stream, site, n, tenant, family, name, revision) for n in range(2))
    parts = tuple(part(tables, stream.draw("part", site, n), family, region) for n in range(3))
    put(tables, "family", Family(family, f"{name} {draw.below(90) + 10}", trade, manuals, parts))
    key = f"eqp-{stream.token('eqp', site)}"
    put(tables, "equipment", Equipment(key, tenant, family, serial(draw), region, revision))
    drawn = stream.draw("incident", site)
    report = Incident(
        f"inc-{drawn.token}", tenant, key, people[1], region, drawn.pick(SYMPTOMS), drawn.pick(URGENCIES),
        drawn.between(14, 20) * HOUR, ("repair",), "open", "",
    )  # fmt: skip
    put(tables, "incident", report)
    slots = []
    for n in range(2):
        drawn = stream.draw("technician", site, n)
        technician = Technician(f"tec-{drawn.token}", (trade, drawn.pick(TRADES)), region)
        put(tables, "technician", technician)
        slots.append(slot(tables, stream.draw("slot", site, n), technician, drawn.between(9, 40) * HOUR))
    put(tables, "region", Region(region, f"region {draw.below(90) + 10}", tuple(slots)))


def _manual(tables: Tables, stream: Stream, site: int, n: int, tenant: str, family: str, name: str, revision: int) -> str:
    drawn = stream.draw("manual", site, n)
    status = "current" if n else "superseded"
    title = f"{name} service manual"
    record = Manual(
        f"man-{drawn.token}", tenant, family, title, n + 1, status, 1, max(revision, n + 1), "", drawn.pick(KINDS),
        SOURCES[0], "",
    )  # fmt: skip
    put(tables, "manual", record)
    return record.id


def part(tables: Tables, drawn: Draw, family: str, depot: str, **fields: Any) -> str:
    """Add a part of a family; `fields` overrule what is drawn. Returns its id."""
    low = drawn.between(1, REVISIONS)
    record: dict[str, Any] = {
        "id": f"prt-{drawn.token}", "family": family, "kind": drawn.pick(KINDS), "rev_from": low,
        "rev_to": drawn.between(low, REVISIONS), "depot": depot, "quantity": drawn.between(4, 9),
        "uncertainty": drawn.between(1, 20), "reserved": (),
    }  # fmt: skip
    made = Part(**(record | fields))
    put(tables, "part", made)
    return made.id


def slot(tables: Tables, drawn: Draw, technician: Technician, start: int, capacity: int = 0) -> str:
    """Add a slot of a technician starting at `start` seconds. Returns its id."""
    made = Slot(
        f"slt-{drawn.token}", technician.id, technician.skills, technician.region, start,
        capacity or drawn.between(4, 6), (),
    )  # fmt: skip
    put(tables, "slot", made)
    return made.id


def serial(drawn: Draw) -> str:
    """Return a serial number."""
    return f"{drawn.below(9000) + 1000}-{drawn.below(9000) + 1000}"


def put(tables: Tables, table: str, record: Any) -> None:
    """Put a record into a table under its id."""
    tables[table][record[0]] = record
