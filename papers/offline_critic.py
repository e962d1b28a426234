"""Compute the figures of papers/offline-critic.md and write them to papers/offline-critic.json.

    python papers/offline_critic.py PART... --data DIR

Parts: `corpus` (inform and success with the published figures), `systems` (values, controls, baselines, the grid of
Table 4), `corruption`, `published` (reward 1 for every dialogue), `printed` (Table 4 from Tables 2 and 3), `turns` (Q
along the dialogue of Table 5), `world` (the task world, with known truth). The recurrent critic at the paper's size is
in papers/offline_critic_full.py.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from offline_critic_published import (
    CONVLAB,
    PEOPLE,
    PRINTED,
    PRINTED_PEOPLE,
    PRINTED_Q,
    PUBLISHED,
    TABLE_2,
    TABLE_5,
)

from turnwise.commands.ope import Ope
from turnwise.encode.episodes import encode, whole
from turnwise.errors import Refused
from turnwise.estimators.calibration import can_rank, known_means, line
from turnwise.estimators.critic.controls import LOGGED, PREFIX, with_controls
from turnwise.estimators.critic.critic import Critic
from turnwise.logs.items.items import Selection, items
from turnwise.logs.native import read_all
from turnwise.metrics.task.inform import Success
from turnwise.run.ope import task_log
from turnwise.run.ope.critic_of_tasks import BASELINES
from turnwise.run.ope.critic_values import CriticValues, value_systems
from turnwise.run.ope.reward import scored
from turnwise.run.scoring.tally import generator
from turnwise.stats.interval import mean_t_interval
from turnwise.types import Dialogue, Floats

HERE = Path(__file__).parent / "offline-critic.json"
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
# Systems whose errors are in values, which placeholders hide.
INVISIBLE = ("misnames", "misinforms", "careless")


def of_test(data: Path, systems: Sequence[str] = ()) -> tuple[list[Dialogue], list[str], dict[str, float]]:
    """The test dialogues in which these systems (default: all) have a reply at every turn, with their success."""
    dialogues = [
        one for one in read_all((str(data / "multiwoz_valtest.jsonl.gz"),)) if one.meta["split"] == "test"
    ]
    everyone = sorted({name for one in dialogues for turn in one.turns for name in turn.alternatives})
    chosen = list(systems) or everyone
    there, _ = task_log.with_replies_of_all(dialogues, chosen)
    return there, chosen, task_log.success(there, db=str(data / "multiwoz_db"))


def corpus(data: Path) -> dict[str, Any]:
    """Inform and success of all systems by the leaderboard's evaluator, and of the paper's systems by that of 2018."""
    path, db = str(data / "multiwoz_valtest.jsonl.gz"), str(data / "multiwoz_db")
    test = (("meta.split", "test"),)
    found: dict[str, Any] = {}
    for as_agents in (("@alternatives",), ()):
        chosen = Selection(items="all", where=test, as_agents=as_agents)
        outcomes: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for item in items(read_all((path,)), chosen, whole=True):
            for evaluator in ("leaderboard", "multiwoz2018"):
                wanted = evaluator == "leaderboard" or item.agent in TABLE_2
                if item.missing is None and wanted:
                    one = Success(evaluator=evaluator, db=db).evaluate(item)
                    outcomes.setdefault((evaluator, item.agent), []).append((one.inform, one.success))
        for (evaluator, agent), pairs in outcomes.items():
            printed = (PUBLISHED if evaluator == "leaderboard" else TABLE_2).get(agent)
            found.setdefault(evaluator, {})[agent] = {
                "here": (100 * np.mean(pairs, axis=0)).tolist(),
                "printed": printed,
                "n": len(pairs),
            }
    return found


def systems(data: Path) -> dict[str, Any]:
    dialogues, names, rewards = of_test(data)
    critic = Critic(reward="success").with_facts(task_log.facts(dialogues))
    found = value_systems(critic, task_log.with_uniform_placeholders(dialogues), rewards, names, seed=0)
    spec = Ope(data=(), all_agents=True, db=str(data / "multiwoz_db"))
    baselines = {metric: scored(spec, dialogues, metric, names) for metric in (*BASELINES, "inform")}
    table = _table(found) | {"baselines": baselines, "signature": str(critic.signature)}
    values = {name: found.values[name].value for name in names}
    return table | {"grid": grid({"critic": values, **baselines})}


def corruption(data: Path) -> dict[str, Any]:
    dialogues, _, rewards = of_test(data)
    controlled = with_controls(
        task_log.with_uniform_placeholders(dialogues), generator(0, "controls"), shares=SHARES
    )
    episodes = encode(whole(controlled, rewards), rating="return", delexicalised=False)
    evaluation = Critic(reward="success").with_facts(task_log.facts(dialogues)).evaluation(episodes)
    people = evaluation.value(episodes.alternatives[LOGGED]).value
    return {
        kind: {
            "0": people,
            **{f"{s:g}": evaluation.value(episodes.alternatives[f"{kind}@{s:g}"]).value for s in SHARES},
        }
        for kind in ("random", "truncated")
    }


def published(data: Path) -> dict[str, Any]:
    """Values with reward 1 for every dialogue and no negatives, as published, and with each of our changes alone."""
    dialogues, names, rewards = of_test(data)
    plain, facts = task_log.with_uniform_placeholders(dialogues), task_log.facts(dialogues)
    ones = dict.fromkeys(rewards, 100.0)
    settings = {
        "reward one, no negatives": (Critic(reward="one", negatives=0.0), ones),
        "reward one, pessimism 1.5, no negatives": (Critic(reward="one", negatives=0.0, pessimism=1.5), ones),
        "reward success, no negatives": (Critic(reward="success", negatives=0.0), rewards),
        "reward one, negatives": (Critic(reward="one"), ones),
    }
    return {
        name: _table(value_systems(critic.with_facts(facts), plain, paid, names, seed=0))
        for name, (critic, paid) in settings.items()
    }


def turns(data: Path) -> dict[str, Any]:
    """Q along the dialogue of Table 5, of people's replies and of LAVA's, with our default and the paper's settings."""
    dialogues, names, rewards = of_test(data, ["lava"])
    plain, facts = task_log.with_uniform_placeholders(dialogues), task_log.facts(dialogues)
    ones = dict.fromkeys(rewards, 100.0)
    spoken = [sum(turn.role == "assistant" for turn in one.turns) for one in dialogues]
    place = next(number for number, one in enumerate(dialogues) if one.id.lower() == TABLE_5)
    here = slice(sum(spoken[:place]), sum(spoken[: place + 1]))
    found: dict[str, Any] = {"dialogue": TABLE_5, "printed": PRINTED_Q}
    for name, critic, paid in (
        ("default", Critic(reward="success"), rewards),
        ("reward one, no negatives", Critic(reward="one", negatives=0.0), ones),
    ):
        values = value_systems(critic.with_facts(facts), plain, paid, names, seed=0).values
        found[name] = {
            who: values[key].q[here].tolist() for who, key in (("people", LOGGED), ("lava", "lava"))
        }
    return found


