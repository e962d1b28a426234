"""`python -m papers.enigma_figures`: estimates against true means, as the figures of ENIGMA have them.

papers/figures/enigma-language.png has the ten scores of chat agents that are language models, and
papers/figures/enigma-trained.png three scores of the trained sellers by ours and by ENIGMA, from the JSON files of the
pages. A hollow dot is what would have been said of an agent that was refused.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from papers.enigma_trained_tables import SCORES, estimates, merged
from turnwise.worlds.chat.quality import DIMENSIONS

HERE = Path(__file__).parent
FIGURES = HERE / "figures"


def panel(
    axes: Any, title: str, answered: dict[str, float], refused: dict[str, float], truth: dict[str, float]
) -> None:
    """Dots of the agents, and the line on which an estimate is right."""
    for said, filled in ((answered, True), (refused, False)):
        axes.scatter(
            [truth[name] for name in said], list(said.values()), s=18, edgecolors="tab:blue", linewidths=0.9,
            facecolors="tab:blue" if filled else "none",
        )  # fmt: skip
    every = [*truth.values(), *answered.values(), *refused.values()]
    ends = (min(every), max(every))
    axes.plot(ends, ends, color="grey", linewidth=0.8)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)


def language() -> None:
    """The ten scores with the most dialogues."""
    rows = [
        row
        for row in json.loads((HERE / "enigma-language.json").read_text())
        if row["estimator"] == "robust" and "agents" in row  # rows of the first run have no single agents
    ]
    largest = max(row["dialogues"] for row in rows)
    found = {row["score"]: row for row in rows if row["dialogues"] == largest}
    figure, grid = plt.subplots(2, 5, figsize=(12, 5))
    for axes, score in zip(grid.flat, DIMENSIONS, strict=True):
        said = found[score]["agents"]
        answered = {name: one["estimate"] for name, one in said.items() if one["estimate"] is not None}
        refused = {
            name: one["withheld"]
            for name, one in said.items()
            if one["estimate"] is None and one["withheld"] is not None
        }
        panel(
            axes,
            f"{score}: {len(answered)} of {len(said)}",
            answered,
            refused,
            found[score]["means"],
        )
    finish(figure, "enigma-language.png")


def trained() -> None:
    """Flight, status and reward of the trained sellers of all draws."""
    cases = [
        one for one in json.loads((HERE / "enigma-trained.json").read_text()) if one["family"] == "trained"
    ]
    case = merged(cases)
    figure, grid = plt.subplots(2, 3, figsize=(8, 5))
    for line, method in zip(grid, ("ours (`robust`)", "ENIGMA"), strict=True):
        for axes, score in zip(line, SCORES, strict=True):
            truth = {name: means[score] for name, means in case["truth"].items()}
            panel(
                axes, f"{method.replace('`', '')}, {score}", estimates(case, "full", method, score), {}, truth
            )
    finish(figure, "enigma-trained.png")


def finish(figure: Any, name: str) -> None:
    figure.supxlabel("true mean", fontsize=9)
    figure.supylabel("estimate", fontsize=9)
    figure.tight_layout()
    figure.savefig(FIGURES / name, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    language()
    trained()
