"""`python -m tools.make_models DATA [NAME...]`: train the models that the package ships, into src/turnwise/data/models.

Heads, exchange index and lexicon are trained on dialogues that share no turn with a rated item; the weights of
`turnwise` and `usr-full` are fitted to published ratings. The cards list the data with sha256 and licences
(`model_cards.py`). Needs `turnwise fetch minilm` (and smollm2 for usr-full). It takes half an hour on one CPU core,
mostly for encoding.

The readers of replies come from a GPU (`papers/flagship/ship.py`) and must be there. NAME can also be `turnwise-large`,
`ridge`, which fits the regression of `turnwise` again to the present readers, and `cards`, which copies the results of
`python -m papers.learned DATA` to the cards.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.rated_corpora import Rated, pretraining, rated
from tools.model_cards import ROWS, card, complete
from turnwise.encode.models import folder
from turnwise.encode.text.normalise import plain
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.contrastive import att, maude
from turnwise.metrics.learned.contrastive.training import Examples, Shape, train_head
from turnwise.metrics.learned.encoded_items import TURNS, turn_vectors
from turnwise.metrics.learned.trained import encoder_card
from turnwise.metrics.learned.turnwise.calibration import ATTACKS, COVERAGE
from turnwise.metrics.learned.turnwise.exchange_index import ExchangeIndex
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.metric import MOST_UNKNOWN, is_copy
from turnwise.metrics.learned.turnwise.reader import ReplyReader
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_ridge, standardised
from turnwise.metrics.learned.turnwise.signals import (
    CUT,
    PENALTY,
    Signals,
    prior,
    signal_tensors,
    signals_digest,
)
from turnwise.metrics.learned.usr import full as usr_full
from turnwise.metrics.learned.usr import retrieval
from turnwise.metrics.models import text_encoder
from turnwise.networks.training.task import Ratings, TrainedModel, TrainingTask
from turnwise.types import Dialogue, Floats, digest

MODELS = Path(__file__).parents[1] / "src" / "turnwise" / "data" / "models"
ENCODER = "minilm"
EXCHANGES = 8000  # in the exchange index
# Heads trained on DailyDialog++: name -> kind of negatives, turns of context.
WRITTEN = {"written": ("adversarial", 1), "written several": ("adversarial", 3), "apart": ("random", 1),
           "apart several": ("random", 3)}  # fmt: skip


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def keep(name: str, trained: TrainedModel, **more: Any) -> folder.Folder:
    """Save a trained model in the package, with further entries of its card."""
    made = folder.save(
        MODELS / name,
        kind=trained.kind,
        tensors=trained.tensors,
        config=trained.config,
        card={**trained.card, **more},
    )
    size = sum(path.stat().st_size for path in made.path.iterdir())
    say(f"{name}: {size / 1e6:.1f} MB, {made.digest}")
    return made


def written_examples(dialogues: Sequence[Dialogue], kind: str) -> Examples:
    """Examples from DailyDialog++, which has five good replies by people and five wrong ones for each context."""
    index: dict[str, int] = {}

    def place(text: str) -> int:
        return index.setdefault(text, len(index))

    context, reply, negatives, of = [], [], [], []
    for number, dialogue in enumerate(dialogues):
        turns = [plain(turn.text) for turn in dialogue.turns[:-1]][::-1][:TURNS]
        wrong = [plain(text) for text in dialogue.meta.get("random_negatives", ())]
        if kind == "adversarial":
            wrong += [plain(text) for text in dialogue.meta.get("adversarial_negatives", ())]
        wrong = [text for text in wrong if text]
        right = [text for text in map(plain, dialogue.meta.get("positives", ())) if text]
        if not turns or not all(turns) or len(wrong) < 5:
            continue
        rows = [place(text) for text in turns]
        for text in right:
            context.append([*rows, *[-1] * (TURNS - len(rows))])
            reply.append(place(text))
            negatives.append([place(wrong[at % len(wrong)]) for at in range(10)])
            of.append(number)
    (vectors,) = turn_vectors([list(index)], text_encoder(ENCODER))
    return Examples(vectors, *(np.array(part, dtype=np.int64) for part in (context, reply, negatives, of)))


def make_signals(dialogues: Sequence[Dialogue], ret: folder.Folder) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors of heads, exchange index and lexicon, and the shapes of the heads."""
    names = {"one": "one", "several": "several"}
    tensors = {key: value for key, value in ret.tensors.items() if key.split(".")[0] in names}
    shapes: dict[str, Any] = {name: ret.config["heads"][name] for name in names}
    task = TrainingTask(metric="turnwise", dialogues=dialogues, items=(), say=say)
    for name, (kind, turns) in WRITTEN.items():
        say(f"head {name}")
        shape = Shape(turns=turns, dropout=0.3)
        network, _ = train_head(
            written_examples(dialogues, kind), shape, plan=retrieval.plan_of(task), rng=task.rng, say=say
        )
        tensors |= network.tensors(name)
        shapes[name] = asdict(shape)
    pairs = [
        (plain(a.text), plain(b.text)) for d in dialogues for a, b in zip(d.turns, d.turns[1:], strict=False)
    ]
    pairs = [pair for pair in pairs if all(pair)]
    chosen = [pairs[at] for at in np.sort(task.rng.permutation(len(pairs))[:EXCHANGES])]
    turns_, replies = turn_vectors([[a for a, _ in chosen], [b for _, b in chosen]], text_encoder(ENCODER))
    tensors |= ExchangeIndex.of(turns_, replies).tensors
    texts = [plain(turn.text) for d in dialogues for turn in d.turns]
    texts += [plain(text) for d in dialogues for text in d.meta.get("positives", ())]
    tensors |= Lexicon.of(texts).tensors
    return tensors, shapes


