"""An agent nobody rated, from its own dialogues: on real ratings, in worlds with known truth, and outside of what was
seen.

    python -m papers.unrated real DATA     every corpus with three or more rated agents, each left out, all dimensions
    python -m papers.unrated five DATA     ji2022 with five rated bots, every choice of them
    python -m papers.unrated worlds        2,000 fresh agents of four families, and 100 planted outside the range
    python -m papers.unrated curves        a world: rated agents, rated and unrated dialogues, ratings of the target
    python -m papers.unrated curves-real DATA   dialogues of each agent of ji2022
    python -m papers.unrated worth DATA    how many ratings of the agent itself have the same mean error
    python -m papers.unrated show          papers/unrated.md from papers/unrated.json

The features, their groups and the rule of refusals were chosen on ji2022 and on draws below 100 of the worlds; the
draws here are 1000 and above. The ratings of the tested agent are hidden; those of the tested corpus are in no model:
`reactions` is the one that was fitted without it.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.encode.hashing import Hashing
from turnwise.errors import Refused
from turnwise.estimators.dialogues.estimate import DialoguesEstimate, Panel
from turnwise.estimators.dialogues.pooled import pooled
from turnwise.estimators.dialogues.table import Blocks, table
from turnwise.estimators.vectors import encoder
from turnwise.logs.native import read
from turnwise.metrics.learned.reactions import predicted
from turnwise.metrics.learned.trained import load_trained
from turnwise.types import Dialogue, Floats, Ints
from turnwise.worlds.booking.families import family as sellers
from turnwise.worlds.booking.world import WORLD as BOOKING
from turnwise.worlds.chat.families import family as talkers
from turnwise.worlds.chat.world import WORLD as CHAT
from turnwise.worlds.play import World

HERE = Path(__file__).with_name("unrated.json")
ROWS = Path(__file__).with_name("unrated-worlds.json")
# Corpora in which people rated whole dialogues of three or more agents -> file, agents that are no systems.
CORPORA = {
    "ji2022": ("ji2022.jsonl.gz", ()),
    "convai2_2018": ("convai2_2018.jsonl.gz", ("unknown",)),
    "ieval": ("ieval.jsonl.gz", ()),
    "fed_dialog": ("fed_dialog.jsonl", ()),
}
OUTSIDE = {"ji2022": "qc"}  # an agent that is far outside: reported apart
FEWEST = 15  # dialogues of an agent
# Family -> its world and the rating that is estimated.
FAMILIES: Mapping[str, tuple[World, Any, str]] = {
    "chat mixed": (CHAT, lambda n, draw: talkers("mixed", agents=n, draw=draw), "overall"),
    "chat failings": (CHAT, lambda n, draw: talkers("failings", agents=n, draw=draw), "overall"),
    "booking behaviour": (BOOKING, lambda n, draw: sellers("behaviour", agents=n, draw=draw), "reward"),
    "booking stochastic": (BOOKING, lambda n, draw: sellers("stochastic", agents=n, draw=draw), "reward"),
}
RATED, FRESH, LOGGED, TRUTH, PANELS = 16, 25, 40, 100, 20
DRAW = 1000
CURVE_PANELS = 3


@dataclass(frozen=True, eq=False)
class Logs:
    """Dialogues with their agents, a mean rating of each, and what they look like."""

    agents: tuple[str, ...]
    agent: Ints  # (n,)
    reward: Floats  # (n,) NaN where nobody rated
    blocks: Blocks
    scores: Mapping[str, Floats]

    def panel(self, hidden: Sequence[int], kept: Ints | None = None) -> Panel:
        """The table without the ratings of these agents; `kept` are the indices of the dialogues that are used."""
        rows = np.arange(len(self.agent)) if kept is None else kept
        blocks = Blocks(
            {name: values[rows] for name, values in self.blocks.counted.items()},
            {name: values[rows] for name, values in self.blocks.vectors.items()},
            None if self.blocks.first is None else self.blocks.first[rows],
        )
        agent = self.agent[rows]
        reward = np.where(np.isin(agent, hidden), np.nan, self.reward[rows])
        scores = {name: values[rows] for name, values in self.scores.items()}
        return Panel(table(self.agents, agent, reward, blocks, scores))


def answer(panel: Panel, name: str) -> tuple[DialoguesEstimate | None, str | None]:
    """The estimate of an agent, and the code of its refusal."""
    try:
        made = panel.estimate(name)
    except Refused as error:
        return None, error.reason.code
    return made, None if made.refusal is None else made.refusal.reason.code


def row(
    name: str, truth: float, level: float, made: DialoguesEstimate | None, code: str | None
) -> dict[str, Any]:
    """What is kept of one estimate, given or withheld."""
    kept: dict[str, Any] = {"target": name, "truth": truth, "mean_of_others": level, "refused": code}
    if made is not None:
        kept |= {
            "estimate": made.value,
            "interval": list(made.interval),
            "choice": made.choice,
            "stable": made.stable,
            "ranking": made.ranking,
            "p": made.p,
            "outside": {"block": made.inside[0].block, "p": made.inside[0].p},
        }
    return {key: round(value, 5) if isinstance(value, float) else value for key, value in kept.items()}


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How the answered estimates did, and what the refused ones would have done."""
    found: dict[str, Any] = {"agents": len(rows)}
    for name, chosen in (
        ("answered", [one for one in rows if one["refused"] is None]),
        ("withheld", [one for one in rows if one["refused"] is not None and "estimate" in one]),
    ):
        if not chosen:
            found[name] = {"n": 0}
            continue
        truth, value, level = (
            np.array([one[key] for one in chosen]) for key in ("truth", "estimate", "mean_of_others")
        )
        low, high = np.array([one["interval"] for one in chosen]).T
        error = float(np.mean(np.abs(value - truth)))
        found[name] = {
            "n": len(chosen),
            "error": error,
            "error_of_mean": float(np.mean(np.abs(level - truth))),
            "covered": int(np.sum((low <= truth) & (truth <= high))),
            "half_width": float(np.mean(high - low)) / 2,
            "pearson": float(np.corrcoef(value, truth)[0, 1]) if len(chosen) > 2 else None,
        }
    found["reasons"] = dict(Counter(one["refused"] for one in rows if one["refused"]))
    return found


