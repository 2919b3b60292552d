"""Cards: the shipped pack reads whole; a file with one thing wrong is refused with file, field and reason."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fieldops_gym import load_tasks
from fieldops_gym.core.cards import Card, CardError, Pack, content_hash, load_pack
from fieldops_gym.packs import shipped_tasks

X_01 = "effect/x-01.yaml"
CONTRACT = "effect/contract.yaml"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A copy of the shipped tasks, to be broken."""
    return Path(shutil.copytree(shipped_tasks() / "field_service", tmp_path / "tasks"))


def edit(tasks: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one file, and bring the content hashes of the split manifest up to date where the cards can be read."""
    path = tasks / name
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    if name == X_01:
        rows = yaml.safe_load((tasks / "splits.yaml").read_text(encoding="utf-8"))
        try:
            rows[0]["content"] = content_hash(Card.model_validate(data))
        except ValueError:
            return
        (tasks / "splits.yaml").write_text(yaml.safe_dump(rows), encoding="utf-8")


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """Return a change that sets one field."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    """Return a change that removes one field."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        del data[path[-1]]

    return change


def refusal(tasks: Path) -> str:
    """Return why the tasks are refused."""
    with pytest.raises(CardError) as caught:
        load_tasks(tasks)
    return str(caught.value)


def test_the_shipped_pack_reads_whole(pack: Pack) -> None:
    assert {"X-01", "X-02", "X-03", "X-04", "X-05", "X-06"} <= set(pack.cards)
    assert set(pack.cards) == set(pack.splits)


def test_a_copy_reads_the_same(tasks: Path, pack: Pack) -> None:
    assert load_tasks(tasks)._replace(directory=pack.directory) == pack


def test_the_digest_covers_the_content_of_every_file(tasks: Path, pack: Pack) -> None:
    seen = {pack.digest}
    for path in sorted(tasks.rglob("*.yaml")):
        path.write_text(path.read_text(encoding="utf-8") + "\n# one more line\n", encoding="utf-8")
        seen.add(load_pack(tasks).digest)
    assert len(seen) == 1 + len(list(tasks.rglob("*.yaml")))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("colour", value="red"), "x-01.yaml: colour: Extra inputs"),
        (drop("claim"), "x-01.yaml: claim: Field required"),
        (put("segment", value="easy"), "x-01.yaml: segment: Input should be 'read-only'"),
        (put("id", value=""), "x-01.yaml: id: String should have at least 1"),
        (put("id", value=7), "x-01.yaml: id: Input should be a valid string"),
        (put("items", value=[]), "'items' is empty"),
        (put("setup", value=[]), "'setup' is empty"),
        (put("requests", value=[]), "'requests' is empty"),
        (put("variants", value={}), "'variants' is empty"),
        (put("variants", "whole", "decided_by", value="luck"), "x-01.yaml: variants.whole.decided_by: Input should be"),
        (drop("variants", "whole", "evidence"), "x-01.yaml: variants.whole.evidence: Field required"),
        (put("variants", "whole", "hint", value="x"), "x-01.yaml: variants.whole.hint: Extra inputs"),
        (put("hidden", "invariants", value={}), "x-01.yaml: hidden: Value error, a card without invariants"),
        (put("setup", 0, "when", value="now"), "x-01.yaml: setup.0.when: Extra inputs"),
    ],
)
def test_a_card_of_the_wrong_form_is_refused_with_file_field_and_reason(
    tasks: Path, change: Callable[[Any], None], expected: str
) -> None:
    edit(tasks, X_01, change)
    message = refusal(tasks)
    assert expected in message
    assert message.startswith(X_01)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("contract", value="other"), "contract: there is no contract 'other'; there are ['authority', 'effect'"),
        (put("variants", "whole", "faults", value=[{"fault": "meteor"}]), "variants.whole.faults: there is no fault 'meteor'"),
        (put("variants", "whole", "evidence", value=["guess"]), "variants.whole.evidence: 'guess' is not in contract 'effect'"),
        (put("hidden", "invariants", "task.easy", value={}), "hidden.invariants: there is no invariant 'task.easy'"),
        (put("hidden", "frame", "part", value="any"), "hidden.frame.part: 'any' is none of own, proposed or a $role"),
        (put("hidden", "frame", "incident", value="$accident"), "hidden.frame.incident: '$accident' is not a bound role"),
        (put("hidden", "frame", "gold", value="own"), "hidden.frame: there is no table 'gold'"),
        (put("setup", 2, "step", value="accident"), "setup.2: there is no step 'accident'; there are parties"),
        (drop("setup", 1), "setup.1: step 'incident' needs role '$equipment', which no earlier step binds"),
        (lambda card: card["setup"].reverse(), "needs role"),
        (drop("setup", 1, "with"), "setup.1: step 'equipment' takes ['families'], not []"),
        (put("setup", 0, "with", value={"n": 2}), "setup.0: step 'parties' takes [], not ['n']"),
        (put("items", 0, "subject", value="$accident"), "items.reservation.subject: '$accident' is not a bound role"),
        (put("items", 0, "subject", value="incident"), "items.reservation.subject: 'incident' is not a bound role"),
        (
            put("requests", 0, value="Mend {thing}."),
            "requests.0: there is no field 'thing'; there are ['control', 'deadline",
        ),
        (
            put("variants", "whole", "setup", value=[{"step": "accident"}]),
            "variants.whole.setup.0: there is no step 'accident'; there are parties",
        ),
        (
            put("variants", "whole", "setup", value=[{"step": "parts", "with": {"colour": "red"}}]),
            "variants.whole.setup.0: step 'parts' takes ['fits (optional)'",
        ),
        (put("variants", "whole", "requests", value=["Mend {thing}."]), "variants.whole.requests.0: there is no field 'thing'"),
        (
            put("variants", "whole", "people", value={"boss": "approver.prompt"}),
            "variants.whole.people.boss: 'approver.prompt' is not for that seat; there are approver, requester, colleague",
        ),
        (
            put("variants", "whole", "people", value={"approver": "nobody"}),
            "variants.whole.people.approver: 'nobody' is not for that seat; it admits approver.prompt",
        ),
        (
            put("variants", "whole", "faults", value=[{"fault": "key_taken", "values": {"by": "martian"}}]),
            "variants.whole: faults: 'key_taken': by: 'martian' is none of colleague, stranger",
        ),
        (
            put("variants", "whole", "faults", value=[{"fault": "not_sent", "values": {"seconds": 3}}]),
            "variants.whole: faults: 'not_sent' has no parameter 'seconds'",
        ),
        (put("equipment_families", value=["teapot"]), "equipment_families: 'teapot' is not a family; there are chiller"),
    ],
)
def test_a_card_that_refers_to_nothing_is_refused_with_card_field_and_reason(
    tasks: Path, change: Callable[[Any], None], expected: str
) -> None:
    edit(tasks, X_01, change)
    message = refusal(tasks)
    assert expected in message
    assert "card 'X-01'" in message


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        (CONTRACT, put("tools", 0, value="guess"), "contract 'effect': tools: there is no tool 'guess'"),
        (CONTRACT, put("fallback", value="gone"), "contract 'effect': fallback: there is no disposition 'gone'"),
        (CONTRACT, put("personas", "approver", value=["requester.cooperative"]), "personas.approver: 'requester.cooperative'"),
        (CONTRACT, put("personas", "approver", value=["nobody"]), "personas.approver: 'nobody' is no persona of that seat"),
        (
            CONTRACT,
            drop("budget", "turns"),
            "contract.yaml: (the whole file): Value error, 'budget' needs exactly turns",
        ),
        (CONTRACT, put("budget", "gold", value=3), "'budget' needs exactly turns"),
        (CONTRACT, put("budget", "turns", value=-3), "each >= 0"),
        (CONTRACT, put("budget", "turns", value="few"), "effect/contract.yaml: budget.turns: Input should be a valid integer"),
        (CONTRACT, drop("timeout"), "effect/contract.yaml: timeout: Field required"),
        ("faults.yaml", put(0, "boundary", value="later"), "faults.yaml: row 1: boundary: Input should be"),
        ("faults.yaml", put(1, "effect", value="explode"), "faults.yaml: row 2: effect: Input should be"),
        ("faults.yaml", put(1, "nth", value=0), "faults.yaml: row 2: nth: Input should be greater than or equal to 1"),
        ("faults.yaml", drop(2, "recovery"), "faults.yaml: row 3: recovery: Field required"),
        ("faults.yaml", put(1, "id", value="partial_effect"), "faults.yaml: row 2: id: 'partial_effect' is defined twice"),
        ("faults.yaml", drop(1), "there is no fault 'not_sent' in faults.yaml"),
        (
            "personas.yaml",
            lambda rows: rows[0].update(opens={"act": "insisted"}),
            "personas.yaml: row 1: opens.role: Field required",
        ),
        (
            CONTRACT,
            put("personas", "rival", value=["approver.prompt"]),
            "contract 'effect': personas.rival: 'approver.prompt' is no persona of that seat",
        ),
        ("personas.yaml", put(0, "turn_cap", value=0), "personas.yaml: row 1: turn_cap: Input should be greater"),
        ("personas.yaml", put(0, "mood", value="bad"), "personas.yaml: row 1: mood: Extra inputs"),
        (
            "personas.yaml",
            put(1, "id", value="approver.prompt"),
            "row 2: id: 'approver.prompt' is defined twice",
        ),
        ("splits.yaml", put(0, "content", value="0" * 16), "splits.yaml holds content hash 0000000000000000, the card has"),
        ("splits.yaml", put(0, "split", value="exam"), "splits.yaml: row 1: split: Input should be 'train'"),
        ("splits.yaml", drop(0), "card 'X-01': it has no row in splits.yaml"),
        ("splits.yaml", put(1, "card", value="X-01"), "splits.yaml: row 2: card: 'X-01' is defined twice"),
        ("splits.yaml", lambda rows: rows.append({**rows[0], "card": "X-99"}), "splits.yaml: card: there is no card 'X-99'"),
    ],
)
def test_what_cards_share_is_checked_as_strictly(tasks: Path, name: str, change: Callable[[Any], None], expected: str) -> None:
    edit(tasks, name, change)
    assert expected in refusal(tasks)


