"""`ope` from the target's own unrated dialogues: which road is taken, what it says, and what never leaks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwise as tw
from turnwise.cli.common.group import run
from turnwise.errors import DataError, UsageError
from turnwise.report.claims import claims_of
from turnwise.report.report import figures
from turnwise.report.runs import find_runs
from turnwise.run.ope import own_dialogues

GOOD = ("great, thank you", "oh nice, I love that", "haha, tell me more about it please")
BAD = ("what do you mean", "you already said that", "whatever, bye")


def talks(
    agents: dict[str, float], *, each: int = 24, seed: int = 0, rated: bool = True
) -> list[dict[str, Any]]:
    """Dialogues in which users react as well as an agent is good (0 to 1), with ratings that follow it."""
    rng = np.random.default_rng(seed)
    found = []
    for agent, quality in agents.items():
        for number in range(each):
            level = float(np.clip(quality + 0.15 * rng.normal(), 0, 1))
            messages = [
                {"role": "user", "content": f"Hello, what about {rng.choice(['cats', 'tea', 'rain'])}?"}
            ]
            for _ in range(4):
                reply = "Well, that is a story." if rng.random() < level else "I do not know."
                messages.append({"role": "assistant", "content": f"{reply} {rng.integers(100)}"})
                messages.append(
                    {"role": "user", "content": str(rng.choice(GOOD if rng.random() < level else BAD))}
                )
            line: dict[str, Any] = {"id": f"{agent} {number}", "agent": agent, "messages": messages}
            if rated:
                value = float(np.clip(1 + 4 * level + 0.3 * rng.normal(), 1, 5))
                line["ratings"] = [{"dimension": "overall", "value": value, "scale": [1, 5]}]
            found.append(line)
    return found


RATED = {f"bot{index}": quality for index, quality in enumerate((0.1, 0.25, 0.4, 0.55, 0.65, 0.8, 0.9))}


def written(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Rated dialogues of seven bots, and unrated ones of two more in a file of their own."""
    rated = written(tmp_path / "rated.jsonl", talks(RATED))
    new = written(tmp_path / "new.jsonl", talks({"new": 0.7, "other": 0.3}, seed=1, rated=False))
    return rated, new


def test_unrated_dialogues_in_a_file_of_their_own_are_enough(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["ope", *files, "--target", "new", "--model", "hashing"])
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert code == 0
    assert "dialogues" in said
    assert "road: dialogues, the unrated dialogues of `new`" in said
    found = tw.ope(list(files), targets="new", model="hashing")
    (row,) = list(found)
    low, high = row["interval"]
    assert low <= 1 + 4 * 0.7 <= high
    assert high - low < 3
    assert row["diagnostics"]["choice"] in ("surface", "user", "agent", "all")
    assert set(row["diagnostics"]["left_out"]) == set(RATED)


def test_the_ratings_of_a_target_are_hidden_from_its_estimate(tmp_path: Path) -> None:
    lines = talks(RATED | {"new": 0.7})
    truthful = written(tmp_path / "a.jsonl", lines)
    for line in lines:
        if line["agent"] == "new":
            line["ratings"][0]["value"] = 1.0
    wrong = written(tmp_path / "b.jsonl", lines)
    first, second = (
        next(one for one in tw.ope(path, targets="new", model="hashing") if one["estimator"] == "dialogues")
        for path in (truthful, wrong)
    )
    assert first["estimate"] == second["estimate"]
    assert first["interval"] == second["interval"]


def test_ratings_of_the_target_are_pooled_in_a_row_of_their_own(tmp_path: Path) -> None:
    lines = talks(RATED) + talks({"new": 0.7}, seed=1)
    for line in lines[-12:]:
        del line["ratings"]
    path = written(tmp_path / "a.jsonl", lines)
    estimates = tw.ope(path, targets="new", model="hashing", against="bot0")
    alone, together = estimates
    assert (alone["estimator"], together["estimator"]) == ("dialogues", "dialogues+ratings")
    assert np.ptp(together["interval"]) < np.ptp(alone["interval"])
    assert (alone["own_dialogues"], together["own_ratings"]) == (24, 12)
    # The second is the answer: gates, comparisons and claims take it.
    assert [one.estimator for one in estimates.findings] == ["dialogues+ratings"]
    (against,) = estimates.document.differences
    assert against.estimator == "dialogues+ratings"
    assert any(
        "12 ratings of its own are in it, and must be of dialogues" in note for note in estimates.notes()
    )


