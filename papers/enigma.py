"""`python papers/enigma.py families|settings|chat|single DATA|show`: the tables of papers/enigma.md, by `ope --all`.

Each part runs commands, adds their results to papers/enigma.json, and rewrites its table; cases that are there are not
run again. The booking logs are simulated in a temporary folder; their seeds (21 to 23) are not those on which settings
were chosen (0 to 2, 11, 12). With KEPT=FILE in the environment a part adds to that file and rewrites no table, and
further arguments FAMILY:SEED choose cases; `add FILE...` takes such files over.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.usage import words

FAMILIES = ("graded", "wordings", "behaviour")
CHATS = ("graded", "failings")
SEEDS = (21, 22, 23)
SHOWN = ("robust", "dice-linear", "fqe", "balance", "direct", "mean-relabelled", "nearest")
SETTINGS = {
    "all": [],
    "50 %": ["--fraction", ".5"],
    "10 %": ["--fraction", ".1"],
    "challenging": ["--challenging", "15"],
}
SINGLE = {
    "fbd dailyz": ("fbd.jsonl.gz", ["--where", "meta.corpus=dailyz", "--rating", "overall"]),
    "fbd personaz": ("fbd.jsonl.gz", ["--where", "meta.corpus=personaz", "--rating", "overall"]),
    "usr_persona": ("usr_persona.jsonl", ["--rating", "overall"]),
    "grade convai2": ("grade.jsonl.gz", ["--where", "meta.corpus=convai2", "--rating", "coherence"]),
    "dstc7 relevance": ("dstc7.jsonl.gz", ["--pair", "meta.instance", "--rating", "relevance"]),
    "dstc7 informativeness": ("dstc7.jsonl.gz", ["--pair", "meta.instance", "--rating", "informativeness"]),
}
RANKERS = "robust,fqe,dice-linear,balance,direct,nearest,mean,metric:bertscore,metric:fbd,metric:length"
HERE = Path(__file__)


def turnwise(*args: str) -> dict:
    """Run a command and return its JSON document."""
    command = [sys.executable, "-m", "turnwise", *args, "--format", "json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def validation(*args: str) -> list[dict]:
    """The validation rows of `ope --all`, with the seconds that the command took."""
    start = time.perf_counter()
    found = turnwise("ope", *args, "--all")["validation"]
    return [{**row, "seconds": round(time.perf_counter() - start, 1)} for row in found]


def simulated(world: str, family: str, seed: int, folder: str) -> list[str]:
    """Simulate logs; returns their path and the option that names the file of their truth."""
    logs = Path(folder) / f"{family}-{seed}.jsonl"
    asked = ("--family", family, "--seed", str(seed), "--truth", "5000", "--jobs", "2")
    turnwise("simulate", world, *asked, "-o", str(logs))
    return [str(logs), "--truth", str(logs.with_suffix(".truth.json"))]


def families(family: str, seed: int) -> list[dict]:
    with TemporaryDirectory() as folder:
        found = validation(*simulated("booking", family, seed, folder), "--rating", "reward")
    return [{"family": family, "seed": seed, **row} for row in found]


def settings(family: str, seed: int) -> list[dict]:
    rows = []
    with TemporaryDirectory() as folder:
        logs = simulated("booking", family, seed, folder)
        for name, options in SETTINGS.items():
            asked = ("--rating", "reward", "--estimator", "robust,mean-relabelled", *options)
            rows += [
                {"family": family, "seed": seed, "setting": name, **row} for row in validation(*logs, *asked)
            ]
    return rows


def chat(family: str, seed: int) -> list[dict]:
    with TemporaryDirectory() as folder:
        logs = simulated("chat", family, seed, folder)
        found = validation(
            *logs, "--rating", "overall", "--estimator", "robust,fqe,dice-linear,direct,nearest"
        )
    return [{"family": family, "seed": seed, **row} for row in found]


def single(name: str, data: Path) -> list[dict]:
    file, options = SINGLE[name]
    found = validation(str(data / file), *options, "--estimator", RANKERS)
    raw = validation(str(data / file), *options, "--estimator", "robust,direct", "--no-calibrate")
    return [{"corpus": name, **row} for row in found] + [
        {"corpus": name, **row, "estimator": f"{row['estimator']}, not calibrated"} for row in raw
    ]


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def table(rows: list[dict], keys: tuple[str, ...]) -> str:
    columns = ("pearson", "spearman", "mae", "coverage", "half_width")
    head = [*keys, "estimator", *columns, "answered", "refused"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        known = [number(row[column]) for column in columns]
        lines.append(
            [
                *(str(row[key]) for key in keys),
                row["estimator"],
                *known,
                str(row["n_agents"]),
                str(row["refused"]),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pooled(rows: list[dict]) -> str:
    """A sentence on coverage over all agents, families and seeds, and on the worst correlations of each family."""
    mine = [row for row in rows if row["estimator"] == "robust" and row["coverage"] is not None]
    agents = sum(row["n_agents"] for row in mine)
    covered = sum(row["coverage"] * row["n_agents"] for row in mine)
    worst = ", ".join(
        f"{family} {min(r['pearson'] for r in mine if r['family'] == family):.3f} "
        f"{min(r['spearman'] for r in mine if r['family'] == family):.3f}"
        for family in FAMILIES
    )
    slowest = max(row["seconds"] for row in mine)
    return (
        f"Coverage of `robust` pooled over {agents} agents: {covered / agents:.3f}. Least Pearson and Spearman of "
        f"three seeds: {worst}. Slowest sweep, all nine quick estimators: {slowest:.0f} s."
    )


BOOKING = [(family, seed) for seed in SEEDS for family in FAMILIES]
PARTS: dict[str, tuple[Callable[..., list[dict]], list[tuple], tuple[str, ...], Callable | None]] = {
    "families": (families, BOOKING, ("family", "seed"), pooled),
    "settings": (settings, [(family, SEEDS[0]) for family in FAMILIES], ("family", "seed", "setting"), None),
    "chat": (chat, [(family, seed) for seed in SEEDS for family in CHATS], ("family", "seed"), None),
    "single": (single, [(name,) for name in SINGLE], ("corpus",), None),
}


def show(part: str, rows: list[dict]) -> None:
    """Rewrite the part's table in the page."""
    keys, summary = PARTS[part][2:]
    shown = [row for row in rows if part == "single" or row["estimator"] in SHOWN]
    text = table(shown, keys) + (f"\n\n{summary(rows)}" if summary else "")
    page = HERE.with_name("enigma.md")
    block = re.compile(rf"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.S)
    page.write_text(block.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page.read_text()))


