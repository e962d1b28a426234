"""The key of `meta` that pairs more items than their contexts do."""

import json
from pathlib import Path
from typing import Any

import turnwise as tw
from turnwise.run.scoring.pair_keys import PairKey, better_pair_key
from turnwise.types import Item, Turn


def item(agent: str, number: int, *, turn: int | None = None, **meta: Any) -> Item:
    dialogue = f"{agent}-{number}"
    context = f"{dialogue}#{turn}"  # no two items have the same
    return Item(
        id=context, dialogue=dialogue, agent=agent, turns=(Turn("assistant", "yes"),), turn=turn, cluster=dialogue,
        pair=context, meta={"question": number, **meta},
    )  # fmt: skip


def two_agents(**meta: Any) -> list[Item]:
    return [item(agent, number, **meta) for agent in ("a", "b") for number in range(4)]


def test_the_key_with_the_most_common_values_is_found() -> None:
    items = [item(agent, number, half=number // 2) for agent in ("a", "b") for number in range(4)]
    assert better_pair_key(items, ("a", "b"), "") == PairKey("meta.question", 4)


def test_a_key_that_pairs_no_more_than_the_contexts_is_not_named() -> None:
    paired = [Item(**{**record(one), "pair": str(one.meta["question"])}) for one in two_agents()]
    assert better_pair_key(paired, ("a", "b"), "") is None


def test_a_key_with_few_values_is_not_named() -> None:
    items = [
        Item(**{**record(one), "meta": {"corpus": "tickets", "flag": True, "tags": [1]}})
        for one in two_agents()
    ]
    assert better_pair_key(items, ("a", "b"), "") is None


def test_a_key_that_an_item_of_any_agent_lacks_is_not_named() -> None:
    other = Item(**{**record(item("c", 0)), "meta": {}})
    assert better_pair_key([*two_agents(), other], ("a", "b"), "") is None


def test_several_scored_turns_of_a_dialogue_are_paired_by_their_position() -> None:
    items = [item(agent, number, turn=turn) for agent in "ab" for number in range(3) for turn in (1, 3)]
    assert better_pair_key(items, ("a", "b"), "") == PairKey("meta.question", 6)


def record(one: Item) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def dialogue(agent: str, number: int) -> dict[str, Any]:
    """Two exchanges; the context of the second one has the agent's own words, so only the first pairs by context."""
    words = "well " * (number + len(agent))
    return {
        "id": f"{agent}-{number}",
        "agent": agent,
        "meta": {"question_id": number},
        "messages": [
            {"role": "user", "content": f"Question {number}?"},
            {"role": "assistant", "content": words},
            {"role": "user", "content": "And then?"},
            {"role": "assistant", "content": f"{words} again"},
        ],
    }


def test_compare_shows_how_many_items_have_no_pair_and_names_the_key_that_pairs_them() -> None:
    data = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    found = tw.compare(data, metrics="length", figures=False)
    (row,) = found.document["results"]
    assert (row["n_items"], row["unpaired_a"], row["unpaired_b"]) == (8, 8, 8)
    assert (row["better_pair_key"], row["better_pair_key_pairs"]) == ("meta.question_id", 16)
    assert "unpaired_a 8, unpaired_b 8" in str(found)
    note = "left out: 8 of new and 8 of older; --pair meta.question_id makes 16 pairs instead of 8"
    assert any(note in one for one in found.notes())
    paired = tw.compare(data, metrics="length", pair="meta.question_id", figures=False)
    (row,) = paired.document["results"]
    assert (row["n_items"], row["unpaired_a"], row["unpaired_b"]) == (16, 0, 0)
    assert "better_pair_key" not in row
    assert "unpaired_a" not in str(paired)
    assert paired.notes() == []


def test_a_comparison_of_independent_samples_names_the_key_that_pairs_them(tmp_path: Path) -> None:
    records = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    for one in records:
        one["messages"][0]["content"] += f" asks {one['agent']}"
    path = tmp_path / "logs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    found = tw.compare(path, metrics="length", figures=False)
    assert any(
        "as independent samples; --pair meta.question_id makes 16 pairs" in one for one in found.notes()
    )