def test_ratings_of_chosen_dialogues_contradict_the_prediction_and_that_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = talks(RATED) + talks({"new": 0.2}, seed=1)
    for place, line in enumerate(lines[-24:]):
        line["ratings"][0]["value"] = 4.5 + place / 100
        if place >= 10:
            del line["ratings"]
    path = written(tmp_path / "a.jsonl", lines)
    assert run(["ope", path, "--target", "new", "--model", "hashing", "-q", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "warning: new overall: its own ratings (4." in said
    assert "right only if they are of dialogues of new that were drawn at random" in said
    (found,) = find_runs([str(tmp_path / "out")])
    (claim,) = claims_of(found)
    assert claim.badge == "caution"
    assert "from its 24 dialogues and 10 ratings of these, which contradict" in claim.evidence
    assert claim.number.startswith("new would get 4.5")
    listed, among = figures(found)
    assert [row[0] for row in listed.rows] == ["dialogues+ratings", "dialogues"]
    assert among.rows[-1][2] == pytest.approx(claim.interval and sum(claim.interval) / 2, abs=0.1)


def test_a_gate_is_on_a_target_or_on_its_rating(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["ope", *files, "--target", "new", "--model", "hashing"]
    assert run([*asked, "--gate", "new >= 1"]) == 0
    assert run([*asked, "--gate", "new:overall >= 4.9"]) == 1
    capsys.readouterr()
    assert run([*asked, "--gate", "overall >= 1"]) == 2
    assert "there are results for new, new:overall" in capsys.readouterr().err


def test_a_fraction_is_a_share_of_each_agents_dialogues(files: tuple[str, str]) -> None:
    (half,) = tw.ope(list(files), targets="new", model="hashing", fraction=0.5)
    assert (half["own_dialogues"], half["n_items"]) == (12, 7 * 12)


def test_the_signature_has_rating_choice_and_encoder(files: tuple[str, str]) -> None:
    (row,) = tw.ope(list(files), targets="new", model="hashing")
    assert row["signature"].startswith(
        f"dialogues|rating:overall|choice:{row['diagnostics']['choice']}|[hashing"
    )


def test_a_refused_estimate_shows_no_number_but_the_mean_of_the_others(tmp_path: Path) -> None:
    few = dict(list(RATED.items())[:3])
    lines = talks(few)
    path = written(tmp_path / "a.jsonl", lines + talks({"new": 0.5}, rated=False))
    (row,) = tw.ope(path, targets="new", model="hashing")
    means = [np.mean([one["ratings"][0]["value"] for one in lines if one["agent"] == agent]) for agent in few]
    assert (row["estimate"], row["raw"]) == (None, None)
    assert row["mean_of_others"] == pytest.approx(np.mean(means))


def test_files_of_several_agents_may_have_the_same_ids(tmp_path: Path) -> None:
    lines = talks(RATED | {"new": 0.7})
    del lines[-1]["ratings"]
    together = written(tmp_path / "all.jsonl", lines)
    paths = []
    for agent in (*RATED, "new"):
        own = [line for line in lines if line["agent"] == agent]
        renamed = [line | {"id": str(place)} for place, line in enumerate(own)]
        paths.append(written(tmp_path / f"{agent}.jsonl", renamed))
    first, second = (tw.ope(files, targets="new", model="hashing") for files in (together, paths))
    assert [one["estimate"] for one in second] == [one["estimate"] for one in first]


@pytest.mark.parametrize(
    ("known", "note"),
    [
        ({"a": 3}, "`reactions` is that fitted without a: dialogues of it are here (3)"),
        (
            {"a": 3, "b": 1},
            "users say the same as in dialogues of several corpora that it was fitted to: a (3), b (1)",
        ),
    ],
)
def test_it_is_said_which_fit_of_reactions_is_used_and_why_none(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, int], note: str
) -> None:
    monkeypatch.setattr(own_dialogues, "known_dialogues", lambda folder, dialogues: known)
    notes: list[str] = []
    names = own_dialogues._reactions([], notes)
    assert names == (["reactions[without=a]"] if len(known) == 1 else [])
    assert [note in one for one in notes] == [True]


def test_the_first_reading_of_texts_shows_its_progress(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []

    @contextmanager
    def progress(what: str, total: int | None, *, quiet: bool) -> Iterator[None]:
        shown.append((what, quiet))
        yield

    monkeypatch.setattr(own_dialogues, "progress", progress)
    tw.ope(list(files), targets="new", model="hashing", progress=True)
    assert shown == [("reading 192 dialogues", False)]


def test_settings_of_replies_are_refused_where_there_are_only_own_dialogues(files: tuple[str, str]) -> None:
    for more in ({"calibrate": False}, {"estimators": "robust"}):
        with pytest.raises(UsageError, match="without this, its own dialogues are taken"):
            tw.ope(list(files), targets="new", model="hashing", **more)
    with pytest.raises(UsageError, match="is a road"):
        tw.ope(list(files), targets="new", model="hashing", estimators="dialogues")
    (row,) = tw.ope(list(files), targets="new", model="hashing", estimators="metric:length")
    assert row["estimator"] == "dialogues"
    assert "scores:length" in row["signature"]


def test_all_leaves_out_each_agent_and_two_targets_are_compared(
    files: tuple[str, str], tmp_path: Path
) -> None:
    found = tw.ope(files[0], all_agents=True, model="hashing")
    assert [one["target"] for one in found] == list(RATED)
    (check,) = found.validation
    tw.ope(files[0], all_agents=True, model="hashing", output=str(tmp_path / "out"))
    (made,) = find_runs([str(tmp_path / "out")])
    (figure,) = figures(made)
    assert figure.title == "dialogues: estimates of overall against known means"
    assert all(one["target"] in figure.svg for one in found if one["estimate"] is not None)
    assert check["n_agents"] + check["refused"] == 7
    assert check["n_agents"] >= 4
    assert check["pearson"] > 0.8
    both = tw.ope(list(files), targets="new,other", against="bot0", model="hashing").document
    pairs = {(one.agent, one.minus): one for one in both.differences}
    assert set(pairs) == {("new", "other"), ("new", "bot0"), ("other", "bot0")}
    between = pairs["new", "other"]
    assert between.p_above > 0.9
    assert between.estimate > 0.5
    assert 0 <= between.regret < 0.1
    assert pairs["new", "bot0"].rated


def test_thumbs_on_turns_serve_as_ratings(tmp_path: Path) -> None:
    lines = talks(RATED)
    for line in lines:
        value = line.pop("ratings")[0]["value"]
        line["ratings"] = [
            {"dimension": "thumb", "value": float(value > 2 + turn / 4), "scale": [0, 1], "turn": turn}
            for turn in (1, 3, 5, 7)
        ]
    path = written(tmp_path / "a.jsonl", lines + talks({"new": 0.7}, seed=1, rated=False))
    (row,) = tw.ope(path, targets="new", model="hashing", road="dialogues")
    assert row["estimate"] is not None
    assert 0.4 < row["estimate"] < 1


def test_both_roads_add_the_estimate_from_replies_as_one_more_number(tmp_path: Path) -> None:
    path = str(tmp_path / "logs.jsonl")
    tw.simulate("booking", output=path, agents=8, dialogues=20, samples=1, truth=0)
    found = tw.ope(path, targets="noise-04", rating="reward", model="hashing", road="both")
    rows = {one["estimator"]: one for one in found}
    assert rows["both"]["estimate"] is not None
    assert "robust" in rows
    assert found.document.road == "both"


def test_too_few_agents_say_how_many_more_would_be_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = dict(list(RATED.items())[:3])
    path = written(tmp_path / "a.jsonl", talks(few) + talks({"new": 0.5}, rated=False))
    assert run(["ope", path, "--target", "new", "--model", "hashing"]) == 4
    said = capsys.readouterr()
    assert "2 agents more rated would be enough" in said.out + said.err


def test_what_is_missing_is_said_with_the_command_that_supplies_it(
    files: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="turnwise respond"):
        tw.ope(list(files), targets="nobody", model="hashing")
    silent = written(
        tmp_path / "c.jsonl",
        [{"id": "s", "agent": "silent", "messages": [{"role": "assistant", "content": "Hello."}]}],
    )
    with pytest.raises(DataError, match="in which both sides speak"):
        tw.ope([files[0], silent], targets="silent", model="hashing")
    with pytest.raises(UsageError, match="road"):
        tw.ope(files[0], all_agents=True, model="hashing", road="dialogues", stream=True)
    with pytest.raises(UsageError, match="nobody rated"):
        tw.ope(list(files), targets="new", against="other", model="hashing")


def test_an_unrated_targets_records_are_paired_by_context(tmp_path: Path) -> None:
    """Five systems replied to the same contexts; the target's records have no ratings."""
    rng = np.random.default_rng(0)
    lines = []
    words = "red blue cat dog sun rain tea milk yes no".split()
    for place in range(40):
        for index in range(6):
            reply = " ".join(rng.choice(words[index : index + 5], 4))
            line: dict[str, Any] = {
                "id": f"{place} {index}",
                "agent": f"s{index}",
                "messages": [
                    {"role": "user", "content": f"question {place}"},
                    {"role": "assistant", "content": reply},
                ],
            }
            if index != 2:
                value = float(np.clip(1 + 0.6 * index + 0.3 * rng.normal(), 1, 5))
                line["ratings"] = [{"dimension": "overall", "value": value, "scale": [1, 5], "turn": 1}]
            lines.append(line)
    found = tw.ope(written(tmp_path / "a.jsonl", lines), targets="s2", model="hashing", estimators="direct")
    (row,) = list(found)
    assert row["n_items"] == 200
    assert "no dialogue of another agent" not in (row["reason"] or "")
    assert row["raw"] is not None


def test_a_missing_alternative_leaves_out_its_dialogue_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    tw.simulate("booking", output=str(path), agents=8, dialogues=10, samples=1, truth=0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    holes = [line for line in lines if line["agent"] != "noise-03"][:5]
    for line in holes:
        reply = next(one for one in line["messages"] if one["role"] == "assistant")
        del reply["alternatives"]["noise-03"]
    written(path, lines)
    found = tw.ope(str(path), targets="noise-03", rating="reward", model="hashing", estimators="robust")
    (row,) = list(found)
    assert row["n_items"] == 65
    assert any("5 items left out" in note for note in found.document.notes)


def test_a_system_that_talks_like_no_other_is_refused_on_the_road_of_replies(tmp_path: Path) -> None:
    """Six systems share their words, and the target, which people rate highest, has words of its own."""
    rng = np.random.default_rng(0)
    words = "red blue cat dog sun rain tea milk yes no".split()
    own = "marvellous quantum harpsichord velvet orbit lantern".split()
    lines = []
    for place in range(40):
        for index in range(7):
            pool = own if index == 6 else words[index : index + 5]
            line: dict[str, Any] = {
                "id": f"{place} {index}",
                "agent": f"s{index}",
                "messages": [
                    {"role": "user", "content": f"question {place}"},
                    {"role": "assistant", "content": " ".join(rng.choice(pool, 4))},
                ],
            }
            if index != 6:
                value = float(np.clip(1 + 0.3 * index + 0.2 * rng.normal(), 1, 5))
                line["ratings"] = [{"dimension": "overall", "value": value, "scale": [1, 5], "turn": 1}]
            lines.append(line)
    found = tw.ope(
        written(tmp_path / "a.jsonl", lines), targets="s6", model="hashing", estimators="direct,robust"
    )
    assert [one["estimate"] for one in found] == [None, None]
    codes = {one.why.code for one in found.document.results if one.why is not None}
    assert codes <= {"dialogues-outside", "unlike-logged", "estimate-outside", "not-ranked"}
    assert codes & {"dialogues-outside", "unlike-logged"}