def main() -> None:
    part, *more = words(__doc__, (*PARTS, "show", "add"))
    elsewhere = "KEPT" in os.environ
    store = Path(os.environ.get("KEPT", HERE.with_suffix(".json")))
    kept = json.loads(store.read_text()) if store.exists() else {}
    if part in ("show", "add"):
        for name in more:
            for key, rows in json.loads(Path(name).read_text()).items():
                known = [row for row in kept.setdefault(key, []) if "seed" in row]
                there = {(row["family"], row["seed"]) for row in known}
                kept[key] += [row for row in rows if (row["family"], row["seed"]) not in there]
        if part == "add":
            store.write_text(json.dumps(kept, indent=1) + "\n")
        for name in PARTS:
            show(name, kept.get(name, []))
        return
    make, cases, keys = PARTS[part][:3]
    chosen = [name for name in more if ":" in name]
    rows = kept.setdefault(part, [])
    for case in cases:
        if any(all(row[key] == one for key, one in zip(keys, case, strict=False)) for row in rows):
            continue
        if not chosen or ":".join(map(str, case)) in chosen:
            rows += make(*case, *(Path(name) for name in more if name not in chosen))
            store.write_text(json.dumps(kept, indent=1) + "\n")
    if not elsewhere:
        show(part, kept[part])


if __name__ == "__main__":
    main()
