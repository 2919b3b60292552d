"""Honest styles other than the reference's. All of them must pass: a grader that wants one order of calls is wrong.

Each is one habit over the reference; the habits are in `agents.looking` and `agents.acting`.
"""

from __future__ import annotations

from agents.acting import (
    AddsAWord,
    CitesAsItReads,
    DraftsBackwards,
    LetsItSettle,
    NamesWhatStands,
    NapsShorter,
    ReadsItsMail,
    ReconcilesAnyway,
    RefusesAtOnce,
    SecondThoughts,
    SleepsOnIt,
    TakesItBackOnce,
    TakesItsTime,
    TakesTheLast,
    TellsWhenUnknown,
    UndoesWhatIsBroken,
    VerifiesTwice,
)
from agents.looking import (
    AsksAboutAccess,
    ChecksOnceMore,
    ChecksTheApproval,
    ChecksTheStock,
    InvestigatesFirst,
    KnowsWhoIsWho,
    ListsManualsFirst,
    ReadsEveryEdition,
    ReadsTheProposal,
    ReadsTheRules,
    RecallsFirst,
)
from agents.reference import Reference

ALTERNATIVES: tuple[type[Reference], ...] = (
    InvestigatesFirst, ReadsEveryEdition, RecallsFirst, ListsManualsFirst, AsksAboutAccess, KnowsWhoIsWho,
    ReadsTheRules, ChecksOnceMore, ChecksTheStock, ChecksTheApproval, ReadsTheProposal,
    DraftsBackwards, TakesTheLast, SecondThoughts, CitesAsItReads, TakesItBackOnce, TakesItsTime,
    ReadsItsMail, ReconcilesAnyway, LetsItSettle, VerifiesTwice, UndoesWhatIsBroken, NamesWhatStands, RefusesAtOnce,
    NapsShorter, SleepsOnIt, TellsWhenUnknown, AddsAWord,
)  # fmt: skip
"""Every honest style."""


def combined(styles: tuple[type[Reference], ...]) -> type[Reference]:
    """Return an agent that has several habits at once; the first has the first say."""
    return type("And".join(style.__name__ for style in styles), styles, {"__doc__": "Several habits at once."})
