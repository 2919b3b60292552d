"""Contamination: what other splits, or texts that an agent or the author of its prompt reads, give away of a card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from fieldops_gym.core.canonical import canonical
from fieldops_gym.core.cards import Card, Pack, Variant
from fieldops_gym.core.scenario import Coordinates, build_scenario
from fieldops_gym.core.streams import Seeds, evaluation_seeds, training_seeds
from fieldops_gym.evaluation.audit.exposure import (
    GENERATED,
    Text,
    agent_texts,
    author_texts,
    checkout,
    hidden_texts,
    page_texts,
    prose,
    spans,
    squeezed,
    told_texts,
    tool_texts,
    words_of,
)
from fieldops_gym.evaluation.audit.interference import requests_of
from fieldops_gym.evaluation.audit.memory import memory_rows
from fieldops_gym.evaluation.audit.playing import Bench
from fieldops_gym.evaluation.audit.sections import Row, Section

LONG_SPAN = 12
"""So many words in a row are no accident. It was set before any card was looked at."""

SENTENCE = 4
"""A field of a record with at least so many words is a sentence that somebody worded."""

TRAIN = "train"
NAME = "contamination"
BOUND = "nothing that decides a card occurs in another split, or in what agents and authors of prompts see"


class Starts(NamedTuple):
    """What is in the starts of a card: generated ids, sentences in records outside policy, and what policy says."""

    ids: set[str]
    sentences: set[str]
    policy: set[str]


def contamination(bench: Bench) -> Section:
    """Ids, long spans, wordings, twins of variants, and what a replay of train's commonest runs is worth on other cards."""
    cards = [card for _, card in sorted(bench.pack.cards.items())]
    seeds, root = range(bench.seeds(3, 40)), checkout()
    train = {card.id: _starts(bench, card, map(training_seeds, seeds)) for card in cards if _split(bench.pack, card) == TRAIN}
    frozen = {card.id: _starts(bench, card, map(evaluation_seeds, seeds)) for card in cards}
    read, given = author_texts(root), agent_texts(bench, 0)
    shared = [*tool_texts(bench), *(Text("policy", text) for text in sorted(set().union(*(s.policy for s in frozen.values()))))]
    rows = [
        _record_ids(train, frozen),
        _ids_in_texts(frozen, read, root is None),
        _author_ids(bench.pack, [*given, *shared]),
        _spans_across_splits(bench.pack),
        _spans_in_texts(bench.pack, [*given, *shared, *prose(), *read], page_texts(bench), root is None),
        _requests(bench.pack),
        _sentences(bench.pack, train, frozen),
        _twins(bench.pack),
        *memory_rows(bench),
    ]
    return Section(NAME, BOUND, f"{sum(row.holds for row in rows)} of {len(rows)} rows", tuple(rows))


def _starts(bench: Bench, card: Card, seeds: Iterable[Seeds]) -> Starts:
    """Go through the starts of every variant of a card."""
    found = Starts(set(), set(), set())
    for each in seeds:
        for name in card.variants:
            tables = build_scenario(bench.domain, bench.pack, Coordinates(card.id, name, each)).start
            found.ids.update(key for rows in tables.values() for key in rows if GENERATED.fullmatch(key))
            for table, rows in tables.items():
                said = {value for value in chain(*rows.values()) if isinstance(value, str) and len(value.split()) >= SENTENCE}
                (found.policy if table == "policy" else found.sentences).update(said)
    return found


def _split(pack: Pack, card: Card) -> str:
    return pack.splits[card.id].split


def _record_ids(train: Mapping[str, Starts], frozen: Mapping[str, Starts]) -> Row:
    known = set().union(*(starts.ids for starts in train.values()))
    wrong = [f"{key} of {card}" for card, starts in frozen.items() for key in sorted(starts.ids & known)]
    seen = len(set().union(*(starts.ids for starts in frozen.values())))
    text = f"{seen} ids of evaluation starts, none in a start that train plays; cards share them on the same evaluation seeds"
    return Row("record ids", not wrong, _first(wrong, "in a start that train plays", text), {"ids": seen, "wrong": len(wrong)})


def _ids_in_texts(frozen: Mapping[str, Starts], read: Sequence[Text], absent: bool) -> Row:
    own = set().union(*(starts.ids for starts in frozen.values()))
    wrong = [f"{key} in {text.where}" for text in read for key in sorted(own & set(GENERATED.findall(text.text)))]
    seen = f"{len(read)} files have none{_without(absent)}"
    return Row("record ids in texts", not wrong, _first(wrong, "is of an evaluation start", seen), {"files": len(read)})


def _author_ids(pack: Pack, given: Sequence[Text]) -> Row:
    hidden = {card.id for card in pack.cards.values()} | {card.lineage for card in pack.cards.values()}
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(hidden)))})(?![\w-])")
    wrong = [f"'{found[1]}' in {text.where}" for text in given if (found := pattern.search(text.text))]
    seen = f"{len(given)} briefs with their answers, tools and policies name no card and no lineage"
    return Row("author ids", not wrong, _first(wrong, "is the author's", seen), {"texts": len(given), "wrong": len(wrong)})


