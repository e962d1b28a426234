"""Every text of a real file is in the dialogues, in a counted drop, or in their shape."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.text_leaves import Place, lost, raw
from tests.wild_corpora import MT_BENCH, OPTIONS, WILD, convert_wild, needs_wild
from turnwise.errors import DataError

pytestmark = needs_wild

# Reasons that are no drops: why a text that is not there is expressed all the same.
TREE = "the tree of messages is the order of the turns of its branch"
GRADE = "a grade is a number"
PREFIX = "an empty place filler names a speaker"
NO_VOTE = "a row of the onboarding task would be counted"
ROLE = "the side of a piece of speech is the role"
IN_THE_SHAPE = (TREE, GRADE, PREFIX, NO_VOTE, ROLE)

RUN = "settings and totals of the whole run"
EVENTS = "event logs of samples (`events`)"
LOG_FILES = "other files of the log"
SETTINGS = "settings of the whole run (`info`)"
OTHER_KEYS = "other keys of the whole run"
NOTICES = "notices of Slack"
PIECES = "effects, audio and other keys of pieces of speech"


class File(NamedTuple):
    """A real file and the places whose texts are not kept: a pattern of the place -> the reason."""

    unkept: dict[str, str] = {}  # noqa: RUF012  # a NamedTuple is never changed
    rewritten: Callable[[Any], Any] = lambda value: (
        value
    )  # what the reader says in other words, in these words


def _spelled_mentions(export: dict[str, Any]) -> dict[str, Any]:
    """A Slack export with `@name` in place of `<@ID>` and `<@ID|name>`; notices, which are counted, are left out."""
    names = {one["id"]: one["name"] for one in export["users.json"]}
    mention = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|([^>]*))?>")
    days = {}
    for file, found in export.items():
        spoken = [one for one in found if one.get("subtype") not in ("channel_join", "bot_add")]
        text = mention.sub(lambda match: f"@{match[2] or names[match[1]]}", json.dumps(spoken))
        days[file] = json.loads(text)
    return days


FILES = {
    "alpaca_eval_annotations.json": File(),
    "chatgpt_export.json": File(
        {r"\*.mapping.[^.]*.(id|parent|children.\*|message.content.content_type)": TREE}
    ),
    "hh_rlhf_pairs.jsonl": File(),
    "inspect_log.json": File(
        {
            r"(status|eval|plan|results|stats|reductions)\b.*": RUN,
            r"samples.\*.events.*": EVENTS,
            r"samples.\*.scores.match.value": GRADE,
        }
    ),
    "inspect_log.eval": File(
        {
            r"header.json.*": RUN,
            r"(_journal/.*|summaries.json|reductions.json).*": LOG_FILES,
            r"samples/.*.events.*": EVENTS,
            r"samples/.*.scores.match.value": GRADE,
        }
    ),
    "mt_bench_questions.jsonl": File(
        {
            r"mt_bench_judgments_single.jsonl.\*.user_prompt": "prompts of the judge, which repeat question and answer",
            r"mt_bench_judgments_single.jsonl.\*.judgment": "judgments that failed (score -1)",
        }
    ),
    "parlai_acute_eval.csv": File({r"\*.is_onboarding": NO_VOTE}),
    "parlai_chatlog_blender_2.7B.json": File(),
    "parlai_model_chat.json": File(),
    "parlai_selfchat_m1.jsonl": File(),
    "parlai_tod_example.jsonl": File({r"\*.dialog.\*.\*.id": PREFIX}),
    "promptfoo_export.json": File(
        {r"(evalId|config.*|metadata.*|results.timestamp)": "settings and totals of the whole evaluation"}
    ),
    "rasa_tracker.json": File(),
    "slack_export.zip": File(
        {
            r"channels.json.*": "entries of `channels.json`",
            r"integration_logs.json.*": "entries of `integration_logs.json`",
            r"users.json.*": "profiles of users (`users.json`)",
        },
        rewritten=_spelled_mentions,
    ),
    "support_tweets.csv": File(),
    "tau2_results.json": File({r"info.*": SETTINGS, r"timestamp": OTHER_KEYS}),
    "tau2_run": File(
        {
            r"results.json.info.*": SETTINGS,
            r"results.json.timestamp": OTHER_KEYS,
            r"simulations/.*.ticks.\*.timestamp": "times and other keys of ticks",
            r"simulations/.*.ticks.\*.(user|agent)_chunk.role": ROLE,
            r"simulations/.*.ticks.\*.user_chunk.(turn_taking_action|speech_effects).*": PIECES,
        }
    ),
    "tau_bench_v1_airline.json": File(),
}


def test_no_real_file_is_left_out() -> None:
    there = {path.name for path in WILD.iterdir()} - {"README.md", *MT_BENCH}
    assert there == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_every_text_is_kept_or_counted(name: str, tmp_path: Path) -> None:
    found = convert_wild(name, tmp_path / "out.jsonl")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    source = raw(WILD / name)
    if "more" in OPTIONS.get(name, {}):
        source = {one: raw(WILD / one) for one in (name, *MT_BENCH)}
    gone = lost(FILES[name].rewritten(source), records)
    reasons = {place: _reason(FILES[name], place) for place in gone}
    assert {place: gone[place] for place, reason in reasons.items() if reason is None} == {}
    for reason in {*reasons.values()} - {*IN_THE_SHAPE}:
        assert any(one.startswith(str(reason)) for one in found.dropped), reason


def _reason(file: File, place: Place) -> str | None:
    """The reason why texts at a place are not kept; None if no pattern fits."""
    written = ".".join(place)
    return next((reason for pattern, reason in file.unkept.items() if re.fullmatch(pattern, written)), None)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_kept_whole_under_strict_only_if_nothing_is_counted(name: str, tmp_path: Path) -> None:
    dropped = convert_wild(name, tmp_path / "out.jsonl").dropped
    if not dropped:
        assert convert_wild(name, tmp_path / "strict.jsonl", strict=True).n_dialogues
        return
    with pytest.raises(DataError, match="was not kept whole, and --strict is given"):
        convert_wild(name, tmp_path / "strict.jsonl", strict=True)
    assert not (tmp_path / "strict.jsonl").exists()


def test_a_text_that_is_lost_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps([{"a": "kept as it is", "b": {"c": "gone without a word"}}]))
    gone = lost(raw(tmp_path / "in.json"), [{"messages": [{"content": "it is kept as it is here"}]}])
    assert gone == {("*", "b", "c"): "gone without a word"}
