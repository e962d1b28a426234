"""MT-bench: questions, answers and judgements in several files."""

from pathlib import Path

import pytest

from tests.wild_corpora import WILD, converted, needs_wild
from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.logs.readers.source import Options

pytestmark = needs_wild


def test_mt_bench_is_read_from_its_files_together(tmp_path: Path) -> None:
    names = ("mt_bench_answers_a.jsonl", "mt_bench_answers_b.jsonl", "mt_bench_judgments_single.jsonl")
    found = converted(
        "mt_bench_questions.jsonl", tmp_path, Options(more=tuple(str(WILD / name) for name in names))
    )
    assert (found.n_dialogues, dict(found.account.ratings)) == (40, {"score": 86})
    assert found.dropped == {
        "judgments that failed (score -1)": 4,
        "prompts of the judge, which repeat question and answer (`user_prompt`)": 86,
    }
    marks = [mark for one in native.read(str(tmp_path / "out.jsonl")) for mark in one.ratings]
    assert {(mark.rater, *mark.extra["judge"]) for mark in marks} == {
        ("gpt-4", "gpt-4", "single-v1"),
        ("gpt-4", "gpt-4", "single-v1-multi-turn"),
    }
    with pytest.raises(UsageError, match="the questions are missing"):
        converted("mt_bench_answers_a.jsonl", tmp_path)
