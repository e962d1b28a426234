"""`python -m benchmarks.sizes`: what commands cost on a thousand to a million replies, and on Ray.

Generated dialogues of four agents with ten messages each are scored, compared and correlated with ratings. `ope
--stream` gets simulated booking dialogues of five sellers, with about as many replies. Each command is one process, as
users start it; times are processor times with those of workers. Ten million are not measured: their time is that of a
million, plus nine times the slope of the last step.

`score --jobs 2` runs on local processes and on a Ray cluster of two workers on the same two cores, on up to a million
replies. Needs two cores and 3 GB of disk. Writes benchmarks/results/sizes.json and the tables of docs/scale.md.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.bench_scale import Cost, cost
from benchmarks.corpus import write
from turnwise import simulate

RESULT = Path(__file__).parent / "results" / "sizes.json"
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
MARK = "<!-- sizes -->"
SIZES = (1_000, 10_000, 100_000, 1_000_000)  # replies
SELLERS, TURNS = 5, 4  # agents of `ope`, and about how many replies a dialogue of theirs has
COMMANDS = {
    "score": "score {} -m bleu-4,rouge-l,length -q",
    "meta": "meta {} -m length,rouge-l --level turn -q",
    "compare": "compare {} -m rating:overall,length,rouge-l -q",
    "ope --stream": "ope {} --target hurries --rating reward --stream --estimator fqe --model hashing -q",
}
WHERE = ("local", "ray")
ON = "score {} -m bleu-4,chrf,rouge-l -q --jobs 2"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def data(folder: Path, command: str, count: int) -> Path:
    """The file of a command with about this many replies, written if it does not exist."""
    streamed = command == "ope --stream"
    path = folder / f"{'logs' if streamed else 'replies'}{count}.jsonl"
    if path.exists():
        return path
    if streamed:
        each = max(count // (SELLERS * TURNS), 10)
        simulate(
            "booking", output=path, family="behaviour", agents=SELLERS, dialogues=each, samples=1, truth=0
        )
    else:
        write(path, count, rated=True)
    return path


def measured(folder: Path, command: str, count: int) -> dict[str, Any]:
    """Cost of a command on this many replies, with the disk that its `-o` takes."""
    path, out = data(folder, command, count), folder / "out"
    found = cost(COMMANDS[command], path, "-o", str(out))
    disk = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    for file in sorted(out.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    return {"replies": count, "bytes": path.stat().st_size, **kept(found), "disk": disk}


def kept(found: Cost) -> dict[str, float]:
    """A cost, rounded."""
    return {
        "processor": round(found.processor, 2),
        "wall": round(found.wall, 2),
        "peak": round(found.peak, 1),
    }


def main() -> None:
    """Measure what is missing in the file, smallest first."""
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    found["command"] = "python -m benchmarks.sizes"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for count in SIZES:
            for command in COMMANDS:
                lines = found.setdefault(command, [])
                if all(line["replies"] != count for line in lines):
                    lines.append(measured(folder, command, count))
                    say(f"{command}: {lines[-1]}")
                    RESULT.write_text(json.dumps(found, indent=1) + "\n")
        for count in SIZES:
            for on in WHERE:
                lines = found.setdefault(f"--on {on}", [])
                if all(line["replies"] != count for line in lines):
                    lines.append(
                        {"replies": count, **kept(cost(ON, data(folder, "score", count), "--on", on))}
                    )
                    say(f"--on {on}: {lines[-1]}")
                    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(MARK + "\n")
    _, _, after = rest.partition(MARK.replace("<!-- ", "<!-- /"))
    lines = "\n".join([*table(found), "", *on_ray(found)])
    PAGE.write_text(f"{before}{MARK}\n\n{lines}\n\n{MARK.replace('<!-- ', '<!-- /')}{after}")


def table(found: dict[str, Any]) -> Iterator[str]:
    """Lines of the table of commands."""
    yield "| replies | " + " | ".join(f"`{command}`" for command in COMMANDS) + " |"
    yield "|---|" + "---|" * len(COMMANDS)
    for at, count in enumerate(SIZES):
        cells = [spelt(found[command][at]) for command in COMMANDS]
        yield f"| {count:,} | " + " | ".join(cells) + " |"
    many = 10 * SIZES[-1]
    cells = [spelt(further(*found[command][-2:], many)) for command in COMMANDS]
    yield f"| {many:,}, by the slope | " + " | ".join(cells) + " |"


def spelt(line: dict[str, float]) -> str:
    """A cell: time, memory and disk."""
    return f"{lasting(line['processor'])}, {line['peak']:,.0f} MiB, {line['disk'] / 1e6:,.1f} MB"


def lasting(seconds: float) -> str:
    """A time that is read at a glance."""
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def further(one: dict[str, float], two: dict[str, float], count: int) -> dict[str, float]:
    """The cost of `count` replies on the line through two measured sizes."""
    share = (count - two["replies"]) / (two["replies"] - one["replies"])
    return {key: two[key] + share * (two[key] - one[key]) for key in ("processor", "peak", "disk")}


def on_ray(found: dict[str, Any]) -> Iterator[str]:
    """Lines of the table of Ray beside local processes."""
    yield "| replies | two local processes | two Ray workers | a further reply: ratio |"
    yield "|---|---|---|---|"
    slopes = [
        [(b["wall"] - a["wall"]) / a["replies"] for a, b in pairwise(found[f"--on {on}"])] for on in WHERE
    ]
    ratios = ["", *(f"{ray / local:.2f}" for local, ray in zip(*slopes, strict=True))]
    for one, two, ratio in zip(*(found[f"--on {on}"] for on in WHERE), ratios, strict=True):
        yield f"| {one['replies']:,} | {one['wall']:.1f} s | {two['wall']:.1f} s | {ratio} |"


if __name__ == "__main__":
    main()
