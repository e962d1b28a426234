"""`python -m tools.make_models DATA [NAME...]`: train the models that the package ships, into src/turnwise/data/models.

Heads, exchange index and lexicon are trained on dialogues that share no turn with a rated item; the weights of
`turnwise` and `usr-full` are fitted to published ratings. The cards list the data with sha256 and licences
(`model_cards.py`). Needs `turnwise fetch minilm` (and smollm2 for usr-full). It takes half an hour on one CPU core,
mostly for encoding.

The readers of replies come from a GPU (`papers/flagship/ship.py`), with their ranges (`papers/flagship/ranges.py`), and
must be there. NAME can also be `turnwise-fp32`, `turnwise-large`, `turnwise-large-free`, `ridge`, which fits the
regression of `turnwise` again to the present readers, and `cards`, which copies the results of `python -m
papers.learned DATA` to the cards.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.flagship import taught
from papers.flagship.contexts import TAUGHT_FREE, for_teaching
from papers.flagship.prepare import PROBED
from papers.rated_corpora import Rated, pretraining, rated
from papers.rated_dimensions import DIMENSIONS, SOURCES, rated_units
from tools import dimension_heads
from tools.model_cards import ROWS, card, complete, dialogue_data
from turnwise.encode import TextEncoder
from turnwise.encode.models import folder
from turnwise.encode.text.normalise import plain
from turnwise.encode.transformer.precision import Chosen
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.contrastive import att, maude
from turnwise.metrics.learned.contrastive.training import Examples, Shape, train_head
from turnwise.metrics.learned.encoded_items import TURNS, reply_and_context, turn_vectors
from turnwise.metrics.learned.trained import encoder_card, encoder_of
from turnwise.metrics.learned.turnwise.calibration import ATTACKS, COVERAGE
from turnwise.metrics.learned.turnwise.exchange_index import ExchangeIndex
from turnwise.metrics.learned.turnwise.familiar import Familiarity, counts, even_quantile
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.metric import MOST_UNKNOWN, is_copy
from turnwise.metrics.learned.turnwise.reader import ReplyReader
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, standardised
from turnwise.metrics.learned.turnwise.signals import (
    CUT,
    Signals,
    signal_tensors,
    signals_digest,
)
from turnwise.metrics.learned.usr import full as usr_full
from turnwise.metrics.learned.usr import retrieval
from turnwise.metrics.models import text_encoder
from turnwise.networks.training.task import Ratings, TrainedModel, TrainingTask
from turnwise.types import Dialogue, Floats, Item, digest

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


Pairs = tuple[Floats, Floats]  # (m, k) signals of people's replies and of frauds (papers/flagship/taught.py)


@dataclass(frozen=True)
class Group:
    """The signals and ratings of a rated group."""

    name: str
    table: Floats  # (n, k) signals
    values: Floats  # (n,) mean ratings
    copies: NDArray[np.bool_]  # (n,) whether the reply is a copy of its context

    @classmethod
    def of(cls, rated: Rated, table_of: Callable[[Sequence[Item]], Floats]) -> "Group":
        table = table_of(rated.items)
        known = ~np.isnan(table).any(axis=1)
        copies = np.array([is_copy(item) for item in rated.items])
        return cls(rated.name, table[known], np.array(rated.values)[known], copies[known])


def predicted(group: Group, others: Sequence[Group], columns: Sequence[str], frauds: Pairs) -> Floats:
    """(n,) predictions for a group by a regression on the others; copies get the lowest score."""
    weights = fit(others, columns, frauds)
    predictions = weights.predict(group.table)
    predictions[group.copies] = floor_of(weights, [other.table for other in others])
    return predictions


def fit(groups: Sequence[Group], columns: Sequence[str], frauds: Pairs) -> RidgeWeights:
    """The regression of `turnwise` on these groups, and on people's replies above frauds."""
    return taught.fit(columns, [group.table for group in groups], [group.values for group in groups], frauds)


