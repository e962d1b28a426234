"""AlpacaEval's preferences: where the outputs were shown, and annotations that failed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wild_corpora import WILD, converted, needs_wild
from turnwise.logs import READERS, native
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

ASKED = {"instruction": "hi", "output_1": "a", "output_2": "b", "generator_1": "m1", "generator_2": "m2"}


def read(folder: Path, options: Options, *records: dict[str, Any]) -> list[Dialogue]:
    path = folder / "in.json"
    path.write_text(json.dumps([{**ASKED, **one} for one in records]))
    return list(READERS["preferences"].read(str(path), options))


@pytest.mark.parametrize(
    ("preference", "said", "shown"),
    [
        (1.01, "m", "first"),
        (1.01, "M", "second"),
        (1.99, "M", "first"),
        (1.99, "m", "second"),
        (1.5, "m", None),  # the annotator's answer does not say which output it named
        (1.01, "Output (a)", None),
        (1.01, None, None),
    ],
)
def test_alpaca_eval_says_where_the_first_output_was_shown(
    tmp_path: Path, preference: float, said: str | None, shown: str | None
) -> None:
    for completion in ({"text": said}, said):
        first, _ = read(tmp_path, Options(), {"preference": preference, "raw_completion": completion})
        assert [one.shown for one in first.preferences] == [shown]


@needs_wild
def test_positions_in_alpaca_eval_follow_from_the_probabilities_of_the_answers(tmp_path: Path) -> None:
    """The preference is 1 + P(M) if the first output is `m`, and 2 - P(M) if it is `M`."""
    from math import exp

    converted("alpaca_eval_annotations.json", tmp_path)
    found = [one.shown for it in native.read(str(tmp_path / "out.jsonl")) for one in it.preferences]
    expected = []
    for record in json.loads((WILD / "alpaca_eval_annotations.json").read_bytes()):
        top = record["raw_completion"]["logprobs"]["content"][0]["top_logprobs"]
        odds = {one["token"]: exp(one["logprob"]) for one in top}
        share = odds["M"] / (odds["m"] + odds["M"])
        straight = abs(record["preference"] - 1 - share) < abs(record["preference"] - 2 + share)
        expected.append("first" if straight else "second")
    assert found == expected
    assert set(found) == {"first", "second"}


def test_a_null_preference_of_alpaca_eval_is_counted_and_its_replies_are_kept(tmp_path: Path) -> None:
    options = Options()
    found = read(tmp_path, options, {"preference": None, "annotator": "j"}, {"preference": 2})
    assert [len(one.preferences) for one in found] == [0, 0, 1, 0]
    assert found[0].meta["annotator"] == "j"
    assert options.dropped == {"preferences that are null; the replies are kept": 1}
