"""Learned metrics trained for one epoch on a few generated dialogues, with hashed n-gram vectors."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from turnwise.encode.models import folder
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.adem import training as adem_training
from turnwise.metrics.learned.contrastive import att, maude
from turnwise.metrics.learned.encoded_items import turn_vectors
from turnwise.metrics.learned.trained import encoder_card
from turnwise.metrics.learned.turnwise.exchange_index import ExchangeIndex
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.ridge import fit_ridge
from turnwise.metrics.learned.turnwise.signals import Signals
from turnwise.metrics.learned.usr import full as usr_full
from turnwise.metrics.learned.usr import retrieval
from turnwise.metrics.models import text_encoder
from turnwise.networks.training.task import Ratings, TrainingTask
from turnwise.types import Dialogue, Item, Reply, Turn

TOPICS = "bike sea book film dog cat rain train soup song garden market".split()
TURNS = (
    "i like the {0}",
    "which {0} do you mean",
    "the old {0} near the {1}",
    "oh i had a {1} once",
    "and now the {0} is gone",
)


def dialogues(count: int = 24, seed: int = 0) -> list[Dialogue]:
    """Generated dialogues in which all turns share two topics."""
    rng = np.random.default_rng(seed)
    generated = []
    for number in range(count):
        first, second = rng.choice(TOPICS, 2, replace=False)
        order = rng.permutation(len(TURNS))
        turns = tuple(
            Turn(("user", "assistant")[at % 2], TURNS[which].format(first, second))
            for at, which in enumerate(order)
        )
        generated.append(Dialogue(f"d{number}", "human", turns))
    return generated


def rated_items(count: int = 40, seed: int = 0) -> tuple[list[Item], dict[str, float]]:
    """Replies, and ratings that are higher for replies on the topic."""
    rng = np.random.default_rng(seed)
    items, ratings = [], {}
    for number, dialogue in enumerate(dialogues(count, seed)):
        on_topic = bool(rng.random() < 0.5)
        other = rng.choice(TOPICS)
        reply = dialogue.turns[3].text if on_topic else f"my {other} is a {other} of {number}"
        turns = (*dialogue.turns[:3], Turn("assistant", reply))
        name = f"r{number}#3"
        items.append(Item(name, f"r{number}", "bot", turns, 3, cluster=f"r{number}", pair=name))
        ratings[name] = float(np.clip(round(3 + on_topic + rng.normal(0, 0.7)), 1, 5))
    return items, ratings


def task(metric: str, **more: object) -> TrainingTask:
    items, ratings = rated_items()
    people = Ratings(dimension="overall", values=ratings, scale=(1, 5), per_item=3.0, ceiling=0.8)
    given = TrainingTask(
        metric=metric,
        dialogues=dialogues(),
        items=items,
        ratings=people,
        model="hashing",
        settings={"epochs": 1},
    )
    return replace(given, **more)  # type: ignore[arg-type]


def adem_task(metric: str, **more: object) -> TrainingTask:
    """The task with the next turn of the dialogue as a reference of every reply."""
    items, _ = rated_items()
    references = [dialogue.turns[3].text for dialogue in dialogues(40)]
    given = [
        replace(item, turns=(*item.turns[:-1], replace(item.turns[-1], references=(text,))))
        for item, text in zip(items, references, strict=True)
    ]
    quick = {"components": "5/9", "gamma": 0.002, "rate": 0.01, "batch": 16, "epochs": 4}
    return task(metric, **{"items": given, "settings": quick, **more})


def write(kind: str, path: Path) -> Path:
    """Write the model's folder of a metric that is trained for one epoch."""
    if kind in ("turnwise", "turnwise-large"):
        return write_turnwise(path, kind)
    if kind == "guarded":
        return write_guard(path)
    if kind == "reactions":
        return write_reactions(path)
    trainers = {"usr-ret": retrieval.train, "maude": maude.train, "att": att.train}
    if kind.startswith("adem"):
        made = adem_training.train(adem_task(kind))
    elif kind == "usr-full":
        parts = "relatedness[model=hashing]+length"
        made = usr_full.train(task(kind, settings={"parts": parts}))
    else:
        made = trainers[kind](task(kind))
    folder.save(path, kind=kind, tensors=made.tensors, config=made.config, card=made.card)
    return path


def write_turnwise(path: Path, kind: str) -> Path:
    """Write a model of `turnwise` without a reader: small heads, exchange index, lexicon, and two regressions."""
    ret = folder.load(tiny_trained("usr-ret"), "usr-ret")
    encoder = text_encoder("hashing")
    texts = [[turn.text for turn in dialogue.turns] for dialogue in dialogues()]
    vectors = turn_vectors(texts, encoder)
    exchanges = ExchangeIndex.of(
        np.concatenate([rows[:-1] for rows in vectors]), np.concatenate([rows[1:] for rows in vectors])
    )
    lexicon = Lexicon.of([text for turns in texts for text in turns])
    tensors = {**ret.tensors, **exchanges.tensors, **lexicon.tensors}
    config = {"encoder": encoder_card("hashing"), "heads": ret.config["heads"]}
    signals = Signals.load(folder.Folder(path, kind, tensors, config, {}, ""))
    items, ratings = rated_items()
    table = signals.table(items, encoder)
    weights = fit_ridge([table], [np.array(list(ratings.values()))], penalty=100.0)
    folder.save(
        path,
        kind=kind,
        tensors={
            **tensors,
            "ridge.centre": weights.centre,
            "ridge.scale": weights.scale,
            "ridge.weights": weights.weights,
            "ridge.weights fun": weights.weights / 2,
            training_items.KEY: training_items.hashes(items),
        },
        config={
            **config,
            "columns": signals.columns,
            "offset": 0.0,
            "half_width": 1.5,
            "floor": -2.0,
            "dimensions": {"fun": {"half_width": 1.0, "floor": -1.0}},
        },
        card={"data": "made up"},
    )
    return path


def write_guard(path: Path) -> Path:
    """Write a retrieval metric with a guard against copies of the last turn."""
    taught = [
        replace(
            one,
            turns=(
                *one.turns[:3],
                replace(one.turns[3], alternatives={"fraud": (Reply(f"you said {one.turns[2].text}"),)}),
                *one.turns[4:],
            ),
        )
        for one in dialogues(120)
    ]
    made = retrieval.train(task("usr-ret", dialogues=taught, settings={"epochs": 1, "guard": "fraud"}))
    folder.save(path, kind="usr-ret", tensors=made.tensors, config=made.config, card=made.card)
    return path


def write_reactions(path: Path) -> Path:
    """Write a model of `reactions` with random weights: one of both its corpora, and one without each."""
    rng = np.random.default_rng(0)
    width = 2 * text_encoder("hashing").dimension
    nothing = np.array([], dtype=np.uint64)
    tensors = {
        "weights": rng.normal(size=(3, width)).astype(np.float32),
        "centre": np.zeros((3, width), dtype=np.float32),
        "seen other": nothing,
        "seen third": nothing,
    }
    config = {"corpora": ["other", "third"], "encoder": encoder_card("hashing")}
    folder.save(path, kind="reactions", tensors=tensors, config=config, card={})
    return path


@cache
def tiny_trained(kind: str) -> str:
    return str(write(kind, Path(mkdtemp()) / kind))
