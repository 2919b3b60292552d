"""What an agent, or whoever writes its prompt, gets to see, and the texts that only a card's author should."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import fieldops_gym
from fieldops_gym.core.cards import Card
from fieldops_gym.core.scenario import Coordinates
from fieldops_gym.core.streams import evaluation_seeds
from fieldops_gym.core.tools import json_schema
from fieldops_gym.envs import FieldOpsEnv
from fieldops_gym.evaluation.audit.playing import Bench, every_variant
from fieldops_gym.evaluation.docs import class_of, page
from fieldops_gym.evaluation.runner import run_trial
from fieldops_gym.registry import ENVIRONMENTS
from fieldops_gym.wrappers.json_calls import brief_of

FILES = ("README.md", "CHANGELOG.md", "examples/**/*.py", "docs/**/*.md")
"""What whoever writes a prompt reads in a checkout."""

GENERATED = re.compile(r"\b[a-z]{2,4}-[0-9a-f]{10}\b")
"""An id made for an episode."""

SHORTEST = 8
"""A card's text of fewer words than this is no more than a phrase, and may occur anywhere."""

BLANK = "_"


class Text(NamedTuple):
    """A text and where it stands."""

    where: str
    text: str


def checkout() -> Path | None:
    """Return the checkout that the package is imported from; None for one that is installed."""
    root = Path(fieldops_gym.__file__).parent.parent
    return root if (root / "pyproject.toml").is_file() and (root / "README.md").is_file() else None


def author_texts(root: Path | None) -> list[Text]:
    """Return README, examples and documents of a checkout; nothing without one."""
    paths = [path for pattern in FILES for path in sorted(root.glob(pattern))] if root is not None else []
    return [Text(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths if root is not None]


def page_texts(bench: Bench) -> list[Text]:
    """Return the generated pages of the environments that the pack has cards for."""
    families = {card.family for card in bench.pack.cards.values()} | {"all"}
    rows = [row for row in ENVIRONMENTS if row.domain == bench.domain.name and row.family in families]
    return [Text(f"page of {row.id}", page(row, bench.pack)) for row in rows]


def tool_texts(bench: Bench) -> list[Text]:
    """Return the tools as an agent is given them."""
    return [Text(f"tool {tool.name}", json.dumps(json_schema(tool))) for tool in bench.domain.tools[bench.domain.lead].values()]


class _Reader:
    """An agent that plays as `own` does, and keeps the answers that it is given."""

    def __init__(self, own: Any, kept: list[str]) -> None:
        self.own, self.kept = own, kept

    def start(self, brief: Any, seed: int, restarted: bool = False) -> None:
        self.own.start(brief, seed, restarted)

    def act(self, view: Any, result: Any) -> Any:
        self.kept += [] if result is None else [result.to_json()]
        return self.own.act(view, result)


def agent_texts(bench: Bench, seed: int) -> list[Text]:
    """Return what the reference is given on every variant, on evaluation seeds number `seed`: the brief, and each answer."""
    texts = []
    for name in every_variant(bench.pack):
        kept: list[str] = []
        card, _, variant = name.partition(":")
        coordinates = Coordinates(card, variant, evaluation_seeds(seed))
        run = run_trial(bench.domain, bench.pack, coordinates, lambda kept=kept: _Reader(bench.suite.reference(), kept))
        if run.episode is not None:
            texts.append(Text(f"what an agent gets on {name}", "\n".join([json.dumps(brief_of(run.episode)), *kept])))
    return texts


def told_texts(card: Card) -> list[Text]:
    """Return what a card says in words of its own, and pages tell."""
    return [Text(f"{card.id}, claim", card.claim), Text(f"{card.id}, why", card.why)]


def hidden_texts(card: Card) -> list[Text]:
    """Return what a card says in words of its own for nobody but its author and the harness."""
    recoveries = [Text(f"{card.id}, recovery of {name}", variant.recovery) for name, variant in card.variants.items()]
    return [Text(f"{card.id}, notes", card.hidden.notes), *recoveries]


def spans(text: str, words: int) -> set[str]:
    """Return every run of so many words; of a shorter text the whole, unless it is a mere phrase."""
    found = words_of(text)
    if SHORTEST <= len(found) < words:
        return {" ".join(found)}
    return {" ".join(found[at : at + words]) for at in range(len(found) - words + 1)}


def words_of(text: str) -> list[str]:
    """Return a text's words in lower case, slots in braces and numbers blanked."""
    return re.findall(r"[a-z_']+", re.sub(r"\{\w+\}|\S*\d\S*", BLANK, text.lower()))


def squeezed(text: str) -> str:
    """Return a text as its words, each between blanks, so that a span can be looked for in it."""
    return f" {' '.join(words_of(text))} "


def prose() -> list[Text]:
    """Return the docstrings of the environments."""
    classes = [FieldOpsEnv, *(class_of(row) for row in ENVIRONMENTS)]
    return [Text(f"docstring of {each.__name__}", each.__doc__ or "") for each in classes]
