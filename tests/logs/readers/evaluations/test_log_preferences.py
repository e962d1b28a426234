"""Preferences: where AlpacaEval's outputs were shown, prompts of DPO files, LMSYS's table."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wild_corpora import WILD, converted, needs_wild
from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.conversion import convert
from turnwise.logs.readers import READERS, recognise
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


SKY = {"role": "user", "content": "What color is the sky?"}
BLUE, GREEN = ({"role": "assistant", "content": f"It is {color}."} for color in ("blue", "green"))
SYSTEM = {"role": "system", "content": "Be nice."}


def pair(folder: Path, **record: Any) -> list[list[tuple[str, str]]]:
    """The turns of both sides, of a file that is kept whole."""
    path = folder / "pairs.jsonl"
    path.write_text(json.dumps(record) + "\n")
    convert(None, str(path), str(folder / "out.jsonl"), strict=True)
    found = list(native.read(str(folder / "out.jsonl")))
    assert [len(one.preferences) for one in found] == [1, 0]
    return [[(turn.role, turn.text) for turn in one.turns] for one in found]


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": [SKY], "chosen": [BLUE], "rejected": [GREEN]},  # TRL's standard form
        {"prompt": [SKY], "chosen": [SKY, BLUE], "rejected": [SKY, GREEN]},
        {"prompt": SKY["content"], "chosen": [SKY, BLUE], "rejected": [SKY, GREEN]},
        {"prompt": SKY["content"], "chosen": [BLUE], "rejected": [GREEN]},
        {"prompt": [SKY], "chosen": BLUE["content"], "rejected": GREEN["content"]},
        {"question": SKY["content"], "chosen": BLUE["content"], "rejected": GREEN["content"]},
        {"chosen": [SKY, BLUE], "rejected": [SKY, GREEN]},
    ],
)
def test_the_prompt_of_a_pair_comes_before_both_sides_once(tmp_path: Path, record: dict[str, Any]) -> None:
    asked = ("user", "What color is the sky?")
    expected = [[asked, ("assistant", "It is blue.")], [asked, ("assistant", "It is green.")]]
    assert pair(tmp_path, **record) == expected
    prompted = pair(tmp_path, **record, system="Be nice.")
    assert prompted == [[("system", "Be nice."), *one] for one in expected]


def test_a_prompt_with_a_system_message_that_the_sides_repeat_is_read_once(tmp_path: Path) -> None:
    record = {
        "prompt": "What color is the sky?",
        "chosen": [SYSTEM, SKY, BLUE],
        "rejected": [SYSTEM, SKY, GREEN],
    }
    assert [len(one) for one in pair(tmp_path, **record)] == [3, 3]


def test_a_prompt_that_no_side_has_is_kept(tmp_path: Path) -> None:
    pair(tmp_path, prompt="a title", chosen=[SKY, BLUE], rejected=[SKY, GREEN], messages=[SKY])
    found = list(native.read(str(tmp_path / "out.jsonl")))
    assert [(one.meta["prompt"], one.meta["messages"]) for one in found] == [("a title", [SKY])] * 2


LMSYS = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie"


def test_the_table_of_lmsys_holds_pairs_of_dialogues(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    cells = '1,m1,m2,"[""hi"",""more""]","[""yo"",null]","[""hey"",""z""]",0,0,1'
    path.write_text(f"{LMSYS}\n{cells}\n")
    assert recognise(str(path)) == "preferences"
    first, second = READERS["preferences"].read(str(path), Options())
    assert (first.id, first.agent, second.agent) == ("1-a", "m1", "m2")
    assert [turn.text for turn in first.turns] == ["hi", "yo", "more", ""]
    assert [(one.winner, one.other, one.shown) for one in first.preferences] == [("tie", "1-b", "first")]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ('"[""a""]","[""b""]","[""c""]",1,1,0', "1 in one of the three columns"),
        ('"[""a""]","[""b""]","[""c""]",1,,', "1 in one of the three columns"),
        ('"[""a""]","[]","[""c""]",1,0,0', "as many turns as the prompt has, 1"),
        ('a,"[""b""]","[""c""]",1,0,0', r"\$\.prompt is not JSON"),
    ],
)
def test_a_row_of_lmsys_that_makes_no_pair_is_an_error(tmp_path: Path, cells: str, message: str) -> None:
    path = tmp_path / "train.csv"
    path.write_text(f"{LMSYS}\n1,m1,m2,{cells}\n")
    with pytest.raises(DataError, match=f"train.csv:2: .*{message}"):
        list(READERS["preferences"].read(str(path), Options()))
