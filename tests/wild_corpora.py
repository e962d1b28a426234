"""Files as other tools wrote them, beside the corpora; tests that need them are skipped where they are absent."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CORPORA
from turnwise.logs import native
from turnwise.logs.conversion import Converted, convert
from turnwise.logs.readers.columns import parse
from turnwise.logs.readers.source import Options

WILD = CORPORA.parent / "wild"
needs_wild = pytest.mark.skipif(
    not WILD.is_dir(), reason="real log files absent: they lie beside the corpora"
)
MT_BENCH = ("mt_bench_answers_a.jsonl", "mt_bench_answers_b.jsonl", "mt_bench_judgments_single.jsonl")
TWEETS = "message=tweet_id,reply_to=in_response_to_tweet_id,role=author_id,content=text,time=created_at"
# File -> the options without which it cannot be read: further files, columns, roles.
OPTIONS: dict[str, dict[str, Any]] = {
    "mt_bench_questions.jsonl": {"more": tuple(str(WILD / name) for name in MT_BENCH)},
    "slack_export.zip": {"roles": {"hamza": "assistant", "*": "user"}},
    "support_tweets.csv": {"columns": parse(TWEETS), "roles": {"SpotifyCares": "assistant", "*": "user"}},
}


def converted(name: str, tmp_path: Path, options: Options | None = None) -> Converted:
    """The conversion of a file, whose target has as many dialogues as it says."""
    out = tmp_path / "out.jsonl"
    found = convert(None, str(WILD / name), str(out), options)
    assert sum(1 for _ in native.read(str(out))) == found.n_dialogues
    return found


def convert_wild(name: str, target: Path, *, strict: bool = False) -> Converted:
    """The conversion of a file with the options that it needs."""
    reader = "csv" if "columns" in OPTIONS.get(name, {}) else None
    return convert(reader, str(WILD / name), str(target), Options(**OPTIONS.get(name, {})), strict=strict)
