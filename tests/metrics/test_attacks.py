"""The shipped attacks are on existing metrics and are shown on their cards."""

import json

from turnwise.cli.common.group import run
from turnwise.metrics import describe, names
from turnwise.metrics.attacks import _guarded, _table, guard_effect, known_attacks


def test_every_attack_is_of_a_metric_that_exists_and_beats_people() -> None:
    table = _table()
    assert table, "papers/probing.py keep writes the table"
    assert set(table) <= set(names())
    for name, works in table.items():
        sign = 1 if describe(name).higher_is_better else -1
        for one in works:
            assert sign * one.score > sign * one.human_score
            assert one.kind in ("fixed", "parrot", "pattern", "mixed", "policy")


def test_a_metric_without_known_attacks_has_an_empty_list() -> None:
    assert known_attacks("bleu-2") == []


def test_the_card_of_a_metric_lists_the_attacks_that_work(capsys) -> None:
    assert run(["ls", "metrics", "--format", "json"]) == 0
    records = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert any("last turn" in one["description"] for one in records["relatedness"]["attacks"])
    assert run(["ls", "metrics", "-v"]) == 0
    copy = next(one for one in known_attacks("relatedness") if one.description == "repeats the last turn")
    line = f"attack    repeats the last turn: it scores 1 on {copy.contexts}, people {copy.human_score:.3g}"
    assert line in capsys.readouterr().out


def test_the_card_of_a_metric_says_what_a_guard_changes(capsys) -> None:
    assert _guarded(), "papers/guarded.py merge writes the table"
    effect = guard_effect("usr-ret")
    assert effect is not None
    before, after = effect.agreement["usr_persona"]
    assert run(["ls", "metrics", "-v"]) == 0
    printed = capsys.readouterr().out
    assert "guard     hardened: guarded[metric=usr-ret]" in printed
    assert f"changes the agreement with people by: usr_persona {after - before:+.3f}" in printed
    assert guard_effect("bleu-2") is None
