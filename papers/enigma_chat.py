"""`python papers/enigma_chat.py [all|less] [FAMILY:SEED...]`: ten scores of chat, each agent left out (ENIGMA).

Simulates 12 agents with 40 dialogues each, estimates every agent from the dialogues of the other eleven on each of the
ten scores (`turnwise ope --all`), and keeps the rows in papers/enigma-chat.json. With `less` it repeats this with half
and with a tenth of the dialogues, and without the agents that are most like the target. `show` alone rewrites the
tables of papers/enigma-chat.md, `add FILE...` takes over rows that were made elsewhere (KEPT=FILE in the environment).
`garbled` prints how similar the encoder finds a reply and its garbled form.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.enigma import SETTINGS, turnwise, validation
from turnwise.metrics.models import text_encoder
from turnwise.worlds.chat import WORLD, family
from turnwise.worlds.chat.quality import DIMENSIONS
from turnwise.worlds.chat.talkers import garble

KEPT = Path(os.environ.get("KEPT", Path(__file__).with_name("enigma-chat.json")))
PAGE = Path(__file__).with_name("enigma-chat.md")
AGENTS, DIALOGUES, SAMPLES, TRUTH = 12, 40, 2, 3000
CASES = [(family, seed) for seed in (21, 22, 23) for family in ("mixed", "failings", "graded")]
ESTIMATORS = "robust"
# Average, least and largest correlation over the ten scores of ConvAI2, from the paper's Table 2.
PUBLISHED = {
    "all": ((0.9666, 0.9415, 0.9792), (0.9167, 0.8717, 0.9485)),
    "50 %": ((0.9126, 0.8506, 0.9585), (0.7790, 0.6651, 0.8647)),
    "10 %": ((0.7327, 0.4544, 0.9266), (0.5214, 0.3651, 0.6492)),
    "challenging": ((0.6505, 0.5394, 0.7762), (0.5190, 0.3168, 0.6672)),
}


def run(family: str, seed: int, rows: list[dict], *, less: bool) -> None:
    """Add the rows of one case that are not there yet."""
    settings = {name: options for name, options in SETTINGS.items() if (name != "all") == less}
    done = {(row["family"], row["seed"], row["setting"], row["score"]) for row in rows}
    wanted = [
        (setting, score)
        for setting in settings
        for score in DIMENSIONS
        if (family, seed, setting, score) not in done
    ]
    if not wanted:
        return
    with TemporaryDirectory() as folder:
        logs = Path(folder) / "logs.jsonl"
        sizes = ("--agents", AGENTS, "--dialogues", DIALOGUES, "--samples", SAMPLES, "--truth", TRUTH)
        turnwise(
            "simulate", "chat", "--family", family, "--seed", str(seed), *map(str, sizes), "-o", str(logs)
        )
        truth = json.loads(logs.with_suffix(".truth.json").read_text())["agents"]
        for setting, score in wanted:
            means = [agent[score]["mean"] for agent in truth.values()]
            found = validation(
                str(logs), "--truth", str(logs.with_suffix(".truth.json")), "--rating", score, "--estimator",
                ESTIMATORS, *settings[setting],
            )  # fmt: skip
            case = {"family": family, "seed": seed, "setting": setting, "score": score}
            rows += [{**case, "spread": float(np.ptp(means)), **row} for row in found]
            KEPT.write_text(json.dumps(rows, indent=1) + "\n")
            print(
                family, seed, setting, score, *(f"{r['estimator']} {r['pearson']}" for r in found), flush=True
            )


def line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def number(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.3f}"


def over(rows: list[dict], key: str) -> str:
    """Mean, least and largest."""
    values = [row[key] for row in rows if row[key] is not None]
    return ", ".join(number(one) for one in (np.mean(values), min(values), max(values))) if values else "-"


def tables(rows: list[dict]) -> str:
    """The table by score, and the summary beside the paper's."""
    columns = ("spread", "pearson", "spearman", "mae", "coverage", "half_width")
    lines = [
        line("family", "seed", "score", "estimator", *columns, "answered", "refused"),
        line(*["---"] * 12),
    ]
    for row in rows:
        if row["setting"] == "all" and row["estimator"] == "robust":
            lines.append(
                line(
                    row["family"],
                    row["seed"],
                    row["score"],
                    row["estimator"],
                    *(number(row[c]) for c in columns),
                    row["n_agents"],
                    row["refused"],
                )
            )
    three = "mean, least, largest"
    head = ("setting", "family", "seeds", "estimator", f"Pearson: {three}", f"Spearman: {three}", "coverage")
    summary = [line(*head), line(*["---"] * len(head))]
    order = list(SETTINGS)
    keys = {(row["setting"], row["family"], row["estimator"]) for row in rows}
    for key in sorted(keys, key=lambda one: (order.index(one[0]), *one[1:])):
        some = [row for row in rows if (row["setting"], row["family"], row["estimator"]) == key]
        known = [row for row in some if row["coverage"] is not None]
        agents = [row["n_agents"] for row in known]
        covered = np.average([row["coverage"] for row in known], weights=agents) if known else None
        setting, family, estimator = key
        seeds = len({row["seed"] for row in some})
        cells = (over(some, "pearson"), over(some, "spearman"), number(covered))
        summary.append(line(setting, family, seeds, estimator, *cells))
    for setting, (pearson, spearman) in PUBLISHED.items():
        both = (", ".join(map(number, one)) for one in (pearson, spearman))
        summary.append(line(setting, "*ConvAI2, 28 agents, people*", 1, "*ENIGMA, as published*", *both, "-"))
    return "\n".join(summary) + "\n\n## By score\n\n" + "\n".join(lines) + "\n"


def garbled() -> None:
    """Print the mean cosine of clean and garbled replies, and of two different replies, by the default encoder."""
    rng, talker = np.random.default_rng(0), family("graded")["flaw-04"]
    logs = [WORLD.play(talker, np.random.default_rng(seed)) for seed in range(30)]
    clean = sorted({turn.text for dialogue in logs for turn in dialogue.turns if turn.role == "assistant"})
    vectors = [
        text_encoder("minilm").encode(texts) for texts in (clean, [garble(text, rng) for text in clean])
    ]
    first, second = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in vectors)
    other = first[rng.permutation(len(first))]
    same, different = (float((first * one).sum(axis=1).mean()) for one in (second, other))
    print(f"{len(clean)} replies: garbled {same:.2f}, another reply {different:.2f}")


def main() -> None:
    rows = json.loads(KEPT.read_text()) if KEPT.exists() else []
    asked = sys.argv[1:]
    if asked == ["garbled"]:
        garbled()
        return
    if asked[:1] == ["add"]:
        for name in asked[1:]:
            more = json.loads(Path(name).read_text())
            keys = ("family", "seed", "setting", "score")
            known = {tuple(row[key] for key in keys) for row in rows}
            rows += [row for row in more if tuple(row[key] for key in keys) not in known]
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")
    elif asked != ["show"]:
        less = asked[:1] == ["less"]
        names = [name for name in asked if ":" in name]
        cases = [(name.split(":")[0], int(name.split(":")[1])) for name in names] or CASES
        for family, seed in cases:
            run(family, seed, rows, less=less)
        if "KEPT" in os.environ:
            return
    before, _, _ = PAGE.read_text().partition("<!-- tables -->")
    PAGE.write_text(f"{before}<!-- tables -->\n{tables(rows)}")


if __name__ == "__main__":
    main()
