"""`turnwise calibrate` on files: what is an item, which labels count, and what is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import turnwise as tw
from turnwise.cli.common.group import run
from turnwise.metrics.features.surface import Length

Record = dict[str, object]


def write(path: Path, records: list[Record]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def record(number: int, agent: str, words: int, rating: float | None, **meta: object) -> Record:
    messages = [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": "word " * words},
    ]
    ratings = [] if rating is None else [{"dimension": "overall", "value": rating, "scale": [-20, 40]}]
    return {"id": f"{agent}{number}", "agent": agent, "messages": messages, "ratings": ratings, "meta": meta}


def world(
    *, n: int = 60, agents: tuple[str, ...] = ("a", "b"), rated: Callable[[int, str], bool] = lambda k, _: k % 4 == 0
) -> list[Record]:  # fmt: skip
    """Dialogues of agents; a rating is about half the number of words, and `b` is 2 below `a`."""
    rng = np.random.default_rng(0)
    found = []
    for agent in agents:
        for number in range(n):
            words = int(rng.integers(1, 30))
            rating = round(words / 2 + float(rng.normal()) - 2 * (agent == "b"), 3)
            found.append(record(number, agent, words, rating if rated(number, agent) else None, draw=4.0))
    return found


def test_scores_of_all_narrow_what_few_ratings_show(tmp_path: Path):
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", world()), metrics="length", labels="random", figures=False
    )
    a, b = found.means()
    assert (a["agent"], b["agent"]) == ("a", "b")
    assert (a["n_labels"], a["n_items"], a["level"]) == (15, 60, "dialogue")
    assert a["width_ratio"] < 0.7
    (difference,) = found.differences()
    assert (difference["agent"], difference["minus"]) == ("a", "b")
    assert difference["interval"][0] < 2.0 < difference["interval"][1]
    assert difference["p_adjusted"] == difference["p"]
    assert found.exit_code == 0
    assert found.notes() == []


def test_a_fit_is_repeatable_by_its_seed(tmp_path: Path):
    path = write(tmp_path / "logs.jsonl", world())
    first, same, other = (
        tw.calibrate(
            path, metrics="length", labels="random", fit="isotonic", seed=seed, figures=False
        ).means()
        for seed in (0, 0, 1)
    )
    assert first == same
    assert first[0]["estimate"] != other[0]["estimate"]
    assert "isotonic map cross-fitted" in first[0]["method"]


def test_weights_are_read_from_the_key(tmp_path: Path):
    path = write(tmp_path / "logs.jsonl", world())
    weighted = tw.calibrate(path, metrics="length", labels="weights:meta.draw", figures=False)
    random = tw.calibrate(path, metrics="length", labels="random", figures=False)
    assert [one["estimate"] for one in weighted] == pytest.approx([one["estimate"] for one in random])


@pytest.mark.parametrize("draw", [None, "often", 0.25, float("inf")])
def test_a_rated_dialogue_without_a_weight_is_an_error(tmp_path: Path, draw: object):
    records = world()
    records[0]["meta"] = {} if draw is None else {"draw": str(draw)}
    with pytest.raises(tw.DataError, match="of dialogue 'a0' is"):
        tw.calibrate(write(tmp_path / "logs.jsonl", records), metrics="length", labels="weights:meta.draw")


def test_labels_of_unknown_origin_are_refused_with_what_depends_on_them(tmp_path: Path):
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", world()), metrics="length", labels="unknown", figures=False
    )
    assert found.exit_code == 4
    a, _ = found.means()
    (difference,) = found.differences()
    assert (a["status"], a["estimate"], a["interval"]) == ("refused", None, None)
    assert a["if_tilted"][0] < a["if_random"] < a["if_tilted"][1]
    assert abs(a["gap"]) < 1
    assert difference["if_tilted"][0] < difference["if_random"] < difference["if_tilted"][1]
    assert (
        difference["turning_tilt"] is None
    )  # scores explain nearly all of the ratings, so no tilt turns the sign
    assert len(found.notes()) == 1
    assert "a and 2 more: refused: how the labels were drawn is unknown" in found.notes()[0]


def test_a_metric_that_learned_from_the_rated_items_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    logs = write(tmp_path / "logs.jsonl", world())
    assert not any(
        "learned from" in line for line in tw.calibrate(logs, metrics="length", labels="random").notes()
    )
    monkeypatch.setattr(Length, "in_training", lambda self, items: len(items) - 1, raising=False)
    said = " ".join(tw.calibrate(logs, metrics="length", labels="random").notes())
    assert "length learned from" in said
    assert "rated items here: its scores fit these better than the others" in said


@pytest.mark.parametrize("share", [4, 6, 7])
@pytest.mark.parametrize("metric", ["length", "question-rate"])
def test_the_sensitivity_of_a_difference_is_that_of_the_two_agents(tmp_path: Path, share: int, metric: str):
    """Also where the difference alone is estimated from the labels alone and an agent's mean is not."""
    # With 10 to 15 labels of an agent the scores narrow some estimates and not others.
    records = world(agents=("a", "b", "c"), rated=lambda k, agent: k % (share + (agent == "c")) == 0)
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics=metric, labels="unknown", figures=False
    )
    means = {row["agent"]: row for row in found.means()}
    assert len(found.differences()) == 3
    for row in found.differences():
        (low_a, high_a), (low_b, high_b) = (means[row[side]]["if_tilted"] for side in ("agent", "minus"))
        assert row["if_tilted"] == pytest.approx([low_a - high_b, high_a - low_b])
        assert row["if_random"] == pytest.approx(
            means[row["agent"]]["if_random"] - means[row["minus"]]["if_random"]
        )
        reaches_zero = row["if_tilted"][0] <= 0 <= row["if_tilted"][1]
        assert reaches_zero == (row["turning_tilt"] is not None and row["turning_tilt"] <= row["tilt"])


