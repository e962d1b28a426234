"""FBD and others on rated corpora that had no part in any choice; results go to papers/fbd_unseen.json.

    python -m papers.fbd_unseen DATA      system-level agreement of the recipe as it ships
    python -m papers.fbd_unseen show      the table of papers/fbd-prd.md

Corpora with five systems or more: dstc7 (nine; replies without a context, 42 references each; `Constant`, which always
says the same, has no distribution and is left out), ji2022 (seven bots, three replications; `qc`, which was degraded on
purpose, is left out) and convai2_2018 (the bots with 15 rated dialogues or more). The real side of these two, which
have no people's replies, is PersonaChat. `fbd` has the numbers of `turnwise meta --level system --real FILE`,
which takes longer.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Dialogue, Floats, Item, NeedsFitting, Summed

RESULTS = Path(__file__).with_suffix(".json")
UNREFERENCED = ("fbd", "length", "distinct-2", "relatedness", "usr-ret", "mmd", "prd")
REFERENCED = tuple("bleu-4 rouge-l meteor chrf average greedy extrema bertscore length distinct-2".split())
FEWEST = 15  # rated dialogues of a bot of convai2_2018
DRAWS = 5000  # permutations of the systems, where there are more than seven


@dataclass(frozen=True)
class Corpus:
    """The replies of rated systems, and the mean rating of each system on each dimension."""

    name: str
    replies: dict[str, list[Item]]  # system -> replies
    ratings: dict[str, dict[str, float]]  # dimension -> system -> mean
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, name: str, dialogues: Sequence[Dialogue], metrics: tuple[str, ...]) -> "Corpus":
        """A rating of ji2022 called `overall` is added: the mean of its seven, as its authors have it."""
        replies: dict[str, list[Item]] = {}
        for item in items(dialogues, Selection(items="all")):
            replies.setdefault(item.agent, []).append(item)
        values: dict[str, dict[str, list[float]]] = {}
        for dialogue in dialogues:
            whole = [rating for rating in dialogue.ratings if rating.dimension != "utterance_good"]
            for rating in whole:
                values.setdefault(rating.dimension, {}).setdefault(dialogue.agent, []).append(rating.value)
            if name.startswith("ji2022"):
                mean = float(np.mean([rating.value for rating in whole]))
                values.setdefault("overall", {}).setdefault(dialogue.agent, []).append(mean)
        means = {
            dimension: {agent: float(np.mean(given[agent])) for agent in replies if agent in given}
            for dimension, given in values.items()
        }
        return cls(name, replies, means, metrics)


def corpora(data: Path) -> Iterator[Corpus]:
    """The five corpora."""
    posts = [one for one in native.read(str(data / "dstc7.jsonl.gz")) if one.agent != "Constant"]
    yield Corpus.of("dstc7", posts, ("fbd", "prd", "mmd", *REFERENCED))
    chats = [
        one
        for one in native.read(str(data / "convai2_2018.jsonl.gz"))
        if one.agent.startswith("Bot")
        and any(rating.dimension == "overall" for rating in one.ratings)
        and {turn.role for turn in one.turns} == {"user", "assistant"}
    ]
    rated = Counter(one.agent for one in chats)
    kept = [one for one in chats if rated[one.agent] >= FEWEST]
    yield Corpus.of("convai2_2018", kept, UNREFERENCED)
    bots = [one for one in native.read(str(data / "ji2022.jsonl.gz")) if one.agent != "qc"]
    for run in sorted({str(one.meta["run"]) for one in bots}):
        own = [one for one in bots if one.meta["run"] == run]
        yield Corpus.of(f"ji2022 {run}", own, UNREFERENCED)


def measure(data: Path) -> None:
    """Spearman and Pearson over systems, with the p-value of a permutation of systems.

    What is in the results already is not measured again.
    """
    real = [_of_people(item) for item in _all(data / "personachat.jsonl.gz")]
    kept: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    done = {(one["corpus"], one["metric"]) for one in kept}
    there = list(corpora(data))
    for name in dict.fromkeys([*UNREFERENCED, *REFERENCED]):  # slow ones last
        for corpus in there:
            if name not in corpus.metrics or (corpus.name, name) in done:
                continue
            scores = system_scores(corpus, name, real)
            for dimension, means in corpus.ratings.items():
                x, y = (np.array([of[agent] for agent in means]) for of in (scores, means))
                line: dict[str, Any] = {"corpus": corpus.name, "dimension": dimension, "metric": name}
                for statistic in ("spearman", "pearson"):
                    value, p = tested(statistic, x, y)
                    line |= {statistic: round(value, 4), f"{statistic}_p": round(p, 4)}
                kept.append(line | {"systems": len(x)})
            print(f"{corpus.name} {name}", file=sys.stderr, flush=True)
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def system_scores(corpus: Corpus, name: str, real: Sequence[Item]) -> dict[str, float]:
    """The score of each system; negated if lower is better."""
    metric = resolve(name)
    if isinstance(metric, NeedsFitting):
        people = real if corpus.name != "dstc7" else _everything(corpus)
        metric = metric.fit(people)
    sign = 1 if metric.higher_is_better else -1
    found = {}
    for agent, replies in corpus.replies.items():
        rows = metric.rows(replies)
        if isinstance(metric, Summed) and isinstance(rows, np.ndarray):
            rows = rows[~np.isnan(rows).any(axis=1)]
        found[agent] = sign * float(metric.reduce(rows))
    return found


def tested(statistic: str, x: Floats, y: Floats) -> tuple[float, float]:
    """The correlation, and the share of permutations of the systems that are at least as far from 0."""
    of = STATISTICS[statistic]
    value = float(of(x, y))
    if len(x) <= 7:
        orders = [list(order) for order in permutations(range(len(x)))]
    else:
        rng = np.random.default_rng(0)
        orders = [list(range(len(x))), *(rng.permutation(len(x)).tolist() for _ in range(DRAWS))]
    far = [abs(float(of(x[order], y))) >= abs(value) - 1e-12 for order in orders]
    return value, float(np.mean(far))


def _all(path: Path) -> Iterator[Item]:
    return items(native.read(str(path)), Selection(items="all"))


def _everything(corpus: Corpus) -> list[Item]:
    return [item for replies in corpus.replies.values() for item in replies]


def _of_people(item: Item) -> Item:
    """The item as a reply by a person, without references: the real side of a distance."""
    turn = replace(item.turns[-1], references=())
    return replace(item, agent="human", turns=(*item.turns[:-1], turn))


def show() -> None:
    """A table of Spearman and Pearson: one row a metric, one column a corpus; of ji2022 the overall rating."""
    kept = json.loads(RESULTS.read_text())
    shown = [one for one in kept if not one["corpus"].startswith("ji2022") or one["dimension"] == "overall"]
    shown = [one for one in shown if one["dimension"] != "profile_match"]
    columns = list(dict.fromkeys((one["corpus"], one["dimension"], one["systems"]) for one in shown))
    heads = [f"{corpus} {dimension} ({systems})" for corpus, dimension, systems in columns]
    print(f"| metric | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    for metric in dict.fromkeys(one["metric"] for one in shown):
        cells = []
        for corpus, dimension, _ in columns:
            about = (corpus, dimension, metric)
            own = [one for one in shown if (one["corpus"], one["dimension"], one["metric"]) == about]
            marks = ["*" if own and own[0][f"{name}_p"] <= 0.05 else "" for name in ("spearman", "pearson")]
            cells.append(
                f"{own[0]['spearman']:.3f}{marks[0]} {own[0]['pearson']:.3f}{marks[1]}" if own else "-"
            )
        print(f"| `{metric}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "show":
        show()
    else:
        measure(Path(sys.argv[1]))
