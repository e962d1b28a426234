"""`python -m tools.make_models DATA [NAME...]`: trains what the package ships, into src/turnwise/data/models.

Heads, bank and lexicon come from permissively licensed conversations (PersonaChat and DailyDialog++, both MIT) that
share no turn with a rated item; weights come from published ratings, which are named in the card with their sha256.
Needs `turnwise fetch minilm` (and smollm2 for usr-full). Half an hour on one CPU core, most of it encoding.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from papers.rated_corpora import GROUPS, PRETRAINING, Rated, pretraining, rated
from turnwise.encode import folder
from turnwise.encode.lesson import Lesson, Ratings, Trained
from turnwise.encode.plain import plain
from turnwise.metrics.learned import att, maude, retrieval, seen, usr_full
from turnwise.metrics.learned.bank import Bank
from turnwise.metrics.learned.calibration import ATTACKS
from turnwise.metrics.learned.contrast import Examples, Shape, contrast
from turnwise.metrics.learned.lexicon import Lexicon
from turnwise.metrics.learned.signals import Signals, prior
from turnwise.metrics.learned.trained import encoder_card
from turnwise.metrics.learned.views import TURNS, turn_vectors
from turnwise.metrics.learned.weights import ridge, standardised
from turnwise.metrics.models import text_encoder
from turnwise.ratings.ceiling import ceiling
from turnwise.types import Dialogue, digest

MODELS = Path(__file__).parents[1] / "src" / "turnwise" / "data" / "models"
ENCODER = "minilm"
EXCHANGES = 8000  # in the bank
COVER = 0.95
WRITTEN = {"written": ("adversarial", 1), "written several": ("adversarial", 3), "apart": ("random", 1),
           "apart several": ("random", 3)}  # fmt: skip


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def files(data: Path, names: Sequence[str]) -> list[dict[str, str]]:
    return [{"file": name, "sha256": sha256((data / name).read_bytes()).hexdigest()} for name in names]


def card(data: Path, *, ratings: bool) -> dict[str, Any]:
    text = {
        "text": files(data, PRETRAINING),
        "text_licence": "MIT (both)",
        "left_out": "dialogues that share a turn with a rated item",
    }
    judged = {
        "ratings": files(data, sorted({file for file, _, _ in GROUPS.values()})),
        "groups": list(GROUPS),
    }
    return {
        "data": {**text, **(judged if ratings else {})},
        "languages": "English (MiniLM's); other languages are not known to it",
        "licence": "Apache-2.0",
        "command": "python -m tools.make_models DATA",
    }


def keep(name: str, trained: Trained, **more: Any) -> folder.Folder:
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
    """DailyDialog++: five replies that people wrote, and five that do not fit, to each context."""
    places: dict[str, int] = {}

    def place(text: str) -> int:
        return places.setdefault(text, len(places))

    context, reply, negatives, of = [], [], [], []
    for number, dialogue in enumerate(dialogues):
        said = [plain(turn.text) for turn in dialogue.turns[:-1]][::-1][:TURNS]
        wrong = [plain(text) for text in dialogue.meta.get("random_negatives", ())]
        if kind == "adversarial":
            wrong += [plain(text) for text in dialogue.meta.get("adversarial_negatives", ())]
        wrong = [text for text in wrong if text]
        right = [text for text in map(plain, dialogue.meta.get("positives", ())) if text]
        if not said or not all(said) or len(wrong) < 5:
            continue
        rows = [place(text) for text in said]
        for text in right:
            context.append([*rows, *[-1] * (TURNS - len(rows))])
            reply.append(place(text))
            negatives.append([place(wrong[at % len(wrong)]) for at in range(10)])
            of.append(number)
    (vectors,) = turn_vectors([list(places)], text_encoder(ENCODER))
    return Examples(vectors, *(np.array(part, dtype=np.int64) for part in (context, reply, negatives, of)))


def make_signals(dialogues: Sequence[Dialogue], ret: folder.Folder) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and shapes of heads, bank and lexicon."""
    names = {"one": "one", "several": "several"}
    tensors = {key: value for key, value in ret.tensors.items() if key.split(".")[0] in names}
    shapes: dict[str, Any] = {name: ret.config["heads"][name] for name in names}
    lesson = Lesson(metric="turnwise", dialogues=dialogues, items=(), say=say)
    for name, (kind, turns) in WRITTEN.items():
        say(f"head {name}")
        shape = Shape(turns=turns, dropout=0.3)
        network, _ = contrast(
            written_examples(dialogues, kind), shape, plan=retrieval.plan_of(lesson), rng=lesson.rng, say=say
        )
        tensors |= network.tensors(name)
        shapes[name] = asdict(shape)
    pairs = [
        (plain(a.text), plain(b.text)) for d in dialogues for a, b in zip(d.turns, d.turns[1:], strict=False)
    ]
    pairs = [pair for pair in pairs if all(pair)]
    chosen = [pairs[at] for at in np.sort(lesson.rng.permutation(len(pairs))[:EXCHANGES])]
    turns_, replies = turn_vectors([[a for a, _ in chosen], [b for _, b in chosen]], text_encoder(ENCODER))
    tensors |= Bank.of(turns_, replies).tensors
    texts = [plain(turn.text) for d in dialogues for turn in d.turns]
    texts += [plain(text) for d in dialogues for text in d.meta.get("positives", ())]
    tensors |= Lexicon.of(texts).tensors
    return tensors, shapes


