"""What results.json keeps of a selection is read again as the same selection."""

from dataclasses import fields
from typing import Any

import msgspec
import pytest

import turnwise as tw
from tests.finished_runs import CORPUS
from turnwise.logs.items import selection
from turnwise.logs.items.selection import Selection, recorded, recorded_selection
from turnwise.records import Origin

OTHER = Selection(
    items="all",
    dimension="overall",
    role="user",
    pair="meta.item",
    cluster="task",
    by="meta.corpus,file",
    where=(("meta.corpus", "dailyz"), ("agent", "a")),
    limit=3,
    as_agents=("a", "b"),
)


def origin(chosen: dict[str, Any]) -> Origin:
    made = tw.score(CORPUS, metrics="length", limit=4, figures=False).document.origin
    settings = msgspec.structs.replace(made.settings, selection=chosen)
    return msgspec.json.decode(
        msgspec.json.encode(msgspec.structs.replace(made, settings=settings)), type=Origin
    )


@pytest.mark.parametrize("one", [Selection(), OTHER], ids=["defaults", "others"])
def test_every_field_of_a_selection_is_recorded_and_read_again(one: Selection) -> None:
    assert [field.name for field in fields(OTHER) if getattr(OTHER, field.name) == field.default] == []
    assert recorded_selection(origin(recorded(one))) == one


def test_the_key_of_the_first_versions_is_kept() -> None:
    assert recorded(OTHER)["judged"] == "all"
    assert recorded_selection(origin({"judged": "last", "limit": None})) == Selection(items="last")
    assert recorded_selection(origin({"judged": "some other choice"})) == Selection()


def test_a_later_field_is_recorded_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "FIRST", selection.FIRST - {"limit"})
    assert "limit" not in recorded(Selection())
    assert recorded(Selection(limit=3))["limit"] == 3


EACH = {  # one use of each filter, beside what else it needs
    "items": ({"items": "last"}, {}),
    "role": ({"role": "user", "items": "all"}, {"items": "all"}),
    "where": ({"where": {"agent": "good"}}, {}),
    "limit": ({"limit": 3}, {}),
}


@pytest.mark.parametrize("name", OTHER.filters)
def test_every_filter_changes_what_is_scored(name: str) -> None:
    chosen, without = (
        [
            (one["agent"], one["n_items"], one["estimate"])
            for one in tw.score(CORPUS, metrics="length", figures=False, **using)
        ]
        for using in EACH[name]
    )
    assert chosen != without


def test_what_leaves_out_dialogues_or_turns_is_told_from_what_arranges_them() -> None:
    assert OTHER.filters == {
        "items": "all",
        "role": "user",
        "where": (("meta.corpus", "dailyz"), ("agent", "a")),
        "limit": 3,
    }
