"""The little Markdown that documentation pages are put together from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code(names: Iterable[object]) -> str:
    """Return names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar in a cell does not end it."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
