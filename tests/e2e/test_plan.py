"""From a plan to an estimate: dialogues are drawn, people rate them, and their ratings are weighed by the draw."""

import json
from pathlib import Path

import pytest

import turnwise as tw
from tests.finished_runs import write_partly_rated
from turnwise.cli.common.group import run
from turnwise.logs import native

pytest.importorskip("starlette", reason="needs the extra `web`")


def test_what_people_rate_of_a_plan_is_read_back_with_its_weights(tmp_path: Path):
    from tests.studies import PLAIN, Running, finish
    from turnwise.web.study.definition import read_study
    from turnwise.web.study.export import export_dialogues

    logs = write_partly_rated(tmp_path / "logs.jsonl", every=2)
    asked = {"metrics": "length", "to": "rating:satisfaction", "figures": False}
    before = tw.calibrate(logs, labels="random", plan=8, output=tmp_path / "next", **asked)
    plan = list(native.read(str(tmp_path / "next" / "plan.jsonl")))
    assert len(plan) == 8
    question = {"name": "satisfaction", "text": "How satisfied are you?", "scale": [1, 5]}
    study = read_study(None, mode="dialogue", per_task=1, question=[question], **PLAIN)
    running = Running(str(tmp_path / "ratings.db"), study, plan)
    try:
        assert finish(running.visitor("anna")) == 8
        running.recorder.flush()
        rated = list(export_dialogues(running.recorder.ledger, plan))
    finally:
        running.recorder.close()
    assert [one.meta["weight"] for one in rated] == [one.meta["weight"] for one in plan]
    native.write(rated, str(tmp_path / "rated.jsonl"))
    files = [tmp_path / "rated.jsonl", tmp_path / "next" / "rest.jsonl"]
    after = tw.calibrate(files, labels="weights:meta.weight", **asked)
    counts = [sum(one["n_labels"] for one in found.means()) for found in (before, after)]
    assert counts[1] == counts[0] + 8
    assert json.loads((tmp_path / "next" / "results.json").read_bytes())["plan"]["drawn"] == 8


