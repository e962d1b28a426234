"""Which turns are selected, what items are clustered and paired by, and in whose name."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError, UsageError
from turnwise.logs import native
from turnwise.logs.items.items import NO_REPLY, Selection, all_items, items, lookup, resolve_selection
from turnwise.logs.scan import Census, scan
from turnwise.types import Dialogue, Item, Rating, Reply, Turn, item_id


def talk(identity: str, *texts: str, agent: str = "bot", rated: Iterable[int] = (), **more: Any) -> Dialogue:
    """A dialogue in which the user speaks first and in turn with the agent."""
    turns = tuple(Turn("assistant" if i % 2 else "user", text) for i, text in enumerate(texts))
    ratings = tuple(Rating(item_id(identity, turn), "overall", 1.0, turn=turn) for turn in rated)
    return Dialogue(identity, agent, turns, ratings, **more)


def chosen(dialogues: Iterable[Dialogue], whole: bool = False, **selection: Any) -> list[Item]:
    return list(items(dialogues, Selection(**selection), whole=whole))


def ids(found: Iterable[Item]) -> list[str]:
    return [item.id for item in found]


FOUR = talk("d", "u1", "a1", "u2", "a2")


def test_every_assistant_message_is_selected_without_turn_ratings() -> None:
    assert ids(chosen([FOUR])) == ["d#1", "d#3"]


def test_rated_turns_are_selected_where_any_dialogue_has_them() -> None:
    assert ids(chosen([FOUR, talk("e", "u", "a", "u", "a", rated=[3])])) == ["e#3"]


def test_a_dialogue_rating_does_not_make_turns_rated() -> None:
    whole = Dialogue("d", "bot", FOUR.turns, (Rating("d", "overall", 1.0),))
    assert ids(chosen([whole])) == ["d#1", "d#3"]


def test_only_turns_rated_on_the_dimension_are_selected() -> None:
    ratings = (Rating("d#1", "rude", 1.0, turn=1), Rating("d#3", "overall", 1.0, turn=3))
    dialogue = Dialogue("d", "bot", FOUR.turns, ratings)
    assert ids(chosen([dialogue], dimension="overall")) == ["d#3"]
    assert ids(chosen([dialogue], dimension="fluent")) == ["d#1", "d#3"]  # rated by nobody: all
    with pytest.raises(DataError, match="no assistant turn of 1 dialogue is rated on dimension `fluent`"):
        chosen([dialogue], dimension="fluent", items="rated")


def test_last_is_the_last_message_of_the_role() -> None:
    assert ids(chosen([talk("d", "u1", "a1", "u2")], items="last")) == ["d#1"]
    assert ids(chosen([FOUR], items="last", role="user")) == ["d#2"]


def test_a_message_without_text_is_not_selected_but_stays_in_the_context() -> None:
    call = Turn("assistant", None, extra={"tool_calls": [1]})
    found = chosen(
        [Dialogue("d", "bot", (Turn("user", "u"), call, Turn("tool", "42"), Turn("assistant", "a")))]
    )
    assert ids(found) == ["d#3"]
    assert len(found[0].context) == 3


@pytest.mark.parametrize("content", ["", " \n"])
@pytest.mark.parametrize("calls", ["tool_calls", "function_call"])
def test_a_message_that_only_calls_tools_is_not_selected(content: str, calls: str) -> None:
    call = Turn("assistant", content, extra={calls: [1]})
    speaking = Turn("assistant", "wait", extra={calls: [1]})
    dialogue = Dialogue("d", "bot", (Turn("user", "u"), call, speaking, Turn("assistant", "a")))
    assert ids(chosen([dialogue])) == ["d#2", "d#3"]


@pytest.mark.parametrize("extra", [{}, {"tool_calls": []}, {"tool_calls": None}])
def test_an_empty_reply_is_selected(extra: dict[str, Any]) -> None:
    dialogue = Dialogue("d", "bot", (Turn("user", "u"), Turn("assistant", "", extra=extra)))
    assert [item.reply for item in chosen([dialogue])] == [""]


def test_an_item_ends_with_the_selected_reply() -> None:
    item = chosen([FOUR])[0]
    assert (item.reply, [turn.content for turn in item.context], item.turn) == ("a1", ["u1"], 1)


def test_a_whole_dialogue_is_one_item() -> None:
    (item,) = chosen([FOUR], whole=True)
    assert (item.id, item.turn, item.turns, item.cluster, item.pair) == ("d", None, FOUR.turns, "d", "d")


def test_dialogues_with_several_selected_replies_are_their_own_clusters() -> None:
    found = chosen([FOUR, talk("e", "u1", "x1", "u2", "x2")])
    assert [item.cluster for item in found] == ["d", "d", "e", "e"]
    assert found[0].pair == found[2].pair  # the same context
    assert found[1].pair != found[3].pair  # what was said in between differs


def test_records_that_answer_the_same_context_are_one_cluster() -> None:
    found = chosen([talk("1", "u", "a"), talk("2", "u", "b", agent="other"), talk("3", "v", "a")])
    assert found[0].cluster == found[1].cluster == found[0].pair
    assert found[2].cluster != found[0].cluster
    wholes = chosen([talk("1", "u", "a"), talk("2", "u", "b", agent="other")], whole=True)
    assert len({item.cluster for item in wholes}) == len({item.pair for item in wholes}) == 1


def test_contexts_that_only_look_alike_when_joined_are_different() -> None:
    first = Dialogue("1", "bot", (Turn("user", "a"), Turn("user", "b"), Turn("assistant", "x")))
    second = Dialogue("2", "bot", (Turn("user", "ab"), Turn("assistant", "x")))
    third = Dialogue("3", "bot", (Turn("system", "a"), Turn("user", "b"), Turn("assistant", "x")))
    assert len({item.pair for item in chosen([first, second, third])}) == 3


def test_an_empty_context_pairs_with_nothing() -> None:
    alone = [Dialogue(name, "bot", (Turn("assistant", "a"),)) for name in ("1", "2")]
    assert [item.pair for item in chosen(alone)] == ["1#0", "2#0"]


def test_a_key_pairs_what_contexts_do_not() -> None:
    alone = [Dialogue(name, name, (Turn("assistant", "a"),), meta={"item": 7}) for name in ("1", "2")]
    assert {(item.pair, item.cluster) for item in chosen(alone, pair="meta.item")} == {("7", "7")}


def test_a_pair_key_keeps_the_turns_of_a_dialogue_apart() -> None:
    dialogue = talk("d", "u1", "a1", "u2", "a2", meta={"task": "t"})
    assert [item.pair for item in chosen([dialogue], pair="meta.task")] == ["t#1", "t#3"]
    assert [item.pair for item in chosen([dialogue], pair="meta.task", whole=True)] == ["t"]


def test_a_cluster_key_overrides_the_cluster() -> None:
    dialogues = [talk(name, "u", "a", "v", "b", meta={"session": 1}) for name in ("1", "2")]
    assert {item.cluster for item in chosen(dialogues, cluster="meta.session")} == {"1"}


def test_groups_share_neither_clusters_nor_pairs() -> None:
    dialogues = [talk(name, "u", "a", meta={"corpus": name}) for name in ("x", "y")]
    found = chosen(dialogues, by="meta.corpus")
    assert [item.group for item in found] == ["x", "y"]
    assert len({item.cluster for item in found}) == len({item.pair for item in found}) == 2


@pytest.mark.parametrize("option", ["by", "pair", "cluster"])
def test_a_key_that_a_record_lacks_is_an_error_that_names_those_it_has(option: str) -> None:
    dialogue = talk("d7", "u", "a", meta={"corpus": "x", "deep": {"er": 1}})
    with pytest.raises(
        DataError, match=r"'d7' has no key `meta\.item`; it has id, agent, meta\.corpus, meta\.deep\.er"
    ):
        chosen([dialogue], **{option: "meta.item"})


def test_keys_are_found_by_their_path() -> None:
    dialogue = talk(
        "d", "u", "a", goal={"x": 1}, meta={"b": True, "f": 1.5, "a.b": "dot", "n": None}, extra={"src": "w"}
    )
    found = {
        key: lookup(dialogue, key) for key in ("id", "agent", "goal.x", "meta.b", "meta.f", "meta.a.b", "src")
    }
    assert list(found.values()) == ["d", "bot", "1", "true", "1.5", "dot", "w"]
    assert lookup(dialogue, "meta.n") is lookup(dialogue, "meta.b.c") is lookup(dialogue, "no") is None


def test_where_keeps_what_matches_and_limit_counts_what_is_kept() -> None:
    dialogues = [talk(str(i), "u", "a", meta={"odd": bool(i % 2), "n": i}) for i in range(10)]
    assert ids(chosen(dialogues, where=(("meta.odd", "true"),), limit=2)) == ["1#1", "3#1"]
    assert ids(chosen(dialogues, where=(("meta.odd", "true"), ("meta.n", "5")))) == ["5#1"]


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        ({"where": (("agent", "bot"), ("meta.n", "9"))}, "--where meta.n=9 matches none of 2 dialogues"),
        ({"items": "rated"}, "--items rated: no assistant turn of 2 dialogues is rated"),
        ({"role": "tool"}, "--role tool: no message with text in 2 dialogues"),
        ({"limit": 0}, "--limit 0"),
        ({"as_agents": ("@alternatives",)}, "no selected turn has alternatives"),
    ],
)
def test_an_empty_selection_says_which_filter_emptied_it(selection: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=f"no item is left: {reason}"):
        chosen([FOUR, talk("e", "u", "a")], **selection)


def spoken(identity: str, agent: str = "human", **alternatives: Any) -> Dialogue:
    replies = {name: tuple(map(Reply, texts)) for name, texts in alternatives.items()}
    reply = Turn(
        "assistant", "logged", alternatives=replies, acts=(1,), state={"s": {}}, extra={"tool_calls": [1]}
    )
    return Dialogue(identity, agent, (Turn("user", "u"), reply))


def test_alternatives_are_scored_in_their_agents_names() -> None:
    found = chosen([spoken("d", one=["x"], two=["y", "z"])], as_agents=("@alternatives",))
    assert [(i.id, i.agent, i.reply, i.weight) for i in found] == [
        ("d#1@one", "one", "x", 1.0),
        ("d#1@two~0", "two", "y", 0.5),
        ("d#1@two~1", "two", "z", 0.5),
    ]
    assert len({item.pair for item in found}) == 1
    assert found[0].turns[-1] == Turn(
        "assistant", "x", references=("logged",), state={"s": {}}, extra={"reference_acts": (1,)}
    )


def test_what_another_agent_said_is_no_reference() -> None:
    assert chosen([spoken("d", agent="bot", one=["x"])], as_agents=("one",))[0].references == ()


def test_logged_references_stay_alone() -> None:
    reply = Turn("assistant", "logged", references=("r",), alternatives={"one": (Reply("x"),)})
    dialogue = Dialogue("d", "human", (Turn("user", "u"), reply))
    assert chosen([dialogue], as_agents=("one",))[0].references == ("r",)


def test_an_agent_that_is_silent_where_another_speaks_has_an_item_that_says_so() -> None:
    dialogues = [spoken("1", one=["x", "y"]), spoken("2", two=["x"]), FOUR]
    missing = "no alternative of this agent"
    found = chosen(dialogues, as_agents=("two",))  # where nobody speaks there is no such point
    assert [(item.id, item.reply, item.missing, item.weight) for item in found] == [
        ("1#1@two", "", missing, 1.0),
        ("2#1@two", "x", None, 1.0),
    ]
    everyone = chosen(dialogues, as_agents=("@alternatives",))
    points = {agent: [item.pair for item in everyone if item.agent == agent] for agent in ("one", "two")}
    assert dict.fromkeys(points["one"]) == dict.fromkeys(points["two"])
    assert [item.id for item in everyone if item.missing] == ["1#1@two", "2#1@one"]
    assert not any("logged" in item.replies for item in everyone)


def test_everyone_may_be_silent_in_what_is_left_but_a_named_agent_may_not() -> None:
    dialogues = [spoken("1", one=["x"]), spoken("2", two=["x"])]
    found = chosen(dialogues, as_agents=("@alternatives",), where=(("id", "2"),))
    assert ids(found) == ["2#1@one", "2#1@two"]
    with pytest.raises(
        UsageError, match="no alternatives of agent `one` at any selected turn; there are: two"
    ):
        chosen(dialogues, as_agents=("one",), where=(("id", "2"),))


def test_a_census_says_who_everyone_is() -> None:
    census = Census()
    for dialogue in (spoken("1", one=["x"]), spoken("2", two=["x"])):
        census.add(dialogue)
    selection = resolve_selection(Selection(as_agents=("@alternatives",)), census)
    assert (selection.as_agents, selection.items) == (("one", "two"), "all")
    assert ids(
        items(iter([spoken("2", two=["x"])]), resolve_selection(Selection(as_agents=("two",)), census))
    ) == ["2#1@two"]
    with pytest.raises(UsageError, match="`three`"):  # before anything is scored
        resolve_selection(Selection(as_agents=("@alternatives", "three")), census)


def test_an_agent_without_alternatives_is_a_usage_error_that_names_the_others() -> None:
    with pytest.raises(UsageError, match=r"no alternatives of agent `three`.*there are: one, two"):
        chosen([spoken("d", one=["x"], two=["y"])], as_agents=("one", "three"))


def test_a_whole_dialogue_is_reworded_at_every_selected_turn() -> None:
    first, second = spoken("d", one=["x"], two=["p"]), spoken("d", one=["y", "z"])
    dialogue = Dialogue("d", "human", first.turns + second.turns)
    found = chosen([dialogue], whole=True, as_agents=("@alternatives",))
    assert [(item.id, item.replies, item.weight, item.pair) for item in found] == [
        ("d@one~0", ("x", "y"), 0.5, "d"),
        ("d@one~1", ("x", "z"), 0.5, "d"),
        ("d@two", ("", ""), 1.0, "d"),
    ]
    assert [item.missing for item in found] == [None, None, "no alternative of this agent"]


def test_a_resolve_selection_selection_streams() -> None:
    census = Census()
    census.add(FOUR)
    selection = resolve_selection(Selection(), census)
    assert selection.items == "all"

    def endless() -> Any:
        while True:
            yield FOUR

    assert next(items(endless(), selection)).id == "d#1"


def stored(path: Path, *dialogues: Dialogue) -> str:
    native.write(dialogues, str(path))
    return str(path)


def of_files(paths: list[str], whole: bool = False, **selection: Any) -> list[Item]:
    chosen = Selection(**selection)
    return list(all_items(paths, chosen, scan(paths, apart=chosen.apart), whole=whole))


def test_each_file_decides_whether_its_rated_turns_are_selected(tmp_path: Path) -> None:
    rated = stored(tmp_path / "a.jsonl", talk("r", "u", "a", "u", "a", rated=[3]), talk("s", "u", "a"))
    paths = [rated, stored(tmp_path / "b.jsonl", FOUR)]
    assert (
        ids(of_files(paths)) == ids(of_files(paths[:1])) + ids(of_files(paths[1:])) == ["r#3", "d#1", "d#3"]
    )
    assert ids(of_files(paths, dimension="fluent")) == ["r#1", "r#3", "s#1", "d#1", "d#3"]
    assert ids(of_files(paths, items="rated")) == ["r#3"]
    assert ids(of_files(paths, whole=True)) == ["r", "d"]


def test_groups_may_be_files_and_several_keys_of_which_a_record_has_some(tmp_path: Path) -> None:
    both = [talk("1", "u", "a", meta={"x": 1}), talk("2", "u", "a")]
    paths = [stored(tmp_path / "a.jsonl", *both), stored(tmp_path / "b.jsonl.gz", *both)]
    found = of_files(paths, by="file")
    assert [(item.id, item.group) for item in found] == [
        ("a:1#1", "a"), ("a:2#1", "a"), ("b:1#1", "b"), ("b:2#1", "b"),
    ]  # fmt: skip
    assert len({item.cluster for item in found}) == 2  # the same context in two files is not one cluster
    assert [item.group for item in of_files(paths, by="file,meta.x")] == ["a/1", "a", "b/1", "b"]
    assert [(item.id, item.group) for item in of_files(paths[:1], by="file")] == [("1#1", "a"), ("2#1", "a")]
    with pytest.raises(DataError, match=r"--by file, which keeps files apart"):
        of_files(paths, by="meta.x")
    with pytest.raises(DataError, match=r"record '2' has no key `meta\.x`"):
        of_files(paths[:1], by="meta.x,meta.y")


def test_a_limit_and_emptiness_count_over_all_files(tmp_path: Path) -> None:
    first = [talk(str(i), "u", "a", meta={"x": 1}) for i in range(3)]
    second = [talk(str(i), "u", "a", meta={"x": 2}) for i in range(3, 6)]
    paths = [stored(tmp_path / "a.jsonl", *first), stored(tmp_path / "b.jsonl", *second)]
    assert ids(of_files(paths, limit=4)) == ["0#1", "1#1", "2#1", "3#1"]
    assert ids(of_files(paths, limit=3)) == ["0#1", "1#1", "2#1"]
    assert ids(of_files(paths, where=(("meta.x", "2"),), limit=1)) == ["3#1"]
    with pytest.raises(DataError, match=r"--where meta\.x=3 matches none of 6 dialogues"):
        of_files(paths, where=(("meta.x", "3"),))
    with pytest.raises(DataError, match="no assistant turn of 6 dialogues is rated"):
        of_files(paths, items="rated")


def test_everyone_is_who_speaks_in_any_of_the_files(tmp_path: Path) -> None:
    paths = [
        stored(tmp_path / "a.jsonl", spoken("1", one=["x"])),
        stored(tmp_path / "b.jsonl", spoken("2", two=["x"])),
    ]
    found = of_files(paths, as_agents=("@alternatives",))
    assert ids(found) == ["1#1@one", "1#1@two", "2#1@one", "2#1@two"]
    assert [item.missing is None for item in found] == [True, False, False, True]


def test_published_systems_are_counted_on_the_same_points_of_multiwoz(corpora: Path) -> None:
    stream = native.read(str(corpora / "multiwoz_valtest.jsonl.gz"))
    found = chosen(islice(stream, 1000, 1030), as_agents=("@alternatives",))  # test dialogues begin at 999
    pairs: dict[str, list[str]] = {}
    for item in found:
        pairs.setdefault(item.agent, []).append(item.pair)
    assert len(pairs) == 13
    assert all(points == pairs["labes"] for points in pairs.values())
    assert {item.agent for item in found if item.missing} == {"labes", "mars"}


def test_published_systems_pair_with_each_other_on_multiwoz(corpora: Path) -> None:
    stream = native.read(str(corpora / "multiwoz_valtest.jsonl.gz"))
    selection = Selection(items="all", where=(("meta.split", "test"),), limit=5, as_agents=("damd", "ubar"))
    found = list(items(stream, selection))
    pairs = {agent: [item.pair for item in found if item.agent == agent] for agent in ("damd", "ubar")}
    assert pairs["damd"] == pairs["ubar"]
    assert all(len(item.references) == 1 for item in found)


def test_whole_dialogues_in_which_the_agent_says_nothing_are_items_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text(
        '{"id": "said", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}\n'
        '{"id": "silent", "messages": [{"role": "user", "content": "hi"}]}\n'
    )
    census = scan([str(path)])

    def found(**more: bool) -> list[Item]:
        return list(all_items([str(path)], Selection(), census, **more))

    assert ids(found(whole=True)) == ids(found(silent=True, whole=True))[:1] == ["said"]
    assert ids(found(silent=True)) == ["said#1"]  # there is no reply to score
    said, silent = found(whole=True, silent=True)
    assert (said.missing, silent.missing) == (None, NO_REPLY)
    assert said.pair == silent.pair  # the missing reply would have had the same context
    assert said.cluster == silent.cluster
