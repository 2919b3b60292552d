"""The audit that a card rests on: what `fieldops audit --json FILE` wrote, if it is of the same tasks and version."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from fieldops_gym import __version__
from fieldops_gym.evaluation.audit.report import FORMAT
from fieldops_gym.evaluation.audit.sections import Row, Section
from fieldops_gym.evaluation.card.parts import EnvironmentCardError


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Row(_Lenient):
    subject: str
    holds: bool
    text: str
    figures: dict[str, float | str] = {}


class _Section(_Lenient):
    name: str
    bound: str
    summary: str
    rows: tuple[_Row, ...]

    def section(self) -> Section:
        """Return it as the audit's own type; whether it holds is read off its rows again."""
        return Section(
            self.name, self.bound, self.summary, tuple(Row(r.subject, r.holds, r.text, r.figures) for r in self.rows)
        )


class _Audit(_Lenient):
    format: str
    version: str
    pack: str
    agents: str
    form: str
    sections: tuple[_Section, ...]
    not_covered: tuple[str, ...] = ()


class Audited(NamedTuple):
    """An audit's result. `form` is 'quick' or 'full', `not_covered` what it did not ask."""

    agents: str
    form: str
    sections: tuple[Section, ...]
    not_covered: tuple[str, ...]

    def section(self, name: str) -> Section | None:
        """Return a section by its name, None if the audit has none of it."""
        return next((section for section in self.sections if section.name == name), None)


def read_audit(path: Path, pack: str) -> Audited:
    """Read an audit of the pack with this digest. Raises `EnvironmentCardError` if it is no audit, or of something else."""
    try:
        found = _Audit.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EnvironmentCardError(f"--audit {path.name}: it cannot be read: {error.strerror}") from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise EnvironmentCardError(f"--audit {path.name}: it is not what `fieldops audit --json FILE` writes") from error
    again = "make it again by `fieldops audit --json FILE`"
    if found.format != FORMAT:
        raise EnvironmentCardError(f"--audit {path.name}: its format is '{found.format}', not '{FORMAT}'; {again}")
    if found.version != __version__:
        raise EnvironmentCardError(f"--audit {path.name}: it is of version {found.version}, this is {__version__}; {again}")
    if found.pack != pack:
        raise EnvironmentCardError(f"--audit {path.name}: it is of pack {found.pack[:8]}, these tasks are {pack[:8]}; {again}")
    sections = tuple(section.section() for section in found.sections)
    return Audited(found.agents, found.form, sections, found.not_covered)