def test_the_table_prints_refused_differences_and_counts_hidden_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = write(tmp_path / "logs.jsonl", world(agents=("a", "b", "c", "d")))
    asked = ["calibrate", path, "-m", "length,question-rate", "--labels"]
    assert run([*asked, "unknown", "--wide"]) == 4
    refused = capsys.readouterr().out
    assert len(refused.splitlines()) == 2 + 2 * (4 + 6)
    assert "not told apart" not in refused
    assert run([*asked, "random"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^not told apart: \w and \w by length, .*; -v lists all$", shown, re.M)


def test_labels_that_do_not_look_random_are_noted(tmp_path: Path):
    records = world()
    for one in records:
        words = len(one["messages"][1]["content"].split())
        one["ratings"] = [{"dimension": "overall", "value": words / 2}] if words > 20 else []
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="length", labels="random", figures=False
    )
    assert any("standard deviations above the others" in note for note in found.notes())


def test_agents_without_labels_are_refused_and_the_others_answered(tmp_path: Path):
    records = world(rated=lambda number, agent: agent == "a" and number % 4 == 0)
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="length", labels="random", figures=False
    )
    a, b = found.means()
    assert a["estimate"] is not None
    assert (b["status"], b["reason"]) == ("refused", "none of its items is rated; rate some of each agent")
    (difference,) = found.differences()
    assert (difference["agent"], difference["minus"], difference["status"]) == ("a", "b", "refused")
    assert (difference["estimate"], difference["n_labels"]) == (None, 15)
    assert "length overall dialogue a b: refused: the mean rating of one" in " ".join(found.notes())
    assert found.exit_code == 0


def test_differences_that_cannot_be_had_are_listed_or_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def printed(agents: str, *more: str) -> str:
        records = world(agents=tuple(agents), rated=lambda number, agent: agent == "a" and number % 4 == 0)
        asked = ["calibrate", write(tmp_path / "logs.jsonl", records), "-m", "length", "--labels", "random"]
        assert run([*asked, *more]) == 0
        return capsys.readouterr().out

    def rows(table: str) -> int:
        return sum(re.match(r"(length +overall +)?[a-e]  ", line) is not None for line in table.splitlines())

    assert rows(printed("abcd")) == 4 + 6
    many = printed("abcde")
    assert rows(many) == 5
    assert "10 differences have no estimate, as an agent has too few ratings; -v lists all" in many
    assert rows(printed("abcde", "-v")) == 5 + 10


def test_one_label_is_refused(tmp_path: Path):
    records = world(rated=lambda number, _: number == 0)
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="length", labels="random", figures=False
    )
    assert found.exit_code == 4
    assert all("1 rated item is of one cluster" in one["reason"] for one in found.means())
    assert [one["status"] for one in found.differences()] == ["refused"]


def with_references(records: list[Record], has: Callable[[Record], bool]) -> list[Record]:
    """The records with a reference where `has` says so; `rouge-l` scores only these."""
    for one in records:
        if has(one):
            one["messages"][1]["references"] = ["word word"]
    return records