# Real ratings -----------------------------------------------------------------------------------------------------


def corpus(data: Path, name: str, *, more: Sequence[str] = ()) -> tuple[Logs, dict[str, Floats]]:
    """The logs of a corpus, without rewards, and dimension -> (n,) mean rating; `mean` is over all dimensions."""
    file, left_out = CORPORA[name]
    apart = {OUTSIDE.get(name)} - set(more)
    rated = [
        one
        for one in read(str(data / file))
        if one.agent not in (*left_out, *apart) and any(rating.turn is None for rating in one.ratings)
    ]
    counts = Counter(one.agent for one in rated)
    kept = [one for one in rated if counts[one.agent] >= FEWEST]
    agents = tuple(dict.fromkeys(one.agent for one in kept))
    dimensions = dict.fromkeys(r.dimension for one in kept for r in one.ratings if r.turn is None)
    ratings = {
        dimension: np.array([_mean(one, dimension) for one in kept], dtype=np.float64)
        for dimension in dimensions
    }
    if len(ratings) > 1 and name == "ji2022":
        ratings = {"mean": np.nanmean(np.stack(list(ratings.values())), axis=0)} | ratings
    blocks = Blocks.of(kept, encoder("minilm"))
    vectors = np.hstack([blocks.vectors["user words"], blocks.vectors["last user words"]])
    scores = {"reactions": predicted(load_trained("reactions", ""), name, vectors)}
    agent = np.array([agents.index(one.agent) for one in kept], dtype=np.int64)
    return Logs(agents, agent, np.full(len(kept), np.nan), blocks, scores), ratings


def _mean(dialogue: Dialogue, dimension: str) -> float:
    """The mean rating of the whole dialogue on a dimension; NaN without one."""
    values = [one.value for one in dialogue.ratings if one.dimension == dimension and one.turn is None]
    return float(np.mean(values)) if values else float("nan")


def each_left_out(logs: Logs, reward: Floats, kept: Ints | None = None) -> list[dict[str, Any]]:
    """Every agent with a rating as the target, its ratings hidden."""
    rated = np.flatnonzero(np.isfinite(reward)) if kept is None else kept[np.isfinite(reward[kept])]
    there = replace(logs, reward=reward)
    means = {
        index: float(reward[rated][logs.agent[rated] == index].mean())
        for index in np.unique(logs.agent[rated]).tolist()
    }
    rows = []
    for index, truth in means.items():
        others = float(np.mean([mean for other, mean in means.items() if other != index]))
        made, code = answer(there.panel([index], rated), logs.agents[index])
        rows.append(row(logs.agents[index], truth, others, made, code))
    return rows


