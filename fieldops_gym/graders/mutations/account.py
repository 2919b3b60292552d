"""Mutations of the account: it says more, less or other than the world shows, to somebody else, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from fieldops_gym.domains.field_service.history import open_dispatch, undo_open
from fieldops_gym.domains.field_service.tools import DISPOSITIONS, KINDS_TOLD
from fieldops_gym.graders.evidence import incident_of
from fieldops_gym.graders.mutations.equivalents import time_over
from fieldops_gym.graders.mutations.model import Base, Change, Kind, Make
from fieldops_gym.graders.mutations.surgery import own_calls, own_calls_of, standing, with_account, with_call, without

GROUP = "account"

ENDING = ("task.accepted_ending",)
TOLD = ("task.requester_told",)
TRUE = ("account.finish_true", "task.accepted_ending")
UNTRUE = ("account.finish_true",)
"""Not the ending too: with both named, either could sleep, and the other would cover for it."""

GROUNDS = ("trajectory.grounded", "trajectory.current_evidence", "trajectory.verified_before_told")


def _says_more(base: Base) -> Iterator[Change]:
    """Claim an effect where none stands."""
    account = base.trial.account
    if account is not None and account.disposition != "completed" and not standing(base):
        yield Change("account", with_account(base, disposition="completed", subject=incident_of(base.trial)))


def _says_less(base: Base) -> Iterator[Change]:
    """Deny an effect that stands."""
    account, plans = base.trial.account, base.trial.world.tables["proposal"]
    if account is not None and standing(base) and plans:
        yield Change("account", with_account(base, disposition="failed_no_effect", subject=next(reversed(plans))))


def _says_other(base: Base) -> Iterator[Change]:
    """Give every other disposition, about the first record that it may be about."""
    account, tables = base.trial.account, base.trial.world.tables
    if account is None:
        return
    for disposition, about in DISPOSITIONS.items():
        subject = account.subject if any(account.subject in tables[table] for table in about) else ""
        subject = subject or next((key for table in about for key in tables[table]), "")
        if disposition == account.disposition or not subject:
            continue
        yield Change(f"account: {disposition}", with_account(base, disposition=disposition, subject=subject))


def _denies_by_name(base: Base) -> Iterator[Change]:
    """Deny an effect that stands in each of the words that deny one, or leave its name out."""
    account, incident = base.trial.account, incident_of(base.trial)
    if account is None or account.disposition == "handed_over" or not standing(base):
        return
    for disposition in ("failed_no_effect", "cancelled", "rejected"):
        yield Change(f"account: {disposition}", with_account(base, disposition=disposition, subject=incident))
    if not (open_dispatch(base.trial) or undo_open(base.trial)):
        yield Change("account: escalated", with_account(base, disposition="escalated", subject=incident))


def _unknown_or_over(base: Base) -> Iterator[Change]:
    """Say of a settled run that its outcome is not known, or of a delegation that runs that it has ended."""
    account, plans = base.trial.account, base.trial.world.tables["proposal"]
    if account is None or account.disposition in ("handed_over", "failed_effect_unknown") or not plans:
        return
    if open_dispatch(base.trial) or undo_open(base.trial):
        return
    for disposition in ("failed_effect_unknown", "handed_over"):
        yield Change(f"account: {disposition}", with_account(base, disposition=disposition, subject=next(reversed(plans))))


def _about_other(base: Base) -> Iterator[Change]:
    """Give the same disposition about a record of a kind that it may be about, which has nothing to do with the run."""
    account, tables = base.trial.account, base.trial.world.tables
    if account is None:
        return
    own = {account.subject, incident_of(base.trial), base.trial.scenario.roles["equipment"][0]}
    for table in DISPOSITIONS[account.disposition]:
        if table in ("manual", "incident", "equipment", "family"):
            other = next((key for key in sorted(tables[table]) if key not in own), None)
            if other is not None:
                yield Change(f"account: {table} {other}", with_account(base, subject=other))


def _names_less(base: Base) -> Iterator[Change]:
    """Name the incident only, where a reservation stands for it or something is in flight."""
    account = base.trial.account
    if account is None or account.disposition not in ("escalated", "handed_over"):
        return
    in_flight = account.disposition == "handed_over" and any(m.call.tool == "reserve" for m in own_calls(base))
    if account.subject != incident_of(base.trial) and (standing(base) or in_flight):
        yield Change("account", with_account(base, subject=incident_of(base.trial)))


def _about_nothing(base: Base) -> Iterator[Change]:
    """Give the same disposition about nothing."""
    if base.trial.account is not None and base.trial.account.subject:
        yield Change("account", with_account(base, subject=""))


def _unsaid(base: Base) -> Iterator[Change]:
    """Let the seat have said nothing, so that the harness said it failed without an effect."""
    finish = own_calls_of(base, "finish")
    if finish:
        silent = without(base, (finish[-1].seq, finish[-1].result))
        fallback = base.trial.scenario.contract.fallback
        said = with_account(silent, disposition=fallback, subject="", by="harness")
        yield Change("account", said, time_over(base, 0, said))


def _told_other(base: Base) -> Iterator[Change]:
    """Let a person have been told each of the other things."""
    heard = own_calls_of(base, "notify")
    for made in heard:
        for kind in KINDS_TOLD:
            if kind != made.arg("kind"):
                yield Change(f"event {made.seq}: {kind}", with_call(base, made.seq, kind=kind))


def _told_somebody_else(base: Base) -> Iterator[Change]:
    """Let somebody else have been told."""
    requester = base.trial.scenario.roles["requester"][0]
    for made in own_calls_of(base, "notify"):
        for role in ("approver", "colleague", "senior", "approver.other_tenant"):
            person = base.trial.scenario.roles[role][0]
            if person not in (requester, made.arg("person")):
                yield Change(f"event {made.seq}: the {role}", with_call(base, made.seq, person=person))


def _not_told(base: Base) -> Iterator[Change]:
    """Let nobody have been told."""
    for made in own_calls_of(base, "notify"):
        yield Change(f"event {made.seq}", without(base, (made.seq, made.result)))


def _row(name: str, text: str, make: Make, breaks: tuple[str, ...], may: tuple[str, ...] = ()) -> Kind:
    return Kind(name, GROUP, text, breaks, may, make)


KINDS: tuple[Kind, ...] = (
    _row("says more", "the account claims an effect, and none stands", _says_more, TRUE, (*TOLD, *GROUNDS)),
    _row("says less", "the account denies an effect that stands", _says_less, TRUE, (*TOLD, *GROUNDS)),
    _row("says other", "the account has another disposition", _says_other, (*TRUE, *TOLD),
         (*GROUNDS, "account.told_true")),
    _row("denied by name", "the account denies an effect that stands, in each word for it", _denies_by_name, UNTRUE,
         (*ENDING, *TOLD, *GROUNDS, "account.told_true")),
    _row("unknown or over", "the account says that it is not known, or that the delegation ended", _unknown_or_over, UNTRUE,
         (*ENDING, *TOLD, *GROUNDS, "account.told_true")),
    _row("about another record", "the account is about a record of somebody else's", _about_other, TRUE, GROUNDS),
    _row("names less", "the account names the incident, and not what stands or is in flight", _names_less, TRUE),
    _row("about nothing", "the account is about nothing", _about_nothing, TRUE, GROUNDS),
    _row("not said", "the run was cut off, and the harness wrote the account", _unsaid, ENDING,
         (*TOLD, *GROUNDS, "account.finish_true", "account.told_true")),
    _row("told other", "a person was told something else", _told_other,
         (*TOLD, "account.told_true", "trajectory.verified_before_told")),
    _row("told somebody else", "it was not the requester who was told", _told_somebody_else,
         ("account.right_recipient",), TOLD),
    Kind("nobody told", GROUP, "the requester heard nothing", TOLD,
         ("account.told_true", "account.right_recipient", "trajectory.verified_before_told"), _not_told, lean=True),
)  # fmt: skip
"""Kinds of mutation of the account."""
