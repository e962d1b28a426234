"""The shipped heads give what `papers/learned.json` says they gave, on three of its nine groups."""

import json
from pathlib import Path

import numpy as np
import pytest

from papers.rated_corpora import GROUPS, rated
from turnwise.metrics import resolve
from turnwise.stats.correlation import STATISTICS

TABLE = json.loads((Path(__file__).parents[2] / "papers" / "learned.json").read_text())


@pytest.mark.parametrize("name", ["usr-ret", "usr-ret[context=one]", "maude", "att"])
def test_a_shipped_head_agrees_with_people_as_the_table_says(name: str, corpora: Path) -> None:
    for group in rated(corpora):
        if group.name not in ("usr_persona", "engage", "holistic"):
            continue
        metric = resolve(name)
        found = metric.rows(group.items)[:, 0]
        known = ~np.isnan(found)
        value = STATISTICS["spearman"](found[known], np.array(group.values)[known])
        assert value == pytest.approx(TABLE["cells"][name][TABLE["groups"].index(group.name)][0], abs=0.005)


def test_the_table_shows_what_was_promised() -> None:
    means = {name: np.mean([cell[0] for cell in cells]) for name, cells in TABLE["cells"].items()}
    assert TABLE["groups"] == list(GROUPS)
    assert means["usr-ret"] >= 0.34
    assert means["**turnwise**, corpus left out, nested"] >= 0.43