def floor_of(weights: RidgeWeights, tables: Sequence[Floats]) -> float:
    """The score of copies: the 1 % quantile of all predictions."""
    return float(np.quantile(np.concatenate([weights.predict(table) for table in tables]), 0.01))


def make_turnwise(data: Path, dialogues: Sequence[Dialogue], groups: Sequence[Rated]) -> None:
    tensors, shapes = make_signals(dialogues, folder.load(MODELS / "usr-ret", "usr-ret"))
    fit_small(data, groups, folder.Folder(MODELS, "turnwise", tensors, {"heads": shapes}, {}, ""))


def fit_small(data: Path, groups: Sequence[Rated], parts: folder.Folder) -> None:
    """`turnwise` computes its encoder and its reader in whole numbers."""
    parts = replace(parts, config={**parts.config, "encoder": encoder_card(ENCODER, precision="int8")})
    fit_turnwise(data, groups, parts, [reader_card("reader-small", "int8")])


def fit_float32(data: Path, groups: Sequence[Rated]) -> None:
    """`turnwise[precision=fp32]`. Heads, index and lexicon are those of `turnwise`, and not stored again."""
    fit_turnwise(data, groups, parts_of("turnwise"), [reader_card("reader-small")], variant="fp32")


def reader_card(name: str, precision: Chosen = "fp32") -> dict[str, str]:
    """A reader in a model's config: its name, its precision and its present signature."""
    reader = ReplyReader(folder.load(MODELS / name, name), precision)
    stated = {} if precision == "fp32" else {"precision": precision}
    return {"name": name, **stated, "signature": str(reader.signature)}


def parts_of(kind: str) -> folder.Folder:
    """A model of this kind that takes heads, index and lexicon from `turnwise`, and computes its encoder in float32."""
    source = folder.load(MODELS / "turnwise", "turnwise")
    config = {"encoder": encoder_card(ENCODER), "signals": signals_digest(source)}
    return folder.Folder(MODELS, kind, {}, config, {}, "")


def fit_large(data: Path, groups: Sequence[Rated], *, free: bool = False) -> None:
    """`turnwise-large` has both readers. Heads, index and lexicon are those of `turnwise`, and not stored again.

    The free model lacks the small reader, which was trained on all text. It is taught frauds in PersonaChat's contexts
    alone, and predicts overall ratings alone.
    """
    readers = map(reader_card, ["reader-large-free"] if free else ["reader-large", "reader-small"])
    fit_turnwise(data, groups, parts_of("turnwise-large"), list(readers), variant="free" if free else "")


def with_readers(parts: folder.Folder, readers: Sequence[dict[str, str]]) -> folder.Folder:
    """What the signals are computed with: the heads and the index of a folder, and the present readers."""
    kept = {key: parts.config[key] for key in ("encoder", "heads", "signals") if key in parts.config}
    return replace(parts, config={**kept, "readers": list(readers)})


def fit_turnwise(
    data: Path,
    rated_groups: Sequence[Rated],
    parts: folder.Folder,
    readers: Sequence[dict[str, str]],
    *,
    variant: str = "",
) -> None:
    """Fit and save the weights. The signals are computed with loaded tensors, which are rounded to fewer digits."""
    parts, free = with_readers(parts, readers), variant == "free"
    signals, encoder = Signals.load(parts), encoder_of(parts)
    columns = signals.columns
    groups = [Group.of(group, lambda items: signals.table(items, encoder, columns)) for group in rated_groups]
    frauds = taught.pairs(
        for_teaching(data, TAUGHT_FREE if free else PROBED),
        lambda items: signals.table(items, encoder, columns),
    )
    # Predictions are not centred on the tested corpus, because a user's corpus has no ratings to centre on.
    errors = [
        np.abs(
            standardised(group.values)
            - predicted(group, [g for g in groups if g is not group], columns, frauds)
        )
        for group in groups
    ]
    weights = fit(groups, columns, frauds)
    half_width = even_quantile(errors, COVERAGE)
    covered = {
        group.name: float(np.mean(error <= even_quantile([e for e in errors if e is not error], COVERAGE)))
        for group, error in zip(groups, errors, strict=True)
    }
    say(f"half-width {half_width:.3f}, covers {covered}")
    heads, config, measured = (
        ({}, {}, {}) if free else fit_heads(data, rated_groups, signals, encoder, groups, weights, frauds)
    )
    trained = TrainedModel(
        kind=parts.kind,
        tensors={
            **signal_tensors(parts),
            **familiarity(rated_groups, signals.lexicon).tensors,
            **heads,
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
            "dimensions": config,
        },
        card={
            "intervals": {"inside, half-width of the other corpora": covered},
            "dimensions": measured,
            "dialogue_ratings": [] if free else dialogue_data(data),
            "attacks": [] if free else list(ATTACKS),  # the free model was not attacked
        },
    )
    keep(
        f"{parts.kind}-{variant}" if variant else parts.kind,
        trained,
        **card(data, rated_groups, ratings=True),
    )