@pytest.mark.parametrize("seat", ["boss", "rival", "dispatcher"])
def test_people_sit_in_seats_that_there_are(tasks: Path, seat: str) -> None:
    edit(tasks, "personas.yaml", lambda rows: rows.append({**rows[0], "id": f"{seat}.new", "seat": seat}))
    edit(tasks, CONTRACT, put("personas", seat, value=[f"{seat}.new"]))
    expected = f"contract 'effect': personas: there is no seat '{seat}'; there are approver, requester, colleague"
    assert expected in refusal(tasks)


def test_a_change_of_a_card_without_a_new_hash_is_refused(tasks: Path) -> None:
    path = tasks / X_01
    path.write_text(path.read_text(encoding="utf-8").replace("exactly one", "at least one"), encoding="utf-8")
    assert "card 'X-01': splits.yaml holds content hash" in refusal(tasks)


@pytest.mark.parametrize("name", [X_01, CONTRACT, "faults.yaml", "personas.yaml", "splits.yaml"])
@pytest.mark.parametrize("text", ["a: [", "\tx: y\n - z", "a: b: c"])
def test_a_file_that_is_not_yaml_is_named(tasks: Path, name: str, text: str) -> None:
    (tasks / name).write_text(text, encoding="utf-8")
    assert refusal(tasks).startswith(f"{name}: not YAML: ")