def printed(_: Path) -> dict[str, Any]:
    """Table 4, computed from the printed values of Tables 2 and 3."""
    return {
        metric: {what: float(np.corrcoef(values, people)[0, 1]) for what, people in PRINTED_PEOPLE.items()}
        for metric, values in PRINTED.items()
    }


def _returned(first: Any, reward: Floats) -> float:
    """The mean discounted return (gamma .9) of the dialogues."""
    return float(np.mean(0.9 ** (np.diff(first) - 1) * reward))


def world(logs: Path) -> dict[str, Any]:
    """Critic values of graded systems, each without its own dialogues, against their true success."""
    known_truth = json.loads(logs.with_suffix("").with_suffix(".truth.json").read_text())
    truth = known_truth["agents"]
    dialogues = list(read_all((str(logs),)))
    plain, facts = task_log.with_uniform_placeholders(dialogues), task_log.facts(dialogues)
    rewards = {
        one.id: next(100.0 * r.value for r in one.ratings if r.dimension == "success") for one in dialogues
    }
    episodes = encode(
        whole(with_controls(plain, generator(0, "controls")), rewards), rating="success", delexicalised=False
    )
    agents = list(episodes.agents)
    true = np.array([100 * truth[name]["success"]["mean"] for name in agents])
    known = known_means(episodes)
    found: dict[str, Any] = {"family": known_truth["family"], "agents": agents, "truth": true.tolist()}
    for label, critic in {
        "gamma 1": Critic(reward="rating"),
        "gamma .9": Critic(reward="rating", gamma=0.9),
    }.items():
        ready = critic.with_facts(facts)
        values = [ready.estimate(episodes, name, rng=generator(0, name)) for name in agents]
        raw = np.array([one.value for one in values])
        found[label] = {
            "values": raw.tolist(),
            "spearman": _spearman(raw, true),
            "pearson": float(np.corrcoef(raw, true)[0, 1]),
        }
        seen = np.array([name not in INVISIBLE for name in agents])
        found[label]["spearman_of_visible"] = _spearman(raw[seen], true[seen])
        if label == "gamma 1":
            own = [mean_t_interval(one.contributions) for one in values]
            found[label] |= {"intervals": own, "coverage": _covered(own, true)}
            found[label]["calibrated"] = _calibrated(raw, np.array([known[name] for name in agents]), true)
            whole_ = ready.evaluation(episodes)
            found[label]["controls"] = {
                name.removeprefix(PREFIX): whole_.value(episodes.alternatives[name]).value
                for name in episodes.alternatives
                if name.startswith(PREFIX)
            }
    return found


