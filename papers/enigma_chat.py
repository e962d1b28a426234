"""`python papers/enigma_chat.py [all|less|closed|baselines] [FAMILY:SEED...]`: ten scores of chat, each agent left out.

Simulates 12 agents with 40 dialogues each, estimates every agent from the dialogues of the other eleven on each of the
ten scores (`turnwise ope --all`), and keeps the rows in papers/enigma-chat.json. `less` repeats this with half and with
a tenth of the dialogues, and without the dialogues whose every reply is close to the target's (`challenging`).
`closed` is ENIGMA's estimator in closed form (`dice-linear`). `baselines` is a regression on hand-crafted features, by
the same command, and BLEU and BERTScore of each agent's replies. `show` alone rewrites the tables of
papers/enigma-chat.md, `add FILE...` takes over rows that were made elsewhere (KEPT=FILE in the environment). `garbled`
prints how similar the encoder finds a reply and its garbled form.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.enigma import SETTINGS, turnwise, validation
from papers.usage import words
from turnwise.commands.ope import Ope
from turnwise.metrics.models import text_encoder
from turnwise.run.ope.reward import scored
from turnwise.stats.correlation import pearson, spearman
from turnwise.worlds.chat import WORLD, family
from turnwise.worlds.chat.quality import DIMENSIONS
from turnwise.worlds.chat.talkers import Habits, Talker, garble

KEPT = Path(os.environ.get("KEPT", Path(__file__).with_name("enigma-chat.json")))
PAGE = Path(__file__).with_name("enigma-chat.md")
AGENTS, DIALOGUES, SAMPLES, TRUTH = 12, 40, 2, 3000
CASES = [(family, seed) for seed in (21, 22, 23) for family in ("mixed", "failings", "graded")]
ESTIMATOR, CLOSED = "robust", "dice-linear"  # ours, and the closed form of the paper's estimator
FEATURES = "features"  # the regression on hand-crafted features
METRICS = {"BLEU": "bleu-4", "BERTScore": "bertscore"}  # name in the tables -> metric
REFERENCES = 60  # dialogues of agents without faults, whose replies are the references
REFERENCE_SEED = 5000  # added to the seed of a case
# Average, least and largest correlation over the ten scores of ConvAI2, from the paper's Table 2.
PUBLISHED = {
    "all": ((0.9666, 0.9415, 0.9792), (0.9167, 0.8717, 0.9485)),
    "50 %": ((0.9126, 0.8506, 0.9585), (0.7790, 0.6651, 0.8647)),
    "10 %": ((0.7327, 0.4544, 0.9266), (0.5214, 0.3651, 0.6492)),
    "challenging": ((0.6505, 0.5394, 0.7762), (0.5190, 0.3168, 0.6672)),
}


def simulated(family: str, seed: int, folder: str) -> tuple[Path, dict]:
    """Simulate the logs of a case; returns their path and the true means, by agent and score."""
    logs = Path(folder) / "logs.jsonl"
    sizes = ("--agents", AGENTS, "--dialogues", DIALOGUES, "--samples", SAMPLES, "--truth", TRUTH)
    turnwise("simulate", "chat", "--family", family, "--seed", str(seed), *map(str, sizes), "-o", str(logs))
    truth = json.loads(logs.with_suffix(".truth.json").read_text())["agents"]
    return logs, {
        agent: {score: means[score]["mean"] for score in DIMENSIONS} for agent, means in truth.items()
    }


def spread(truth: dict, score: str) -> float:
    """Largest minus smallest true mean on the score."""
    return float(np.ptp([means[score] for means in truth.values()]))


def run(family: str, seed: int, rows: list[dict], *, less: bool, estimator: str = ESTIMATOR) -> None:
    """Add the rows of one case that are not there yet."""
    settings = {name: options for name, options in SETTINGS.items() if (name != "all") == less}
    done = {key_of(row) for row in rows}
    missing = {
        setting: [score for score in DIMENSIONS if (family, seed, setting, score, estimator) not in done]
        for setting in settings
    }
    if not any(missing.values()):
        return
    with TemporaryDirectory() as folder:
        logs, truth = simulated(family, seed, folder)
        known = ("--truth", str(logs.with_suffix(".truth.json")), "--estimator", estimator)
        for setting, scores in missing.items():
            # One command for all scores gives the same rows as one for each, in less time.
            for rating in ["all"] if len(scores) == len(DIMENSIONS) else scores:
                found = validation(str(logs), *known, "--rating", rating, *settings[setting])
                for row in found:
                    case = {"family": family, "seed": seed, "setting": setting, "score": row["rating"]}
                    rows.append({**case, "spread": spread(truth, row["rating"]), **row})
                    print(family, seed, setting, row["rating"], estimator, row["pearson"], flush=True)
                KEPT.write_text(json.dumps(rows, indent=1) + "\n")


def baselines(family: str, seed: int, rows: list[dict]) -> None:
    """Add the rows of the paper's other methods for one case, if they are not there yet."""
    done = {key_of(row) for row in rows}
    if all((family, seed, "all", score, FEATURES) in done for score in DIMENSIONS):
        return
    with TemporaryDirectory() as folder:
        logs, truth = simulated(family, seed, folder)
        asked = ("--truth", str(logs.with_suffix(".truth.json")), "--rating", "all", "--estimator", FEATURES)
        found = validation(str(logs), *asked)
    found += by_metrics(family, seed, truth)
    for row in found:
        score = row["rating"]
        case = {"family": family, "seed": seed, "setting": "all", "score": score}
        rows.append({**case, "spread": spread(truth, score), **row})
    KEPT.write_text(json.dumps(rows, indent=1) + "\n")


