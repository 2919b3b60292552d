"""What a run changes of a card: one frozen value, merged once at reset from layers, the outermost last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class OverrideError(ValueError):
    """A layer of overrides is wrong. The message says what was given and what would be right."""


class FaultUse(NamedTuple):
    """A fault of the catalogue put to use; unset fields keep the catalogue's, unset values are drawn."""

    fault: str
    nth: int | None = None
    times: int | None = None
    values: dict[str, int | str] = {}  # noqa: RUF012  (a NamedTuple default; it is never written)


class Overrides(NamedTuple):
    """The merged overrides of an episode. `faults` None keeps the variant's own; pairs are (name, value), sorted.

    `entities` is about how many records the generated world has.
    """

    faults: tuple[tuple[str, int, int, tuple[tuple[str, int | str], ...]], ...] | None = None
    extra_faults: tuple[tuple[str, int, int, tuple[tuple[str, int | str], ...]], ...] = ()
    budget: tuple[tuple[str, int], ...] = ()
    people: tuple[tuple[str, str], ...] = ()
    entities: int = 60


KEYS = ("faults", "budget", "people", "entities")
"""The keys of a layer, the same as keyword arguments, reset options and wrappers."""


def merge(layers: Iterable[Mapping[str, Any]]) -> Overrides:
    """Merge layers into one value; a later layer wins over an earlier one.

    A layer has any of `KEYS`. `faults` is a list of uses (it replaces) or `{"append": [...]}`; a use is a fault's id or
    a mapping with `fault` and, if wanted, `nth`, `times`, `values`. `budget` and `people` are mappings (what they do not
    name stays as it is) or `{"replace": {...}}` (it goes back to the card's own). Raises `OverrideError`.
    """
    faults: list[Any] | None = None
    extra: list[Any] = []
    budget: dict[str, Any] = {}
    people: dict[str, Any] = {}
    entities = 60
    for layer in layers:
        given = layer.get("faults")
        if isinstance(given, Mapping):
            if set(given) != {"append"}:
                raise OverrideError(f"faults: a mapping may only have the key 'append', not {sorted(given)}")
            extra += _uses(given["append"])
        elif given is not None:
            faults, extra = _uses(given), []
        for name, held in (("budget", budget), ("people", people)):
            given = layer.get(name)
            if isinstance(given, Mapping) and "replace" in given:
                if set(given) != {"replace"}:
                    raise OverrideError(f"{name}: beside the key 'replace' there may be no other, not {sorted(given)}")
                held.clear()
                given = given["replace"]
            read = _limit if name == "budget" else _persona
            held.update({key: read(key, value) for key, value in _pairs(name, given)})
        if layer.get("entities") is not None:
            entities = _count("entities", layer["entities"])
    return Overrides(
        None if faults is None else tuple(faults),
        tuple(extra),
        tuple(sorted(budget.items())),
        tuple(sorted(people.items())),
        entities,
    )


def _pairs(name: str, given: Any) -> list[tuple[str, Any]]:
    if given is not None and not isinstance(given, Mapping):
        raise OverrideError(f"{name}: {given!r} is not a mapping of names to values")
    return [(str(key), value) for key, value in (given or {}).items()]


def _limit(meter: str, value: Any) -> int:
    return _count(f"budget.{meter}", value)


def _persona(seat: str, value: Any) -> str:
    if not isinstance(value, str):
        raise OverrideError(f"people.{seat}: {value!r} is not the id of a persona")
    return value


def _uses(given: Any) -> list[tuple[str, int, int, tuple[tuple[str, int | str], ...]]]:
    if not isinstance(given, (list, tuple)):
        raise OverrideError(f"faults: {given!r} is not a list of uses, such as [{str(given)!r}]")
    return [_use(use) for use in given]


def _use(given: Any) -> tuple[str, int, int, tuple[tuple[str, int | str], ...]]:
    """Return a use as a plain tuple (fault, nth or 0, times or -1, values), so that it hashes and prints the same."""
    if isinstance(given, str):
        given = {"fault": given}
    elif isinstance(given, (tuple, list)) and len(given) == len(FaultUse._fields):
        given = _unpacked(*given)
    if not isinstance(given, Mapping) or not isinstance(given.get("fault"), str) or set(given) - set(FaultUse._fields):
        raise OverrideError(f"faults: {given!r} is neither a fault's id nor a mapping with 'fault', 'nth', 'times', 'values'")
    values = given.get("values") or {}
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise OverrideError(f"faults: values of '{given['fault']}': {values!r} is not a mapping of parameters to values")
    nth = 0 if given.get("nth") is None else _count("nth", given["nth"])
    if given.get("nth") == 0:
        raise OverrideError(f"faults: nth of '{given['fault']}': calls are counted from 1")
    times = -1 if given.get("times") is None else _count("times", given["times"])
    return given["fault"], nth, times, tuple(sorted(values.items()))


def _unpacked(fault: Any, nth: Any, times: Any, values: Any) -> dict[str, Any]:
    """Take apart a use as `Overrides` and `FaultUse` hold it, where 0 and -1 stand for what is not set."""
    try:
        pairs = dict(values or {})
    except (TypeError, ValueError) as error:
        raise OverrideError(f"faults: values of {fault!r}: {values!r} are not pairs of parameter and value") from error
    return {"fault": fault, "nth": nth or None, "times": None if times == -1 else times, "values": pairs}


def plain_use(use: FaultUse) -> tuple[str, int, int, tuple[tuple[str, int | str], ...]]:
    """Return a card's use of a fault in the form that `Overrides` holds."""
    return _use(use._asdict())


def _count(name: Any, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise OverrideError(f"{name}: {value!r} is not an integer >= 0")
    return value
