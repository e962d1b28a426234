"""`python papers/enigma_trained.py run [AGENTS] [SEED]|show`: Tables 1 and 3 of ENIGMA on trained sellers.

The sellers are those of `turnwise simulate booking --family trained`, of graded strength. Each is left out and is
estimated from the others, on `flight`, `status` and `reward`, with all dialogues, half, a tenth, and in the challenging
setting. Baselines: BLEU and perplexity on dialogues of the training corpus that no seller learned from, self-play
with a trained customer, the regression on hand-crafted features, and means. Results are in papers/enigma-trained.json;
`show` rewrites the tables of papers/enigma-trained.md.
"""

import json
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sacrebleu.metrics import BLEU

import turnwise as tw
from turnwise.agents.customer import TrainedCustomer
from turnwise.agents.seller import TrainedSeller, seller_example
from turnwise.logs.native import read_all
from turnwise.run.dialogues.trained_sellers import corpus, trained_customer, trained_sellers
from turnwise.types import Dialogue, Turn
from turnwise.worlds.booking import WORLD
from turnwise.worlds.play import simulate_turns

SCORES = ("flight", "status", "reward")
SELECTED = {"flight": 0.5, "status": 0.7, "reward": 0.65}  # true means of the paper's 'selected agents'
SETTINGS = {
    "full": {},
    "50 %": {"fraction": 0.5},
    "10 %": {"fraction": 0.1},
    "challenging": {"challenging": 15},
}
ESTIMATORS = ("robust", "dice-linear", "mean-relabelled", "mean", "features")
DIALOGUES, TRUTH = 40, 400
UNSEEN = 40  # dialogues for BLEU and perplexity
PLAYED = 40  # dialogues of self-play for each seller
HERE = Path(__file__).with_name("enigma-trained.json")
PAGE = HERE.with_suffix(".md")


def language(seller: TrainedSeller, unseen: list[Dialogue]) -> dict[str, float]:
    """BLEU of the seller's replies at the points of unseen dialogues, and its perplexity a token of theirs."""
    said, logged, total, count = [], [], 0.0, 0
    for dialogue in unseen:
        turns = [Turn("system", str(dialogue.meta["briefing"])), *dialogue.turns]
        for index, turn in enumerate(turns):
            if turn.role == "assistant":
                said.append(seller(turns[:index], np.random.default_rng(0)).content)
                logged.append(turn.text)
        example = seller_example(dialogue, seller.words)
        total += seller.reader.network.mean_loss([example]) * sum(example.predicted)
        count += sum(example.predicted)
    return {"bleu": BLEU().corpus_score(said, [logged]).score, "perplexity": float(np.exp(total / count))}


def self_play(seller: TrainedSeller, customer: TrainedCustomer, seed: int) -> dict[str, float]:
    """The mean scores of dialogues with the trained customer, which the world's own rules score."""
    found = []
    for number in range(PLAYED):
        rng = np.random.default_rng([seed, 7, number])
        scene = customer(WORLD.scene(rng))
        found.append(scene.truth(simulate_turns(scene, seller, rng)))
    return {score: float(np.mean([one[score] for one in found])) for score in SCORES}


def run(agents: int, seed: int) -> dict:
    """All numbers of one seed."""
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        logs = str(Path(folder) / "logs.jsonl")
        made = tw.simulate(
            "booking", output=logs, family="trained", agents=agents, dialogues=DIALOGUES, samples=1, truth=TRUTH,
            draw=seed, seed=seed,
        )  # fmt: skip
        truth = {name: {s: means[s]["mean"] for s in SCORES} for name, means in made.truth["agents"].items()}
        rows = []
        for setting, options in SETTINGS.items():
            for score in SCORES:
                found = tw.ope(
                    logs, all_agents=True, rating=score, estimators=",".join(ESTIMATORS), **options
                )
                rows += [
                    {"setting": setting, "score": score, "agent": one["target"], "estimator": one["estimator"],
                     "estimate": one["estimate"], "interval": one["interval"]}
                    for one in found
                ]  # fmt: skip
        logged = list(read_all([logs]))
    customer = TrainedCustomer.read(trained_customer(seed, logged))
    unseen = corpus(seed + 5000, UNSEEN)
    baselines = {
        name: {**language(seller, unseen), "self-play": self_play(seller, customer, seed)}
        for name, seller in trained_sellers(agents, seed).items()
        if isinstance(seller, TrainedSeller)
    }
    seconds = round(time.perf_counter() - start)
    return {"seed": seed, "seconds": seconds, "truth": truth, "rows": rows, "baselines": baselines}


