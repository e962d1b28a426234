"""The excerpt of people's ratings that ships with the package is balanced, anonymous and what its rule says."""

import gzip
import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from tools import make_ji2022
from turnwise.logs.native import problems, read
from turnwise.logs.redact import redact
from turnwise.types import Dialogue

RATED = str(resources.files("turnwise") / "data" / "ji2022.jsonl.gz")
SLIDERS = {"not_robotic", "interesting", "fun", "consistent", "fluent", "not_repetitive", "topic"}


@pytest.fixture(scope="module")
def rated() -> list[Dialogue]:
    return list(read(RATED))


def test_it_is_valid_and_small() -> None:
    assert list(problems(RATED)) == []
    assert Path(RATED).stat().st_size < 500_000


def test_each_of_seven_bots_has_forty_dialogues(rated: list[Dialogue]) -> None:
    assert Counter(dialogue.agent for dialogue in rated) == dict.fromkeys(
        ("polyencoder", "polyencoder_p", "biencoder_p", "kvmemnn", "kvmemnn_p", "lan_model", "lan_model_p"),
        40,
    )


def test_the_person_who_talked_rated_the_whole_dialogue_once_on_each_slider(rated: list[Dialogue]) -> None:
    for dialogue in rated:
        values = {rating.dimension: rating.value for rating in dialogue.ratings}
        assert set(values) == SLIDERS | {"overall"}
        assert len(dialogue.ratings) == len(values)
        assert len({rating.rater for rating in dialogue.ratings}) == 1
        assert all(rating.turn is None and rating.scale == (0, 100) for rating in dialogue.ratings)
        assert values["overall"] == pytest.approx(np.mean([values[name] for name in SLIDERS]), abs=0.005)


def test_no_rule_of_the_redaction_fires_and_ids_and_raters_say_nothing(rated: list[Dialogue]) -> None:
    assert [dialogue.id for dialogue in rated] == [f"ji{number:03}" for number in range(1, 281)]
    for dialogue in rated:
        assert not redact(dialogue).counts
        assert re.fullmatch(r"w\d{3}", str(dialogue.ratings[0].rater))
        assert set(dialogue.meta) == {"run", "source"}


def test_the_bots_are_in_the_order_of_the_published_ratings_as_far_as_they_differ(
    rated: list[Dialogue],
) -> None:
    mean = {
        agent: np.mean([one.ratings[0].value for one in rated if one.agent == agent])
        for agent in {dialogue.agent for dialogue in rated}
    }
    order = sorted(mean, key=lambda agent: -mean[agent])
    assert set(order[:2]) == {"polyencoder", "biencoder_p"}
    assert set(order[-2:]) == {"lan_model", "lan_model_p"}


def test_the_program_makes_the_same_bytes_from_the_published_ratings(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_ji2022, "TARGET", tmp_path / "again.jsonl.gz")
    monkeypatch.setattr("sys.argv", ["make_ji2022", str(corpora / "ji2022.jsonl.gz")])
    make_ji2022.main()
    lines = [
        gzip.decompress(Path(path).read_bytes()).splitlines() for path in (RATED, tmp_path / "again.jsonl.gz")
    ]
    assert list(map(json.loads, lines[0])) == list(map(json.loads, lines[1]))
