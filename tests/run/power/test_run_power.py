"""`turnwise power` from pilots and from given spreads."""

import json
from pathlib import Path

import numpy as np
import pytest

import turnwise as tw
from tests.finished_runs import CORPUS
from turnwise.errors import UsageError


def write(path: Path, *, contexts: int = 200, turns: int = 1, raters: int = 3, shared: bool = True) -> str:
    """Rated dialogues of two agents: variance .5 between contexts, .3 between replies, .6 between ratings."""
    rng = np.random.default_rng(0)
    lines = []
    topic = np.sqrt(0.5) * rng.normal(size=(2, contexts))
    for place, agent in enumerate(("a", "b")):
        for number in range(contexts):
            messages, ratings = [], []
            for turn in range(turns):
                value = topic[0 if shared else place, number] + np.sqrt(0.3) * rng.normal()
                asked = f"{number} {turn}" if shared else f"{agent} {number} {turn}"
                messages += [
                    {"role": "user", "content": asked},
                    {"role": "assistant", "content": "word " * max(1, round(8 + 2 * value))},
                ]
                ratings += [
                    {"dimension": "overall", "value": float(value + np.sqrt(0.6) * rng.normal()), "rater": f"r{k}",
                     "turn": 2 * turn + 1}
                    for k in range(raters)
                ]  # fmt: skip
            record = {"id": f"{agent}{number}", "agent": agent, "messages": messages, "ratings": ratings}
            lines.append(json.dumps({**record, "meta": {"topic": number}}) + "\n")
    path.write_text("".join(lines))
    return str(path)


def rows(found: tw.Power) -> dict[tuple, dict]:
    return {(one["design"], one["turns"], one["raters"]): one for one in found}


def test_a_pilot_of_ratings_shows_the_trade_between_items_and_raters(tmp_path: Path):
    found = rows(
        tw.power(write(tmp_path / "pilot.jsonl"), metrics="rating:overall", difference=0.3, figures=False)
    )
    alone, five = found["unpaired", 1, 1], found["unpaired", 1, 5]
    assert alone["variances"]["ratings"] == pytest.approx(0.6, abs=0.06)
    assert alone["variances"]["clusters"] == pytest.approx(0.8, abs=0.15)
    assert alone["dialogues"] > five["dialogues"]
    assert alone["ratings"] < five["ratings"]
    assert alone["interval"][0] <= alone["dialogues"] <= alone["interval"][1]
    paired = found["paired", 1, 1]
    assert sum(paired["variances"].values()) == pytest.approx(2 * (0.3 + 0.6), abs=0.3)
    assert paired["variances"]["ratings"] == pytest.approx(1.2, abs=0.15)


def test_turns_of_a_dialogue_are_planned_for(tmp_path: Path):
    path = write(tmp_path / "pilot.jsonl", turns=4, contexts=60, shared=False)
    found = rows(tw.power(path, difference=0.3, raters=[1], figures=False))
    assert set(found) == {("unpaired", 1, 1), ("unpaired", 4, 1)}
    assert found["unpaired", 4, 1]["dialogues"] < found["unpaired", 1, 1]["dialogues"]
    assert found["unpaired", 4, 1]["variances"]["items"] == pytest.approx(0.3, abs=0.1)


def test_what_there_is_gives_the_smallest_difference(tmp_path: Path):
    path = write(tmp_path / "pilot.jsonl")
    needed = rows(tw.power(path, difference=0.3, figures=False))["unpaired", 1, 1]["dialogues"]
    found = rows(tw.power(path, have=needed, figures=False))["unpaired", 1, 1]
    assert found["estimate"] == found["difference"] == pytest.approx(0.3, abs=0.005)
    assert found["dialogues"] == needed


def test_a_metric_has_no_raters():
    found = tw.power(CORPUS, metrics="length", difference=3, pair="meta.topic", turns=[1], figures=False)
    assert {one["raters"] for one in found} == {1}
    assert all(one["ratings"] is None and one["judge_calls"] == 2 * one["dialogues"] for one in found)
    assert {one["design"] for one in found} == {"paired", "unpaired"}


