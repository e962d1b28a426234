"""The tables of attacks on the pages are those that the programs print; a small attack is kept as they are."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from papers import guarded, probing
from papers.flagship import attacked
from turnwise.metrics import resolve
from turnwise.metrics.learned.guard.metric import guarded as with_guard
from turnwise.metrics.learned.trained import HARDENED_MODELS
from turnwise.records import Origin, RunSettings, StrategyRecord
from turnwise.report.documents import AttackDocument
from turnwise.report.results import write

PAPERS = Path(__file__).parents[2] / "papers"


def between(page: str, name: str) -> list[str]:
    """The lines of a page between two marks."""
    text = (PAPERS / page).read_text()
    return text.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0].splitlines()


def test_the_page_has_the_attacks_on_guarded_metrics_as_they_were_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    guarded.show(guarded.RESULTS)
    table, _, _ = capsys.readouterr().out.partition("\n\n")
    assert between("probing.md", "guarded") == table.splitlines()


def test_every_attack_on_a_guarded_metric_met_the_guard_that_ships() -> None:
    kept = json.loads(guarded.RESULTS.read_text())
    found = {
        both["after"]["guard"]
        for line in kept.values()
        for both in line["attacks"].values()
        if "after" in both
    }
    assert found == {with_guard("usr-ret").folder.digest}


def test_the_page_has_the_attacks_on_metrics_with_guards_of_their_own_and_those_met_what_ships(
    capsys: pytest.CaptureFixture[str],
) -> None:
    guarded.show(guarded.OWN_RESULTS)
    table, _, agreement = capsys.readouterr().out.partition("\n\n")
    assert between("probing.md", "hardened") == table.splitlines()
    assert between("probing.md", "hardened agreement") == agreement.splitlines()
    kept = json.loads(guarded.OWN_RESULTS.read_text())
    assert set(kept) == set(HARDENED_MODELS)
    for name, line in kept.items():
        digests = {both["after"]["guard"] for both in line["attacks"].values()}
        assert digests == {resolve(f"{name}[trained=hardened]").folder.digest}  # type: ignore[union-attr]


def test_the_cards_say_what_guards_change() -> None:
    guard = with_guard("usr-ret").folder.digest
    assert json.loads(guarded.CARDS.read_text()) == guarded.effects(guarded.RESULTS, lambda _: guard)
    own = {name: resolve(f"{name}[trained=hardened]").folder.digest for name in HARDENED_MODELS}  # type: ignore[union-attr]
    assert json.loads(guarded.OWN_CARDS.read_text()) == guarded.effects(guarded.OWN_RESULTS, own.__getitem__)


def test_the_page_has_the_attacks_on_turnwise_as_they_were_kept(capsys: pytest.CaptureFixture[str]) -> None:
    attacked.show()
    assert between("learned.md", "attacks") == capsys.readouterr().out.splitlines()


def test_the_cards_name_the_frauds_that_are_shown_against_what_ships() -> None:
    assert json.loads(probing.CARDS.read_text()) == probing.shown_frauds()
    kept = json.loads(attacked.RESULTS.read_text())
    reader = str(resolve("turnwise").signature)
    assert {found["signature"] for seeds in kept["turnwise"].values() for found in seeds.values()} == {reader}


def test_an_attack_of_another_edition_is_not_read(tmp_path: Path) -> None:
    out = tmp_path / "out" / "length-chats-0-600"
    out.mkdir(parents=True)
    old = StrategyRecord(metric="length", estimate=1.0, signature="length|v:0")
    origin = Origin(
        turnwise="0.2", commit=None, python="3.11", packages={}, inputs=(), settings=RunSettings()
    )
    write(out / "results.json", AttackDocument(results=(old,), origin=origin))
    given = Namespace(output=tmp_path / "out", count=40, budget=600)
    with pytest.raises(SystemExit, match=r"was made with length\|v:0; length is now .*: name another folder"):
        attacked.attack(tmp_path, "length", "chats", 0, given)


def test_an_attack_is_kept_by_corpus_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {"id": str(n), "agent": "human", "messages": [
            {"role": "user", "content": f"Where did you go on day {n}?"},
            {"role": "assistant", "content": "To the lake, with my sister."},
        ]}
        for n in range(60)
    ]  # fmt: skip
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    results = tmp_path / "attacks.json"
    results.write_text("{}")
    monkeypatch.setattr(attacked, "RESULTS", results)
    given = Namespace(corpora="chats", seeds="1,0", count=40, budget=600, output=tmp_path / "out")
    attacked.measure(tmp_path, "length", given)
    kept = json.loads(results.read_text())["length"]["chats"]
    assert list(kept) == ["0", "1"]
    for seed, one in kept.items():
        assert f"--seed {seed} " in one["command"]
        assert one["gameable"]
        assert one["calls"] <= 600
        gains = [fraud["gain"] for fraud in one["strategies"]]
        assert gains == sorted(gains, reverse=True)
    capsys.readouterr()
    attacked.show()
    assert len(capsys.readouterr().out.splitlines()) == 4
