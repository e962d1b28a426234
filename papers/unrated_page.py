"""The tables of papers/unrated.md and of docs/unrated.md and docs/when-ope.md, from papers/unrated.json and
papers/unrated-worlds.json.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).with_name("unrated.md")
DOCS = Path(__file__).parents[1] / "docs" / "unrated.md"
WHEN = DOCS.with_name("when-ope.md")
HEAD = (
    "targets",
    "answered",
    "mean error",
    "'mean of the others'",
    "ratio",
    "covered",
    "half width / error",
    "Pearson",
    "refused would have",
    "reasons",
)

# What docs/unrated.md shows of real ratings.
SHOWN = {
    "ji2022, mean of all ratings, seven bots": "ji2022: mean",
    "convai2_2018, overall, nine bots": "convai2_2018: overall",
    "convai2_2018, profile_match, nine bots": "convai2_2018: profile_match",
}


def _cells(found: Mapping[str, Any]) -> list[str]:
    """The cells of one summary, without its name."""
    given, withheld = found["answered"], found["withheld"]
    reasons = ", ".join(f"{count} {code}" for code, count in found["reasons"].items()) or "-"
    kept = f"{withheld['error']:.3g}, {withheld['covered']} of {withheld['n']}" if withheld["n"] else "-"
    if not given["n"]:
        return [str(found["agents"]), "0", *["-"] * 6, kept, reasons]
    return [
        str(found["agents"]),
        str(given["n"]),
        f"{given['error']:.3g}",
        f"{given['error_of_mean']:.3g}",
        f"{given['error'] / given['error_of_mean']:.2f}",
        f"{given['covered']} ({given['covered'] / given['n']:.0%})",
        f"{given['half_width'] / given['error']:.1f}",
        "-" if given["pearson"] is None or np.isnan(given["pearson"]) else f"{given['pearson']:.2f}",
        kept,
        reasons,
    ]


def _table(name: str, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A table of summaries by name."""
    head = [name, *HEAD]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return [*lines, *("| " + " | ".join([label, *_cells(found)]) + " |" for label, found in rows.items())]


def write(results: Mapping[str, Any]) -> None:
    """Put the tables between the marks of both pages."""
    real: Mapping[str, Any] = results.get("real", {})
    worlds: dict[str, Any] = results.get("worlds", {})
    if "all" in worlds:
        # Families have different scales.
        worlds["all"]["answered"]["pearson"] = None
    parts = {
        "real": _table("corpus: dimension", real),
        "worlds": _table("family", worlds),
        "outside": _outside(worlds),
        "missed": _missed(real),
    }
    if "five" in results:
        unstable = results["five"]["unstable"]
        second = {"agents": unstable["n"], "answered": unstable, "withheld": {"n": 0}, "reasons": {}}
        parts["five"] = _table(
            "ji2022, mean", {"five rated bots": results["five"], "of these, unstable": second}
        )
    if "degraded" in results:
        parts["degraded"] = _table("`qc`, with", results["degraded"])
    for name in ("curves", "curves-real"):
        settings = {label: one for label, one in results.get(name, {}).items() if "reasons" in one}
        if settings:
            parts[name] = _table("setting", settings)
    if "curves" in results:
        parts["ratings"] = _ratings(results["curves"]["20 ratings of the target"])
    _fill(PAGE, parts)
    rows = {label: real[key] for label, key in SHOWN.items() if key in real}
    rows |= {f"simulated, {name}, 16 rated agents": found for name, found in worlds.items()}
    needed = {"ji2022, five rated bots": results["five"]} if "five" in results else {}
    needed |= {
        f"ji2022, six rated bots, {name}": found for name, found in results.get("curves-real", {}).items()
    }
    on_docs = {
        "measured": _table("logs", rows),
        "needed": _table("logs", needed),
        "planted": _outside(worlds),
    }
    if "ratings" in parts:
        on_docs["with ratings"] = parts["ratings"]
    _fill(DOCS, {name: ["", *lines, ""] for name, lines in on_docs.items()})
    if "worth" in results:
        _fill(PAGE, {"worth": _worth(results["worth"])})
        _fill(WHEN, {"worth": ["", *_worth(results["worth"]), ""]})


def _worth(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The table of how many ratings of the agent itself do as well."""
    lines = [
        "| corpus: dimension | answered | deviation inside an agent | mean error | ratings of the agent |"
    ]
    return [
        *lines,
        "|" + " --- |" * 5,
        *(
            f"| {label} | {one['answered']} of {one['of']} | {one['deviation']:.3g} | {one['error']:.3g} | "
            f"{one['ratings']:.0f} |"
            for label, one in found.items()
        ),
    ]


def _outside(worlds: Mapping[str, Any]) -> list[str]:
    """The table of planted agents."""
    lines = [
        "| family | planted | answered | covered | missed by more than half the spread | reasons |",
        "|" + " --- |" * 6,
    ]
    for name, found in worlds.items():
        one = found["outside"]
        reasons = ", ".join(f"{count} {code}" for code, count in one["reasons"].items()) or "-"
        lines.append(
            f"| {name} | {one['planted']} | {one['answered']} | {one['covered']} | "
            f"{one['missed_by_half_the_spread']} | "
            f"{reasons} |"
        )
    return lines


def _ratings(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The table of what ratings of the target add."""
    lines = ["| from | agents | mean error | half width | coverage |", "|" + " --- |" * 5]
    return [
        *lines,
        *(
            f"| {name} | {one['n']} | {one['error']:.3f} | {one['half_width']:.3f} | {one['coverage']:.0%} |"
            for name, one in found.items()
        ),
    ]


def _missed(real: Mapping[str, Any]) -> list[str]:
    """One line for each answered interval that does not hold the truth."""
    lines = [
        f"* {label}, `{one['target']}`: {one['truth']:.3g} is outside [{one['interval'][0]:.3g}, "
        f"{one['interval'][1]:.3g}] "
        f"(`{one['choice']}`, left-out correlation {one['ranking']:.2f})"
        for label, found in real.items()
        for one in found["rows"]
        if one["refused"] is None and not one["interval"][0] <= one["truth"] <= one["interval"][1]
    ]
    return lines or ["* none"]


def _fill(page: Path, parts: Mapping[str, list[str]]) -> None:
    """Replace what stands between `<!-- NAME -->` and `<!-- /NAME -->`; marks that are not there are passed over."""
    text = page.read_text()
    for name, lines in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if start in text and end in text:
            before, after = text.partition(start)[0], text.partition(end)[2]
            text = before + start + "\n" + "\n".join(lines) + "\n" + end + after
    page.write_text(text)