def tables(groups: Sequence[Rated], signals: Signals) -> tuple[list[np.ndarray], list[np.ndarray]]:
    encoder = text_encoder(ENCODER)
    found = [signals.table(group.items, encoder) for group in groups]
    known = [~np.isnan(table).any(axis=1) for table in found]
    values = [np.array(group.values)[keep] for group, keep in zip(groups, known, strict=True)]
    return [table[keep] for table, keep in zip(found, known, strict=True)], values


def leave_one_out(
    found: Sequence[np.ndarray], values: Sequence[np.ndarray], start: np.ndarray
) -> list[np.ndarray]:
    """Each corpus as foretold from the others."""
    every = range(len(found))
    return [
        ridge([found[m] for m in every if m != n], [values[m] for m in every if m != n], prior=start).predict(
            found[n]
        )
        for n in every
    ]


def make_turnwise(
    data: Path, dialogues: Sequence[Dialogue], groups: Sequence[Rated], ret: folder.Folder
) -> folder.Folder:
    tensors, shapes = make_signals(dialogues, ret)
    config: dict[str, Any] = {"encoder": encoder_card(ENCODER), "heads": shapes}
    # The same rounding as after loading, or the ridge would be fitted to other signals.
    draft = folder.Folder(MODELS, "turnwise", tensors, config, {}, "")
    signals = Signals.load(draft)
    found, values = tables(groups, signals)
    start = prior(signals.columns)
    held = leave_one_out(found, values, start)
    errors = [np.abs(standardised(y) - (p - p.mean())) for p, y in zip(held, values, strict=True)]
    weights = ridge(found, values, prior=start)
    tensors |= {"ridge.centre": weights.centre, "ridge.scale": weights.scale, "ridge.weights": weights.weights,
                seen.KEY: seen.hashes([item for group in groups for item in group.items])}  # fmt: skip
    config |= {
        "columns": signals.columns,
        "offset": 0.0,
        "half_width": float(np.mean([np.quantile(error, COVER) for error in errors])),
        "floor": float(np.quantile(np.concatenate([weights.predict(table) for table in found]), 0.01)),
    }
    from scipy.stats import spearmanr

    reached = {g.name: float(spearmanr(p, y).statistic) for g, p, y in zip(groups, held, values, strict=True)}
    say(f"leave one corpus out: {reached} mean {np.mean(list(reached.values())):.3f}")
    about = {
        "raters": {group.name: ceiling(group.gold.matrix).per_item for group in groups},
        "ceiling": {group.name: ceiling(group.gold.matrix).correlation for group in groups},
        "held_out": {"spearman, corpus left out": reached, "table with intervals": "papers/learned.md"},
        "attacks": list(ATTACKS),
    }
    trained = Trained(
        kind="turnwise", tensors=tensors, config=config, card={**card(data, ratings=True), **about}
    )
    return keep("turnwise", trained)


def rated_lesson(groups: Sequence[Rated], metric: str) -> Lesson:
    """All rated items, each group's ratings in its own standard deviations."""
    items, values = [], {}
    for group in groups:
        numbers = standardised(np.array(group.values))
        for item, value in zip(group.items, numbers, strict=True):
            name = f"{group.name}/{item.id}"
            items.append(replace(item, id=name, cluster=f"{group.name}/{item.cluster}", group=group.name))
            values[name] = float(value)
    people = Ratings(dimension="overall", values=values, scale=None, per_item=3.0, ceiling=float("nan"))
    return Lesson(metric=metric, dialogues=(), items=items, ratings=people, say=say)


def main() -> None:
    data, wanted = Path(sys.argv[1]), sys.argv[2:] or ["usr-ret", "turnwise", "att", "maude", "usr-full"]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dialogues = pretraining(data)
    say(f"{len(dialogues)} dialogues to pretrain on")
    lesson = Lesson(
        metric="usr-ret",
        dialogues=dialogues,
        items=(),
        say=say,
        data={"id": digest(*(d.id for d in dialogues))},
    )
    of_text = card(data, ratings=False)
    if "usr-ret" in wanted:
        keep("usr-ret", retrieval.train(lesson), **of_text)
    groups = list(rated(data)) if {"turnwise", "usr-full"} & set(wanted) else []
    if "turnwise" in wanted:
        make_turnwise(data, dialogues, groups, folder.load(MODELS / "usr-ret", "usr-ret"))
    if "att" in wanted:
        keep("att", att.train(lesson), **of_text)
    if "maude" in wanted:
        keep("maude", maude.train(lesson), **of_text)
    if "usr-full" in wanted:
        keep("usr-full", usr_full.train(rated_lesson(groups, "usr-full")), **card(data, ratings=True))


if __name__ == "__main__":
    main()
