"""The records of field service: one immutable class per table, id first.

Times are simulated seconds from the start of the run, quantities are counts.
"""

from __future__ import annotations

from typing import NamedTuple


class Tenant(NamedTuple):
    """A customer. `people` is its directory, which may list persons of other tenants."""

    id: str
    name: str
    people: tuple[str, ...]


class Family(NamedTuple):
    """An equipment family with the trade that serves it, and what is filed under it."""

    id: str
    name: str
    trade: str
    manuals: tuple[str, ...]
    parts: tuple[str, ...]


class Region(NamedTuple):
    """A region and the slots offered in it, other regions' slots included where they are offered too."""

    id: str
    name: str
    slots: tuple[str, ...]


class Equipment(NamedTuple):
    """A machine of a tenant. `revision` is what the registry holds, 0 for none."""

    id: str
    tenant: str
    family: str
    serial: str
    region: str
    revision: int


class Incident(NamedTuple):
    """What was reported. `asks` is what for: an 'answer', a 'repair', 'control' of the machine. `status`: 'open', 'cancelled'.

    `reservation` is the link that a reservation sets, empty before.
    """

    id: str
    tenant: str
    equipment: str
    requester: str
    region: str
    symptom: str
    urgency: str
    deadline: int
    asks: tuple[str, ...]
    status: str
    reservation: str


class Manual(NamedTuple):
    """One edition of a manual, valid for revisions `rev_from` to `rev_to`; `remedy` is the kind of part it prescribes.

    `status` is 'current' or 'superseded', or 'withheld' for the entry of another tenant's, which says nothing more.
    """

    id: str
    tenant: str
    family: str
    title: str
    edition: int
    status: str
    rev_from: int
    rev_to: int
    supersedes: str
    remedy: str
    source: str
    remark: str


class Part(NamedTuple):
    """A stocked part. `quantity` is what can still be reserved; `reserved` holds the reservations that took one."""

    id: str
    family: str
    kind: str
    rev_from: int
    rev_to: int
    depot: str
    quantity: int
    uncertainty: int
    reserved: tuple[str, ...]


class Technician(NamedTuple):
    """A technician: trades and region."""

    id: str
    skills: tuple[str, ...]
    region: str


class Slot(NamedTuple):
    """A technician's slot. `start` is in seconds; `taken` holds the reservations in it."""

    id: str
    technician: str
    skills: tuple[str, ...]
    region: str
    start: int
    capacity: int
    taken: tuple[str, ...]

    @property
    def free(self) -> int:
        """Places left."""
        return self.capacity - len(self.taken)


class Person(NamedTuple):
    """A person and the seat they sit in. `authority` names the operations they may approve for their tenant."""

    id: str
    tenant: str
    title: str
    authority: tuple[str, ...]
    seat: str


class Delegation(NamedTuple):
    """What a seat may do, for which tenant, until when. `issued_for` is the longest its issuer may delegate (seconds)."""

    id: str
    seat: str
    tenant: str
    scopes: tuple[str, ...]
    expires: int
    revoked: bool
    issued_for: int


class Policy(NamedTuple):
    """A policy rule as a seat can read it. `value` is what a rule that names something names, empty for nothing."""

    id: str
    operation: str
    rule: str
    text: str
    value: str


class Knowledge(NamedTuple):
    """What a person knows, or believes to know, of a machine, and tells whoever asks for that topic.

    `value` is a revision, or the id of an edition.
    """

    id: str
    person: str
    equipment: str
    topic: str
    value: int | str


class Statement(NamedTuple):
    """What a person has said of a machine."""

    id: str
    person: str
    equipment: str
    topic: str
    value: int | str
    at: int


class MemoryNote(NamedTuple):
    """A note from an earlier run: what it recalls of which edition, where it comes from, how old it is (days)."""

    id: str
    equipment: str
    manual: str
    text: str
    provenance: str
    age: int


class Draft(NamedTuple):
    """What the seat has put together so far."""

    id: str
    part: str
    slot: str
    citations: tuple[str, ...]
    alternatives: tuple[str, ...]


class Proposal(NamedTuple):
    """A frozen plan. `hash` covers its exact content; `key` is its semantic key at the reservation service."""

    id: str
    tenant: str
    hash: str
    key: str
    incident: str
    equipment: str
    part: str
    slot: str
    citations: tuple[str, ...]
    alternatives: tuple[str, ...]
    consequence: str
    workflow: str
    status: str
    by: str
    at: int


class ApprovalRequest(NamedTuple):
    """A proposal put before a person."""

    id: str
    proposal: str
    hash: str
    person: str
    at: int


class Review(NamedTuple):
    """A conflict of editions put before the review desk."""

    id: str
    incident: str
    person: str
    at: int


class Release(NamedTuple):
    """The workflow version that is in force; there is one such record."""

    id: str
    workflow: str


class Approval(NamedTuple):
    """A person's decision on one exact proposal. Only policy says whether it counts.

    `request` is empty for a word that nobody asked for. `disposition`: 'approved', 'declined', 'rejected', or
    'change_part', 'change_slot' for a rejection that names what has to be another.
    """

    id: str
    request: str
    proposal: str
    hash: str
    by: str
    at: int
    expires: int
    disposition: str


class Intent(NamedTuple):
    """The service's register of keys: which content came under a key, and what it led to. `at` is the time of dispatch."""

    id: str
    hash: str
    reservation: str
    at: int


class Reservation(NamedTuple):
    """A reservation. It should go with four other records: part, slot, incident and audit entry.

    `proposal` is empty for one that did not come from a proposal of this desk.
    """

    id: str
    key: str
    hash: str
    proposal: str
    incident: str
    part: str
    slot: str
    status: str
    at: int


class LedgerEntry(NamedTuple):
    """An entry of the append-only ledger; `kind` is 'reserve' or 'compensate'."""

    id: str
    kind: str
    key: str
    hash: str
    reservation: str
    incident: str
    part: str
    slot: str
    seat: str
    at: int


class AuditEntry(NamedTuple):
    """An entry of the audit trail about a reservation."""

    id: str
    reservation: str
    kind: str
    at: int


TABLES: dict[str, type] = {
    "tenant": Tenant,
    "family": Family,
    "region": Region,
    "equipment": Equipment,
    "incident": Incident,
    "manual": Manual,
    "part": Part,
    "technician": Technician,
    "slot": Slot,
    "person": Person,
    "delegation": Delegation,
    "policy": Policy,
    "knowledge": Knowledge,
    "statement": Statement,
    "note": MemoryNote,
    "draft": Draft,
    "proposal": Proposal,
    "request": ApprovalRequest,
    "approval": Approval,
    "review": Review,
    "release": Release,
    "intent": Intent,
    "reservation": Reservation,
    "ledger": LedgerEntry,
    "audit": AuditEntry,
}
"""The domain's tables. The kernel adds its own: agenda, meters, persona, message."""
