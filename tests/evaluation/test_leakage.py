"""The section on label leakage: it holds for what is shipped, and an opening that shows its label turns it red."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldops_gym.core.cards import Pack
from fieldops_gym.core.domain import Domain
from fieldops_gym.envs.families import RelayEnv
from fieldops_gym.evaluation.audit import Bench, load_suite
from fieldops_gym.evaluation.audit.leakage import ALL, contexts, label_leakage, text_features
from fieldops_gym.evaluation.audit.sections import Section
from fieldops_gym.evaluation.baselines import BASELINES, Sample
from fieldops_gym.evaluation.margins import upper_bound
from tests.counts import count
from tests.evaluation.planted import only


@pytest.fixture(scope="module")
def few(pack: Pack) -> Pack:
    return only(pack, "X-01", "X-05", "X-06")


def section(domain: Domain, pack: Pack) -> Section:
    return label_leakage(Bench(domain, pack, load_suite("agents.suite"), quick=True))


def test_what_is_shipped_holds(domain: Domain, pack: Pack) -> None:
    found = label_leakage(Bench(domain, pack, load_suite("agents.suite"), quick=count(1, 0) == 1))
    assert [f"{row.subject}: {row.text}" for row in found.short] == []
    cards = {row.subject.split(" ")[0] for row in found.rows if row.subject != ALL}
    assert cards == set(pack.cards) - {"P-06"}, "what the request decides may show"
    assert found.rows[-1].subject == ALL


def test_what_the_request_decides_is_not_compared(few: Pack) -> None:
    names = [{name.split(":")[1] for name in context.names} for context in contexts(only(few, "X-06"))]
    assert names == [{"control", "control_pressed"}, {"with_repair", "with_repair_pressed"}]


def worded(domain: Domain, variant: str, word: str) -> Domain:
    """The domain, with a word more in the requests of a variant."""

    def build(card: Any, own: Any, *rest: Any) -> Any:
        made = domain.build(card, own, *rest)
        return made._replace(request=made.request + word * (own is card.variants.get(variant)))

    return replace(domain, build=build)


@pytest.mark.parametrize("word", [" Thanks.", "7", " "])
def test_a_text_that_shows_the_label(domain: Domain, few: Pack, word: str) -> None:
    assert [row.subject for row in section(worded(domain, "landed", word), few).short] == ["X-05"]


def test_a_mask_that_shows_the_label(domain: Domain, few: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    original = RelayEnv._info

    def knowing(self: RelayEnv, judged: Any) -> dict[str, Any]:
        info = original(self, judged)
        info["action_mask"][0] ^= self.episode is not None and self.episode.coordinates.variant == "partial"
        return info

    monkeypatch.setattr(RelayEnv, "_info", knowing)
    assert [row.subject for row in section(domain, few).short] == ["X-01"]


def test_a_wording_that_shows_the_ending_over_all_cards(domain: Domain, pack: Pack) -> None:
    """Two cards of one context with a variant each, so that neither gives anything away by itself."""
    left = {"E-01": "newest", "E-02": "unknown"}
    cards = {
        name: pack.cards[name].model_copy(update={"variants": {v: pack.cards[name].variants[v]}}) for name, v in left.items()
    }
    kept = only(pack, *left)._replace(cards=cards)
    assert section(domain, kept).holds
    assert [row.subject for row in section(worded(domain, "unknown", " Thanks."), kept).short] == [ALL]


def test_every_baseline_learns_what_is_there_and_nothing_else() -> None:
    generator = np.random.default_rng(7)
    for leak, least, most in ((0.0, 0.0, 0.62), (1.0, 0.9, 1.0)):
        labels = generator.integers(0, 2, 400)
        features = generator.normal(size=(400, 3))
        features[:, 1] = np.where(generator.random(400) < leak, labels * 8.0, features[:, 1])
        for name, baseline in BASELINES.items():
            share = (baseline(Sample(features[:200], labels[:200]), features[200:]) == labels[200:]).mean()
            assert name == "majority" or least <= share <= most, f"{name}: {share}"


def test_the_bound_is_ten_points_and_a_margin() -> None:
    assert upper_bound(0.5, 0.1, 10**9, 4) == pytest.approx(0.6, abs=1e-3)
    assert upper_bound(0.5, 0.1, 100, 4) == pytest.approx(0.6 + 2.498 * 0.05, abs=1e-3)


def test_features_of_a_text_tell_length_digits_and_words() -> None:
    assert text_features("A 7")[:10].tolist() == [3, 1, ord("A"), ord("7"), 1, 1, 0, 0, 1, 1]
    assert not np.array_equal(text_features("it leaks"), text_features("it stops"))
    assert not np.array_equal(text_features("12"), text_features("13"))


def test_nothing_to_try_is_no_proof(domain: Domain, pack: Pack) -> None:
    assert not section(replace(domain, name="elsewhere"), only(pack, "X-05")).holds