@dataclass(frozen=True)
class Group:
    """The signals and ratings of a rated group."""

    name: str
    table: Floats  # (n, k) signals
    values: Floats  # (n,) mean ratings
    copies: NDArray[np.bool_]  # (n,) whether the reply is a copy of its context

    @classmethod
    def of(cls, rated: Rated, signals: Signals, columns: Sequence[str]) -> "Group":
        table = signals.table(rated.items, text_encoder(ENCODER), columns)
        known = ~np.isnan(table).any(axis=1)
        copies = np.array([is_copy(item) for item in rated.items])
        return cls(rated.name, table[known], np.array(rated.values)[known], copies[known])


def predicted(group: Group, others: Sequence[Group], start: Floats) -> Floats:
    """(n,) predictions for a group by a regression on the others; copies get the lowest score."""
    weights = fit(others, start)
    predictions = weights.predict(group.table)
    predictions[group.copies] = floor_of(weights, [other.table for other in others])
    return predictions


def fit(groups: Sequence[Group], start: Floats) -> RidgeWeights:
    """The regression of `turnwise` on these groups."""
    tables, ratings = [group.table for group in groups], [group.values for group in groups]
    return fit_ridge(tables, ratings, penalty=PENALTY, prior=start, cut=CUT)


def floor_of(weights: RidgeWeights, tables: Sequence[Floats]) -> float:
    """The score of copies: the 1 % quantile of all predictions."""
    return float(np.quantile(np.concatenate([weights.predict(table) for table in tables]), 0.01))


def even_half_width(errors: Sequence[Floats]) -> float:
    """The half-width that covers 95 % of the errors, with the same weight for every corpus."""
    pooled = np.concatenate(errors)
    shares = np.concatenate([np.full(len(one), 1 / len(one)) for one in errors])
    order = np.argsort(pooled)
    reached = np.cumsum(shares[order]) / len(errors)
    return float(pooled[order][np.searchsorted(reached, COVERAGE)])


def make_turnwise(data: Path, dialogues: Sequence[Dialogue], groups: Sequence[Rated]) -> None:
    tensors, shapes = make_signals(dialogues, folder.load(MODELS / "usr-ret", "usr-ret"))
    config: dict[str, Any] = {"encoder": encoder_card(ENCODER), "heads": shapes}
    fit_turnwise(data, groups, folder.Folder(MODELS, "turnwise", tensors, config, {}, ""), "reader-small")


def reader_card(name: str) -> dict[str, str]:
    """The entry `reader` of a model's config: the reader's name and its present signature."""
    return {"name": name, "signature": str(ReplyReader(folder.load(MODELS / name, name)).signature)}


def fit_large(data: Path, groups: Sequence[Rated]) -> None:
    """`turnwise-large` has the heads, the index and the lexicon of `turnwise`, which are not stored again."""
    source = folder.load(MODELS / "turnwise", "turnwise")
    config = {"encoder": encoder_card(ENCODER), "signals": signals_digest(source)}
    fit_turnwise(data, groups, folder.Folder(MODELS, "turnwise-large", {}, config, {}, ""), "reader-large")