def _spans_across_splits(pack: Pack) -> Row:
    places: dict[str, list[tuple[str, str]]] = {}
    for _, card in sorted(pack.cards.items()):
        for text in (*told_texts(card), *hidden_texts(card)):
            for span in sorted(spans(text.text, LONG_SPAN)):
                places.setdefault(span, []).append((_split(pack, card), text.where))
    wrong = [f"'{span}' ({where[0][1]}; {where[-1][1]})" for span, where in places.items() if len({s for s, _ in where}) > 1]
    seen = f"{len(places)} spans of {LONG_SPAN} words, each in one split; requests, which a contract's cards share, come below"
    return Row("long spans across splits", not wrong, _first(wrong, "is in two splits", seen), {"spans": len(places)})


def _spans_in_texts(pack: Pack, told: Sequence[Text], pages: Sequence[Text], absent: bool) -> Row:
    hidden = [text for _, card in sorted(pack.cards.items()) for text in hidden_texts(card)]
    own = [text for _, card in sorted(pack.cards.items()) for text in told_texts(card)]
    wrong = [*_found([*own, *hidden], told), *_found(hidden, pages)]
    seen = f"{len(told) + len(pages)} texts have none; pages tell claims and reasons of all cards, and may{_without(absent)}"
    return Row("long spans in texts", not wrong, _first(wrong, "is the card's own", seen), {"texts": len(told) + len(pages)})


def _found(own: Sequence[Text], told: Sequence[Text]) -> Iterator[str]:
    looked_for = {span: text.where for text in own for span in sorted(spans(text.text, LONG_SPAN))}
    for text in told:
        whole = squeezed(text.text)
        yield from (f"'{span}' ({where}) in {text.where}" for span, where in looked_for.items() if f" {span} " in whole)


def _requests(pack: Pack) -> Row:
    """A wording that every train card with the same kind of task has is its contract's; any other one gives something away."""
    train = [card for card in pack.cards.values() if _split(pack, card) == TRAIN]
    own = {_blanked(text) for card in train for variant in card.variants.values() for text in variant.requests}
    shared: dict[tuple[str, ...], list[set[str]]] = {}
    for card in train:
        shared.setdefault(_checks(card), []).append({_blanked(text) for text in card.requests})
    allowed = {checks: set.intersection(*sets) for checks, sets in shared.items()}
    all_of_train = own.union(*chain(*shared.values()))
    wrong, both = [], 0
    for _, card in sorted(pack.cards.items()):
        asked = {_blanked(text) for variant in card.variants.values() for text in requests_of(card, variant)}
        if _split(pack, card) != TRAIN:
            common = asked & all_of_train
            both += len(common)
            wrong += [f"'{text}' of {card.id}" for text in sorted(common - (allowed.get(_checks(card), set()) - own))]
    seen = f"{both} wordings that train has too are those of all its cards with that kind of task: their shared contract"
    return Row("wordings of requests", not wrong, _first(wrong, "is a train card's own", seen), {"shared": both})


def _checks(card: Card) -> tuple[str, ...]:
    return tuple(item.checks for item in card.items)


def _blanked(text: str) -> str:
    return " ".join(words_of(text))


def _sentences(pack: Pack, train: Mapping[str, Starts], frozen: Mapping[str, Starts]) -> Row:
    """A sentence in records that one train card alone has, and another split too, gives something away; policy is for all."""
    known = [{_blanked(text) for text in starts.sentences} for starts in train.values()]
    wrong, seen = [], set()
    for card, starts in frozen.items():
        found = {_blanked(text) for text in starts.sentences}
        seen |= found
        if _split(pack, pack.cards[card]) != TRAIN and len(known) > 1:
            wrong += [f"'{text}' of {card}" for text in sorted(found) if sum(text in own for own in known) == 1]
    text = f"{len(seen)} sentences in records; those that train shares are of several cards there, or policy's"
    return Row("sentences in records", not wrong, _first(wrong, "is one train card's own", text), {"sentences": len(seen)})


def _twins(pack: Pack) -> Row:
    """Two variants with the same kind of task, steps, faults and people are one variant, whatever machine it is about."""
    places: dict[bytes, list[tuple[str, str]]] = {}
    for _, card in sorted(pack.cards.items()):
        for name, variant in card.variants.items():
            places.setdefault(_decided(pack, card, variant), []).append((_split(pack, card), f"{card.id}:{name}"))
    wrong = [f"{where[0][1]}, {where[-1][1]}" for where in places.values() if len({split for split, _ in where}) > 1]
    seen = f"{sum(map(len, places.values()))} variants, none of which another split has under another name"
    return Row(
        "variants under another name", not wrong, _first(wrong, "are one variant in two splits", seen), {"wrong": len(wrong)}
    )


def _decided(pack: Pack, card: Card, variant: Variant) -> bytes:
    steps = [step.model_dump() for step in (*card.setup, *variant.setup)]
    machines = {family for other in pack.cards.values() for family in other.equipment_families}
    for step in steps:
        step["with_"] = {key: value for key, value in step["with_"].items() if not _names_machines(value, machines)}
    people = {seat: names[0] for seat, names in pack.contracts[card.contract].personas.items()} | variant.people
    return canonical([_checks(card), steps, variant.faults, people, [_blanked(text) for text in requests_of(card, variant)]])


def _names_machines(value: object, machines: set[str]) -> bool:
    return isinstance(value, list) and bool(value) and {str(item) for item in value} <= machines


def _first(wrong: Sequence[str], why: str, seen: str) -> str:
    return f"{wrong[0]} {why}; {len(wrong)} such" if wrong else seen


def _without(absent: bool) -> str:
    return "; README and examples are not installed, and were not looked at" if absent else ""
