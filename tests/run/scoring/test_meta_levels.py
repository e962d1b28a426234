"""`meta` at levels at which a metric has no number."""

import json
from importlib import resources
from pathlib import Path

import pytest

import turnwise
from turnwise.cli.common.group import run
from turnwise.logs import files, scan

CORPUS = str(resources.files("turnwise") / "data" / "demo.jsonl")
ASKED = ("meta", CORPUS, "--statistic", "spearman,pearson", "--draws", "100", "--no-differences")


def test_a_metric_without_a_number_at_a_level_is_listed_once_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run([*ASKED, "-m", "rouge-l,distinct-1", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "distinct-1 overall turn: skipped: it has no number for a single turn" in printed.err
    found = json.loads((tmp_path / "results.json").read_bytes())["results"]
    (absent,) = [one for one in found if one["metric"] == "distinct-1" and one["level"] == "turn"]
    assert (absent["estimate"], absent["status"]) == (None, "skipped")
    assert "finest level is the dialogue" in absent["reason"]
    assert absent["signature"].startswith("distinct-1|")
    assert [one["statistic"] for one in found if one["metric"] == "distinct-1" and one["level"] == "system"]


def test_a_gate_passes_over_levels_at_which_its_metric_has_no_number(capsys: pytest.CaptureFixture[str]):
    assert run([*ASKED, "-m", "distinct-1", "--gate", "distinct-1 >= -1", "-q"]) == 0
    assert capsys.readouterr().err.count("pass") == 2  # Spearman and Pearson over systems


def test_a_level_at_which_no_metric_has_a_number_is_a_mistake(capsys: pytest.CaptureFixture[str]):
    assert run([*ASKED, "-m", "distinct-1,distinct-2", "--level", "turn"]) == 2
    assert "none of these metrics has a number at that level" in capsys.readouterr().err


def test_soft_pairwise_accuracy_is_of_systems_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("meta", CORPUS, "--draws", "100", "-m", "rouge-l,distinct-1")
    assert run([*asked, "--statistic", "soft-pairwise,spearman", "-o", str(tmp_path), "-q"]) == 0
    found = json.loads((tmp_path / "results.json").read_bytes())["results"]
    soft = {one["metric"]: one for one in found if one.get("statistic") == "soft-pairwise"}
    assert {one["level"] for one in soft.values()} == {"system"}
    assert all(0 <= one["estimate"] <= 1 and one["interval"] is None and one["p"] for one in soft.values())
    assert set(soft) == {"rouge-l", "distinct-1"}  # of sums, and recomputed for the jackknife
    assert set(soft["rouge-l"]["without"]) == {"good", "dull", "rude", "broken"}
    assert run([*asked, "--statistic", "soft-pairwise", "--level", "turn"]) == 2
    assert "has no value for a single turn: --level system" in capsys.readouterr().err


@pytest.mark.parametrize("metrics", [("-m", "rouge-l,distinct-1,entropy-1"), ()])
def test_a_file_is_opened_twice_however_many_levels_and_metrics_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: tuple[str, ...]
):
    data = tmp_path / "data.jsonl"
    data.write_bytes(Path(CORPUS).read_bytes())
    opened: list[str] = []
    true = files.opened

    def counted(path: str, *, tap: files.Tap | None = None):
        opened.append(path)
        return true(path, tap=tap)

    monkeypatch.setattr(files, "opened", counted)
    assert run(["meta", str(data), *metrics, "--draws", "100", "-q"]) == 0
    assert opened == 2 * [str(data)]


def test_dialogues_that_are_not_held_in_memory_give_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["meta", CORPUS, "-m", "rouge-l,distinct-1", "--draws", "100", "--length-bias", "-q", "-o"]
    assert run([*words, str(tmp_path / "held")]) == 0
    monkeypatch.setattr(scan, "HELD", 0)
    assert run([*words, str(tmp_path / "read")]) == 0
    for name in ("examples.jsonl", "people.jsonl", "items.jsonl"):
        held, read = ((tmp_path / way / name).read_bytes() for way in ("held", "read"))
        assert held == read
    results = [json.loads((tmp_path / way / "results.json").read_text()) for way in ("held", "read")]
    assert results[0]["results"] == results[1]["results"]
    assert results[0]["length_bias"] == results[1]["length_bias"]


def test_agents_with_different_numbers_of_items_are_named_for_metrics_that_depend_on_them() -> None:
    """A metric such as distinct-n or fbd ranks agents by the amount of their text, if it differs."""

    def rated(sizes: dict[str, int]) -> list[dict[str, object]]:
        return [
            {
                "id": f"{agent}{at}", "agent": agent,
                "messages": [
                    {"role": "user", "content": f"question {at}"},
                    {"role": "assistant", "content": f"{agent} says word{at} and word{at % 7} again"},
                ],
                "ratings": [{"dimension": "overall", "value": 1 + (at + k) % 5, "turn": 1}],
            }
            for k, (agent, size) in enumerate(sizes.items())
            for at in range(size)
        ]  # fmt: skip

    uneven = turnwise.meta_evaluate(
        rated({"a": 30, "b": 12, "c": 12}), metrics="distinct-1,length", level="system"
    )
    assert any(
        "distinct-1 depends on the number of items, and agents have 12 to 30" in one for one in uneven.notes()
    )
    assert not any("length depends" in one for one in uneven.notes())
    even = turnwise.meta_evaluate(rated({"a": 17, "b": 12, "c": 12}), metrics="distinct-1", level="system")
    assert not any("depends on the number" in one for one in even.notes())