def test_scores_beside_ratings_need_fewer_ratings(tmp_path: Path):
    path = write(tmp_path / "pilot.jsonl")
    found = tw.power(path, difference=0.5, beside="length", raters=[1, 3], paired=False, figures=False)
    without, _, beside, more = found
    assert (without["scores"], beside["scores"]) == (None, "length")
    assert beside["agreement"] == pytest.approx(
        np.sqrt(0.8 / 1.0), abs=0.04
    )  # with the mean of three ratings
    known = (
        without["dialogues"] * 0.6 / 1.4
    )  # what a known slope would need; fitting one on few ratings needs more
    assert known < beside["dialogues"] < 1.25 * known
    assert more["dialogues"] < beside["dialogues"]


def test_given_spreads_are_those_of_the_textbook():
    (one,) = tw.power(sd=1, difference=0.3, figures=False)
    assert one["dialogues"] == 176  # Cohen 1988: d = .3 at power .8
    assert one["interval"] is None
    both = rows(tw.power(sd=1, rater_sd=1, correlation=0.5, difference=0.3, raters=[1, 4], figures=False))
    assert both["unpaired", 1, 1]["dialogues"] == pytest.approx(2 * 176, abs=2)
    assert both["paired", 1, 1]["variances"] == {"clusters": 0.0, "items": 1.0, "ratings": 2.0, "raters": 0.0}


def test_a_win_rate_is_planned_in_contexts_and_raters():
    found = tw.power(win_rate=0.6, ties=0.2, icc=0.3, raters=[1, 3], figures=False)
    one, three = found
    assert (one["design"], one["difference"]) == ("preferences", pytest.approx(0.1))
    assert one["dialogues"] == one["ratings"] == pytest.approx(155, abs=3)  # a t-test with a variance of .195
    assert three["ratings"] == 3 * three["dialogues"]


def test_costs_name_the_cheapest_design(capsys: pytest.CaptureFixture[str]):
    from turnwise.cli.common.group import run

    line = "power --sd 1 --rater-sd 1 --difference .3 --raters 1,4 --cost-dialogue 10 --cost-rating .1"
    assert run([*line.split(), "-q"]) == 0
    assert (
        "cheapest: given spread, unpaired, dialogues of each agent 219, turns 1, raters 4"
        in capsys.readouterr().out
    )
    found = tw.power(sd=1, rater_sd=1, difference=0.3, raters=[1, 4], cost_rating=0.1, figures=False)
    assert found.cheapest()["raters"] == 1
    assert tw.power(sd=1, difference=0.3, figures=False).cheapest() is None


def test_a_report_draws_the_curves():
    found = tw.power(sd=1, rater_sd=1, difference=0.3)
    (figure,) = found.figures()
    assert figure.kind == "power"
    assert len(figure.rows) == 4
    power = found.document.curves[0].power
    assert power == tuple(sorted(power))


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"difference": 0.3}, "give a pilot file"),
        ({"sd": 1.0}, "which difference is to be shown"),
        ({"sd": 1.0, "difference": 0.0}, "which difference is to be shown"),
        ({"sd": 1.0, "metrics": "length", "difference": 0.3}, "needs a pilot file"),
        ({"data": CORPUS, "sd": 1.0, "difference": 0.3}, "the pilot's own spread is used"),
        ({"win_rate": 0.6, "sd": 1.0}, "goes with ties=..., icc=... and rater_icc=... alone"),
        ({"win_rate": 0.5}, "no difference"),
        ({"win_rate": 0.6, "icc": 0.7, "rater_icc": 0.5}, "are more than 1"),
        ({"sd": 1.0, "difference": 0.3, "people": 5}, "are about preferences"),
        ({"data": CORPUS, "difference": 0.3, "people": 5}, "people=... is about preferences"),
        ({"sd": 1.0, "difference": 0.3, "power": 0.05}, "must be above alpha=0.05"),
        ({"win_rate": 0.95, "ties": 0.5}, "cannot have 50% ties"),
        ({"sd": 1.0, "difference": 0.3, "paired": True}, "needs correlation="),
        ({"data": CORPUS, "metrics": "rating:charm", "difference": 0.3}, "no rating has the dimension"),
        ({"data": CORPUS, "difference": 0.3, "agents": "nobody"}, "no measured item of agent `nobody`"),
    ],
)
def test_a_plan_that_lacks_something_is_an_error(asked: dict, complaint: str):
    with pytest.raises(tw.TurnwiseError, match=complaint):
        tw.power(**asked, figures=False)


