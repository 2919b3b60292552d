"""A finished card, as JSON and as Markdown."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fieldops_gym.evaluation.card.parts import Cell, EnvironmentCardError, Part, Table

FORMAT = "fieldops-card/1"


TITLE = "# Environment card"
"""How the card begins in Markdown."""


class EnvironmentCard(NamedTuple):
    """An environment card. `version` is the package's, `pack` the digest of the tasks, `audit` what it rests on in words.

    `points` of `most` are the rubric's, `answers` counts the checklist's answers.
    """

    format: str
    version: str
    pack: str
    audit: str
    points: int
    most: int
    answers: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]

    def part(self, name: str) -> Part:
        """Return a part by its id. Raises `KeyError` that lists the ids."""
        for part in self.parts:
            if part.id == name:
                return part
        raise KeyError(f"the card has no part '{name}'; it has {', '.join(part.id for part in self.parts)}")

    def to_json(self) -> str:
        """Return the card as JSON text: rows of tables are objects by column."""
        head = {name: getattr(self, name) for name in self._fields[:6]}
        parts = [{**part._asdict(), "tables": [_table_json(table) for table in part.tables]} for part in self.parts]
        return json.dumps({**head, "answers": dict(self.answers), "parts": parts}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> EnvironmentCard:
        """Read a card back. Raises `EnvironmentCardError` when the text is none."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r}, not '{FORMAT}'")
            parts = tuple(
                Part(part["id"], part["title"], tuple(part["lead"]), tuple(map(_table_of, part["tables"])))
                for part in data["parts"]
            )
            return cls(*(data[name] for name in cls._fields[:6]), tuple(data["answers"].items()), parts)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EnvironmentCardError(f"it is no environment card: {type(error).__name__}: {error}") from error

    def to_markdown(self) -> str:
        """Return the card as Markdown: a summary, then every part."""
        lines = [f"{TITLE}: pack {self.pack[:8]}", "", *_summary(self)]
        for part in self.parts:
            lines += ["", f"## {part.title}"]
            lines += [line for sentence in part.lead for line in ("", sentence)]
            for table in part.tables:
                if table.rows:
                    lines += _table_lines(table, titled=len(part.tables) > 1)
        return "\n".join(lines) + "\n"


def _summary(card: EnvironmentCard) -> list[str]:
    answers = ", ".join(f"{number} {word}" for word, number in card.answers)
    contents = ", ".join(f"[{part.title}](#{_anchor(part.title)})" for part in card.parts)
    return [
        f"fieldops_gym {card.version}. Audit: {card.audit}. Rubric: {card.points} of {card.most} points. Checklist: {answers}.",
        "",
        "For people who read or report results; it tells what cards hide, so it is not for an agent under test. A "
        "synthetic world: "
        "nothing here supports a statement about production, safety, compliance, real people, attackers, value, other "
        "domains or "
        "a ranking of models.",
        "",
        "May be cited for, at the level of evidence named:",
        "",
        *_claimed(card),
        "",
        f"Parts: {contents}.",
    ]


def _claimed(card: EnvironmentCard) -> list[str]:
    levels = {row[0]: row[1] for row in card.part("evidence").table("claims").rows}
    return [f"- {row[0]} ({levels[row[0]]}): {_cell(row[1])}" for row in card.part("claims").table("claimed").rows]


def _anchor(title: str) -> str:
    kept = "".join(char for char in title.lower() if char.isalnum() or char in " -")
    return kept.replace(" ", "-")


def _table_lines(table: Table, titled: bool) -> list[str]:
    lines = ["", f"### {table.name[0].upper()}{table.name[1:]}"] if titled else []
    lines += ["", table.note] if table.note else []
    lines += ["", _line(table.columns), _line(["---"] * len(table.columns))]
    return lines + [_line(row) for row in table.rows]


def _line(cells: Any) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(cell: Cell) -> str:
    return " ".join(str(cell).split()).replace("|", "&#124;")


def _table_json(table: Table) -> dict[str, Any]:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {"name": table.name, "note": table.note, "columns": list(table.columns), "rows": rows}


def _table_of(data: Any) -> Table:
    columns = tuple(data["columns"])
    return Table.of(data["name"], columns, [[row[column] for column in columns] for row in data["rows"]], data["note"])