def correlations(x: list[float | None], y: list[float]) -> str:
    """Pearson with an interval that resamples agents, and Spearman; `-` below four agents or without differences."""
    pairs = np.array([(a, b) for a, b in zip(x, y, strict=True) if a is not None])
    if len(pairs) < 4 or np.ptp(pairs[:, 0]) < 1e-9:
        return f"- ({len(pairs)})"
    rng = np.random.default_rng(0)
    ranks = pairs.argsort(axis=0).argsort(axis=0)
    with np.errstate(invalid="ignore"):
        draws = [np.corrcoef(pairs[rng.integers(len(pairs), size=len(pairs))].T)[0, 1] for _ in range(1000)]
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return f"{np.corrcoef(pairs.T)[0, 1]:.2f} [{low:.2f}, {high:.2f}], {np.corrcoef(ranks.T)[0, 1]:.2f} ({len(pairs)})"


def tables(found: dict) -> str:
    """Tables 3 and 1 of one seed."""
    truth, baselines = found["truth"], found["baselines"]
    lines = [
        "| seller | BLEU | perplexity | reward | flight | status | self-play reward |",
        f"|{' --- |' * 7}",
    ]
    for name, means in truth.items():
        own = baselines[name]
        cells = [name, f"{own['bleu']:.1f}", f"{own['perplexity']:.2f}"]
        cells += [f"{means[score]:.3f}" for score in ("reward", "flight", "status")]
        lines.append(f"| {' | '.join([*cells, format(own['self-play']['reward'], '.3f')])} |")
    lines += ["", "| agents | setting | method | flight | status | reward |", f"|{' --- |' * 6}"]
    for agents in ("all", "selected"):
        methods = [("-", name) for name in ("bleu", "perplexity", "self-play")]
        methods += [(setting, name) for setting in SETTINGS for name in ESTIMATORS]
        for setting, method in methods:
            cells = []
            for score in SCORES:
                chosen = [n for n in truth if agents == "all" or truth[n][score] > SELECTED[score]]
                values = [value_of(found, setting, method, score, name) for name in chosen]
                cells.append(correlations(values, [truth[name][score] for name in chosen]))
            lines.append(f"| {agents} | {setting} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def value_of(found: dict, setting: str, method: str, score: str, agent: str) -> float | None:
    """What a method says of an agent; perplexity with the opposite sign, so that higher is better."""
    own = found["baselines"][agent]
    if method == "self-play":
        return own[method][score]
    if method in own:
        return -own[method] if method == "perplexity" else own[method]
    asked = {"setting": setting, "score": score, "agent": agent, "estimator": method}
    return next(row["estimate"] for row in found["rows"] if asked.items() <= row.items())


def main() -> None:
    kept = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *more = sys.argv[1:]
    if command == "run":
        agents, seed = (*map(int, more), 16, 0)[:2] if len(more) == 2 else (int(more[0]) if more else 16, 0)
        kept = [one for one in kept if one["seed"] != seed] + [run(agents, seed)]
        HERE.write_text(json.dumps(kept, indent=1) + "\n")
    text = "\n\n".join(f"Seed {one['seed']}, {one['seconds']} s.\n\n{tables(one)}" for one in kept)
    block = re.compile(r"(<!-- tables -->\n).*?(<!-- /tables -->)", re.S)
    PAGE.write_text(block.sub(lambda found: f"{found[1]}{text}\n{found[2]}", PAGE.read_text()))


if __name__ == "__main__":
    main()
