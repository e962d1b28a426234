"""ENIGMA's released data in the layout and with the keys that its README documents, made from simulated dialogues.

`opedata` has a folder for each target, with all dialogues of all agents in `data.json`. The logging agents are not
named. A target's replies to its own dialogues are the logged ones, as the released code made them again and compared
them.
"""

import json
from pathlib import Path

import pytest

import turnwise as tw
from turnwise.logs import native
from turnwise.logs.readers import READERS
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue, Reply

SCORES = {"reward": "reward", "name": "name_score", "flight": "flight_score", "status": "status_score"}


def released(dialogue: Dialogue, target: str) -> dict[str, object]:
    """One line of the target's `data.json`."""
    said, last = [], Reply("")
    for turn in dialogue.turns:
        if turn.role == "user":
            said.append({"speaker": "human_evaluator", "text": turn.text})
        else:
            (last,) = turn.alternatives[target]
            instead = turn.text if target == dialogue.agent else last.content
            said += [{"speaker": "model", "text": turn.text}, {"speaker": "tgt_model", "text": instead}]
    own = {one.dimension: one.value for one in dialogue.ratings}
    decided = own if target == dialogue.agent else last.relabelled or last.outcome or {}
    return {
        "dialog": said,
        "reward_ref": {SCORES[name]: value for name, value in own.items()},
        "reward": {SCORES[name]: value for name, value in decided.items()},
        "kb": {"kb": [{"flight_number": 1000}], "reservation": 0},
        "intent": {"goal": "book"},
        "expected_action": {"status": "book", "flight": [1000], "name": "Ann Lee"},
    }


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> list[Dialogue]:
    path = str(tmp_path_factory.mktemp("logs") / "logs.jsonl")
    tw.simulate("booking", output=path, family="wordings", agents=6, dialogues=12, samples=1, truth=0, jobs=1)
    return list(native.read(path))


@pytest.fixture(scope="module")
def opedata(logged: list[Dialogue], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("airdialogue") / "opedata"
    for target in {dialogue.agent for dialogue in logged}:
        (folder / target).mkdir(parents=True)
        lines = [json.dumps(released(dialogue, target)) for dialogue in logged]
        (folder / target / "data.json").write_text("\n".join(lines) + "\n")
    return folder


def said(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns]


def test_a_folder_of_targets_has_each_dialogue_once_with_the_replies_of_all(logged, opedata) -> None:
    found = list(READERS["enigma"].read(str(opedata), Options()))
    targets = {dialogue.agent for dialogue in logged}
    assert len(found) == len(logged)
    assert sorted(map(said, found)) == sorted(map(said, logged))
    for dialogue in found:
        assert all(turn.alternatives.keys() == targets for turn in dialogue.turns if turn.role == "assistant")
        assert {"kb", "intent", "expected_action"} <= dialogue.meta.keys()
        assert [rating.dimension for rating in dialogue.ratings] == list(SCORES.values())


def test_the_logging_agent_is_the_one_target_that_says_all_that_was_logged(logged, opedata) -> None:
    found = list(READERS["enigma"].read(str(opedata), Options()))
    truth = {tuple(said(dialogue)): dialogue.agent for dialogue in logged}
    inferred = [dialogue for dialogue in found if dialogue.meta.get("agent_inferred")]
    assert len(inferred) > len(logged) / 2
    assert all(dialogue.agent == truth[tuple(said(dialogue))] for dialogue in inferred)
    assert {dialogue.agent for dialogue in found if dialogue not in inferred} <= {"unknown"}


def test_one_target_alone_and_the_hard_setting_infer_no_agent(logged, opedata, tmp_path) -> None:
    one = next(opedata.glob("*/data.json"))
    assert {dialogue.agent for dialogue in READERS["enigma"].read(str(one), Options())} == {"unknown"}
    assert {dialogue.agent for dialogue in READERS["enigma"].read(str(one.parent), Options())} == {"unknown"}
    # In `opedata_hard` a target's file lacks the dialogues that it agrees with, its own among them.
    for target in {dialogue.agent for dialogue in logged}:
        (tmp_path / target).mkdir()
        lines = [released(dialogue, target) for dialogue in logged]
        hard = [line for line in lines if line["dialog"][1::3] != _as_logged(line["dialog"][2::3])]
        (tmp_path / target / "data.json").write_text("".join(json.dumps(line) + "\n" for line in hard))
    assert {one.agent for one in READERS["enigma"].read(str(tmp_path), Options())} == {"unknown"}


def _as_logged(replies: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**reply, "speaker": "model"} for reply in replies]


def test_converted_releases_are_estimated_like_the_logs_that_they_came_from(
    logged, opedata, tmp_path
) -> None:
    path = tmp_path / "converted.jsonl"
    known = [one for one in READERS["enigma"].read(str(opedata), Options()) if one.agent != "unknown"]
    native.write(known, str(path))
    there = {tuple(said(one)) for one in known}
    plain = tmp_path / "logs.jsonl"
    native.write((one for one in logged if tuple(said(one)) in there), str(plain))
    target = known[0].agent
    asked = {"targets": target, "rating": "reward", "estimators": "mean,mean-relabelled", "model": "hashing"}
    found, expected = tw.ope(str(path), **asked), tw.ope(str(plain), **asked)
    assert [one["raw"] for one in found] == pytest.approx([one["raw"] for one in expected])


def test_dialogues_whose_agent_is_not_known_are_used_but_are_no_target(logged, opedata, tmp_path) -> None:
    path = tmp_path / "converted.jsonl"
    found = list(READERS["enigma"].read(str(opedata), Options()))
    assert "unknown" in {dialogue.agent for dialogue in found}
    native.write(found, str(path))
    made = tw.ope(str(path), all_agents=True, rating="reward", estimators="mean", model="hashing", jobs=1)
    assert {one["target"] for one in made} == {dialogue.agent for dialogue in logged}
    others = {one["target"]: one["n_items"] for one in made}
    held = {name: sum(dialogue.agent == name for dialogue in found) for name in others}
    assert others == {name: len(found) - count for name, count in held.items()}


def test_convai2_records_keep_both_personas_and_the_ratings_of_the_logged_dialogue(tmp_path) -> None:
    speakers = ("human_evaluator", "model", "tgt_model")
    texts = ("__SILENCE__", "hi there", "hello", "how are you", "good", "i am well")
    record = {
        "dialog": [
            {"speaker": speakers[place % 3], "text": text} for place, text in enumerate(texts)
        ],
        "reward": {"enjoy": 0.75, "avoid_rep": 1.0, "reward": 0.7},
        "model_persona": "i grew up in the industry.\ni am a country music singer.",
        "human_persona": "i like tea.",
    }  # fmt: skip
    for target in ("greedy_model", "repetition_model_setting05"):
        (tmp_path / target).mkdir()
        (tmp_path / target / "data.json").write_text(json.dumps(record) + "\n")
    (dialogue,) = READERS["enigma"].read(str(tmp_path), Options())
    assert [turn.role for turn in dialogue.turns] == ["assistant", "user", "assistant"]
    assert {one.dimension: one.value for one in dialogue.ratings} == record["reward"]
    assert dialogue.meta["model_persona"] == record["model_persona"]
    assert dialogue.meta["human_persona"] == "i like tea."
    assert not any(
        reply.relabelled
        for turn in dialogue.turns
        for replies in turn.alternatives.values()
        for reply in replies
    )
    assert dialogue.agent == "unknown"  # no target says what was logged