def fit_heads(
    data: Path,
    rated_groups: Sequence[Rated],
    signals: Signals,
    encoder: TextEncoder,
    groups: Sequence[Group],
    weights: RidgeWeights,
    frauds: Pairs,
) -> tuple[dict[str, NDArray[Any]], dict[str, Any], dict[str, Any]]:
    """Tensors, config and card of the dimensions whose own regression beats the overall one on corpora left out."""
    columns = signals.columns
    units = rated_units(data, rated_groups, lambda items: signals.table(items, encoder, columns))

    @cache
    def fit_without(source: str) -> RidgeWeights:
        return fit([group for group in groups if SOURCES[group.name] != source], columns, frauds)

    dialogues = [
        item for unit in units.values() if not unit.is_turns for some in unit.replies for item in some
    ]
    tensors: dict[str, NDArray[Any]] = {training_items.OF_DIMENSIONS: training_items.hashes(dialogues)}
    config, measured = {}, {}
    for dimension, own in DIMENSIONS.items():
        found = dimension_heads.left_out(dimension, units, fit_without)
        agreement = {
            name: dict(zip(("overall", "own"), np.round(one.agreement, 4).tolist(), strict=True))
            for name, one in found.items()
        }
        say(f"{dimension}: gain {dimension_heads.gain(found):.3f}, {agreement}")
        fitted = dimension_heads.fit_head(dimension, weights, units)
        if fitted is None or dimension_heads.gain(found) <= 0:
            continue
        tensors[f"ridge.weights {dimension}"] = fitted
        head, errors = replace(weights, weights=fitted), dimension_heads.errors(found, units)
        config[dimension] = {
            "half_width": even_quantile(errors, COVERAGE) if errors else None,
            "floor": floor_of(head, [group.table for group in groups]),
        }
        measured[dimension] = {
            "rated as": {name: list(names) for name, names in own.items()},
            "left out": agreement,
        }
    return tensors, config, measured


def familiarity(groups: Sequence[Rated], lexicon: Lexicon) -> Familiarity:
    """What is like the rated replies."""
    texts = [[text for item in group.items if (text := reply_and_context(item))] for group in groups]
    return Familiarity.of([np.array([counts(*text, lexicon) for text in some]) for some in texts])


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
        fit_small(data, groups, folder.load(MODELS / "turnwise", "turnwise"))
    if "turnwise-fp32" in wanted:
        fit_float32(data, groups)
    if "turnwise-large" in wanted:
        fit_large(data, groups)
    if "turnwise-large-free" in wanted:
        fit_large(data, groups, free=True)
    if "usr-full" in wanted:
        learned = usr_full.train(rated_task(groups, "usr-full"))
        keep("usr-full", learned, **card(data, groups, ratings=True))
    if "cards" in wanted:
        for path in sorted(MODELS / name for name in ROWS):
            complete(path, card(data, groups, ratings=path.name.startswith(("turnwise", "usr-full"))))


if __name__ == "__main__":
    main()
