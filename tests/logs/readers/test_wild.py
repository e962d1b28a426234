"""Files as other tools wrote them: the format is recognised, and every message has the role that the file gives it.

The counts were made by hand from the raw files (`jq`, `grep`), not by these readers.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.wild_corpora import WILD, convert_wild, needs_wild
from turnwise import score
from turnwise.logs import native
from turnwise.types import Role

pytestmark = needs_wild


class Expected(NamedTuple):
    reader: str
    dialogues: int
    roles: dict[Role, int]
    agents: set[str]
    ratings: dict[str, int] = {}  # noqa: RUF012  # a NamedTuple is never changed
    preferences: int = 0
    tool_calls: int = 0


MARKS = dict.fromkeys((*(f"bucket_{number}" for number in range(5)), "none_all_good"), 7)
FILES = {
    "alpaca_eval_annotations.json": Expected(
        "preferences", 80, {"user": 80, "assistant": 80}, {"gpt4_1106_preview", "claude-2.1"}, preferences=40
    ),
    "chatgpt_export.json": Expected("chatgpt", 1, {"user": 1, "assistant": 1}, {"unknown"}),
    "hh_rlhf_pairs.jsonl": Expected(
        "preferences", 300, {"user": 736, "assistant": 736}, {"unknown"}, preferences=150
    ),
    "inspect_log.json": Expected(
        "inspect", 3, {"system": 3, "user": 3, "assistant": 3}, {"openai/gpt-4o-mini"}, {"match": 3}
    ),
    "inspect_log.eval": Expected(
        "inspect", 4, {"system": 4, "user": 4, "assistant": 4}, {"azureai/Meta-Llama-3-1-405B-Instruct-jqf"},
        {"match": 4},
    ),
    "mt_bench_questions.jsonl": Expected(
        "mt-bench", 40, {"user": 80, "assistant": 80},
        {f"meta-llama/Meta-Llama-3-8B-Instruct-{kind}" for kind in ("Normal", "Griffin")}, {"score": 86},
    ),
    "parlai_acute_eval.csv": Expected(
        "acute-eval", 8, {"user": 40, "assistant": 40}, {"model1", "model2"}, preferences=4
    ),
    "parlai_chatlog_blender_2.7B.json": Expected(
        "parlai", 108, {"system": 216, "user": 756, "assistant": 756}, {"generative2.7B_bst_0331"}
    ),
    "parlai_model_chat.json": Expected(
        "parlai", 1, {"user": 7, "assistant": 7}, {"blender_90M"}, MARKS | {"final_rating": 1}
    ),
    "parlai_selfchat_m1.jsonl": Expected(
        "parlai", 5, {"system": 10, "user": 25, "assistant": 25}, {"TransformerGenerator"}
    ),
    "parlai_tod_example.jsonl": Expected(
        "parlai", 15, {"system": 15, "user": 102, "assistant": 104, "tool": 7}, {"R3fFirstTurnHistoryRepeat"},
        tool_calls=17,
    ),
    "promptfoo_export.json": Expected(
        "promptfoo", 4, {"user": 4, "assistant": 4}, {"openai:gpt-5", "openai:gpt-5-mini"}, {"score": 4, "pass": 4}
    ),
    "rasa_tracker.json": Expected("rasa", 1, {"user": 3}, {"unknown"}),
    "slack_export.zip": Expected("slack", 16, {"user": 114, "assistant": 33}, {"hamza", "unknown"}),
    "support_tweets.csv": Expected("csv", 2, {"user": 2, "assistant": 2}, {"SpotifyCares"}),
    "tau2_results.json": Expected(
        "tau2", 10, {"user": 36, "assistant": 58, "tool": 22}, {"gemini/gemma-3-27b-it"}, {"reward": 10}, tool_calls=22
    ),
    "tau2_run": Expected("tau2", 1, {"user": 1}, {"openai:gpt-realtime-2"}),
    "tau_bench_v1_airline.json": Expected(
        "tau-bench", 6, {"system": 6, "user": 44, "assistant": 85, "tool": 47}, {"unknown"}, {"reward": 6},
        tool_calls=47,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_recognised_and_read_right(name: str, tmp_path: Path) -> None:
    expected = FILES[name]
    found = convert_wild(name, tmp_path / "out.jsonl")
    assert sum(1 for _ in native.read(str(tmp_path / "out.jsonl"))) == found.n_dialogues
    account = found.account
    assert (found.name, found.n_dialogues) == (expected.reader, expected.dialogues)
    assert dict(account.messages) == expected.roles
    assert set(account.agents) == expected.agents
    assert dict(account.ratings) == expected.ratings
    assert (sum(account.preferences.values()), account.tool_calls) == (
        expected.preferences,
        expected.tool_calls,
    )


def test_the_question_rate_of_blender_is_that_of_its_own_replies(tmp_path: Path) -> None:
    """`jq` counts 544 replies of `generative2.7B_bst_0331` with a question mark among its 756, that is .720."""
    convert_wild("parlai_chatlog_blender_2.7B.json", tmp_path / "out.jsonl")
    (found,) = score(tmp_path / "out.jsonl", metrics="question-rate", figures=False).records()
    assert (found["agent"], found["n_items"]) == ("generative2.7B_bst_0331", 756)
    assert round(found["estimate"], 3) == 0.720
    said = [
        act["text"]
        for line in (WILD / "parlai_chatlog_blender_2.7B.json").read_text(encoding="utf-8").splitlines()
        for exchange in json.loads(line)["dialog"]
        for act in exchange
        if act["id"] == "generative2.7B_bst_0331"
    ]
    assert found["estimate"] == sum("?" in text for text in said) / len(said)


def test_the_tweets_keep_who_wrote_which(tmp_path: Path) -> None:
    convert_wild("support_tweets.csv", tmp_path / "out.jsonl")
    first, second = native.read(str(tmp_path / "out.jsonl"))
    assert [[turn.extra["name"] for turn in one.turns] for one in (first, second)] == [
        ["cust_0", "SpotifyCares"],
        ["cust_1", "SpotifyCares"],
    ]
    assert [turn.extra["tweet_id"] for turn in first.turns] == ["1000", "1001"]
    assert first.turns[1].extra["in_response_to_tweet_id"] == "1000"
