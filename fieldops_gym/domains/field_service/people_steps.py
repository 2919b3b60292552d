"""Setup steps for cards that are about people: whose word counts, who believes what, and what a review decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldops_gym.domains.field_service.generate import REVISIONS, put
from fieldops_gym.domains.field_service.records import Equipment, Knowledge, Manual, Person
from fieldops_gym.domains.field_service.rules import applies

if TYPE_CHECKING:
    from fieldops_gym.domains.field_service.setup import Workshop

NOBODY = "nobody"


def informs(shop: Workshop, by: str) -> None:
    """The directory gives authority to inform about machines to one person, who is not the requester, or to nobody."""
    for role in ("requester", by):
        if role != NOBODY:
            person: Person = shop.tables["person"][shop.one(role)]
            others = tuple(word for word in person.authority if word != "inform")
            put(shop.tables, "person", person._replace(authority=(*others, "inform") if role == by else others))


def believed(shop: Workshop, by: str) -> None:
    """A person believes the machine to have another revision than it has: one for which another edition is in force."""
    machine: Equipment = shop.tables["equipment"][shop.one("equipment")]
    revision = next(k.value for k in shop.tables["knowledge"].values() if k.equipment == machine.id and k.topic == "revision")
    holds: Manual = shop.tables["manual"][shop.one("manual.current")]
    wrong = [number for number in range(1, REVISIONS + 1) if not applies(holds, number) and number > revision]
    value = shop.stream.draw("believed").pick(wrong)
    belief = Knowledge(f"kno-{shop.stream.token('believed', by)}", shop.one(by), machine.id, "revision", value)
    put(shop.tables, "knowledge", belief)


def reviewed(shop: Workshop, edition: str) -> None:
    """The review desk has a view of which of two editions in conflict holds."""
    machine: Equipment = shop.tables["equipment"][shop.one("equipment")]
    key = f"kno-{shop.stream.token('reviewed')}"
    put(shop.tables, "knowledge", Knowledge(key, shop.one("reviewer"), machine.id, "edition", shop.one(edition)))