def real(data: Path) -> dict[str, Any]:
    """Every corpus and dimension; ji2022 with `qc` too."""
    found: dict[str, Any] = {}
    for name in CORPORA:
        for more in ((), (OUTSIDE[name],)) if name in OUTSIDE else ((),):
            logs, ratings = corpus(data, name, more=more)
            for dimension, reward in ratings.items():
                rows = each_left_out(logs, reward)
                label = f"{name}{' with ' + more[0] if more else ''}: {dimension}"
                found[label] = {"rows": rows, **summary(rows)}
                print(label, json.dumps(found[label]["answered"]), found[label]["reasons"], flush=True)
    return found


def five(data: Path) -> dict[str, Any]:
    """ji2022 with five rated bots: each bot as the target, without each of the others in turn."""
    logs, ratings = corpus(data, "ji2022")
    reward = ratings["mean"]
    there = replace(logs, reward=reward)
    rows = []
    for target, dropped in permutations(range(len(logs.agents)), 2):
        kept = np.flatnonzero((logs.agent != dropped) & np.isfinite(reward))
        means = {
            index: float(reward[kept][logs.agent[kept] == index].mean())
            for index in range(len(logs.agents))
            if index != dropped
        }
        level = float(np.mean([mean for index, mean in means.items() if index != target]))
        made, code = answer(there.panel([target], kept), logs.agents[target])
        rows.append(row(logs.agents[target], means[target], level, made, code))
    unstable = [one | {"refused": None} for one in rows if one["refused"] == "unstable-choice"]
    return {"rows": rows, **summary(rows), "unstable": summary(unstable)["answered"]}


def worth(data: Path) -> dict[str, Any]:
    """How many ratings of the agent itself have the mean error of the answered estimates of `real`.

    The mean of n ratings is off by .8 s / sqrt(n), where s is the standard deviation of ratings inside an agent.
    """
    stored = json.loads(HERE.read_text())["real"]
    found = {}
    for name in CORPORA:
        answered = {
            label for label in stored if label.startswith(f"{name}: ") and stored[label]["answered"]["n"]
        }
        if not answered:
            continue
        logs, ratings = corpus(data, name)
        for dimension, reward in ratings.items():
            label = f"{name}: {dimension}"
            if label not in answered:
                continue
            by_agent = [reward[(logs.agent == at) & np.isfinite(reward)] for at in range(len(logs.agents))]
            squares = sum(float(np.sum((own - own.mean()) ** 2)) for own in by_agent)
            deviation = float(np.sqrt(squares / sum(len(own) - 1 for own in by_agent)))
            error = stored[label]["answered"]["error"]
            found[label] = {
                "answered": stored[label]["answered"]["n"],
                "of": stored[label]["agents"],
                "deviation": deviation,
                "error": error,
                "ratings": (0.8 * deviation / error) ** 2,
            }
    return found


def degraded(data: Path) -> dict[str, Any]:
    """`qc` of ji2022, whose replies were spoilt on purpose, with every choice of five, six and seven rated bots."""
    logs, ratings = corpus(data, "ji2022", more=("qc",))
    reward = ratings["mean"]
    there, spoilt = replace(logs, reward=reward), logs.agents.index("qc")
    truth = float(reward[(logs.agent == spoilt) & np.isfinite(reward)].mean())
    means = {
        index: float(reward[(logs.agent == index) & np.isfinite(reward)].mean())
        for index in range(len(logs.agents))
        if index != spoilt
    }
    found = {}
    for n in (5, 6, 7):
        rows = []
        for known in combinations(means, n):
            hidden = [index for index in range(len(logs.agents)) if index not in known]
            level = float(np.mean([means[index] for index in known]))
            rows.append(row("qc", truth, level, *answer(there.panel(hidden), "qc")))
        found[f"{n} rated bots"] = {"rows": rows, **summary(rows)}
    return found


# Worlds -----------------------------------------------------------------------------------------------------------


def played(family: str, agents: Mapping[str, Any], seed: int, logged: int) -> tuple[Logs, Floats]:
    """Dialogues of each agent with their ratings, and (A,) the agents' true means over `TRUTH` other dialogues."""
    world, _, rating = FAMILIES[family]
    dimension = world.dimensions.index(rating)
    dialogues, agent, reward, truth = [], [], [], []
    for index, (name, one) in enumerate(agents.items()):
        rng = np.random.default_rng([seed, index])
        for number in range(logged):
            dialogue = world.play(one, rng, identity=f"{name} {number}", name=name)
            dialogues.append(dialogue)
            agent.append(index)
            reward.append(_mean(dialogue, rating))
        truth.append(np.mean([world.truth(one, rng)[dimension] for _ in range(TRUTH)]))
    blocks = Blocks.of(dialogues, Hashing())
    return (
        Logs(tuple(agents), np.array(agent, dtype=np.int64), np.array(reward), blocks, {}),
        np.array(truth),
    )