def fit_turnwise(data: Path, rated_groups: Sequence[Rated], parts: folder.Folder, reader: str) -> None:
    """Fit and save the weights. The signals are computed with loaded tensors, which are rounded to fewer digits."""
    kept = {key: parts.config[key] for key in ("encoder", "heads", "signals") if key in parts.config}
    parts = replace(parts, config={**kept, "reader": reader_card(reader)})
    signals = Signals.load(parts)
    columns = signals.columns
    start = prior(columns)
    groups = [Group.of(group, signals, columns) for group in rated_groups]
    # Predictions are not centred on the tested corpus, because a user's corpus has no ratings to centre on.
    errors = [
        np.abs(standardised(group.values) - predicted(group, [g for g in groups if g is not group], start))
        for group in groups
    ]
    weights = fit(groups, start)
    half_width = even_half_width(errors)
    covered = {
        group.name: float(np.mean(error <= even_half_width([e for e in errors if e is not error])))
        for group, error in zip(groups, errors, strict=True)
    }
    say(f"half-width {half_width:.3f}, covers {covered}")
    trained = TrainedModel(
        kind=parts.kind,
        tensors={
            **signal_tensors(parts),
            "ridge.centre": weights.centre,
            "ridge.scale": weights.scale,
            "ridge.weights": weights.weights,
            training_items.KEY: training_items.hashes(
                [item for group in rated_groups for item in group.items]
            ),
        },
        config={
            **parts.config,
            "columns": columns,
            "offset": 0.0,
            "cut": CUT,
            "most_unknown": MOST_UNKNOWN,
            "copies": "joined",
            "half_width": half_width,
            "floor": floor_of(weights, [group.table for group in groups]),
        },
        card={"intervals": {"inside, half-width of the other corpora": covered}, "attacks": list(ATTACKS)},
    )
    keep(parts.kind, trained, **card(data, rated_groups, ratings=True))


def rated_task(groups: Sequence[Rated], metric: str) -> TrainingTask:
    """The training task with all rated items; the ratings are standardised within each group."""
    items, values = [], {}
    for group in groups:
        numbers = standardised(np.array(group.values))
        for item, value in zip(group.items, numbers, strict=True):
            name = f"{group.name}/{item.id}"
            items.append(replace(item, id=name, cluster=f"{group.name}/{item.cluster}", group=group.name))
            values[name] = float(value)
    people = Ratings(
        dimension="overall", values=values, scale=None, per_item=float("nan"), ceiling=float("nan")
    )
    return TrainingTask(metric=metric, dialogues=(), items=items, ratings=people, say=say)


def main() -> None:
    data, wanted = Path(sys.argv[1]), sys.argv[2:] or ["usr-ret", "turnwise", "att", "maude", "usr-full"]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    groups = list(rated(data))
    of_text = card(data, groups, ratings=False)
    if {"usr-ret", "turnwise", "att", "maude"} & set(wanted):
        dialogues = pretraining(data)
        say(f"{len(dialogues)} dialogues to pretrain on")
        task = TrainingTask(
            metric="usr-ret",
            dialogues=dialogues,
            items=(),
            say=say,
            data={"id": digest(*(d.id for d in dialogues))},
        )
        if "usr-ret" in wanted:
            keep("usr-ret", retrieval.train(task), **of_text)
        if "turnwise" in wanted:
            make_turnwise(data, dialogues, groups)
        if "att" in wanted:
            keep("att", att.train(task), **of_text)
        if "maude" in wanted:
            keep("maude", maude.train(task), **of_text)
    if "ridge" in wanted:
        fit_turnwise(data, groups, folder.load(MODELS / "turnwise", "turnwise"), "reader-small")
    if "turnwise-large" in wanted:
        fit_large(data, groups)
    if "usr-full" in wanted:
        learned = usr_full.train(rated_task(groups, "usr-full"))
        keep("usr-full", learned, **card(data, groups, ratings=True))
    if "cards" in wanted:
        for path in sorted(MODELS / name for name in ROWS):
            complete(
                path, card(data, groups, ratings=path.name in ("turnwise", "turnwise-large", "usr-full"))
            )


if __name__ == "__main__":
    main()
