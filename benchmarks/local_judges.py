"""Local models as judges on USR: position bias on pairs of replies, and a panel against its members.

    python -m benchmarks.local_judges DATA/usr_persona.jsonl --models NAME=MODEL NAME=MODEL

Pairs: people's replies against those of Seq2Seq to the same contexts, which people rate 2 points of 5 apart. Each model
compares them in both orders, so the share of people's wins is known with people's reply first, with it second, and over
both orders. Panel: the correlation of each model's scores with the mean rating, and of the mean of all models, with the
differences. Plain: whether a model tells people's replies from the same words shuffled, by our prompt and by a question
of one line, which shows whether the prompt or the model is too weak. Results are written to
benchmarks/results/local_judges.json, where parts that are not asked for (--parts) are kept.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import turnwise as tw
from turnwise.encode import TextInContext
from turnwise.metrics import models, resolve
from turnwise.types import Floats, Item, Turn

RESULT = Path(__file__).parent / "results" / "local_judges.json"
AGENTS = ("human", "Seq2Seq")
SEED = 0
PARTS = ("panel", "pairs", "plain")


def paired(records: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """Records of both agents for `n` contexts, drawn with a fixed seed; the original reply is the human one."""
    sides: dict[str, dict[int, dict[str, Any]]] = {agent: {} for agent in AGENTS}
    for one in records:
        if one["agent"] in sides and one["meta"]["system"] != "New Human Generated":
            sides[one["agent"]][one["meta"]["item"]] = one
    shared = sorted(set(sides[AGENTS[0]]) & set(sides[AGENTS[1]]))
    chosen = np.random.default_rng(SEED).permutation(shared)[:n]
    return [sides[agent][item] for item in sorted(chosen) for agent in AGENTS]


def overall(record: dict[str, Any]) -> float:
    """The mean rating of a reply."""
    return float(np.mean([one["value"] for one in record["ratings"] if one["dimension"] == "overall"]))


def pairs(records: list[dict[str, Any]], n: int, model: str) -> dict[str, Any]:
    """The share of people's wins by the order in which replies are shown, and the position bias."""
    chosen = paired(records, n)
    start = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = tw.compare(
            chosen,
            metrics=f"judge-pair[address=local,model={model},rubric=usr-overall]",
            agents=AGENTS,
            items="rated",
            output=folder,
        )
        lines = [json.loads(line) for line in (Path(folder) / "pairs.jsonl").read_text().splitlines()]
    (one,) = found.findings
    first = [float(line["a_first"]["score"]) for line in lines]
    second = [1 - float(line["b_first"]["score"]) for line in lines]
    rated = {record["id"]: overall(record) for record in chosen}
    people = [rated[line["id_a"].split("#")[0]] - rated[line["id_b"].split("#")[0]] for line in lines]
    return {
        "n_pairs": len(lines),
        "wins_of_people_shown_first": float(np.mean(first)),
        "wins_of_people_shown_second": float(np.mean(second)),
        "wins_of_people_both_orders": one.win_rate,
        "difference": one.estimate,
        "difference_interval": one.interval,
        "position_bias": one.position_bias,
        "position_bias_interval": one.position_bias_interval,
        "consistent": one.consistent,
        "ties": float(np.mean([share == 0.5 for share in (*first, *second)])),
        "wins_by_ratings": float(np.mean([(gap > 0) + (gap == 0) / 2 for gap in people])),
        "seconds": round(monotonic() - start, 1),
    }


