"""Drawing, writing and filling in reviews as tests do it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldops_gym.core.cards import Pack
from fieldops_gym.evaluation.review import Review, write_review
from fieldops_gym.evaluation.sampling import Sample, read_results, sample

SOUND = {"permitted_evidence": "yes", "leaked_facts": "no", "wrong_state_accepted": "no", "another_path": "no"}
"""The answers of a reviewer who finds nothing wrong."""


def drawn(directory: Path, pack: Pack, passes: int = 1, failures: int = 1, seed: int = 0) -> Sample:
    return sample(read_results(directory), pack, passes, failures, seed)


def written(directory: Path, pack: Pack, passes: int = 1, failures: int = 0, out: Path | None = None) -> Review:
    return write_review(drawn(directory, pack, passes, failures), pack, out or directory / "review")


def filled(review: Review, name: str, answers: Mapping[str, str] = SOUND, note: str = "", day: str = "2026-01-31") -> Path:
    """Fill in a copy of a sheet as a reviewer does, in an editor: words put where there are none, without quotes."""
    out, question = [], ""
    for line in review.sheet.read_text(encoding="utf-8").splitlines():
        key = line.strip().rstrip(":")
        question = key if key in answers else question
        given = {'answer: ""': f"answer: {answers.get(question, '')}", 'note: ""': f"note: {note}"}
        given |= {'reviewer: ""': f"reviewer: {name}", 'date: ""': f"date: {day}"}
        out.append(line.replace(line.strip(), given.get(line.strip(), line.strip())) if line.strip() else line)
    path = review.sheet.with_name(f"{name or 'nobody'}.yaml")
    path.write_text("\n".join(out) + "\n", encoding="utf-8")
    return path


def lines_of(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "results.jsonl").read_text(encoding="ascii").splitlines()]


def rewrite(directory: Path, rows: list[dict[str, Any]]) -> None:
    (directory / "results.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="ascii")
