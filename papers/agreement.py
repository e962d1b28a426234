"""`python papers/agreement.py DATA`: agreement of all metrics with ratings on five corpora; writes papers/agreement.md.

Runs the `turnwise meta` command that the page shows, and prints its results beside the published figures of
agreement_published.tsv. `--from FILE` uses the results of an earlier run (its `--format json`). Needs `turnwise fetch
minilm smollm2 word2vec`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

METRICS = (
    "bleu-1 bleu-2 bleu-3 bleu-4 chrf rouge-1 rouge-2 rouge-l rouge-l-b1.2 meteor average greedy extrema extrema-max "
    "bertscore-p bertscore-r bertscore length question-rate specificity repeat-external-1 repeat-external-2 "
    "repeat-internal-1 repeat-internal-2 repeat-partner-1 repeat-partner-2 relatedness loglik ppl pmi pmi-total fed "
    "distinct-1 distinct-2 entropy-1 entropy-2 msttr-50"
).split()
FILES = ("usr_persona.jsonl", "grade.jsonl.gz", "fed_turn.jsonl.gz", "engage.jsonl", "holistic.jsonl")
OPTIONS = "--by file,meta.corpus,meta.part --statistic spearman,pearson --no-differences --draws 400".split()
HERE = Path(__file__)
Found = dict[tuple[str, str], dict[str, dict[str, dict]]]  # (level, group) -> metric -> statistic -> result


def command(data: Path) -> list[str]:
    return ["meta", *(str(data / file) for file in FILES), "-m", ",".join(METRICS), *OPTIONS]


def measured(data: Path) -> list[dict]:
    """The results of the command."""
    run = [sys.executable, "-m", "turnwise", *command(data), "--format", "json", "-q"]
    return json.loads(subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout)["results"]


def by_level_and_group(results: list[dict]) -> Found:
    """The results in nested dictionaries (see `Found`)."""
    found: Found = {}
    for row in results:
        if row.get("statistic"):
            place = found.setdefault((row["level"], row["group"]), {})
            place.setdefault(row["metric"], {})[row["statistic"]] = row
    return found


def cell(of_metric: dict[str, dict] | None) -> str:
    """Spearman, Pearson and the interval of Spearman as a table cell."""
    known = of_metric or {}
    numbers = [known[name]["estimate"] for name in ("spearman", "pearson") if name in known]
    if not numbers or None in numbers:
        return "-"
    low, high = known["spearman"]["interval"] or (None, None)
    interval = "" if low is None else f" [{low:.2f}, {high:.2f}]"
    return " ".join(f"{number:.3f}" for number in numbers) + interval


def raters(of_metric: dict[str, dict[str, dict]]) -> str:
    """The agreement of one rater with the others, from the metric that scored the most items."""
    known = [rows["spearman"] for rows in of_metric.values() if "spearman" in rows]
    known = [row for row in known if row.get("one_rater") is not None]
    if not known:
        return "-"
    widest = max(known, key=lambda row: row["n_items"])
    other = of_metric[widest["metric"]]["pearson"]
    return f"{widest['one_rater']:.3f} {other['one_rater']:.3f}"


def rows(found: Found, level: str, columns: list[str]) -> Iterator[list[str]]:
    """The lines of our table at a level."""
    for metric in METRICS:
        cells = [cell(found[level, column].get(metric)) for column in columns]
        if any(text != "-" for text in cells):
            yield [f"`{metric}`", *cells]
    yield ["*one rater*", *(raters(found[level, column]) for column in columns)]


def published(level: str, columns: list[str]) -> Iterator[list[str]]:
    """The lines of the table of published figures at a level."""
    lines = HERE.with_name("agreement_published.tsv").read_text().splitlines()
    head, *table = [line.split("\t") for line in lines if not line.startswith("#")]
    for line in table:
        figures = dict(zip(head, line, strict=True))
        if figures["level"] == level:
            yield [figures["metric"], *(figures.get(column, "-") for column in columns)]


def table(head: list[str], lines: Iterator[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def main() -> None:
    given = sys.argv[1:]
    results = (
        json.loads(Path(given[1]).read_text())["results"]
        if given[0] == "--from"
        else measured(Path(given[0]))
    )
    found = by_level_and_group(results)
    page = HERE.with_suffix(".md")
    parts = [page.read_text().partition("## Turn level")[0].rstrip()]
    for level in ("turn", "system"):
        columns = [group for at, group in found if at == level]
        columns = [
            group for group in columns if any(cell(one) != "-" for one in found[level, group].values())
        ]
        parts.append(
            f"## {level.title()} level\n\n{table(['metric', *columns], rows(found, level, columns))}"
        )
        parts.append(
            f"### Published, {level} level\n\n{table(['metric', *columns], published(level, columns))}"
        )
    page.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
