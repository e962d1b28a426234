"""`papers/dimensions.json` is what the shipped models and the detector give."""

import json
from pathlib import Path

import numpy as np
import pytest

from papers.rated_corpora import rated
from papers.rated_dimensions import DIALOGUES, DIMENSIONS, rated_dialogues
from turnwise.encode.models.folder import load, shipped
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.turnwise.familiar import Familiarity, counts
from turnwise.metrics.learned.turnwise.lexicon import Lexicon

TABLE = json.loads((Path(__file__).parents[2] / "papers" / "dimensions.json").read_text())


@pytest.mark.parametrize("edition", ["turnwise", "turnwise-large"])
def test_a_card_has_the_dimensions_that_beat_the_overall_regression_and_no_others(edition: str) -> None:
    model = load(shipped(edition) or "", edition)
    gains = {}
    for dimension, cells in TABLE[edition]["dimensions"].items():
        gains[dimension] = np.mean([cell["own"] - cell["overall"] for cell in cells.values()])
        for group, cell in cells.items() if dimension in model.card["dimensions"] else ():
            stated = model.card["dimensions"][dimension]["left out"][group]
            assert stated["own"] == pytest.approx(cell["own"], abs=0.005)
            assert stated["overall"] == pytest.approx(cell["overall"], abs=0.005)
    assert set(gains) == set(DIMENSIONS)
    assert set(model.config["dimensions"]) == {name for name, gain in gains.items() if gain > 0}


def test_the_detector_leaves_out_the_shares_of_the_table(corpora: Path) -> None:
    lexicon = Lexicon.load(load(shipped("turnwise") or "", "turnwise").tensors)
    tables = {
        group.name: np.array([counts(*t, lexicon) for item in group.items if (t := reply_and_context(item))])
        for group in rated(corpora)
    }
    for name, cell in TABLE["familiar"]["rated"].items():
        fitted = Familiarity.of([table for other, table in tables.items() if other != name])
        far = np.mean(fitted.distances(tables[name]) > fitted.limit)
        assert far == pytest.approx(cell["unfamiliar"], abs=0.003)  # the table counts marks of code, too
    shipped_one = Familiarity.load(load(shipped("turnwise") or "", "turnwise").tensors)
    assert shipped_one is not None
    assert shipped_one.limit == pytest.approx(Familiarity.of(list(tables.values())).limit, rel=1e-4)


def test_rated_dialogues_are_drawn_the_same_in_every_run(corpora: Path) -> None:
    found = {one.name: one for one in rated_dialogues(corpora)}
    assert list(found) == list(DIALOGUES)
    sizes = {name: cell["n"] for name, cell in TABLE["turnwise"]["dialogues"]["mean of the scores"].items()}
    assert {name: len(one.replies) for name, one in found.items()} == sizes
    again = {one.name: one for one in rated_dialogues(corpora)}
    assert all(found[name].replies == again[name].replies for name in found)