def _calibrated(raw: Floats, known: Floats, true: Floats) -> dict[str, Any]:
    """Each system's value calibrated on the other systems; refused, as in `ope`, if the values do not rank those."""
    found = {}
    for place in range(len(raw)):
        others = np.arange(len(raw)) != place
        fitted = line(raw[others], known[others])
        try:
            can_rank(fitted)
        except Refused:
            continue
        found[place] = fitted.at(raw[place]), fitted.interval(raw[place])
    intervals = [interval for _, interval in found.values()]
    there = true[list(found)]
    means = np.array([mean for mean, _ in found.values()])
    return {
        "refused": len(raw) - len(found),
        "intervals": intervals,
        "coverage": _covered(intervals, there) if found else None,
        "mean_error": float(np.mean(np.abs(means - there))) if found else None,
        "half_width": float(np.mean([(high - low) / 2 for low, high in intervals])) if found else None,
    }


def _covered(intervals: Any, true: Floats) -> float:
    return float(np.mean([low <= one <= high for (low, high), one in zip(intervals, true, strict=True)]))


def _spearman(a: Floats, b: Floats) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def _table(found: CriticValues) -> dict[str, Any]:
    rows = {}
    for name, one in found.values.items():
        rows[name] = {
            "value": one.value,
            "interval": mean_t_interval(one.contributions),
            "difference": mean_t_interval(found.differences[name]) if name != LOGGED else None,
        }
    return {
        "return": found.returned,
        "fooled_by": found.verdict.fooled_by,
        "margin": found.verdict.margin,
        "rows": rows,
    }


def grid(metrics: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Pearson and Spearman of each corpus metric with the results of people and of the simulator."""
    measured = {
        "people success": PEOPLE["success"],
        "people rating": PEOPLE["rating"],
        "ConvLab success": CONVLAB,
    }
    grid: dict[str, Any] = {}
    for metric, numbers in metrics.items():
        for what, known in measured.items():
            if not known.keys() <= numbers.keys():
                continue
            a, b = np.array([numbers[name] for name in known]), np.array(list(known.values()))
            grid.setdefault(metric, {})[what] = {
                "pearson": float(np.corrcoef(a, b)[0, 1]),
                "spearman": _spearman(a, b),
                "n": len(a),
            }
    return grid


def write(found: dict[str, Any]) -> None:
    """Add results to the JSON file."""
    before = json.loads(HERE.read_text()) if HERE.is_file() else {}
    text = json.dumps(before | found, indent=1, default=lambda value: list(map(float, value)))
    HERE.write_text(text + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts",
        nargs="+",
        choices=["corpus", "systems", "corruption", "published", "printed", "turns", "world"],
    )
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    parser.add_argument("--logs", type=Path, help="for `world`: what `turnwise simulate task` wrote")
    given = parser.parse_args()
    for part in given.parts:
        if part == "world":
            found = world(given.logs)
            write({f"world {found['family']}": found})
        else:
            write({part: globals()[part](given.data)})


if __name__ == "__main__":
    main()
