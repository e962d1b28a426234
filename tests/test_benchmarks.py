"""The measurement functions of the benchmarks."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import preferences, verdicts
from benchmarks.bench_scale import cost
from benchmarks.faults import order
from benchmarks.faults.workplace import COMMANDS as FAULTED
from benchmarks.harness import Line, table
from tests.corpus import corpus
from tests.e2e.test_order import COMMANDS as ORDERED
from tests.e2e.test_order import matters
from tools import make_speed
from turnwise.meta.table import ScoreTable


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_the_peak_memory_of_a_command_does_not_include_its_parent(tmp_path: Path) -> None:
    """The peak of getrusage includes the parent's memory at the fork, so a large parent would hide any growth."""
    data = corpus(tmp_path / "logs.jsonl", 3)
    large = bytearray(b"1") * 2**28
    found = cost("validate {}", data)
    assert found.peak < len(large) / 2**20 / 2
    assert found.processor > 0


RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


@pytest.mark.parametrize("name", ["calibrate", "drawing", "power", "verdicts"])
def test_kept_results_name_the_command_that_makes_them(name: str) -> None:
    assert json.loads((RESULTS / f"{name}.json").read_text())["command"].endswith(
        f"python -m benchmarks.{name}"
    )


def test_kept_power_is_within_its_goal() -> None:
    kept = json.loads((RESULTS / "power.json").read_text())
    apart = {name: grid["largest_difference"] for name, grid in kept["grids"].items()}
    assert {len(grid["cells"]) for grid in kept["grids"].values()} == {25}
    assert all(one <= kept["goal"] for one in apart.values()), apart
    assert kept["statsmodels"]["largest_difference"] < 1e-6


def test_the_measured_coverage_of_preferences_is_kept_and_the_page_shows_it() -> None:
    root = Path(__file__).parents[1]
    kept = json.loads((root / "benchmarks" / "results" / "preferences.json").read_text())
    assert kept["command"].startswith("OMP_NUM_THREADS=1 python -m benchmarks.preferences")
    assert all(line["valid"] or line["why_not"] for line in kept["lines"])
    page = (root / "docs" / "statistics.md").read_text()
    rows = {cells[1].strip(): cells for line in page.splitlines() if len(cells := line.split("|")) == 6}
    columns = {"Bradley-Terry strengths": 2, "win rate": 3, "pair accuracy": 4}
    lines = [line for line in kept["lines"] if line["what"] in columns]
    assert len(lines) > 30
    for line in lines:
        shown = rows[line["setting"]][columns[line["what"]]].strip()
        assert shown == f"{line['coverage']:.3f}".removeprefix("0")


def test_the_pages_give_the_measured_coverage_of_centred_ratings() -> None:
    root = Path(__file__).parents[1]
    kept = json.loads((root / "benchmarks" / "results" / "preferences.json").read_text())
    measured = [line["coverage"] for line in kept["lines"] if line["what"] == preferences.CENTRED]
    low, high = (f"{end:.3f}".removeprefix("0") for end in (min(measured), max(measured)))
    for name in ("statistics.md", "compare-ratings.md"):
        assert f"{low} to {high} of" in " ".join((root / "docs" / name).read_text().split())


def test_a_simulated_study_of_preferences_has_intervals_of_everything() -> None:
    design = preferences.Design(20, 4, 5, ties=False)
    found = preferences.study(design, 0)
    assert {name: len(values) for name, values in found.items()} == {
        "strengths": 4,
        "win rate": 1,
        "rejected": 1,
        "accuracy": 1,
    }


def test_the_page_on_speed_is_made_from_the_kept_results() -> None:
    root = Path(__file__).parents[1]
    assert (root / "docs" / "speed.md").read_text() == make_speed.made(), "run python -m tools.make_speed"


def test_a_ratio_of_memory_has_its_own_column() -> None:
    lines = [
        ("a", Line("chrf", 1.0, 4.0, "peer", 1.5)),
        ("a", Line("chrf: peak memory", 30.0, 20.0, "peer", 1.2, "MiB", at_most=True)),
    ]
    _, fast, large = table(lines)
    assert fast == ("a", "chrf", "1 s", "peer", "4 s", "4", "", "at least 1.5", "yes")
    assert large[5:] == ("", "1.5", "at most 1.2", "no")


def test_the_page_on_tools_has_the_kept_precision_and_recall() -> None:
    root = Path(__file__).parents[1]
    kept = json.loads((RESULTS / "tool_faults.json").read_text())
    page = (root / "docs" / "agents-with-tools.md").read_text()
    rows = [
        cells for line in page.splitlines() if len(cells := line.split("|")) == 7 and "`tool-" in cells[2]
    ]
    shown = {tuple(cell.strip() for cell in row[3:6]) for row in rows}

    def figure(value: float) -> str:
        return "1.00" if value > 0.995 else f"{value:.2f}".removeprefix("0")

    expected = set()
    for at in range(len(kept["tau2"]["faults"])):
        cells = [kept[name]["faults"][at] for name in ("tau2", "tau-bench", "agentdojo")]
        expected.add(
            tuple(
                f"{figure(one['recall'])}, {figure(one['precision'])}" if one["planted"] else "no place"
                for one in cells
            )
        )
    assert len(rows) == len(kept["tau2"]["faults"])
    assert shown == expected
    named = kept["agentdojo"]["clean"]
    assert (
        f"names {named['tool-contradictions']['named']} of the {named['tool-contradictions']['of']} replies"
        in page
    )


