"""Ratings in `score`, `compare`, `meta`, gates and reports."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.errors import DataError, UsageError
from turnwise.pytest_plugin import GateCheck


def dialogue(name: str, agent: str, ratings: list[dict[str, Any]], question: str) -> dict[str, Any]:
    said = [{"role": "user", "content": question}, {"role": "assistant", "content": f"{agent} says {name}"}]
    return {"id": name, "agent": agent, "messages": said, "ratings": ratings, "meta": {"item": question}}


def rated(
    value: Callable[[str, int, str], float], *, turn: int | None = 1, n: int = 12, **more: Any
) -> list[dict[str, Any]]:
    """Two agents on n questions; `value` is a function of agent, question and rater."""
    place = {} if turn is None else {"turn": turn}
    return [
        dialogue(
            f"{agent}-{q}",
            agent,
            [
                {"dimension": "overall", "value": value(agent, q, r), "rater": r, **place, **more}
                for r in ("ann", "bob")
            ],
            f"question {q}",
        )
        for q in range(n)
        for agent in ("new", "old")
    ]


def better(agent: str, question: int, rater: str) -> float:
    return 2 + (agent == "new") * (1 + question % 2) + (rater == "ann") * 0.5 + question % 3 * 0.25


def test_score_gives_the_mean_rating_of_each_agent() -> None:
    found = turnwise.score(rated(better), metrics="rating:overall")
    by_agent = {record["agent"]: record for record in found}
    assert by_agent["new"]["estimate"] == pytest.approx(4.0)
    assert by_agent["old"]["estimate"] == pytest.approx(2.5)
    assert by_agent["new"]["n_items"] == 12
    assert by_agent["new"]["interval"] is not None


def test_compare_without_metrics_compares_the_ratings_in_pairs() -> None:
    found = turnwise.compare(rated(better))
    (record,) = found
    assert record["metric"] == "rating:overall"
    assert record["estimate"] == pytest.approx(1.5)
    assert record["verdict"] == "new is better"
    assert record["method"].startswith("paired")


def test_a_dimension_on_which_lower_is_better_is_won_by_the_lower_mean(tmp_path: Path) -> None:
    data = rated(better, direction="lower")
    (record,) = turnwise.compare(data)
    assert record["better"] == "lower"
    assert record["verdict"] == "old is better"
    for agent in ("new", "old"):
        turnwise.score(data, metrics="rating:overall", where={"agent": agent}, output=tmp_path / agent)
    (record,) = turnwise.compare([tmp_path / "new", tmp_path / "old"])
    assert record["better"] == "lower"
    assert record["verdict"] == "old is better"


def test_dialogue_ratings_are_read_for_whole_dialogues() -> None:
    (record,) = turnwise.compare(rated(better, turn=None))
    assert record["estimate"] == pytest.approx(1.5)
    assert "level:dialogue" in record["signature"]


def test_a_dimension_rated_at_both_levels_is_compared_at_both_and_must_be_chosen_by_name() -> None:
    data = [*rated(better)]
    for one in data:
        one["ratings"] = [*one["ratings"], {"dimension": "overall", "value": 1, "rater": "ann"}]
    found = [record["metric"] for record in turnwise.compare(data)]
    assert found == ["rating:overall[level=turn]", "rating:overall[level=dialogue]"]
    with pytest.raises(UsageError, match=r"rating:overall\[level=dialogue\]"):
        turnwise.score(data, metrics="rating:overall")


def test_dialogues_without_a_rated_turn_keep_their_dialogue_rating() -> None:
    data = [*rated(better), *[{**one, "id": "w-" + one["id"]} for one in rated(better, turn=None)]]
    scores = turnwise.score(data, metrics="rating:overall[level=dialogue]")
    assert sum(record["n_items"] for record in scores) == 24


def test_unrated_items_are_counted_with_the_reason() -> None:
    data = rated(better)
    data[0]["ratings"] = []
    found = turnwise.score(data, metrics="rating:overall", items="all")
    assert next(r for r in found if r["agent"] == "new")["unscored"] == {"not rated on `overall`": 1}
    assert "note: rating:overall: 1 item not scored: not rated on `overall`" in found.notes()


def test_an_unknown_dimension_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no rating has the dimension `overal`; there is only overall"):
        turnwise.score(rated(better), metrics="rating:overal")


def test_without_ratings_the_error_names_what_to_type() -> None:
    data = [{**one, "ratings": []} for one in rated(better)]
    with pytest.raises(UsageError, match=r"no ratings .*metrics="):
        turnwise.compare(data)
    with pytest.raises(DataError, match="`rating:overall` needs ratings, and the data has none"):
        turnwise.score(data, metrics="rating:overall")


def test_different_scales_must_be_mapped_or_kept_apart() -> None:
    data = [*rated(better, scale=[1, 5])]
    more = [{**one, "id": "m-" + one["id"]} for one in rated(better, scale=[0, 10])]
    with pytest.raises(UsageError, match=r"different scales .*rescale=true"):
        turnwise.score([*data, *more], metrics="rating:overall")
    found = turnwise.score([*data, *more], metrics="rating:overall[rescale=true]")
    assert all(0 <= record["estimate"] <= 1 for record in found)


def test_centred_ratings_are_compared_over_raters_too() -> None:
    found = turnwise.compare(rated(better), metrics="rating:overall[raters=centred]")
    (record,) = found
    assert record["estimate"] == pytest.approx(1.5)
    assert "two-way clustered by cluster and rater" in record["method"]
    scores = turnwise.score(rated(better), metrics="rating:overall[raters=centred]")
    assert {round(record["estimate"], 6) for record in scores} == {4.0, 2.5}


def test_alternatives_have_no_ratings() -> None:
    data = rated(better)
    for one in data:
        one["messages"][1]["alternatives"] = {"other": "what another says"}
    (record,) = turnwise.score(data, metrics="rating:overall", as_agents="other")
    assert record["estimate"] is None
    assert record["unscored"] == {"not rated on `overall`": 24}


def test_new_ratings_are_scored_anew_in_the_same_folder(tmp_path: Path) -> None:
    file = tmp_path / "rated.jsonl"
    for raise_by in (0, 1):
        lines = rated(lambda *about, more=raise_by: better(*about) + more)
        file.write_text("".join(json.dumps(one) + "\n" for one in lines))
        found = turnwise.score(file, metrics="rating:overall,length", output=tmp_path / "out")
        assert {r["estimate"] for r in found if r["metric"] == "rating:overall"} == {
            4.0 + raise_by,
            2.5 + raise_by,
        }


def test_meta_refuses_to_compare_a_rating_with_itself() -> None:
    with pytest.raises(UsageError, match="that is with itself; choose another dimension="):
        turnwise.meta_evaluate(rated(better), metrics="rating:overall")


def test_meta_compares_one_dimension_with_another() -> None:
    data = rated(better)
    for one in data:
        one["ratings"] += [{**r, "dimension": "fluent"} for r in one["ratings"]]
    found = turnwise.meta_evaluate(data, metrics="rating:fluent", statistics="pearson", level="turn")
    assert [record["estimate"] for record in found] == [pytest.approx(1.0)]


def test_attack_refuses_ratings() -> None:
    with pytest.raises(UsageError, match="nobody rated the replies of an attack"):
        turnwise.attack("rating:overall", rated(better))


def test_a_gate_on_ratings_holds_in_a_pytest_fixture(turnwise_gate: GateCheck) -> None:
    turnwise_gate(rated(better), "rating:overall >= 2")
    with pytest.raises(pytest.fail.Exception, match="rating:overall >= 3"):
        turnwise_gate(rated(better), "rating:overall >= 3")


def test_a_report_shows_ratings_as_any_metric(tmp_path: Path) -> None:
    turnwise.compare(rated(better), output=tmp_path / "out")
    made = turnwise.make_report([tmp_path / "out"], output=tmp_path / "report.html")
    assert any("People rate new above old" in claim for claim in made.claims)


def test_ratings_of_dialogues_count_where_the_agent_says_nothing() -> None:
    """Five good dialogues and five in which the agent is silent: 3.0 on average, not 5.0."""
    logs = rated(lambda agent, q, rater: 3.0 if agent == "old" else 5.0 if q < 5 else 1.0, turn=None, n=10)
    for one in logs:
        if one["agent"] == "new" and int(one["id"].split("-")[1]) >= 5:
            del one["messages"][1]
    means = {record["agent"]: record for record in turnwise.score(logs, metrics="rating:overall")}
    assert (means["new"]["estimate"], means["new"]["n_items"]) == (3.0, 10)
    (record,) = turnwise.compare(logs)
    assert (record["a"], record["b"], record["n_items"], record["verdict"]) == (3.0, 3.0, 10, "not shown")
    (agreement, *_) = turnwise.meta_evaluate(logs, metrics="steps", level="dialogue", statistics="pearson")
    assert agreement["unscored"]["the agent says nothing in the dialogue"] == 5
    notes = turnwise.meta_evaluate(logs, metrics="length", level="dialogue", statistics="pearson").notes()
    assert any("5 dialogues in which the agent says nothing: left out" in note for note in notes)
    (raters, *_) = turnwise.meta_evaluate(logs)  # how far raters agree: 20 rated dialogues
    assert raters["n_items"] == 20