def by_metrics(name: str, seed: int, truth: dict) -> list[dict]:
    """Correlations of metrics with the true means: one number of each agent, not calibrated, for every score.

    The references are the replies of agents without faults, in both voices, in dialogues of their own. Every agent
    replies at each of their points.
    """
    agents = family(name, agents=AGENTS)
    dialogues = [
        WORLD.play(
            Talker(Habits(("plain", "lively")[number % 2], asks=0.8, shares=0.9)),
            np.random.default_rng([seed + REFERENCE_SEED, number]),
            identity=f"reference/{number}",
            name="human",  # makes its replies the references
            others=agents,
            samples=1,
        )
        for number in range(REFERENCES)
    ]
    spec = Ope(data=(), all_agents=True)
    found = []
    for shown, metric in METRICS.items():
        numbers = scored(spec, dialogues, metric, list(agents))
        known = [agent for agent in truth if agent in numbers]
        said = np.array([numbers[agent] for agent in known])
        for score in DIMENSIONS:
            means = np.array([truth[agent][score] for agent in known])
            both = {"pearson": pearson(said, means), "spearman": spearman(said, means)}
            row = {key: None if np.isnan(value) else value for key, value in both.items()}
            none = dict.fromkeys(("mae", "coverage", "half_width"))
            counts = {"n_agents": len(known), "refused": len(truth) - len(known)}
            found.append({"rating": score, "estimator": shown, **row, **none, **counts})
    return found


def key_of(row: dict) -> tuple:
    return tuple(row[key] for key in ("family", "seed", "setting", "score", "estimator"))


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
    for row in sorted(rows, key=lambda row: CASES.index((row["family"], row["seed"])) % 3):
        if row["setting"] == "all" and row["estimator"] == ESTIMATOR:
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
    head = ("setting", "family", "seeds", "estimator", "answered")
    head += (f"Pearson: {three}", f"Spearman: {three}", "coverage")
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
        answered, asked = asked_of(some)
        cells = (over(some, "pearson"), over(some, "spearman"), number(covered))
        summary.append(line(setting, family, seeds, estimator, f"{answered} of {asked}", *cells))
    for setting, published in PUBLISHED.items():
        both = (", ".join(map(number, one)) for one in published)
        who = ("*ConvAI2, 28 agents, people*", 1, "*ENIGMA, as published*")
        summary.append(line(setting, *who, "-", *both, "-"))
    parts = (
        "\n".join(summary),
        "## Methods by score\n\n" + by_method(rows),
        "## By score\n\n" + "\n".join(lines),
    )
    return "\n\n".join(parts) + "\n"


def by_method(rows: list[dict]) -> str:
    """Mean Pearson over seeds of each method, by family and score; in brackets how many agents have an estimate.

    Only seeds that all methods were run on count.
    """
    run_on = {row["estimator"] for row in rows}
    methods = [name for name in (ESTIMATOR, CLOSED, FEATURES, *METRICS) if name in run_on]
    lines = [line("family", "seeds", "score", *methods), line(*["---"] * (len(methods) + 3))]
    for name in dict.fromkeys(name for name, _ in CASES):
        mine = [row for row in rows if row["family"] == name and row["setting"] == "all"]
        seeds = set.intersection(
            *({row["seed"] for row in mine if row["estimator"] == method} for method in methods)
        )
        for score in DIMENSIONS if seeds else ():
            cells = []
            for method in methods:
                of_score = [row for row in mine if row["seed"] in seeds and row["score"] == score]
                some = [row for row in of_score if row["estimator"] == method]
                known = [row["pearson"] for row in some if row["pearson"] is not None]
                answered, asked = asked_of(some)
                shown = number(float(np.mean(known)) if known else None)
                cells.append(shown if answered == asked else f"{shown} ({answered} of {asked})")
            lines.append(line(name, ", ".join(map(str, sorted(seeds))), score, *cells))
    return "\n".join(lines)


def asked_of(rows: list[dict]) -> tuple[int, int]:
    """How many agents have an estimate, and how many were asked for."""
    answered = sum(row["n_agents"] for row in rows)
    return answered, answered + sum(row["refused"] for row in rows)


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
    asked = words(__doc__)
    if asked == ["garbled"]:
        garbled()
        return
    if asked[:1] == ["add"]:
        for name in asked[1:]:
            more = json.loads(Path(name).read_text())
            known = {key_of(row) for row in rows}
            rows += [row for row in more if key_of(row) not in known]
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")
    elif asked != ["show"]:
        names = [name for name in asked if ":" in name]
        cases = [(name.split(":")[0], int(name.split(":")[1])) for name in names] or CASES
        for family, seed in cases:
            if asked[:1] == ["baselines"]:
                baselines(family, seed, rows)
            else:
                estimator = CLOSED if asked[:1] == ["closed"] else ESTIMATOR
                run(family, seed, rows, less=asked[:1] == ["less"], estimator=estimator)
        if "KEPT" in os.environ:
            return
    before, _, _ = PAGE.read_text().partition("<!-- tables -->")
    PAGE.write_text(f"{before}<!-- tables -->\n{tables(rows)}")


if __name__ == "__main__":
    main()
