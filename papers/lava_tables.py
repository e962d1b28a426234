"""Write the tables of papers/lava.md from the results of papers/lava.py, and keep the results in papers/lava.json.

python papers/lava_tables.py RESULTS            # a folder with a JSON file for each stage and seed
python papers/lava_tables.py papers/lava.json   # from the kept results
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Run = dict[str, Any]
PAPER = {"joint": (66.06, 51.95, 17.0), "plas": (83.94, 67.54, 14.0)}  # Table 1: match, success, BLEU
WEIGHT = 0.01  # of the KL terms in the main tables
KEPT = (
    "stage",
    "kl",
    "seed",
    "size",
    "weight",
    "device",
    "settings",
    "seconds",
    "processor",
    "at",
    "test",
    "last",
    "curve",
)
EXAMPLES = 4  # replies kept of each policy
SCORES = ("match", "success", "bleu", "match_leaderboard", "success_leaderboard", "distinct")
NAMES = {
    "joint": "SL: LAVA_mt, joint loss (eq. 4)",
    "alternate": "LAVA_mt, 10:1",
    "kl": "LAVA_kl",
    "warm": "joint, after the warm-up (eq. 5)",
    "plas": "PLAS, the defaults: close to the policy, closeness 3",
    "policy-10": "PLAS, closeness 10",
    "policy-30": "PLAS, closeness 30",
    "policy-100": "PLAS, closeness 100",
    "policy-10-slow": "PLAS, closeness 10, actor's rate .0002",
    "policy-30-slow": "PLAS, closeness 30, actor's rate .0002",
    "policy-30-penalty": "PLAS, closeness 30, penalty .003",
    "logged-10": "PLAS, close to the logged action, closeness 10",
    "logged-30": "PLAS, close to the logged action, closeness 30",
    "paper": "PLAS, settings of section 5.2, sigma 2",
    "paper-wide": "PLAS, settings of section 5.2, sigma 4",
    "gradient": "policy gradient, rate .0001",
    "gradient-slow": "policy gradient, rate .00002",
}
BEFORE = {  # names of the stages before the KL was corrected
    "joint": "LAVA_mt, joint loss (eq. 4)",
    "alternate": "LAVA_mt, 10:1",
    "kl": "LAVA_kl",
    "warm": "joint, after the warm-up (eq. 5)",
    "plas": "joint + PLAS, settings of section 5.2",
    "gradient": "joint + policy gradient",
}


def table(results: Path) -> None:
    """Write the tables; a new result replaces the kept one of the same size, KL, weight, stage and seed."""
    store = Path(__file__).with_name("lava.json")
    found: list[Run] = json.loads(store.read_text())
    if results.is_dir():
        new = [json.loads(path.read_text()) for path in sorted(results.rglob("*-[0-9]*.json"))]
        again = {_identity(one) for one in new}
        found = sorted([one for one in found if _identity(one) not in again] + new, key=_identity)
    found = [_shortened(one) for one in found]
    store.write_text("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in found) + "\n]\n")
    runs = {group: [one for one in found if _group(one) == group] for group in set(map(_group, found))}
    full = runs[("full", "mean")]
    main = [one for one in full if one["weight"] == WEIGHT]
    _write("results", [_means(main, NAMES), _seeds(main), _rises(main)])
    _write("weights", [_weights(full)])
    if ("small", "mean") in runs:
        _write("small", [_means(runs[("small", "mean")], NAMES)])
    for size in ("full", "small"):
        _write(f"{size} before", [_means(list(filter(_moved, runs[(size, "sum")])), BEFORE)])


def _group(run: Run) -> tuple[str, str]:
    """Size of the model, and how the KL was taken over the latent dimensions."""
    return run["size"], run.get("kl", "sum")


def _identity(run: Run) -> tuple[Any, ...]:
    """What tells a result apart from all others."""
    return (*_group(run), run.get("weight") or 0.0, run["stage"], run["seed"])


def _shortened(run: Run) -> Run:
    """The run without most of its example replies; curves have five decimals, other numbers six digits."""
    run = {"kl": "sum", **run}
    kept = {key: run[key] for key in KEPT if key in run}
    for scores in ("test", "last"):
        if "examples" in kept.get(scores, {}):
            kept[scores] = {**kept[scores], "examples": kept[scores]["examples"][:EXAMPLES]}
    short: Run = json.loads(json.dumps(kept), parse_float=lambda text: float(f"{float(text):.6g}"))
    curve = [{name: round(value, 5) for name, value in point.items()} for point in short["curve"]]
    return {**short, "curve": curve}


def _write(place: str, tables: Iterable[Iterable[str]]) -> None:
    """Replace the text of the page between `<!-- PLACE -->` and `<!-- end of PLACE -->`."""
    shown = "\n\n".join("\n".join(lines) for lines in tables)
    print(shown, end="\n\n")
    page = Path(__file__).with_name("lava.md")
    begin, end = f"<!-- {place} -->\n", f"<!-- end of {place} -->"
    before, there, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (there and closed):
        raise SystemExit(f"{page}: there are no marks for `{place}`")
    page.write_text(f"{before}{begin}\n{shown}\n\n{end}{after}")


def _moved(run: Run) -> bool:
    """Whether the policy was trained at all; in some early PLAS runs the time ended while only the critic was."""
    return run["stage"] in ("joint", "alternate", "kl", "warm", "gradient") or any(
        "actor_loss" in point for point in run["curve"]
    )


def _means(found: Sequence[Run], names: dict[str, str]) -> Iterator[str]:
    yield (
        "| policy | stage | seeds | success, validation | match | success | BLEU | match, leaderboard | "
        "success, leaderboard | distinct replies | last update: match / success |"
    )
    yield "|---" * 11 + "|"
    for stage, name in names.items():
        runs = [one for one in found if one["stage"] == stage]
        if runs:
            cells = [_best(runs)]
            cells += [
                _spread([run["test"][key] for run in runs], 3 if key == "distinct" else 1) for key in SCORES
            ]
            cells.append(_last(runs))
            yield f"| {name} | `{stage}` | {len(runs)} | {' | '.join(cells)} |"
        if stage in PAPER and any(one["stage"] == stage for one in found):
            match, success, bleu = PAPER[stage]
            named = "SL" if stage == "joint" else "SL + PLAS"
            yield f"| *the paper's {named}* | | 5 | | {match} | {success} | {bleu:.0f} | | | | |"


def _best(runs: Sequence[Run]) -> str:
    """Mean over seeds of the best validation success, in percent; empty for stages that do not measure it."""
    if "success" not in runs[0]["curve"][0]:
        return ""
    return _spread([100 * max(point["success"] for point in run["curve"]) for run in runs], 1)


def _last(runs: Sequence[Run]) -> str:
    if "last" not in runs[0]:
        return ""
    return " / ".join(_spread([run["last"][key] for run in runs], 1) for key in ("match", "success"))


def _spread(values: Sequence[float], digits: int) -> str:
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def _seeds(found: Sequence[Run]) -> Iterator[str]:
    shown = ("joint", "warm", "plas", "paper", "gradient")
    stages = " | ".join(f"`{stage}`" for stage in shown)
    yield f"| seed, match / success / BLEU | {stages} | update kept: `plas`, `paper`, `gradient` |"
    yield "|---" * (len(shown) + 2) + "|"
    for seed in sorted({one["seed"] for one in found}):
        runs = {one["stage"]: one for one in found if one["seed"] == seed}
        cells = ["{match:.1f} / {success:.1f} / {bleu:.1f}".format(**runs[stage]["test"]) for stage in shown]
        kept = ", ".join(
            f"{_kept(runs[stage]):.0f} of {runs[stage]['curve'][-1]['update']:.0f}" for stage in shown[2:]
        )
        yield f"| {seed} | {' | '.join(cells)} | {kept} |"


def _kept(run: Run) -> float:
    """The update of the policy that was kept: the first with the best validation success."""
    best = max(run["curve"], key=lambda point: point["success"])
    return float(best["update"])


def _rises(found: Sequence[Run]) -> Iterator[str]:
    """Does the paper's claim hold: PLAS raises match and success over SL, and BLEU falls less than with gradients?"""
    for seed in sorted({one["seed"] for one in found}):
        runs = {one["stage"]: one for one in found if one["seed"] == seed}
        start, offline, online = (runs[stage]["test"] for stage in ("joint", "plas", "gradient"))
        rise = {key: offline[key] - start[key] for key in ("match", "success")}
        last = {key: runs["plas"]["last"][key] - start[key] for key in ("match", "success")}
        falls = start["bleu"] - offline["bleu"], start["bleu"] - online["bleu"]
        yield (
            f"* seed {seed}, PLAS over SL: match {rise['match']:+.1f}, success {rise['success']:+.1f} "
            f"(last update {last['match']:+.1f}, {last['success']:+.1f}); BLEU falls by {falls[0]:.1f}, "
            f"with policy gradient by {falls[1]:.1f}"
        )