@pytest.mark.parametrize("text", ["", "just words", "[1, 2]", "3"])
def test_a_card_that_is_no_mapping_is_named(tasks: Path, text: str) -> None:
    (tasks / X_01).write_text(text, encoding="utf-8")
    assert refusal(tasks).startswith(f"{X_01}: (the whole file): ")


@pytest.mark.parametrize("name", ["faults.yaml", "personas.yaml", "splits.yaml"])
def test_a_list_that_is_none_is_named(tasks: Path, name: str) -> None:
    (tasks / name).write_text("a: 1", encoding="utf-8")
    assert refusal(tasks) == f"{name}: it should be a list of rows"


def test_yaml_tags_build_no_objects(tasks: Path) -> None:
    (tasks / X_01).write_text("!!python/object/apply:os.getcwd []", encoding="utf-8")
    assert refusal(tasks).startswith(f"{X_01}: not YAML: ")


def test_one_card_in_two_files_is_refused(tasks: Path) -> None:
    shutil.copy(tasks / X_01, tasks / "effect" / "x-01-again.yaml")
    assert "id: card 'X-01' is defined twice" in refusal(tasks)


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="nowhere: there is no such directory of tasks"):
        load_tasks(tmp_path / "nowhere")


def test_all_problems_of_all_cards_are_told_at_once(tasks: Path) -> None:
    edit(tasks, CONTRACT, put("fallback", value="gone"))
    told = refusal(tasks).splitlines()
    assert [line.split("'")[1] for line in told] == [f"X-0{n}" for n in range(1, 7)]


def test_selecting_cards(pack: Pack) -> None:
    assert [card.id for card in pack.select("effect", "train")] == ["X-01", "X-02", "X-03"]
    assert [card.id for card in pack.select("effect", "all")] == [f"X-0{n}" for n in range(1, 7)]
    assert [card.id for card in pack.select("effect", "held_out")] == ["X-05", "X-06"]
    assert [card.id for card in pack.select("effect", "train", ("X-03", "X-01"))] == ["X-01", "X-03"]
    with pytest.raises(CardError, match="card 'X-99' is not in family 'effect'; it has X-01"):
        pack.select("effect", "train", ("X-99",))
    with pytest.raises(CardError, match=r"family 'effect' has no card in split 'sealed'; its cards are X-01 \(train\)"):
        pack.select("effect", "sealed")
    with pytest.raises(CardError, match="none"):
        pack.select("nothing", "all")
