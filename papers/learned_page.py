"""The tables of papers/learned.md, from the numbers in papers/learned.json."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PAGE = HERE / "learned.md"
# Published mean correlations over nine other corpora of this kind (README of exe1023/DialEvalMetrics).
PUBLISHED = {"DEB": 0.398, "GRADE": 0.391, "USL-H": 0.384, "USR": 0.382}
ADEM = ("adem", "adem-c", "adem-r")
Cells = dict[str, list[Any]]


def lined(head: list[str], lines: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def shown(cell: Any) -> str:
    """Spearman and Pearson with their intervals as a table cell."""
    if cell is None:
        return "-"
    spearman, pearson, *bounds = cell
    spans = [f" [{low:.2f}, {high:.2f}]" for low, high in bounds]
    return "<br>".join(
        f"{value:.3f}{span}" for value, span in zip((spearman, pearson), spans or ("", ""), strict=True)
    )


def mean(values: list[Any]) -> str:
    return "-" if None in values else f"{np.mean(values):.3f}"


def mean_interval(cells: list[Any]) -> tuple[float, float, float]:
    """Mean Spearman over groups, and its 95 % interval from the groups' intervals: the groups share no item."""
    errors = [(high - low) / (2 * 1.96) for _, _, (low, high), _ in cells]
    centre, half = (
        np.mean([cell[0] for cell in cells]),
        1.96 * np.sqrt(np.sum(np.square(errors))) / len(cells),
    )
    return float(centre), float(centre - half), float(centre + half)


def learned_by_adem(groups: list[str]) -> tuple[Cells, Cells]:
    """The results of `python papers/adem.py replies DATA`, where contexts were held out but no corpus."""
    replies = json.loads((HERE / "adem.json").read_text())["replies"]

    def cell(one: Any) -> Any:
        names = ("spearman", "pearson")
        return one and [one[name][key] for key in ("estimate", "interval") for name in names]

    rows = {f"{name}, contexts held out": f"{name}, minilm" for name in ADEM}
    turn = {name: [cell(replies["turn"][row].get(group)) for group in groups] for name, row in rows.items()}
    system = {name: [replies["system"][row].get(group) for group in groups] for name, row in rows.items()}
    return turn, system


def published(groups: list[str]) -> Cells:
    """Published results on the same ratings (Yeh et al. 2021)."""
    with (HERE / "agreement_published.tsv").open() as file:
        rows = [row for row in csv.reader(file, delimiter="\t") if row and not row[0].startswith("#")]
    places = [name.replace("/", " ").split()[0:2] for name in rows[0][2:]]
    names = {" ".join(place): at for at, place in enumerate(places)}
    of = {"usr_persona": "usr_persona personachat", "grade empathetic": "grade empatheticdialogues",
          "engage": "engage dailydialog", "holistic": "holistic context"}  # fmt: skip
    found: Cells = {}
    for level, metric, *cells in rows[1:]:
        if level == "turn":
            chosen = [
                cells[names[key]] if (key := of.get(group, group)) in names else "-" for group in groups
            ]
            found[f"*{metric}, as published*"] = [
                None if cell == "-" else [float(number.rstrip("*")) for number in cell.split()]
                for cell in chosen
            ]
    return found


def page(kept: dict[str, Any]) -> str:
    """The part of papers/learned.md from the heading of the table on."""
    groups = kept["groups"]
    adem, adem_systems = learned_by_adem(groups)
    cells: Cells = {**kept["cells"], **adem, **published(groups)}
    seven = [at for at, group in enumerate(groups) if not group.startswith("fbd")]  # published figures exist
    six = [at for at, cell in enumerate(cells["bleu-1"]) if cell is not None]  # references exist
    lines = []
    for name, row in cells.items():
        spearman = [cell and cell[0] for cell in row]
        means = [mean([spearman[at] for at in some]) for some in (range(len(groups)), seven, six)]
        lines.append([name, *means, *map(shown, row)])
    lines.append(
        [
            "*ceiling of a perfect metric*",
            *["-"] * 3,
            *("-" if c is None else f"{c:.3f}" for c in kept["ceiling"]),
        ]
    )
    lines += [
        [f"*{name}, as published on nine others*", f"{value:.3f}", "-", "-", *["-"] * len(groups)]
        for name, value in PUBLISHED.items()
    ]
    systems: Cells = {**kept["systems"], **adem_systems}
    many = [at for at in range(len(groups)) if any(row[at] is not None for row in kept["systems"].values())]
    over = [
        [name, *("-" if row[at] is None else f"{row[at]:.3f}" for at in many)]
        for name in cells
        if (row := systems.get(name))
    ]
    own = [
        [count, f"{one['spearman']:.3f}", f"{one['coverage']:.3f}"]
        for count, one in kept["calibrated"].items()
    ]
    tricks = list(next(iter(kept["frauds"].values())))
    fooled = [
        [f"`{name}`", *(f"{row[trick]:.2f}" for trick in tricks)] for name, row in kept["frauds"].items()
    ]
    over_seven = ", ".join(
        f"{name.strip('*')} {centre:.3f} [{low:.3f}, {high:.3f}]"
        for name in ("**turnwise**, corpus left out", "**turnwise-large**, corpus left out")
        for centre, low, high in [mean_interval([cells[name][at] for at in seven])]
    ).replace("**, corpus left out", "")
    over_seven += "; " + ", ".join(
        f"{name} {np.mean([cells[f'*{name}, as published*'][at][0] for at in seven]):.3f}"
        for name in ("DEB", "GRADE")
    )
    head = ["metric", "mean Spearman", "of the seven", "of the six", *groups]
    return f"""## The table

{lined(head, lines)}

Mean Spearman over the seven groups with published numbers, with 95 % intervals (the published numbers have none):
{over_seven}.

## Systems

Pearson over systems of mean score and mean rating, where a group has four systems or more.

{lined(["metric", *(groups[at] for at in many)], over)}

## With ratings of the tested corpus

By the steps of `train turnwise`, penalty and interval included. Whole contexts are drawn (20 times for each group), and
the numbers are of replies to the others: mean Spearman over the nine groups, and the share inside their 95 % interval.

{lined(["own ratings", "mean Spearman", "inside the interval"], own)}

## Frauds

Share of 60 PersonaChat contexts in which the person's own reply stands above the fraud. The shipped `turnwise` has seen
ratings of these very replies.

{lined(["metric", *tricks], fooled)}
"""