def test_a_pilot_of_one_dialogue_is_refused(tmp_path: Path):
    path = write(tmp_path / "pilot.jsonl", contexts=1)
    found = tw.power(path, difference=0.3, figures=False)
    assert found.exit_code == 4
    assert "one shows no spread" in next(iter(found))["reason"]


def test_a_metric_that_does_not_vary_is_refused(tmp_path: Path):
    found = tw.power(write(tmp_path / "pilot.jsonl", contexts=5), metrics="question-rate", difference=0.1)
    assert found.exit_code == 4
    assert {one["reason"] for one in found} == {"it does not vary, so nothing can be planned"}


def test_a_difference_that_no_number_shows_is_refused():
    found = tw.power(sd=1, difference=1e-7, figures=False)
    assert found.exit_code == 4
    assert "more than 1,000,000,000 dialogues" in next(iter(found))["reason"]


def choices(path: Path, *, contexts: int = 150, raters: int = 2, same: float = 0.0) -> str:
    """Preferences of `a` against `b`, a fifth of them ties; with the share `same` of contexts all raters agree."""
    rng = np.random.default_rng(1)
    lines = []
    for number in range(contexts):
        drawn = rng.choice(["this", "other", "tie"], raters, p=[0.45, 0.35, 0.2])
        winners = [drawn[0]] * raters if rng.random() < same else drawn
        votes = [
            {"other": f"b{number}", "winner": str(one), "rater": f"p{number}-{at}", "turn": 1}
            for at, one in enumerate(winners)
        ]
        for agent in "ab":
            messages = [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": agent},
            ]
            record = {"id": f"{agent}{number}", "agent": agent, "messages": messages}
            lines.append(json.dumps({**record, "preferences": votes} if agent == "a" else record) + "\n")
    path.write_text("".join(lines))
    return str(path)


@pytest.mark.parametrize("same", [0.0, 0.5])
def test_a_pilot_of_preferences_plans_as_its_ties_and_icc_do(tmp_path: Path, same: float):
    path = choices(tmp_path / "choices.jsonl", contexts=1500, same=same)
    pilot = rows(tw.power(path, metrics="preference:overall", difference=0.1, raters=(1, 2), figures=False))
    given = rows(tw.power(win_rate=0.6, ties=0.2, icc=same, raters=(1, 2), figures=False))
    assert set(pilot) == set(given) == {("preferences", 1, 1), ("preferences", 1, 2)}
    for design, row in given.items():
        assert pilot[design]["dialogues"] == pytest.approx(row["dialogues"], rel=0.08)


def test_one_choice_of_each_pair_plans_for_one_rater(tmp_path: Path):
    path = choices(tmp_path / "choices.jsonl", raters=1)
    (row,) = tw.power(path, metrics="preference:overall", have=100, figures=False)
    assert (row["raters"], row["n_clusters"]) == (1, 150)
    assert 0 < row["difference"] < 0.5


def test_preferences_that_show_no_spread_are_refused_and_point_to_the_win_rate(tmp_path: Path):
    path = Path(choices(tmp_path / "choices.jsonl", contexts=5))
    for one in ("other", "tie"):
        path.write_text(path.read_text().replace(f'"winner": "{one}"', '"winner": "this"'))
    (row,) = tw.power(str(path), metrics="preference:overall", difference=0.1, figures=False)
    assert row["status"] == "refused"
    assert "win_rate=..." in row["reason"]


@pytest.mark.parametrize("name", ["preference", "win-rate"])
def test_a_name_near_preferences_is_answered_with_the_right_one(tmp_path: Path, name: str):
    path = choices(tmp_path / "choices.jsonl", contexts=5)
    with pytest.raises(tw.UsageError, match="such as preference:overall"):
        tw.power(path, metrics=name, difference=0.1, figures=False)
    with pytest.raises(tw.UsageError, match="such as preference:overall"):
        tw.compare(path, metrics=name, figures=False)


