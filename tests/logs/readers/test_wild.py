"""Files as other tools wrote them: the format is recognised, and every message has the role that the file gives it.

The counts were made by hand from the raw files (`jq`, `grep`), not by these readers.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.wild_corpora import converted, needs_wild
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
    found = converted(name, tmp_path)
    account = found.account
    assert (found.name, found.n_dialogues) == (expected.reader, expected.dialogues)
    assert dict(account.messages) == expected.roles
    assert set(account.agents) == expected.agents
    assert dict(account.ratings) == expected.ratings
    assert (sum(account.preferences.values()), account.tool_calls) == (
        expected.preferences,
        expected.tool_calls,
    )
