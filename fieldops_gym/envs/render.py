"""What a seat sees, as text: the brief, the clock and budget, the last result, and the view's tables."""

from __future__ import annotations

from typing import Any

from fieldops_gym.core.canonical import plain
from fieldops_gym.core.episode import Episode
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.view import Row

WIDTH = 110


def render_text(episode: Episode, result: ToolResult | None) -> str:
    """Return the lead seat's view as text. Nothing hidden is in it."""
    view, brief = episode.lead_view, episode.brief
    used, limits = view.meters, view.limits
    lines = [
        f"{brief.episode}  seat {brief.seat}  t = {view.now} s of {limits.simulated_time} s",
        f"request: {brief.request}",
        f"used: {used.turns}/{limits.turns} turns, {used.tool_calls}/{limits.tool_calls} tool calls, "
        f"{used.retries}/{limits.retries} retries, {used.effect_attempts}/{limits.effect_attempts} effect attempts, "
        f"{used.model_calls}/{limits.model_calls} model calls",
    ]
    if result is not None:
        call = " ".join([result.call.tool or "(unreadable)", *(f"{name}={value}" for name, value in result.call.args)])
        answer = f"{result.reply.status} {result.reply.code}".strip()
        lines.append(_cut(f"last: {call} -> {answer} after {result.elapsed} s"))
        if result.reply.facts is not None:
            lines.append(_cut(f"      {_pairs(plain(result.reply.facts))}"))
    for name, rows in view.rows.items():
        for row in rows:
            lines.append(_cut(f"{name:<12}#{row.position} {_pairs(_shown(row))}"))
    if episode.ended:
        lines.append(f"ended: {episode.ending}")
    return "\n".join(lines)


def _shown(row: Row) -> dict[str, Any]:
    columns = row.table.columns + row.table.details
    return {name: row[name] for name in columns if row[name] is not None}


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return "-" if value == "" else str(value)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