def panels(
    family: str, numbers: Sequence[int], *, rated: int = RATED, fresh: int = FRESH, logged: int = LOGGED
) -> Iterator[tuple[Logs, Floats]]:
    """Newly drawn agents: the first `rated` have ratings, the others are fresh."""
    for number in numbers:
        draw = DRAW + number
        yield played(family, FAMILIES[family][1](rated + fresh, draw), draw, logged)


def worlds() -> dict[str, Any]:
    """Fresh agents of each family, and agents planted outside the range of the rated ones.

    The rows of finished panels are kept in papers/unrated-worlds.json, and an interrupted run goes on from there.
    """
    kept: dict[str, Any] = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    for number in range(PANELS):
        for family in FAMILIES:
            if f"{family} {number}" not in kept:
                kept[f"{family} {number}"] = _panel_rows(family, number)
                ROWS.write_text(json.dumps(kept) + "\n")
    return summary_of_worlds(kept)


def summary_of_worlds(kept: Mapping[str, Any]) -> dict[str, Any]:
    """What the panels that are there say, by family and of all."""
    found = {}
    for family in (*FAMILIES, ""):
        parts = [rows for name, rows in kept.items() if name.startswith(family)]
        fresh = [one for rows in parts for one in rows["fresh"]]
        planted = [one for rows in parts for one in rows["planted"]]
        found[family or "all"] = {"panels": len(parts), **summary(fresh), "outside": _outside(planted)}
    return found