def test_without_a_score_where_labels_are_the_ratings_alone_count(tmp_path: Path):
    records = with_references(
        world(rated=lambda k, agent: k % (4 + (agent == "b")) == 0), lambda one: not one["ratings"]
    )
    path = write(tmp_path / "logs.jsonl", records)
    found = tw.calibrate(path, metrics="rouge-l", labels="random", figures=False)
    plain = tw.calibrate(path, metrics="length", labels="random", figures=False)
    assert found.exit_code == 0
    for one, other in zip(found, plain, strict=True):
        assert (one["width_ratio"], one["n_labels"]) == (1.0, other["n_labels"])
        assert one["estimate"] == pytest.approx(other["labels_alone"])
        assert one["interval"] == pytest.approx(other["labels_alone_interval"])
    assert next(iter(found))["unscored"] == {"no reference": 15}
    assert found.notes() == [
        "note: rouge-l: 27 items not scored: no reference",
        "note: rouge-l: the ratings alone count for a and 1 more agent: the metric has no score on any of the 15 "
        "rated items, so its error is unknown",
    ]


@pytest.mark.parametrize("labels", ["random", "unknown"])
def test_scores_of_the_rated_items_alone_are_not_used(tmp_path: Path, labels: str):
    records = with_references(world(), lambda one: bool(one["ratings"]))
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="rouge-l", labels=labels, figures=False
    )
    if labels == "random":
        assert [one["width_ratio"] for one in found] == [1.0, 1.0, 1.0]
    else:
        assert all(one["if_random"] == pytest.approx(one["labels_alone"]) for one in found)
    assert any("a score on 15 of the 15 rated items and on 0 of 45 others" in note for note in found.notes())


def test_a_metric_that_scores_nothing_leaves_the_ratings_alone(tmp_path: Path):
    path = write(tmp_path / "logs.jsonl", world())
    found = tw.calibrate(
        path, metrics="rouge-l", labels="random", plan=10, output=tmp_path / "out", figures=False
    )
    assert [one["width_ratio"] for one in found] == [1.0, 1.0, 1.0]
    assert found.plan["drawn"] == 10


def test_some_items_without_a_score_lose_no_label(tmp_path: Path):
    records = world()
    for number, one in enumerate(records):
        if number % 3:
            one["messages"][1]["references"] = ["word word"]
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="rouge-l", labels="random", figures=False
    )
    assert [one["n_labels"] for one in found.means()] == [15, 15]
    assert [one["n_items"] for one in found.means()] == [60, 60]
    assert not any("ratings alone" in note for note in found.notes())


def test_data_without_an_unrated_item_is_an_error(tmp_path: Path):
    path = write(tmp_path / "logs.jsonl", world(rated=lambda *_: True))
    with pytest.raises(tw.DataError, match="every item is rated"):
        tw.calibrate(path, metrics="length", labels="random")


def test_rated_last_replies_make_the_last_replies_items(tmp_path: Path):
    records = world()
    for one in records:
        one["messages"] = [*one["messages"], *one["messages"]]
        one["ratings"] = [{**rating, "turn": 3} for rating in one["ratings"]]
    found = tw.calibrate(
        write(tmp_path / "logs.jsonl", records), metrics="length", labels="random", figures=False
    )
    assert [one["n_items"] for one in found.means()] == [60, 60]
    assert {one["level"] for one in found} == {"turn"}
    records[0]["ratings"] = [{**rating, "turn": 1} for rating in records[0]["ratings"]]
    found = tw.calibrate(
        write(tmp_path / "more.jsonl", records), metrics="length", labels="random", figures=False
    )
    assert [one["n_items"] for one in found.means()] == [120, 120]


def test_a_metric_without_a_number_at_the_rated_level_is_skipped(tmp_path: Path):
    records = world()
    for one in records:
        one["ratings"] = [{**rating, "turn": 1} for rating in one["ratings"]]
    path = write(tmp_path / "logs.jsonl", records)
    found = tw.calibrate(path, metrics="length,distinct-1", labels="random", items="all", figures=False)
    assert {one["metric"]: one["level"] for one in found.means()} == {"length": "turn"}
    assert "no number for a single turn" in " ".join(found.notes())


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"labels": "chosen"}, "expected how the rated items were drawn"),
        ({"labels": "weights:"}, "expected how the rated items were drawn"),
        ({"labels": "random", "to": "rating:charm"}, "no rating has the dimension `charm`"),
        ({"labels": "random", "level": "turn"}, "no turn is rated on `overall`"),
    ],
)
def test_a_question_that_the_data_cannot_answer_is_an_error(tmp_path: Path, asked: dict, complaint: str):
    with pytest.raises(tw.UsageError, match=complaint):
        tw.calibrate(write(tmp_path / "logs.jsonl", world(n=8)), metrics="length", **asked)


