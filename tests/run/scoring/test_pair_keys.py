"""The key of `meta` that pairs more items than their contexts do."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from turnwise.cli.common.group import run as main
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
    (row,) = found.findings
    assert (row.n_items, row.unpaired_a, row.unpaired_b) == (8, 8, 8)
    assert (row.better_pair_key, row.better_pair_key_pairs) == ("meta.question_id", 16)
    assert "unpaired_a 8, unpaired_b 8" in str(found)
    note = "left out: 8 of new and 8 of older; --pair meta.question_id makes 16 pairs instead of 8"
    assert any(note in one for one in found.notes())
    paired = tw.compare(data, metrics="length", pair="meta.question_id", figures=False)
    (row,) = paired.findings
    assert (row.n_items, row.unpaired_a, row.unpaired_b) == (16, 0, 0)
    assert row.better_pair_key is None
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


def test_only_scored_items_count_as_pairs() -> None:
    items = [item(agent, number, turn=turn) for agent in "ab" for number in range(4) for turn in (1, 3)]
    first = [one.id for one in items if one.turn == 1]
    assert better_pair_key(items, ("a", "b"), "", scored=first) == PairKey("meta.question", 4)
    apart = [one.id for one in items if one.turn == (1 if one.agent == "a" else 3)]
    assert better_pair_key(items, ("a", "b"), "", scored=apart) is None


def partly_scored() -> list[dict[str, Any]]:
    """`rouge-l` scores only the first replies, which have a reference, except for one of the first agent."""
    data = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    for one in data[1:]:
        one["messages"][1]["references"] = ["no"]
    return data


def test_a_note_on_pairs_is_about_the_items_of_its_metric_and_names_it() -> None:
    found = tw.compare(partly_scored(), metrics="rouge-l,length", figures=False).notes()
    free = "--pair none compares all items as independent samples"
    assert [one for one in found if "without a partner" in one] == [
        f"note: rouge-l: items without a partner, left out: 0 of new and 1 of older; {free}",
        "note: length: items without a partner, left out: 8 of new and 8 of older; --pair meta.question_id makes "
        f"16 pairs instead of 8; {free}",
    ]


def test_a_comparison_that_covers_less_than_half_of_an_agents_items_has_a_warning() -> None:
    def warnings(data: list[dict[str, Any]]) -> list[str]:
        said = tw.compare(data, metrics="rouge-l", figures=False).notes()
        return [one for one in said if one.startswith("warning")]

    data = partly_scored()
    data[0]["messages"][1]["references"] = ["no"]
    assert warnings(data) == []
    (said,) = warnings(partly_scored())
    assert said == (
        "warning: rouge-l covers only 7 of 16 items of new and 8 of 16 items of older; the others were not scored, and "
        "may differ from these"
    )


def test_no_key_is_advised_that_the_data_does_not_have_or_that_was_asked_for(tmp_path: Path) -> None:
    records = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    for one in records:
        one["messages"][0]["content"] += f" asks {one['agent']}"
        one["meta"] = {"item": f"{one['agent']} {one['meta']['question_id']}"}
    for pair, same in ((None, "context"), ("meta.item", "`meta.item`")):
        said, *others = tw.compare(records, metrics="length", pair=pair, figures=False).notes()
        assert said == (
            f"note: fewer than half of the items of new and older have a partner with the same {same}, so the agents "
            "are compared as independent samples"
        )
        assert not any("--pair" in note for note in others)


def test_pair_none_compares_all_items_as_independent_samples(tmp_path: Path) -> None:
    data = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    found = tw.compare(data, metrics="length", pair="none", figures=False)
    (row,) = found.findings
    assert (row.n_items, row.method.partition(";")[0]) == (32, "unpaired, as asked")
    assert not any("partner" in note for note in found.notes())
    assert found.document.origin.settings.options["independent"] is True
    with pytest.raises(tw.UsageError, match=r"judge-pair.* which are pairs"):
        tw.compare(data, metrics="judge-pair[model=x]", pair="none", figures=False)


def test_two_finished_runs_are_compared_as_independent_samples_too(tmp_path: Path) -> None:
    data = [dialogue(agent, number) for agent, n in (("new", 8), ("older", 9)) for number in range(n)]
    path = tmp_path / "logs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in data))
    runs = [tmp_path / "one", tmp_path / "two"]
    for agent, run in zip(("new", "older"), runs, strict=True):
        tw.score(
            path, metrics="length", where={"agent": agent}, pair="meta.question_id", output=run, figures=False
        )
    assert main(["compare", *map(str, runs), "--pair", "none", "-o", str(tmp_path / "out")]) == 0
    (row,) = json.loads((tmp_path / "out" / "results.json").read_text())["results"]
    assert row["n_items"] == 34
    assert main(["compare", *map(str, runs), "--pair", "id"]) == 2
    (said,) = tw.compare(runs, figures=False).notes()
    assert said.startswith("note: items without a partner, left out: 0 of new and 2 of older; --pair none")


def test_items_of_one_agent_that_share_a_partner_are_said_to_count_as_one() -> None:
    data = [dialogue(agent, number) for agent in ("new", "older") for number in range(8)]
    data = [{**one, "messages": one["messages"][:2]} for one in data]
    more = {**data[0], "id": "again"}
    (said,) = tw.compare([*data, more], metrics="length", figures=False).notes()
    assert said == (
        "note: items of one agent with the same context count as one, their mean: 1 fewer of new and 0 fewer of older"
    )
