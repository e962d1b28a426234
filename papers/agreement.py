"""`python papers/agreement.py DATA`: how every metric agrees with people on five rated corpora, as papers/agreement.md.

One `turnwise meta` command a corpus (their ids clash, so they cannot be given together); this script only runs them
and puts their results side by side. Needs `turnwise fetch minilm smollm2 word2vec`.
"""

import json
import subprocess
import sys
from pathlib import Path

METRICS = (
    "bleu-1 bleu-2 bleu-3 bleu-4 chrf rouge-1 rouge-2 rouge-l rouge-l-b1.2 meteor average greedy extrema extrema-max "
    "bertscore-p bertscore-r bertscore length question-rate specificity repeat-external-1 repeat-external-2 "
    "repeat-internal-1 repeat-internal-2 repeat-partner-1 repeat-partner-2 relatedness loglik ppl pmi pmi-total fed"
).split()
CORPORA = {
    "usr_persona": ("usr_persona.jsonl", ["--dimension", "overall", "--stable-raters"]),
    "grade": ("grade.jsonl.gz", ["--by", "meta.corpus"]),
    "fed_turn": ("fed_turn.jsonl.gz", ["--dimension", "overall"]),
    "engage": ("engage.jsonl", []),
    "holistic": ("holistic.jsonl", ["--where", "meta.part=context", "--dimension", "coherence"]),
}
OPTIONS = "--statistic spearman,pearson --no-differences --draws 400 --format json -q".split()


def measured(data: Path) -> dict[tuple[str, str], dict[str, list[dict]]]:
    """(level, column) -> metric -> its Spearman and Pearson."""
    found: dict[tuple[str, str], dict[str, list[dict]]] = {}
    for name, (file, options) in CORPORA.items():
        command = [sys.executable, "-m", "turnwise", "meta", str(data / file), "-m", ",".join(METRICS)]
        done = subprocess.run([*command, *options, *OPTIONS], capture_output=True, text=True, check=False)
        for row in json.loads(done.stdout)["results"]:
            column = f"{name} {row['group']}" if row.get("group") else name
            found.setdefault((row.get("level", "turn"), column), {}).setdefault(row["metric"], []).append(row)
        print(f"{name} done", file=sys.stderr, flush=True)
    return found


def cell(rows: list[dict] | None) -> str:
    known = [row for row in rows or () if row["estimate"] is not None]
    if not known:
        return "-"
    low, high = known[0]["interval"] or (None, None)
    interval = "" if low is None else f" [{low:.2f}, {high:.2f}]"
    return " ".join(f"{row['estimate']:.3f}" for row in known) + interval


def table(found: dict[tuple[str, str], dict[str, list[dict]]], level: str) -> str:
    columns = [column for at, column in found if at == level]
    head = ["metric", *columns]
    lines = [head, ["---"] * len(head)]
    ceilings = [_ceiling(found[level, column]) for column in columns]
    for metric in METRICS:
        cells = [cell(found[level, column].get(metric)) for column in columns]
        if any(text != "-" for text in cells):
            lines.append([f"`{metric}`", *cells])
    lines.append(
        ["*one rater (Spearman)*", *("-" if value is None else f"{value:.3f}" for value in ceilings)]
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ceiling(of_metric: dict[str, list[dict]]) -> float | None:
    known = (row.get("ceiling") for rows in of_metric.values() for row in rows)
    return next((value for value in known if value is not None), None)


def main() -> None:
    found = measured(Path(sys.argv[1]))
    text = Path(__file__).with_suffix(".md")
    before, _, _ = text.read_text().partition("## Turn level")
    text.write_text(
        f"{before}## Turn level\n\n{table(found, 'turn')}\n\n## System level\n\n{table(found, 'system')}\n"
    )


if __name__ == "__main__":
    main()
