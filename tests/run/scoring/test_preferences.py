"""Preferences in `compare`: win rates of agents, strengths, and what cannot be compared."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwise
from turnwise.errors import DataError, UsageError


def reply(name: str, agent: str, question: str, words: int = 3) -> dict[str, Any]:
    said = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": " ".join(["word"] * words)},
    ]
    return {"id": name, "agent": agent, "messages": said}


def votes(
    chosen: list[tuple[str, str, str]], *, raters: int = 4, whole: bool = False, **more: Any
) -> list[dict[str, Any]]:
    """A pair of records for each (agent, agent, winner)."""
    made = []
    for at, (a, b, winner) in enumerate(chosen):
        place = {} if whole else {"turn": 1}
        vote = {"other": f"{at}-b", "winner": winner, "rater": f"p{at % raters}", **place, **more}
        made += [
            {**reply(f"{at}-a", a, f"q{at // 2}"), "preferences": [vote]},
            reply(f"{at}-b", b, f"q{at // 2}"),
        ]
    return made


def three(rng: np.random.Generator, n: int = 120) -> list[tuple[str, str, str]]:
    """Choices among three agents of which `good` is the best and `bad` the worst."""
    strength = {"good": 1.0, "fair": 0.0, "bad": -1.0}
    made = []
    for _ in range(n):
        a, b = rng.choice(list(strength), 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        made.append((str(a), str(b), "tie" if rng.random() < 0.2 else "this" if won else "other"))
    return made


def test_compare_gives_win_rates_of_every_two_agents_and_strengths_of_all() -> None:
    found = turnwise.compare(votes(three(np.random.default_rng(0))))
    assert {frozenset((r["agent_a"], r["agent_b"])) for r in found} == {
        frozenset(two) for two in (("good", "fair"), ("good", "bad"), ("fair", "bad"))
    }
    for record in found:
        assert record["metric"] == "preference:overall"
        assert record["a"] + record["b"] + record["ties"] == pytest.approx(1)
        assert record["estimate"] == pytest.approx(record["a"] - record["b"])
        assert record["win_rate"] == pytest.approx(record["a"] + record["ties"] / 2)
    assert [one["agent"] for one in found.strengths] == ["good", "fair", "bad"]
    assert sum(one["estimate"] for one in found.strengths) == pytest.approx(0)
    (fit,) = found.document.preferences
    assert "with ties (Davidson); clustered by cluster and rater" in fit.method


def test_the_sign_of_a_win_rate_does_not_depend_on_which_record_holds_the_choice() -> None:
    (record,) = turnwise.compare(votes([("new", "old", "this")] * 8 + [("old", "new", "other")] * 6))
    assert (record["agent_a"], record["a"], record["b"]) == ("new", 1.0, 0.0)
    assert record["verdict"] == "new is better"
    assert record["interval"][1] == 1.0


def test_both_bad_is_a_tie_that_is_counted_apart() -> None:
    chosen = [("new", "old", winner) for winner in ("this", "other", "tie", "both_bad")] * 3
    (record,) = turnwise.compare(votes(chosen))
    assert (record["ties"], record["both_bad"]) == (0.5, 0.25)


def test_two_agents_can_be_chosen() -> None:
    found = turnwise.compare(votes(three(np.random.default_rng(1))), agents="bad,good")
    (record,) = found
    assert (record["agent_a"], record["agent_b"]) == ("bad", "good")
    assert record["estimate"] < 0
    assert {one["agent"] for one in found.strengths} == {"bad", "good"}


def test_whole_dialogues_are_clustered_by_both() -> None:
    chosen = votes([("new", "old", "this"), ("new", "old", "other")] * 6, whole=True)
    for at, one in enumerate(chosen):
        one["messages"][0]["content"] = f"another question {at}"
    (record,) = turnwise.compare(chosen)
    assert "clustered by the two dialogues and rater" in record["method"]


def test_position_and_length_are_controlled_for() -> None:
    rng = np.random.default_rng(2)
    chosen = votes([("new", "old", "this" if rng.random() < 0.6 else "other") for _ in range(80)])
    for one in chosen:
        one["messages"][1]["content"] = " ".join(["word"] * int(rng.integers(3, 30)))
        for vote in one.get("preferences", ()):
            vote["shown"] = "first" if rng.random() < 0.5 else "second"
    found = turnwise.compare(chosen, metrics="preference:overall[position=true,length=true]")
    (fit,) = found.document.preferences
    assert [one.covariate for one in fit.effects] == ["position", "length"]
    assert all(one.interval is not None for one in fit.effects)


def test_agents_that_no_comparison_connects_are_named_in_a_warning() -> None:
    chosen = [("a", "b", "this"), ("a", "b", "other"), ("c", "d", "this"), ("c", "d", "other")] * 2
    found = turnwise.compare(votes(chosen))
    warning = next(note for note in found.notes() if note.startswith("warning"))
    assert "comparisons do not connect all agents" in warning
    assert "a, b; c, d" in warning


def test_ties_alone_give_win_rates_and_say_why_there_are_no_strengths() -> None:
    found = turnwise.compare(votes([("new", "old", "tie")] * 6))
    (record,) = found
    assert (record["estimate"], record["interval"], record["verdict"]) == (0.0, None, "not shown")
    assert any("all comparisons are ties" in note for note in found.notes())


def test_one_comparison_has_no_interval() -> None:
    (record,) = turnwise.compare(votes([("new", "old", "tie")]))
    assert record["interval"] is None
    assert record["p"] is None


def test_preferences_between_replies_of_one_agent_are_refused() -> None:
    found = turnwise.compare(votes([("unknown", "unknown", "this")] * 3))
    (record,) = found
    assert record["status"] == "refused"
    assert "by the same agent in all 3" in record["reason"]
    assert found.exit_code == 4


def test_a_choice_against_a_missing_record_is_left_out_and_one_against_itself_is_an_error() -> None:
    data = votes([("new", "old", "this"), ("new", "old", "other")] * 3)
    data[2]["preferences"][0]["other"] = "nowhere"
    (record,) = turnwise.compare(data)
    assert record["n_items"] == 5
    assert record["unscored"] == {"the other one is not in the selected data": 1}
    data[0]["preferences"][0]["other"] = "0-a"
    with pytest.raises(DataError, match="expected the id of another dialogue"):
        turnwise.compare(data)


def test_of_a_raters_repeated_choices_between_the_same_two_the_last_counts() -> None:
    data = votes([("new", "old", "this"), ("new", "old", "other")] * 3)
    first = data[0]["preferences"][0]
    data[0]["preferences"] = [first, first, {**first, "winner": "other"}]
    (record,) = turnwise.compare(data)
    assert (record["n_items"], record["a"]) == (6, pytest.approx(2 / 6))
    assert record["unscored"] == {
        "the same rater chose again between the same two; the last choice counts": 2
    }


def test_choices_on_the_other_record_by_others_in_the_other_order_or_without_a_name_are_no_repetition() -> (
    None
):
    data = votes([("new", "old", "this"), ("new", "old", "other")] * 3, shown="first")
    first = data[0]["preferences"][0]
    data[0]["preferences"] = [first, {**first, "rater": "p9"}, {**first, "shown": "second"}]
    (record,) = turnwise.compare(data)
    assert record["n_items"] == 8
    # The same choice, written on the other record: winner and order are seen from there.
    mirrored = {**first, "other": "0-a", "winner": "other", "shown": "second"}
    data[1]["preferences"] = [mirrored]
    (record,) = turnwise.compare(data)
    assert (record["n_items"], sum(record["unscored"].values())) == (8, 1)
    unnamed = {key: value for key, value in first.items() if key != "rater"}
    data[0]["preferences"], data[1]["preferences"] = [unnamed, unnamed], []
    (record,) = turnwise.compare(data)
    assert record["n_items"] == 7


def test_two_dialogues_that_were_compared_once_are_one_cluster() -> None:
    chosen = votes([("new", "old", "this"), ("new", "old", "other")] * 6, whole=True)
    for at, one in enumerate(chosen):
        one["messages"][0]["content"] = f"another question {at}"
    (record,) = turnwise.compare(chosen)
    assert (record["n_items"], record["n_clusters"]) == (12, 12)


def test_a_comparison_by_one_rater_says_that_it_covers_no_other() -> None:
    chosen = [("new", "old", "this"), ("new", "old", "this"), ("new", "old", "other")] * 4
    found = turnwise.compare(votes(chosen, raters=1))
    assert [note for note in found.notes() if "`p0`" in note] == [
        "note: preference:overall: all 12 choices are by one rater, `p0`: intervals cover other contexts, not other "
        "raters"
    ]
    two = turnwise.compare(votes(chosen, raters=2))
    assert any("2 raters" in note and "too narrow" in note for note in two.notes())
    assert not any("rater" in note for note in turnwise.compare(votes(chosen, raters=4)).notes())


def test_a_refused_comparison_is_called_refused_and_counts_its_preferences() -> None:
    (record,) = turnwise.compare(votes([("unknown", "unknown", "this")] * 3))
    assert (record["verdict"], record["n_items"]) == ("refused", 3)


def test_an_unknown_dimension_or_setting_is_named() -> None:
    data = votes(three(np.random.default_rng(3), n=12))
    with pytest.raises(UsageError, match="no preference has the dimension `overal`"):
        turnwise.compare(data, metrics="preference:overal")
    with pytest.raises(UsageError, match="position=true and length=true"):
        turnwise.compare(data, metrics="preference:overall[style=true]")
    with pytest.raises(DataError, match="needs preferences, and the data has none"):
        turnwise.compare([reply("x", "a", "q"), reply("y", "b", "q")], metrics="preference:overall")


def test_score_names_the_command_that_takes_preferences() -> None:
    with pytest.raises(UsageError, match="`turnwise compare` takes it"):
        turnwise.score(votes([("a", "b", "this")]), metrics="preference:overall")


def test_metrics_and_preferences_are_compared_in_one_run(tmp_path: Path) -> None:
    data = votes([("new", "old", "this"), ("new", "old", "other")] * 6)
    found = turnwise.compare(data, metrics="length,preference:overall", output=tmp_path / "out")
    assert [record["metric"] for record in found] == ["length", "preference:overall"]
    assert {figure.kind for figure in found.figures()} >= {"win rates", "strengths"}
    made = turnwise.make_report([tmp_path / "out"], output=tmp_path / "report.html")
    assert made.n_figures >= 3


def test_groups_are_compared_apart() -> None:
    data = votes([("new", "old", "this"), ("new", "old", "other")] * 6)
    for at, one in enumerate(data):
        one["meta"] = {"corpus": "x" if at < 12 else "y"}
    assert [record["group"] for record in turnwise.compare(data, by="meta.corpus")] == ["x", "y"]


def test_preferences_outside_the_selection_are_refused_with_the_reason() -> None:
    """The compared message is the user's, which is no reply."""
    found = turnwise.compare(votes([("good", "bad", "this")] * 4, turn=0))
    assert [(one["status"], one["estimate"]) for one in found] == [("refused", None)]
    assert "no preference is about a reply or a dialogue that was selected" in next(iter(found))["reason"]
