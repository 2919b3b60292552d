"""What people have decided about a card, as data: claims, limitations, dependencies, what is scored and by what.

Generated facts are not in here. Each table is read from a YAML file beside this module and validated.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fieldops_gym.evaluation.card.parts import EnvironmentCardError

DATA = Path(__file__).with_name("data")

Text = Annotated[str, Field(min_length=1)]
Names = tuple[Text, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Strict):
    """What the environment may be cited for. `needs` are dimensions of the coverage matrix that it cannot do without."""

    id: Text
    statement: Text
    conditions: Text
    cards: Names | Literal["every"]
    faults: Names
    invariants: Annotated[Names, Field(min_length=1)]
    needs: Names


class NotClaimed(_Strict):
    """A transfer that nothing here supports: why, and which role could show it."""

    what: Text
    why: Text
    owner: Text


class Level(_Strict):
    """A level of evidence: where it comes from, what it supports, and what this card has of it."""

    level: Text
    comes_from: Text
    supports: Text
    here: Text


class Source(_Strict):
    """A public source or case: what is taken from it, and what is not."""

    source: Text
    taken: Text
    left: Text


class Sentence(_Strict):
    """A sentence that says too much, and what may be said in its place."""

    too_much: Text
    instead: Text


class Claims(_Strict):
    """Claims and how to read them. `mechanics` is what has to be shown before a claim has evidence from mechanics."""

    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]
    not_claimed: Annotated[tuple[NotClaimed, ...], Field(min_length=1)]
    mechanics: Names
    levels: tuple[Level, ...]
    sources: tuple[Source, ...]
    sentences: tuple[Sentence, ...]


class Dependency(_Strict):
    """A component that can change what is measured. `version` names how its version is found (`identity.VERSIONS`)."""

    component: Text
    version: Text
    owner: Text
    observable: Text
    hidden: Text
    failures: Text
    reset: Text
    module: Text


class LayerRow(_Strict):
    """One of the four layers: what it holds, who sees what of it, and what is graded on it."""

    layer: Text
    holds: Text
    interface: Text
    agent_sees: Text
    harness_only: Text
    graded: Text
    modules: Names


class Omission(_Strict):
    """Something left out: which way results would be wrong for it, and which role owns finding out."""

    about: Literal["people", "world", "tools", "agents", "tasks", "measurement"]
    what: Text
    direction: Text
    owner: Text


class Surroundings(_Strict):
    """Dependencies, layers and omissions."""

    dependencies: tuple[Dependency, ...]
    layers: tuple[LayerRow, ...]
    omissions: tuple[Omission, ...]


class Seen(_Strict):
    """A shown record whose field has this value."""

    table: Text
    field: Text
    value: Text


class Condition(_Strict):
    """Something that a run reaches, by exactly one of: a call of the lead seat, a kind of event, an act of another seat
    ('seat.tool'), a fault that fired, a table written to by what the seat sent, a record that it was shown."""

    call: str = ""
    event: str = ""
    act: str = ""
    fault: str = ""
    writes: str = ""
    shows: Seen | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Condition:
        if sum(bool(getattr(self, name)) for name in type(self).model_fields) != 1:
            raise ValueError(f"a condition has exactly one of {', '.join(type(self).model_fields)}")
        return self


class Way(_Strict):
    """A way to cover a dimension: one of `any` (and each of `all`) was reached, and one of `graded` was decided."""

    any: tuple[Condition, ...]
    all: tuple[Condition, ...] = ()
    graded: Annotated[Names, Field(min_length=1)]


class Dimension(_Strict):
    """A column of the coverage matrix."""

    dimension: Text
    asks: Text
    ways: Annotated[tuple[Way, ...], Field(min_length=1)]


class Point(_Strict):
    """A point of a rubric: it is given when everything in `needs` is shown."""

    id: Text
    group: Text
    text: Text
    needs: Annotated[Names, Field(min_length=1)]


class Gate(_Strict):
    """What caps a group ('every group' for all) at `at_most` points unless `needs` is shown."""

    group: Text
    text: Text
    needs: Annotated[Names, Field(min_length=1)]
    at_most: int


class Rubric(_Strict):
    """A rubric of points in groups, and its gates."""

    points: tuple[Point, ...]
    gates: tuple[Gate, ...]


class Item(_Strict):
    """An item of a checklist: 'yes' when `needs` is shown, unless `answer` settles it; then `why` says so."""

    id: Text
    question: Text
    needs: Names = ()
    answer: Literal["", "no", "not applicable"] = ""
    why: str = ""

    @model_validator(mode="after")
    def _is_settled_or_shown(self) -> Item:
        if bool(self.answer) == bool(self.needs) or (self.answer and not self.why):
            raise ValueError("an item has either 'needs', or an 'answer' with its 'why'")
        return self


class Change(_Strict):
    """A version, whether it is released, and what its entry in the change log says of results from before it."""

    version: Text
    released: Text
    comparability: Text


class _Dimensions(_Strict):
    dimensions: tuple[Dimension, ...]


class _Checklist(_Strict):
    items: tuple[Item, ...]


class _Changes(_Strict):
    changes: tuple[Change, ...]


_Model = TypeVar("_Model", bound=BaseModel)


def claims(path: Path | None = None) -> Claims:
    """Return the claims that are shipped, or those of a file. Raises `EnvironmentCardError`."""
    return _read(path or DATA / "claims.yaml", Claims)


@cache
def surroundings() -> Surroundings:
    """Return dependencies, layers and omissions."""
    return _read(DATA / "surroundings.yaml", Surroundings)


@cache
def dimensions() -> tuple[Dimension, ...]:
    """Return the dimensions of the coverage matrix, in the order of its columns."""
    return _read(DATA / "coverage.yaml", _Dimensions).dimensions


def rubric() -> Rubric:
    """Return the twenty-point rubric."""
    return _read(DATA / "rubric.yaml", Rubric)


def checklist() -> tuple[Item, ...]:
    """Return the items of the checklist."""
    return _read(DATA / "checklist.yaml", _Checklist).items


def changes() -> tuple[Change, ...]:
    """Return the shipped change log, newest version first."""
    return _read(DATA / "changes.yaml", _Changes).changes


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(the whole file)"
        raise EnvironmentCardError(f"{path.name}: {field}: {first['msg']}") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise EnvironmentCardError(f"{path.name}: it cannot be read: {' '.join(str(error).split())}") from error
