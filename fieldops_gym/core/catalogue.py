"""The array forms of a seat's tools: the `MultiDiscrete` action, the static menu of calls, and what masks are made of.

An action is `[tool, one typed slot per referred table, one per other argument name]`. Slots that the tool does not take
are ignored. The menu lists every call there can be, once; its masks are exact for whole calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fieldops_gym.core.calls import ToolCall
from fieldops_gym.core.tools import Argument, Choice, Quantity, Ref, Text, Tool
from fieldops_gym.core.world import make


class Slot(NamedTuple):
    """One dimension of the action: its name, its size, and where its part of the flat mask starts."""

    name: str
    size: int
    start: int


class Entry(NamedTuple):
    """One call of the menu: its action, the view positions it needs, and how it reads."""

    tool: str
    action: tuple[int, ...]
    needs: tuple[tuple[str, int], ...]
    label: str


class Planned(NamedTuple):
    """An action taken apart: its tool, and per argument (by name) its value, or the view positions it may refer to.

    `order` turns values by name into values in the order of the tool's arguments.
    """

    tool: Tool
    parts: tuple[tuple[str, Any, tuple[tuple[str, int], ...]], ...]
    order: tuple[int, ...]

    @property
    def fixed(self) -> bool:
        """Whether no reference has a second place to fall back on, so that what it comes to lasts once it is there."""
        return all(len(places) < 2 for _, _, places in self.parts)

    def __deepcopy__(self, memo: dict[int, Any]) -> Planned:
        return self


class _Option(NamedTuple):
    """One value an argument can have in an entry: slot settings, view positions needed, and its text."""

    slots: tuple[tuple[int, int], ...]
    needs: tuple[tuple[str, int], ...]
    label: str
    value: str


class Catalogue:
    """Tools of one seat with their array forms. Immutable after construction; shared by all episodes of a domain.

    `nvec` is the action's sizes; `entries` the menu; `actions` its actions, int64 of shape (len(entries), len(nvec)).
    """

    def __init__(self, tools: Sequence[Tool], capacities: Mapping[str, int]) -> None:
        self.tools = tuple(tools)
        self.tool_index = {tool.name: index for index, tool in enumerate(self.tools)}
        self.capacities = dict(capacities)
        self.slots = self._slots()
        self.nvec = tuple(slot.size for slot in self.slots)
        self.size = sum(self.nvec)
        self.slot_of = {slot.name: index for index, slot in enumerate(self.slots)}
        self.position_start = {t: self.slots[self.slot_of[t]].start + 1 for t in self.capacities if t in self.slot_of}
        self.alternatives = tuple(tuple(self._alternatives(tool)) for tool in self.tools)
        self.entries = tuple(entry for tool in self.tools for entry in self._entries(tool))
        self.actions = np.array([entry.action for entry in self.entries], dtype=np.int64)
        self.menu_index = {entry.action: index for index, entry in enumerate(self.entries)}
        self._needs = self._needed_bits()
        self._decoders = tuple(tuple(self._decoder(arg) for arg in _by_name(tool)) for tool in self.tools)

    def __deepcopy__(self, memo: dict[int, Any]) -> Catalogue:
        return self

    def _slots(self) -> tuple[Slot, ...]:
        sizes: dict[str, int] = {"tool": len(self.tools)}
        refs = {table for tool in self.tools for arg in tool.args for table in _tables(arg)}
        sizes |= {table: 1 + capacity for table, capacity in self.capacities.items() if table in refs}
        for tool in self.tools:
            for arg in tool.args:
                if isinstance(arg, Ref):
                    continue
                size = len(_values(arg))
                if size > 1 and sizes.setdefault(arg.name, size) != size:
                    raise ValueError(f"argument '{arg.name}' of tool '{tool.name}' has other options than elsewhere")
        slots, start = [], 0
        for name, size in sizes.items():
            slots.append(Slot(name, size, start))
            start += size
        return tuple(slots)

    def _alternatives(self, tool: Tool) -> list[frozenset[str]]:
        """Sets of tables, any one of which must all have a row for the tool to be callable."""
        ways = [frozenset[str]()]
        for arg in tool.args:
            if isinstance(arg, Ref):
                ways = [way | {table} for way in ways for table in _tables(arg)]
        return sorted(set(ways), key=sorted)

    def _entries(self, tool: Tool) -> list[Entry]:
        entries = []
        for options in product(*(self._options(arg) for arg in tool.args)):
            chosen = dict(zip((arg.name for arg in tool.args), options, strict=True))
            if not self._makes_sense(tool, chosen):
                continue
            action = [0] * len(self.nvec)
            action[0] = self.tool_index[tool.name]
            for option in options:
                for slot, value in option.slots:
                    action[slot] = value
            needs = tuple(need for option in options for need in option.needs)
            label = " ".join([tool.name, *(option.label for option in options if option.label)])
            entries.append(Entry(tool.name, tuple(action), needs, label))
        return entries

    def _options(self, arg: Argument) -> list[_Option]:
        if isinstance(arg, Ref):
            places = [(table, at) for table in _tables(arg) for at in range(1, self.capacities[table] + 1)]
            return [_Option(((self.slot_of[t], at),), ((t, at),), f"{t}#{at}", t) for t, at in places]
        values = _values(arg)
        if len(values) == 1:
            return [_Option((), (), str(values[0]), str(values[0]))]
        slot = self.slot_of[arg.name]
        return [_Option(((slot, index),), (), str(value), str(value)) for index, value in enumerate(values)]

    def _makes_sense(self, tool: Tool, chosen: Mapping[str, _Option]) -> bool:
        for arg in tool.args:
            if isinstance(arg, Ref) and arg.by and chosen[arg.name].value not in arg.tables_for(chosen[arg.by].value):
                return False
        return True

    def _needed_bits(self) -> np.ndarray:
        """For each entry, three places in the flat mask that must be set: the tool and up to two positions."""
        bits = []
        for entry in self.entries:
            tool = self.slots[0].start + self.tool_index[entry.tool]
            places = [self.position_start[table] + at - 1 for table, at in entry.needs]
            bits.append([tool, *places, tool, tool][:3])
        return np.array(bits, dtype=np.int64).T.copy()

    def menu_mask(self, mask: np.ndarray) -> np.ndarray:
        """Return the exact joint mask over the menu, bool of shape (len(entries),), from a flat per-slot mask."""
        tool, first, second = self._needs
        return mask[tool] & mask[first] & mask[second]

    def _decoder(self, arg: Argument) -> tuple[str, str, Any]:
        if isinstance(arg, Ref):
            if arg.by:
                by = self.slot_of[arg.by]
                options = _values(next(a for tool in self.tools for a in tool.args if a.name == arg.by))
                table_slots = tuple(tuple((self.slot_of[t], t) for t in arg.tables_for(option)) for option in options)
                return "by", arg.name, (by, table_slots)
            return "ref", arg.name, tuple((self.slot_of[table], table) for table in arg.tables)
        values = _values(arg)
        return ("fixed", arg.name, values[0]) if len(values) == 1 else ("word", arg.name, (self.slot_of[arg.name], values))

    def plan(self, choice: Sequence[int]) -> Planned:
        """Return what an element of the action space stands for, up to the view."""
        tool = self.tools[choice[0]]
        parts = []
        for kind, name, spec in self._decoders[choice[0]]:
            if kind == "word":
                parts.append((name, spec[1][choice[spec[0]]], ()))
            elif kind == "fixed":
                parts.append((name, spec, ()))
            else:
                places = spec if kind == "ref" else spec[1][choice[spec[0]]]
                parts.append((name, None, tuple((table, choice[slot]) for slot, table in places if choice[slot])))
        order = tuple([part[0] for part in parts].index(arg.name) for arg in tool.args)
        return Planned(tool, tuple(parts), order)

    def decode(self, planned: Planned, rows: Mapping[str, Sequence[Any]]) -> tuple[ToolCall, tuple[Any, ...] | None]:
        """Return the call that a plan comes to over the rows of a view, and its values in the order of the tool's arguments.

        A reference to an empty position is left out, and the values are None, so that the call is refused for what it is:
        one with a missing argument.
        """
        args, values, whole = [], [], True
        for name, value, places in planned.parts:
            if value is None:
                for table, position in places:
                    there = rows[table]
                    if position <= len(there):
                        value = there[position - 1].id
                        break
                else:
                    whole = False
                    continue
            values.append(value)
            if value != "":
                args.append((name, value))
        call = make(ToolCall, (planned.tool.name, tuple(args), ""))
        if not whole:
            return call, None
        return call, tuple([values[index] for index in planned.order])

    def encode(self, call: ToolCall, place: Callable[[str], tuple[str, int] | None]) -> tuple[int, ...]:
        """Return the action that makes `call`; `place(id)` gives a shown record's table and position.

        Raises `ValueError` for a call that no action can make: an id that was not shown, or a value between the levels.
        """
        action = [0] * len(self.nvec)
        action[0] = self.tool_index[call.tool]
        given = dict(call.args)
        for arg in self.tools[action[0]].args:
            value = given.get(arg.name, "")
            if isinstance(arg, Ref):
                found = place(value)
                if found is None:
                    raise ValueError(f"'{call.tool}': no record '{value}' has been shown")
                action[self.slot_of[found[0]]] = found[1]
            elif len(_values(arg)) > 1:
                if value not in _values(arg):
                    raise ValueError(f"'{call.tool}': {arg.name} {value!r} is none of {_values(arg)}")
                action[self.slot_of[arg.name]] = _values(arg).index(value)
        return tuple(action)


def _by_name(tool: Tool) -> list[Argument]:
    return sorted(tool.args, key=lambda arg: arg.name)


def _tables(arg: Argument) -> tuple[str, ...]:
    if not isinstance(arg, Ref):
        return ()
    return arg.tables or tuple(dict.fromkeys(table for _, some in arg.per for table in some))


def _values(arg: Argument) -> tuple[Any, ...]:
    if isinstance(arg, Choice):
        return arg.options
    if isinstance(arg, Quantity):
        return arg.levels
    if isinstance(arg, Text):
        return arg.templates
    raise TypeError(f"argument '{arg.name}' is a reference and has no fixed values")