def _panel_rows(family: str, number: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of one panel: of agents like the rated ones, and of those planted outside their range."""
    logs, truth = next(panels(family, [number]))
    fresh = list(range(RATED, len(logs.agents)))
    panel, level = logs.panel(fresh), float(truth[:RATED].mean())
    rows = [row(logs.agents[at], float(truth[at]), level, *answer(panel, logs.agents[at])) for at in fresh]
    # Of all agents of this draw the two worst and the three best are planted: sixteen in the middle are rated.
    order = np.argsort(truth)
    start = len(order) // 2 - RATED // 2
    middle = order[start : start + RATED]
    hidden = [at for at in range(len(logs.agents)) if at not in set(middle.tolist())]
    narrow, spread = logs.panel(hidden), float(np.ptp(truth[middle]))
    level = float(truth[middle].mean())
    planted = [
        row(logs.agents[at], float(truth[at]), level, *answer(narrow, logs.agents[at])) | {"spread": spread}
        for at in (*order[:2].tolist(), *order[-3:].tolist())
    ]
    return {"fresh": rows, "planted": planted}


def _outside(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many planted agents were answered, and how many of these intervals miss by more than half the spread."""
    given = [one for one in rows if one["refused"] is None]
    missed = [max(one["interval"][0] - one["truth"], one["truth"] - one["interval"][1], 0.0) for one in given]
    return {
        "planted": len(rows),
        "answered": len(given),
        "covered": sum(miss == 0.0 for miss in missed),
        "missed_by_half_the_spread": sum(
            miss > one["spread"] / 2 for miss, one in zip(missed, given, strict=True)
        ),
        "reasons": dict(Counter(one["refused"] for one in rows if one["refused"])),
    }


# Curves -----------------------------------------------------------------------------------------------------------


def curves() -> dict[str, Any]:
    """In a world: what more rated agents, rated dialogues, unrated dialogues and ratings of the target are worth."""
    found: dict[str, Any] = {}
    made = list(panels("chat mixed", range(100, 100 + CURVE_PANELS), rated=RATED, fresh=10, logged=80))
    for n in (3, 4, 5, 6, 8, 12, 16):
        found[f"{n} rated agents"] = _curve(made, rated=n, of_each=40, own=40)
    for n in (5, 10, 20, 80):
        found[f"{n} rated dialogues of each of 12"] = _curve(made, rated=12, of_each=n, own=40)
    for n in (10, 20, 80):
        found[f"{n} unrated dialogues of the target"] = _curve(made, rated=12, of_each=40, own=n)
    found["20 ratings of the target"] = _with_ratings(made, 20)
    return found


def curves_real(data: Path) -> dict[str, Any]:
    """On ji2022: what more dialogues of each agent are worth, against the mean of all its dialogues."""
    logs, ratings = corpus(data, "ji2022")
    rng = np.random.default_rng(0)
    found = {}
    for n in (10, 20, 40, 80, 160):
        rows: list[dict[str, Any]] = []
        for _ in range(5):
            kept = np.concatenate(
                [
                    rng.permutation(np.flatnonzero(logs.agent == index))[:n]
                    for index in range(len(logs.agents))
                ]
            )
            rows += _against_all(each_left_out(logs, ratings["mean"], np.sort(kept)), logs, ratings["mean"])
        found[f"{n} dialogues of each"] = summary(rows)
    return found


def _against_all(rows: list[dict[str, Any]], logs: Logs, reward: Floats) -> list[dict[str, Any]]:
    """The same with the mean of all dialogues of the target as its truth."""
    means = {
        name: float(reward[(logs.agent == index) & np.isfinite(reward)].mean())
        for index, name in enumerate(logs.agents)
    }
    return [one | {"truth": means[one["target"]]} for one in rows]


def _curve(made: Sequence[tuple[Logs, Floats]], *, rated: int, of_each: int, own: int) -> dict[str, Any]:
    """The fresh agents of each panel with fewer rated agents or dialogues."""
    rows = []
    for logs, truth in made:
        fresh = list(range(RATED, len(logs.agents)))
        number = np.concatenate([np.arange((logs.agent == index).sum()) for index in range(len(logs.agents))])
        kept = np.flatnonzero(
            ((logs.agent < rated) & (number < of_each)) | ((logs.agent >= RATED) & (number < own))
        )
        panel = logs.panel(fresh, kept)
        level = float(truth[:rated].mean())
        rows += [
            row(logs.agents[at], float(truth[at]), level, *answer(panel, logs.agents[at])) for at in fresh
        ]
    return summary(rows)


def _with_ratings(made: Sequence[tuple[Logs, Floats]], n: int) -> dict[str, Any]:
    """What n ratings of the target are worth: alone, with the prediction as the metric, and pooled with it."""
    errors: dict[str, list[float]] = {
        "ratings alone": [],
        "with the prediction": [],
        "pooled": [],
        "prediction": [],
    }
    widths: dict[str, list[float]] = {name: [] for name in errors}
    covered: dict[str, list[bool]] = {name: [] for name in errors}
    for logs, truth in made:
        fresh = list(range(RATED, len(logs.agents)))
        panel = logs.panel(fresh)
        for at in fresh:
            found, code = answer(panel, logs.agents[at])
            if found is None or code is not None:
                continue
            own = logs.reward[logs.agent == at].copy()
            own[n:] = np.nan
            alone, together = pooled(None, own), pooled(found, own)
            withheld = replace(found, refusal=Refused("not pooled", "not-pooled"))
            estimates = {
                "ratings alone": (alone.estimate, alone.interval),
                "with the prediction": (pooled(withheld, own).estimate, pooled(withheld, own).interval),
                "pooled": (together.estimate, together.interval),
                "prediction": (found.value, found.interval),
            }
            for name, (value, interval) in estimates.items():
                errors[name].append(abs(value - float(truth[at])))
                widths[name].append((interval[1] - interval[0]) / 2)
                covered[name].append(interval[0] <= truth[at] <= interval[1])
    return {
        name: {
            "n": len(errors[name]),
            "error": float(np.mean(errors[name])),
            "half_width": float(np.mean(widths[name])),
            "coverage": float(np.mean(covered[name])),
        }
        for name in errors
    }


def main(arguments: Sequence[str]) -> None:
    """Run one part and put its results into papers/unrated.json."""
    part, *rest = arguments
    if part == "show":
        from papers.unrated_page import write

        worlds_rows = json.loads(ROWS.read_text()) if ROWS.exists() else {}
        write(json.loads(HERE.read_text()) | {"worlds": summary_of_worlds(worlds_rows)})
        return
    parts: dict[str, Any] = {
        "real": real,
        "five": five,
        "degraded": degraded,
        "worlds": worlds,
        "curves": curves,
        "curves-real": curves_real,
        "worth": worth,
    }
    found = parts[part](*map(Path, rest))
    kept = json.loads(HERE.read_text()) if HERE.exists() else {}
    HERE.write_text(json.dumps(kept | {part: found}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