def crossed(
    rng: np.random.Generator, *, contexts: int, people: int, each: int, lead: float, leaning: float
) -> list[dict]:  # fmt: skip
    """Preferences of `people` raters, `each` a context, who lean to one agent with this standard deviation."""
    records = []
    lean = leaning * rng.normal(size=people)
    for number in range(contexts):
        favour = lead + 0.8 * rng.normal()
        votes = []
        for rater in rng.choice(people, each, replace=False).tolist():
            felt = favour + lean[rater] + rng.normal()
            winner = "tie" if abs(felt) < 0.3 else "this" if felt > 0 else "other"
            votes.append({"other": f"b{number}", "winner": winner, "rater": f"person {rater}", "turn": 1})
        for agent in "ab":
            messages = [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": agent}]
            record = {"id": f"{agent}{number}", "agent": agent, "messages": messages}
            records.append({**record, "preferences": votes} if agent == "a" else record)
    return records


def test_few_raters_need_more_contexts_than_many():
    """`compare` tests by contexts and raters: .54 was found where .8 was promised for six raters."""
    rng = np.random.default_rng(4)
    needed = {}
    for people in (6, 60):
        pilot = crossed(rng, contexts=1500, people=people, each=2, lead=0.3, leaning=0.0)
        (row,) = tw.power(pilot, difference=0.08, raters=[2], figures=False)
        assert (row["metric"], row["people"]) == ("preference:overall", people)
        needed[people] = row["dialogues"]
    assert needed[6] > 1.1 * needed[60]
    same = [
        tw.power(win_rate=0.58, ties=0.18, icc=0.3, raters=[2], people=people, figures=False).records()[0]
        for people in (6, 60, None)
    ]
    assert [one["dialogues"] for one in same] == sorted([one["dialogues"] for one in same], reverse=True)
    assert [one["people"] for one in same] == [6, 60, None]


def test_raters_who_lean_one_way_are_a_source_of_spread_that_contexts_do_not_reduce():
    pilot = crossed(np.random.default_rng(5), contexts=800, people=30, each=3, lead=0.0, leaning=0.6)
    found = tw.power(pilot, have=200, raters=[3], figures=False)
    (row,) = found
    # Of a normal judgement with these standard deviations the shares are near .18 and .32 on the scale of choices.
    total = sum(row["variances"].values())
    assert row["variances"]["raters"] / total == pytest.approx(0.12, abs=0.06)
    assert "note: preference:overall: planned for the pilot's 30 raters; --people N" in found.notes()[0]
    more = tw.power(pilot, have=200, raters=[3], people=300, figures=False)
    assert more.records()[0]["difference"] < row["difference"]
    assert more.notes() == []
    few = tw.power(pilot, difference=0.05, raters=[3], people=4, figures=False)
    assert few.records()[0]["reason"] == (
        "4 raters differ too much from each other; more raters are needed (people=...)"
    )


def test_more_choices_of_a_context_than_there_are_raters_are_refused():
    found = tw.power(win_rate=0.6, raters=[2, 5], people=3, figures=False)
    assert [one["status"] for one in found] == ["ok", "refused"]
    assert "5 preferences of one context need as many raters, and there are 3" in found.notes()[0]


def test_the_planned_number_of_contexts_is_enough_for_compare():
    """The whole way: 60 fresh studies of the planned size, of which `compare` shows the difference in about .8."""
    rng = np.random.default_rng(6)
    (row,) = tw.power(win_rate=0.62, ties=0.17, icc=0.29, raters=[2], people=6, figures=False)
    shown = [
        tw.compare(
            crossed(rng, contexts=row["dialogues"], people=6, each=2, lead=0.395, leaning=0.0), figures=False
        ).records()[0]
        for _ in range(60)
    ]
    assert np.mean([one["win_rate"] for one in shown]) == pytest.approx(0.62, abs=0.015)
    assert 0.64 <= np.mean([one["p"] <= 0.05 for one in shown]) <= 0.94  # three standard errors around .8


def test_without_a_metric_the_only_dimension_is_planned_for(tmp_path: Path):
    path = Path(write(tmp_path / "pilot.jsonl", contexts=20))
    path.write_text(path.read_text().replace('"overall"', '"charm"'))
    assert {one["metric"] for one in tw.power(str(path), difference=0.3, figures=False)} == {"rating:charm"}
    path.write_text(path.read_text().replace('"charm"', '"wit"', 1))
    with pytest.raises(tw.UsageError, match='choose with metrics="rating:'):
        tw.power(str(path), difference=0.3, figures=False)


def test_pairs_of_first_turns_do_not_show_what_more_turns_add(tmp_path: Path):
    """The agents' own replies are part of the later contexts, so only first turns have the same context."""
    lines = []
    for line in (
        Path(write(tmp_path / "pilot.jsonl", turns=2, contexts=30, raters=1)).read_text().splitlines()
    ):
        record = json.loads(line)
        for message in record["messages"]:
            message["content"] += f" {record['agent']}" if message["role"] == "assistant" else ""
        lines.append(json.dumps(record) + "\n")
    path = tmp_path / "own.jsonl"
    path.write_text("".join(lines))
    found = tw.power(str(path), difference=0.5, turns=[1, 2], figures=False)
    designs = rows(found)
    assert designs["unpaired", 2, 1]["dialogues"] < designs["unpaired", 1, 1]["dialogues"]
    assert designs["paired", 1, 1]["dialogues"] > 2
    assert designs["paired", 2, 1]["status"] == "refused"
    assert "does not show what more turns would add" in designs["paired", 2, 1]["reason"]
    assert (
        "note: rating:overall: the pilot's replies are paired by their context; --pair meta.topic makes 60 pairs "
        "instead of 30" in found.notes()
    )
    keyed = tw.power(str(path), difference=0.5, turns=[1, 2], pair="meta.topic", figures=False)
    assert rows(keyed)["paired", 2, 1]["dialogues"] < rows(keyed)["paired", 1, 1]["dialogues"]
    assert keyed.notes() == []


def test_what_a_pilot_of_single_turns_and_ratings_does_not_show_is_refused(tmp_path: Path):
    path = write(tmp_path / "pilot.jsonl", raters=1)
    found = tw.power(path, difference=0.3, turns=[1, 4], raters=[1, 3], paired=False, figures=False)
    status = {(one["turns"], one["raters"]): one["status"] for one in found}
    assert status == {(1, 1): "ok", (1, 3): "refused", (4, 1): "refused", (4, 3): "refused"}
    alone = next(iter(found))
    assert (alone["ratings"], alone["judge_calls"]) == (2 * alone["dialogues"], None)


def test_a_pilot_in_which_no_item_has_a_number_is_refused(tmp_path: Path):
    """The metric needs references, and the pilot has none."""
    found = tw.power(write(tmp_path / "pilot.jsonl", contexts=4), metrics="bleu-2", difference=0.3)
    assert [(one["status"], one["reason"]) for one in found] == [
        ("refused", "no item of the pilot has a number, so its spread is unknown")
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"have": 10**30},
        {"have": 10, "raters": [10**30]},
        {"have": 10, "turns": [10**18]},
        {"have": 10, "agreement": 0.5, "scored": 10**30},
        {"difference": float("nan")},
        {"difference": 1e308},
        {"have": 10, "cost_rating": 1e308},
    ],
)
def test_amounts_beyond_all_plans_are_errors(asked: dict):
    with pytest.raises(UsageError, match="must be"):
        tw.power(sd=1.0, rater_sd=1.0, **asked)