def test_the_command_prints_every_mean_and_the_differences_that_were_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from turnwise.cli.common.group import run

    path = write(tmp_path / "logs.jsonl", world(agents=tuple("abcde"), n=24))
    assert run(["calibrate", path, "-m", "length", "--to", "rating:overall", "--labels", "random", "-q"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^not told apart: \w and \w, .*; -v lists all$", printed, re.M)
    assert run(["calibrate", path, "-m", "length", "--labels", "random", "-q", "-v"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 5 + 10
    assert run(["calibrate", path, "-m", "length"]) == 2
    assert "--labels" in capsys.readouterr().err


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_plan_draws_dialogues_whose_ratings_can_be_weighed(tmp_path: Path):
    everyone = world(n=400, rated=lambda number, _: True)
    ratings = {one["id"]: one["ratings"] for one in everyone}
    logs = write(tmp_path / "logs.jsonl", world(n=400, rated=lambda number, _: number % 10 == 0))
    out = tmp_path / "out"
    found = tw.calibrate(logs, metrics="length", labels="random", plan=80, output=out, figures=False)
    assert (found.plan["drawn"], found.plan["rated_before"], found.plan["key"]) == (80, 80, "meta.weight")
    plan, rest = read(out / "plan.jsonl"), read(out / "rest.jsonl")
    assert (len(plan), len(rest)) == (80, 720)
    assert not any(one.get("ratings") for one in plan)
    chances = [1 / one["meta"]["weight"] for one in [*plan, *rest]]
    assert sum(chances) == pytest.approx(160, rel=0.03)
    rated = write(tmp_path / "rated.jsonl", [{**one, "ratings": ratings[one["id"]]} for one in plan])
    again = tw.calibrate(
        [rated, str(out / "rest.jsonl")], metrics="length", labels="weights:meta.weight", figures=False
    )
    truth = {
        agent: np.mean([ratings[one["id"]][0]["value"] for one in everyone if one["agent"] == agent])
        for agent in ("a", "b")
    }
    for one in again.means():
        assert one["interval"][0] < truth[one["agent"]] < one["interval"][1]
    assert sum(one["n_labels"] for one in again.means()) == 160
    more = tw.calibrate(
        [rated, str(out / "rest.jsonl")], metrics="length", labels="weights:meta.weight", plan=40,
        output=tmp_path / "more", figures=False,
    )  # fmt: skip
    assert more.plan["rated_before"] == 160
    weights = {one["id"]: one["meta"]["weight"] for one in [*plan, *rest]}
    assert all(one["meta"]["weight"] < weights[one["id"]] for one in read(tmp_path / "more" / "plan.jsonl"))


def test_the_first_draw_from_unrated_logs_is_at_random(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from turnwise.cli.common.group import run

    logs = write(tmp_path / "logs.jsonl", world(n=50, rated=lambda *_: False))
    line = [
        "calibrate",
        logs,
        "-m",
        "length",
        "--labels",
        "random",
        "--plan",
        "20",
        "-o",
        str(tmp_path / "out"),
    ]
    assert run([*line, "-q"]) == 0
    assert "20 dialogues to rate are in" in capsys.readouterr().out
    assert {one["meta"]["weight"] for one in read(tmp_path / "out" / "plan.jsonl")} == {5.0}


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"labels": "random", "plan": 5}, "name a folder"),
        ({"labels": "random", "plan": 5, "output": "out", "by": "agent"}, "leave out by="),
        ({"labels": "unknown", "plan": 5, "output": "out"}, "labels whose draw is known"),
        ({"labels": "random", "plan": 500, "output": "out"}, "only 90 dialogues can still be rated"),
    ],
)
def test_a_plan_that_cannot_be_made_is_an_error(tmp_path: Path, asked: dict, complaint: str):
    if "output" in asked:
        asked = {**asked, "output": tmp_path / "out"}
    with pytest.raises(tw.UsageError, match=complaint):
        tw.calibrate(write(tmp_path / "logs.jsonl", world()), metrics="length", figures=False, **asked)