def panel(records: list[dict[str, Any]], n: int, chosen_models: dict[str, str]) -> dict[str, Any]:
    """Spearman's correlation with people's mean of each model and of their panel, and the tests of differences."""
    chosen = sorted(np.random.default_rng(SEED).permutation(len(records))[:n])
    settings = "address=local,rubric=usr-overall"
    names = {name: f"judge[{settings},model={model}]" for name, model in chosen_models.items()}
    names["panel, mean"] = f"panel[{settings},models={'+'.join(chosen_models.values())}]"
    start = monotonic()
    found = tw.meta_evaluate(
        [records[index] for index in chosen],
        metrics=list(names.values()),
        level="turn",
        dimension="overall",
        statistics="spearman",
        cluster="meta.item",
    )
    lines = {}
    for name, metric in names.items():
        (one,) = (one for one in found.findings if one.metric == metric)
        lines[name] = {"spearman": one.estimate, "interval": one.interval, "n": one.n_items}
    spelled = {metric: name for name, metric in names.items()}
    differences = [
        {key: spelled.get(value, value) if isinstance(value, str) else value for key, value in one.items()}
        for one in found.differences
    ]
    (any_one,) = (one for one in found.findings if one.metric == names["panel, mean"])
    return {
        "judges": lines,
        "one_rater": any_one.one_rater,
        "differences": differences,
        "seconds": round(monotonic() - start, 1),
    }


def plain(records: list[dict[str, Any]], n: int, model: str) -> dict[str, float]:
    """The share of people's replies that score above the same words shuffled; a half is chance."""
    rng = np.random.default_rng(SEED)
    people = [one for one in paired(records, n) if one["agent"] == AGENTS[0]]
    sides = []
    for record in people:
        *_, asked, reply = record["messages"]
        words = reply["content"].split()
        shuffled = " ".join(words[at] for at in rng.permutation(len(words)))
        sides += [(asked["content"], reply["content"]), (asked["content"], shuffled)]
    shares = {"our prompt": _ours(sides, model)}
    shares["one line, 1 to 5"] = _one_line(
        sides,
        model,
        "How good is the reply, from 1 (bad) to 5 (good)? Answer with the number alone.",
        "12345",
    )
    shares["one line, Yes or No"] = _one_line(
        sides, model, "Does the reply make sense as an answer? Answer Yes or No.", ("No", "Yes")
    )
    return {name: _share_above(scores) for name, scores in shares.items()}


def _ours(sides: list[tuple[str, str]], model: str) -> Floats:
    """The scores of replies by `judge[address=local]`."""
    items = [
        Item(str(at), str(at), "agent", (Turn("user", asked), Turn("assistant", reply)), 1, str(at), str(at))
        for at, (asked, reply) in enumerate(sides)
    ]
    judge = resolve("judge", address="local", model=model)
    return np.asarray(judge.rows(items)[:, 0])


def _one_line(sides: list[tuple[str, str]], model: str, question: str, values: Sequence[str]) -> Floats:
    """The mean of the values, by their places, for each reply after a question of one line."""
    texts = [
        TextInContext(
            value,
            (Turn("user", f"A user said: {asked}\nAn assistant replied: {reply}\n\n{question}"),),
            "assistant",
        )
        for asked, reply in sides
        for value in values
    ]
    logs = models.language_model(model).score(texts)[:, 0].reshape(len(sides), len(values))
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray((chances / chances.sum(axis=1, keepdims=True)) @ np.arange(len(values), dtype=float))


def _share_above(scores: Floats) -> float:
    """The share of pairs, one after the other in `scores`, whose first is higher; equal ones count half."""
    first, second = scores.reshape(-1, 2).T
    return float(np.mean((first > second) + (first == second) / 2))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--models", nargs="+", default=["SmolLM2-135M-Instruct=smollm2"], metavar="NAME=MODEL"
    )
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--replies", type=int, default=60)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    given = parser.parse_args()
    chosen = dict(one.split("=", 1) for one in given.models)
    records = [json.loads(line) for line in given.data.read_text().splitlines()]
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if "panel" in given.parts:
        found["panel"] = panel(records, given.replies, chosen)
    if "pairs" in given.parts:
        found["pairs"] = {name: pairs(records, given.pairs, model) for name, model in chosen.items()}
    if "plain" in given.parts:
        found["plain"] = {name: plain(records, given.pairs, model) for name, model in chosen.items()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