def test_the_cost_of_scores_beside_ratings_needs_their_number() -> None:
    given = {"sd": 0.9, "rater_sd": 0.8, "difference": 0.3, "agreement": 0.5, "raters": [1], "figures": False}
    with pytest.raises(tw.UsageError, match="depends on their number"):
        tw.power(**given, cost_judge=1)
    alone, beside = tw.power(**given, cost_judge=1, cost_rating=1, scored=2000)
    assert (alone["scored_items"], beside["scored_items"], beside["judge_calls"]) == (None, 4000, 4000)
    assert beside["cost"] == beside["ratings"] + 4000
    _, unknown = tw.power(**given, cost_rating=1)
    assert unknown["scored_items"] is None  # far more than are rated, so the number is not known
    assert unknown["cost"] == unknown["ratings"]


def test_scores_of_a_metric_that_learned_from_the_pilot_are_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from turnwise.metrics.features.surface import Length

    given = {"difference": 3, "beside": "length", "turns": [1], "raters": [1], "figures": False}
    assert not [one for one in tw.power(CORPUS, **given).notes() if "learned" in one]
    monkeypatch.setattr(Length, "in_training", lambda self, items: len(items) - 1, raising=False)
    (said,) = [one for one in tw.power(CORPUS, **given).notes() if "learned" in one]
    assert said == (
        "warning: length learned from 93 of 94 items here: its agreement with people says nothing about new ones, so "
        "that it may save fewer ratings than planned"
    )