QUESTION = """per_task = 1
[[question]]
name = "satisfaction"
scale = [1, 5]
[quality]
shared = 0
checks = 0
repeats = 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with partly rated logs and a study of the rating `satisfaction`, which is the working folder."""
    write_partly_rated(tmp_path / "logs.jsonl", every=2)
    (tmp_path / "study.toml").write_text(QUESTION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CHOOSE = "-m length --to rating:satisfaction --labels random".split()
STUDY = "rate logs.jsonl --study study.toml --mode dialogue".split()


def test_the_way_from_chosen_dialogues_through_the_server_and_the_export_to_calibrate(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    from tests.rating_server import Server
    from tests.visitor import Visitor

    logs = {one["id"]: one for one in map(json.loads, (folder / "logs.jsonl").read_text().splitlines())}
    server = Server(*STUDY[1:], "--choose", "8", *CHOOSE, "--raters", "anna,ben", folder=folder)
    seen = 0
    try:
        visitor = Visitor(server.client, server.links(2)["anna"])
        visitor.send()
        while visitor.is_asked and seen < 5:
            visitor.send({"q0": str(1 + seen % 5)})
            seen += 1
    finally:
        assert server.stop() == 0
    assert run([*STUDY, "--export", "early.jsonl"]) == 0
    assert "3 of the 8 drawn dialogues have no rating yet" in capsys.readouterr().err
    server = Server(*STUDY[1:], "--raters", "anna,ben", folder=folder)  # the store has the draw
    try:
        visitor = Visitor(server.client, server.links(2)["anna"])
        while visitor.is_asked:
            visitor.send({"q0": str(1 + seen % 5)})
            seen += 1
        exported = server.client.get(f"{server.admin}/export.jsonl").text
    finally:
        assert server.stop() == 0
    assert seen == 8
    assert run([*STUDY, "--export", "rated.jsonl"]) == 0
    assert capsys.readouterr().err == "rated.jsonl: 40 dialogues written\n"
    assert (folder / "rated.jsonl").read_text() == exported
    rated = [json.loads(line) for line in exported.splitlines()]
    assert [one["id"] for one in rated] == list(logs)
    new = [one for one in rated if one.get("ratings", []) != logs[one["id"]]["ratings"]]
    assert len(new) == 8
    assert not any(logs[one["id"]]["ratings"] for one in new)
    assert all(one["meta"]["weight"] >= 1 for one in rated)
    assert sum(1 / one["meta"]["weight"] for one in rated) == pytest.approx(20 + 8, rel=0.1)
    asked = ["calibrate", "rated.jsonl", "-m", "length", "--to", "rating:satisfaction"]
    assert run([*asked, "--labels", "weights:meta.weight", "--format", "json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert sum(one["n_labels"] for one in found if not one["minus"]) == 20 + 8
    assert all(one["interval"] for one in found)


def test_what_is_chosen_is_what_a_plan_draws(folder: Path):
    from turnwise.web.pages import serving

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "serve", lambda *given, **named: None)  # it would run until it is stopped
        asked = {"metric": "length", "to": "rating:satisfaction", "labels": "random"}
        tw.rate(
            "logs.jsonl", study="study.toml", mode="dialogue", choose=6, port=0, announce=lambda _: None, **asked
        )  # fmt: skip
    tw.export_ratings("logs.jsonl", "rated.jsonl", study="study.toml", mode="dialogue")
    tw.calibrate(
        "logs.jsonl", metrics="length", to="rating:satisfaction", labels="random", plan=6, output="next",
        figures=False,
    )  # fmt: skip
    weights = {one.id: one.meta["weight"] for one in native.read("rated.jsonl")}
    planned = [*native.read("next/plan.jsonl"), *native.read("next/rest.jsonl")]
    assert {one.id: one.meta["weight"] for one in planned} == weights


def test_unrated_logs_are_drawn_from_at_random_within_the_selection(folder: Path):
    from turnwise.web.pages import serving

    records = [json.loads(line) for line in (folder / "logs.jsonl").read_text().splitlines()]
    with (folder / "new.jsonl").open("w") as file:
        file.writelines(json.dumps({**one, "ratings": []}) + "\n" for one in records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "serve", lambda *given, **named: None)
        tw.rate("new.jsonl", choose=4, where={"agent": "good"}, port=0, announce=lambda _: None)
    done = tw.export_ratings("new.jsonl", "rated.jsonl", where={"agent": "good"})
    assert (done.n_dialogues, done.n_drawn, done.n_unrated) == (40, 4, 4)
    assert {one.meta["weight"] for one in native.read("rated.jsonl")} == {2.5}  # 10 dialogues of the agent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--choose", "8"], "name the metric by whose error more are drawn"),
        (["--choose", "8", "-m", "length"], "say how the rated dialogues were drawn"),
        (["--choose", "8", *CHOOSE[:4], "--labels", "unknown"], "adds to labels whose draw is known"),
        (["--choose", "8", *CHOOSE[:4], "--labels", "luck"], "expected how the rated items were drawn"),
        (["--choose", "80", *CHOOSE], "only 20 dialogues can still be rated"),
        (
            ["--choose", "8", "-m", "length", "--labels", "random"],
            "the study asks for satisfaction, and dialogues are",
        ),
        (
            ["--choose", "8", *CHOOSE, "--mode", "reply"],
            "the data has ratings of dialogues; choose --mode dialogue",
        ),
        (["--choose", "8", *CHOOSE, "--mode", "pairwise"], "--choose draws logged dialogues"),
        (["--choose", "8", *CHOOSE, "--by", "agent"], "--choose draws logged dialogues"),
        (CHOOSE, "options of --choose"),
    ],
)
def test_a_choice_that_cannot_be_made_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
):
    before = sorted(folder.iterdir())
    asked = STUDY[:4] if "--mode" in arguments else STUDY
    assert run([*asked, *arguments, "--port", "0"]) == 2
    assert words in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_a_study_that_has_begun_is_not_drawn_anew(folder: Path, capsys: pytest.CaptureFixture[str]):
    from turnwise.web.pages import serving

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "serve", lambda *given, **named: None)
        assert run([*STUDY, "--choose", "8", *CHOOSE, "--port", "0"]) == 0
        assert run([*STUDY, "--choose", "8", *CHOOSE, "--port", "0"]) == 0
        assert run([*STUDY, "--choose", "9", *CHOOSE, "--port", "0"]) == 2
        assert "were drawn with count 8, metric length" in capsys.readouterr().err
        assert run([*STUDY, "--store", "all.db", "--port", "0"]) == 0
        assert run([*STUDY, "--store", "all.db", "--choose", "8", *CHOOSE, "--port", "0"]) == 2
        assert "has a study of all dialogues" in capsys.readouterr().err
    with (folder / "logs.jsonl").open("a") as logs:
        logs.write(
            json.dumps({"id": "more", "agent": "good", "messages": [{"role": "user", "content": "Hi"}]})
            + "\n"
        )
    assert run([*STUDY, "--export", "rated.jsonl"]) == 2
    assert "'more' was not in the data when the dialogues to rate were drawn" in capsys.readouterr().err