def test_the_intervals_of_sampled_judges_cover_and_the_page_says_so() -> None:
    kept = json.loads((RESULTS / "judge_samples.json").read_text())
    page = (RESULTS.parents[1] / "docs" / "judge.md").read_text()
    low, high = kept["band"]
    for samples in (1, 3, 5, 10):
        lines = [line for line in kept["lines"] if line["samples"] == samples]
        cells = []
        for key in ("agent", "replies", "replies, own t"):
            values = [line[key] for line in lines if key in line]
            ends = [
                f"{end:.3f}".removeprefix("0") for end in (min(values, default=0), max(values, default=0))
            ]
            cells.append(" to ".join(ends) if values else "no interval")
            assert key == "replies, own t" or all(low <= value <= high for value in values)
        assert f"| {samples} | {' | '.join(cells)} |" in page
    assert len(kept["lines"]) == 32


def test_every_cell_of_judges_held_under_every_fault() -> None:
    cells = json.loads((RESULTS / "faults.json").read_text())["judge"]["cells"]
    assert {cell["command"] for cell in cells} >= {
        "score",
        "score panel",
        "judge-pair",
        "meta",
        "calibrate",
        "attack",
    }
    faults = {cell["fault"].removeprefix("judge: ") for cell in cells}
    assert faults >= {"refusal once", "moderated answer always", "only streams", "context too long always"}
    assert [cell for cell in cells if not cell["held"]] == []


def test_every_command_held_under_every_fault_of_the_machine_and_every_order_of_the_data() -> None:
    kept = json.loads((RESULTS / "faults.json").read_text())
    faults: dict[str, set[str]] = {}
    for cell in kept["crashes"]["cells"]:
        faults.setdefault(cell["command"], set()).add(cell["fault"])
    assert set(faults) == set(FAULTED)
    assert all(found >= {"kill -9", "flipped bit in what is kept", "disk full"} for found in faults.values())
    ways = {(cell["command"], cell["fault"]) for cell in kept["order"]["cells"]}
    assert ways == {
        (name, fault) for name in ORDERED for way, fault in order.WAYS.items() if matters(name, way)
    }
    assert [cell for group in ("crashes", "order") for cell in kept[group]["cells"] if not cell["held"]] == []


def test_the_page_on_judges_has_the_kept_figures_of_local_models() -> None:
    kept = json.loads((RESULTS / "local_judges.json").read_text())
    page = (RESULTS.parents[1] / "docs" / "judge.md").read_text()

    def figure(value: float) -> str:
        return f"{value:.2f}".replace("0.", ".", 1).replace("-.00", ".00")

    for one in kept["panel"]["judges"].values():
        low, high = one["interval"]
        assert f"| {figure(one['spearman'])} [{figure(low)}, {figure(high)}] |" in page
    for name, one in kept["pairs"].items():
        (row,) = [
            line for line in page.splitlines() if line.startswith(f"| {name} | ") and line.count("|") == 7
        ]
        shares = [
            f"{one[f'wins_of_people_{key}']:.0%}" for key in ("shown_first", "shown_second", "both_orders")
        ]
        assert [cell.strip().replace(" %", "%") for cell in row.split("|")[2:5]] == shares
        assert f"{100 * one['position_bias']:+.0f} points" in row


def test_kept_verdicts_are_mirrored_agree_and_hold_their_error_rate() -> None:
    kept = json.loads((RESULTS / "verdicts.json").read_text())
    for line in kept["null"]:
        assert line["sets"] >= 2000
        assert (line["mirrored"], line["agree"]) == (1.0, 1.0)
        assert line["false"] <= line["limit"]
        assert line["at_edge"] <= 0.03
    assert all(line["met"] for line in kept["anytime"])
    assert kept["seeds"]["verdicts_changed_by_seed"] <= 0.01


def test_the_designs_without_a_difference_have_one_line_each() -> None:
    kept = json.loads((RESULTS / "verdicts.json").read_text())
    assert {name for name, _ in verdicts.designs()} == {line["design"] for line in kept["null"]}


def test_a_design_whose_agents_do_differ_would_miss_its_goal() -> None:
    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        one, two = verdicts.means("normal", 12, 2, shared=True)(rng)
        return [verdicts.shifted(one, 2.0), two]

    line = verdicts.null("shifted", draw, sets=40)
    assert line["false"] > 0.9
    assert not line["met"]
