"""Agents whose outcome is known: the reference and honest styles have to pass, shortcuts have to fail as they declare."""

from __future__ import annotations

from collections.abc import Sequence

from fieldops_gym.core.judging import Outcome
from fieldops_gym.core.streams import Stream
from fieldops_gym.evaluation.audit.playing import Bench, Played, every_variant, played, right_outcome, turns
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.audit.suite import Shortcut, Style


def solvability(bench: Bench) -> Section:
    """Every card and variant is passed by the reference, on every seed, and none of its runs is void."""
    seeds = bench.seeds(3, 100)
    rows = []
    for name in every_variant(bench.pack):
        runs = [played(bench, bench.suite.reference, name, seed) for seed in range(seeds)]
        rows.append(_row(name, runs, [run for run in runs if run.outcome != Outcome.PASSED]))
    return Section(
        "solvability", "the reference passes every card and variant, on every seed", _passed(rows, "variants"), tuple(rows)
    )


def alternatives(bench: Bench) -> Section:
    """Every honest style passes every card, alone and combined with others."""
    seeds = bench.seeds(3, 100)
    rows = [_style_row(bench, style, seeds) for style in bench.suite.styles]
    if bench.suite.styles:
        rows.append(_combined_row(bench, seeds))
    return Section(
        "alternatives", "every honest style passes every card, alone and combined", _passed(rows, "rows"), tuple(rows)
    )


def _style_row(bench: Bench, style: Style, seeds: int) -> Row:
    runs = [played(bench, style.make, name, seed) for name, seed in turns(bench.pack, seeds)]
    return _row(style.name, runs, [run for run in runs if run.outcome != right_outcome(run.name, style.void)])


def _combined_row(bench: Bench, seeds: int) -> Row:
    """Play a drawn combination of two or more styles on each card and seed."""
    runs, wrong = [], []
    for name, seed in turns(bench.pack, seeds):
        draw = Stream(seed, "audit").draw(name)
        styles = tuple(draw.shuffled(bench.suite.styles)[: draw.between(2, max(2, len(bench.suite.styles)))])
        run = played(bench, bench.suite.combine(tuple(style.make for style in styles)), name, seed)
        runs.append(run)
        # The first style has the first say, but any of them may keep a fault from firing.
        allowed = {right_outcome(name, frozenset().union(*(style.void for style in styles))), Outcome.PASSED}
        if run.outcome not in allowed:
            wrong.append(run)
    return _row("(combined)", runs, wrong)


def shortcuts(bench: Bench) -> Section:
    """Every shortcut fails where it declares it, by the invariant that it declares, and passes everywhere else."""
    seeds = bench.seeds(1, 20)
    rows = [_shortcut_row(bench, shortcut, seeds) for shortcut in bench.suite.shortcuts]
    return Section(
        "shortcuts", "every shortcut fails just where it declares, by the invariant that it declares",
        _passed(rows, "shortcuts"), tuple(rows),
    )  # fmt: skip


def _shortcut_row(bench: Bench, shortcut: Shortcut, seeds: int) -> Row:
    known = every_variant(bench.pack)
    stray = sorted({*shortcut.fails, *shortcut.sometimes} - set(known))
    runs = [played(bench, shortcut.make, name, seed) for name in known for seed in range(seeds)]
    wrong = [run for run in runs if not _as_declared(shortcut, run)]
    failed = [run for run in runs if run.outcome == Outcome.FAILED]
    asked = sum(run.asked for run in failed)
    share = sum(run.satisfied for run in failed) / asked if asked else 0.0
    row = _row(shortcut.name, runs, wrong)
    text = f"fails {len(failed)} of {len(runs)} as declared, with {share:.0%} of its checks satisfied there"
    if stray:
        text = f"it declares {', '.join(stray)}, which the pack does not have"
    elif not failed:
        text = "it fails nowhere, and so stands for nothing"
    elif wrong:
        text = f"{len(wrong)} of {len(runs)} not as declared: {wrong[0].told}"
    figures = {**row.figures, "failed": len(failed), "share_of_checks": round(share, 4), "stands_for": shortcut.stands_for}
    return Row(shortcut.name, not wrong and not stray and bool(failed), text, figures)


def _as_declared(shortcut: Shortcut, run: Played) -> bool:
    invariant = shortcut.fails.get(run.name)
    now_and_then = shortcut.sometimes.get(run.name)
    if now_and_then is not None:
        return run.outcome == Outcome.PASSED or now_and_then in run.broken
    if invariant is None:
        return run.outcome == right_outcome(run.name, shortcut.void)
    return run.outcome == Outcome.FAILED and invariant in run.broken


def _row(subject: str, runs: Sequence[Played], wrong: Sequence[Played]) -> Row:
    text = f"{len(runs) - len(wrong)} of {len(runs)} as they should be"
    if wrong:
        text += f"; {wrong[0].told}"
    return Row(subject, not wrong, text, {"runs": len(runs), "wrong": len(wrong)})


def _passed(rows: Sequence[Row], what: str) -> str:
    return f"{sum(row.holds for row in rows)} of {len(rows)} {what}, {sum(int(row.figures['runs']) for row in rows)} runs"