def _weights(found: Sequence[Run]) -> Iterator[str]:
    """The weights of the KL, with the seeds that all of them have."""
    yield (
        "| weight of the KL | seeds | KL of a reply, nats | success in validation after the warm-up, sigma 2 / 4 | "
        "test: match / success / BLEU of `joint` | distinct replies |"
    )
    yield "|---" * 6 + "|"
    weights = sorted({one["weight"] for one in found})
    common = set.intersection(
        *({one["seed"] for one in found if one["weight"] == weight} for weight in weights)
    )
    for weight in weights:
        runs = [one for one in found if one["weight"] == weight and one["seed"] in common]
        joint = [one for one in runs if one["stage"] == "joint"]
        starts = [
            np.mean([100 * one["curve"][0]["success"] for one in runs if one["stage"] == stage])
            for stage in ("paper", "paper-wide")
        ]
        action = np.mean([one["curve"][-1]["kl_action"] for one in joint])
        scores = " / ".join(
            f"{np.mean([one['test'][key] for one in joint]):.1f}" for key in ("match", "success", "bleu")
        )
        distinct = np.mean([one["test"]["distinct"] for one in joint])
        yield (
            f"| {weight} | {', '.join(map(str, sorted(common)))} | {action:.0f} | {starts[0]:.1f} / {starts[1]:.1f} | "
            f"{scores} | {distinct:.3f} |"
        )


if __name__ == "__main__":
    table(Path(sys.argv[1]))
