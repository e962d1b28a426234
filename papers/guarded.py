"""Attacks on metrics without and with the shipped guard, and the cost in agreement; results go to papers/guarded.json.

    python -m papers.guarded DATA NAME=METRIC[:SETTING]... [--corpora NAMES] [--count N] [--budget N] [--seed N] -o OUT
    python -m papers.guarded merge FILE...             results of other machines (--results) into papers/guarded.json
    python -m papers.guarded show

METRIC is attacked as it is and as `guarded[metric=METRIC,SETTING]`, on contexts of three corpora that had no part in
the guard's training (another seed draws them, PersonaChat's and DailyDialog's test dialogues are left out of it), with
twice the calls that the guard was taught with. Then Spearman with ratings is measured on every rated group, before and
after. A run that was killed continues: finished attacks are read from OUT.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers.probing import CORPORA, quoted
from papers.rated_corpora import rated
from turnwise.cli.common.group import run
from turnwise.metrics import resolve
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Summed

RESULTS = Path(__file__).with_suffix(".json")
BUDGET, COUNT, SEED = (
    12_000,
    80,
    21,
)  # the guard was taught with 6,000 calls on 80 contexts, drawn with seed 0
OWN = ("people", "other")  # kinds of replies that are people's own, or edits of them
FEWEST = 30  # replies of a group for a correlation


def attack(data: Path, metric: str, corpus: str, out: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The best fraud that an attack on this metric found, whether or not its gain is shown."""
    file, (key, value) = CORPORA[corpus]
    if not (out / "results.json").exists():
        code = run(
            ["attack", metric, "--contexts", str(data / file), "--where", f"{key}={value}", "--count", str(given.count),
             "--budget", str(given.budget), "--seed", str(given.seed), "--no-perturb", "-q", "-o", str(out)]
        )  # fmt: skip
        if code:
            raise SystemExit(code)
    document = json.loads((out / "results.json").read_bytes())
    frauds = [one for one in document["results"] if one["kind"] not in OWN and one["gain"] is not None]
    best = max(frauds, key=lambda one: one["gain"])
    kept = {key: best[key] for key in ("kind", "score", "gain", "gain_interval", "significant")}
    return {
        "people": document["people"]["score"], **kept, "description": quoted(best["description"]),
        "frauds": document["verdict"]["frauds"], "tested": document["verdict"]["judged"], "calls": document["calls"],
    }  # fmt: skip


def agreement(data: Path, plain: str, worn: str) -> dict[str, dict[str, float]]:
    """Spearman with ratings on each rated group, before and after; groups that the metric cannot score are absent."""
    spearman, found = STATISTICS["spearman"], {}
    for group in rated(data):
        scores = []
        for metric in (resolve(plain), resolve(worn)):
            rows = metric.rows(group.items)
            if not isinstance(metric, Summed) or not isinstance(rows, np.ndarray):
                raise SystemExit(f"{plain} gives no score to single replies")
            scores.append(np.asarray(metric.of_sums(rows)))
        known = ~np.isnan(np.array(scores)).any(axis=0)
        if known.sum() >= FEWEST:
            before, after = (spearman(one[known], np.array(group.values)[known]) for one in scores)
            found[group.name] = {"before": before, "after": after, "n": int(known.sum())}
            print(json.dumps({"metric": plain, "group": group.name, **found[group.name]}), flush=True)
    return found


def measure(data: Path, name: str, spec: str, given: argparse.Namespace) -> None:
    """Attack and agreement of one metric, kept after every part."""
    metric, _, setting = spec.partition(":")
    worn = f"guarded[metric={metric}{setting and ','}{setting}]"
    path = given.results
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    line = kept.setdefault(name, {"attacks": {}})
    line["setting"] = setting
    line["attack"] = {"count": given.count, "budget": given.budget, "seed": given.seed}
    if not given.no_agreement:
        line["agreement"] = agreement(data, metric, worn)
        _write(path, name, line)
    for corpus in filter(None, given.corpora.split(",")):
        both = {}
        for when, one in (("before", metric), ("after", worn)):
            both[when] = attack(data, one, corpus, given.output / f"{name}-{corpus}-{when}", given)
            print(json.dumps({"metric": name, "corpus": corpus, "when": when, **both[when]}), flush=True)
        line["attacks"][corpus] = both
        _write(path, name, line)


def _write(path: Path, name: str, line: dict[str, Any]) -> None:
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(
        json.dumps(dict(sorted({**kept, name: line}.items())), indent=1, ensure_ascii=False) + "\n"
    )


def merge(files: Sequence[str]) -> None:
    """Add the results of several files to papers/guarded.json, attack by attack."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for file in files:
        for name, line in json.loads(Path(file).read_text()).items():
            there = kept.get(name, {"attacks": {}})
            attacks = {**there["attacks"], **line["attacks"]}
            kept[name] = {
                **there,
                **line,
                "attacks": {corpus: attacks[corpus] for corpus in CORPORA if corpus in attacks},
            }
    RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")


def show() -> None:
    """The tables of papers/probing.md."""
    kept = json.loads(RESULTS.read_text())
    print(
        "| metric | corpus | before: people, best fraud | gain | after: people, best fraud | gain | best fraud after |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, line in kept.items():
        for corpus, both in line["attacks"].items():
            cells = (_cells(both[when]) for when in ("before", "after"))
            print(f"| `{name}` | {corpus} | {' | '.join(cells)} | {both['after']['description']} |")
    groups = list(dict.fromkeys(group for line in kept.values() for group in line.get("agreement", {})))
    print(f"\n| metric | {' | '.join(groups)} | mean |\n|{'---|' * (len(groups) + 2)}")
    for name, line in kept.items():
        found = line.get("agreement", {})
        means = [np.mean([one[when] for one in found.values()]) for when in ("before", "after")]
        pairs = [
            f"{found[one]['before']:.3f}, {found[one]['after']:.3f}" if one in found else "-"
            for one in groups
        ]
        print(f"| `{name}` | {' | '.join(pairs)} | {means[0]:.3f}, {means[1]:.3f} |")


def _cells(one: dict[str, Any]) -> str:
    low, high = one["gain_interval"]
    gain = f"{one['gain']:+.3f} [{low:.3f}, {high:.3f}]"
    return f"{one['people']:.3f}, {one['score']:.3f} | {f'**{gain}**' if one['significant'] else gain}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("metrics", nargs="*", metavar="NAME=METRIC[:SETTING]")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--no-agreement", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/guarded"))
    options = parser.parse_args()
    if options.data == "show":
        show()
    elif options.data == "merge":
        merge(options.metrics)
    else:
        for pair in options.metrics:
            measure(Path(options.data), *pair.split("=", 1), options)
