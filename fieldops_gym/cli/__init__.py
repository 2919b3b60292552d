"""The command line, `fieldops ...`: one module per group of commands.

Exit status: 0 when the command worked, however bad the agent; 1 when a trial could not be judged, a start is unsound, or a
check falls short; 2 when the command itself, or a file that it was given, is wrong; 130 when it was interrupted.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from fieldops_gym.cli import card, evaluate, locking, look, review, sampling, upkeep
from fieldops_gym.cli.common import app

__all__ = ["app", "card", "evaluate", "locking", "look", "main", "review", "sampling", "upkeep"]


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))


def _plain(params: list[Any]) -> list[Any]:
    """Take the type from flags, which have no value, so that help shows none; `--help` itself is among them."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


app.info.cls = _Group
for _registered in app.registered_commands:
    _registered.cls = _Command


def main() -> None:
    """Run the command line; the entry point of the `fieldops` script."""
    app()
