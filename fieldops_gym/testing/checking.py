"""`check_family`: every rule in a table, and one error that lists all that is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium

from fieldops_gym.testing import form, judged, sameness, steps
from fieldops_gym.testing.probe import Found, Probe, Problem, base_of

LOGGER = logging.getLogger("fieldops_gym")


class FamilyError(AssertionError):
    """A family breaks rules. `problems` has them one by one; the message says where each shows and what to do."""

    def __init__(self, env_id: str, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        lines = "\n".join(f"- {problem}" for problem in problems)
        super().__init__(f"{env_id} breaks {len({problem.rule for problem in problems})} rule(s):\n{lines}")


class Rule(NamedTuple):
    """A rule of the suite: its name and the check, whose docstring says what it demands."""

    name: str
    check: Callable[[Probe], Iterator[Found]]

    @property
    def demands(self) -> str:
        """What a family must satisfy, in one sentence or two."""
        return " ".join((self.check.__doc__ or "").split())


RULES: tuple[Rule, ...] = (
    Rule("form.registered", form.registered),
    Rule("form.spec", form.spec_survives_json),
    Rule("form.spaces", form.has_the_domains_spaces),
    Rule("form.page", form.has_a_page),
    Rule("form.tasks", form.has_sound_tasks),
    Rule("form.variants", form.shows_every_variant),
    Rule("form.check_env", form.passes_gymnasiums_check),
    Rule("steps.observation", steps.observes_within_its_space),
    Rule("steps.info", steps.informs_in_fixed_form),
    Rule("steps.reward", steps.rewards_what_passed),
    Rule("steps.mask", steps.masks_exactly),
    Rule("steps.refusal", steps.refuses_without_a_trace),
    Rule("steps.errors", steps.raises_for_callers_only),
    Rule("same.runs", sameness.repeats_itself),
    Rule("same.global_state", sameness.leaves_global_state_alone),
    Rule("same.replay", sameness.plays_again),
    Rule("same.copies", sameness.copies_whole),
    Rule("same.options", sameness.takes_options),
    Rule("same.vector", sameness.goes_in_a_vector),
    Rule("judged.world", judged.keeps_its_world_sound),
    Rule("judged.idle", judged.fails_who_does_nothing),
    Rule("judged.solvable", judged.passes_who_does_it_right),
    Rule("judged.hidden", judged.shows_nothing_hidden),
)
"""Every rule, in the order in which they are checked."""


def check_family(
    env_id: str,
    *,
    make_agent: Callable[[], Any] | None = None,
    wrap: Callable[[gymnasium.Env], gymnasium.Env] | None = None,
    episodes: int = 1,
    **kwargs: Any,
) -> None:
    """Hold a family to every rule. Raises `FamilyError` that lists whatever is wrong, `TypeError` for what is no family.

    `env_id` is a registered id, with its `module:` prefix or without. `make_agent()` returns an agent that plays every card
    right (`start(brief, seed)`, `act(view, result)`); without one, that the cards can be solved is not checked. `wrap` wraps
    each environment; what does not apply to its form is left out. `episodes` of each variant are played by each rule.
    `kwargs` go to `gymnasium.make`; `split` is 'all' unless they say otherwise.
    """
    base_of(gymnasium.make(env_id))
    probe = Probe(env_id, make_agent, wrap, episodes, kwargs)
    problems: list[Problem] = []
    for rule in RULES:
        try:
            problems += [Problem(rule.name, *found) for found in rule.check(probe)]
        except Exception as error:  # a family that raises is what the suite is there to find
            what = f"it raised {type(error).__name__}: {error}"
            problems.append(Problem(rule.name, "while it was checked", what, "nothing that is legal may raise"))
            LOGGER.debug("rule %s raised", rule.name, exc_info=error)
    if problems:
        raise FamilyError(env_id, tuple(problems))
