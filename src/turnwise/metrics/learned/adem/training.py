"""`turnwise train adem | adem-c | adem-r`: train a model on rated replies.

The agreement that is printed and written to the card is that of cross-validation over contexts: each fold is predicted
by a head whose search, training and early stopping used only the other folds. The head that is saved is trained on all
folds; one fifth of the contexts is used for model selection and early stopping.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from turnwise.errors import DataError
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.adem.bilinear_fit import Examples, Search, indices, learn
from turnwise.metrics.learned.adem.metric import NAMES
from turnwise.metrics.learned.adem.studies import cross_predict, parse_numbers, studies
from turnwise.metrics.learned.adem.triples import Triples, context_encoder, stored_encoder
from turnwise.metrics.learned.held_out import context_groups, held_out, on_card
from turnwise.networks.training.task import FEWEST, TrainedModel, TrainingTask
from turnwise.types import Floats


def train(task: TrainingTask) -> TrainedModel:
    """Train the metric that the task names, and measure it on held-out contexts."""
    sides = NAMES[task.metric]
    search = search_of(task)
    items, ratings = task.rated()
    if task.ratings is None:
        raise DataError("there are no ratings")
    grouped = len({item.group for item in items}) > 1
    ratings = standardised(ratings, [item.group for item in items]) if grouped else ratings
    spec = task.model or "minilm"
    triples = Triples.of(items, context_encoder(spec))
    complete = triples.complete(sides)
    if np.count_nonzero(complete) < FEWEST:
        needed = " and a ".join(sides)
        raise DataError(
            f"{np.count_nonzero(complete)} of {len(items)} rated replies have a {needed}; "
            f"{FEWEST} are needed to learn from"
            + ("; `train adem-c` needs no references" if "reference" in sides else "")
        )
    if lost := np.count_nonzero(~complete):
        task.say(
            f"warning: {lost} of {len(items)} rated replies have no {' or no '.join(sides)} and are left out"
        )
    rows = indices(complete)
    contexts = context_groups(items)[rows]
    examples = Examples(triples.take(rows), ratings[rows], contexts)
    scale = None if grouped else task.ratings.scale
    predicted = cross_predict(task, examples, sides, scale, search)
    findings = held_out(
        task.metric, predicted, examples.ratings, contexts, rng=task.rng, method="contexts held out",
    )  # fmt: skip
    task.say("the head that is kept: all folds")
    final = learn(
        examples, sides=sides, scale=scale, search=search, seed=task.seed,
        work=task.work, about=task.fingerprint, say=task.say,
    )  # fmt: skip
    chosen: dict[str, Any] = {name: (value,) for name, value in final.chosen.items()}
    agents = [items[row].agent for row in rows]
    studied = studies(task, examples, agents, sides, scale, replace(search, **chosen))
    encoder, tensors = stored_encoder(spec)
    head = {"sides": list(sides), "alpha": final.head.alpha, "beta": final.head.beta, **final.chosen}
    return TrainedModel(
        kind=task.metric,
        tensors={
            **tensors,
            **final.head.tensors(),
            training_items.KEY: training_items.hashes([items[row] for row in rows]),
        },
        config={"encoder": encoder, "head": head, "search": asdict(search)},
        card={
            "raters": task.ratings.card,
            "ceiling": task.ratings.ceiling,
            "held_out": on_card(findings),
            "attacks": ["a copy of the context, or of the reference, where the head likes likeness"],
            "languages": "those of the encoder, of which the ratings were: " + encoder["name"],
            "licence": "that of the ratings, which the card's `data` names",
        },
        curve=final.curve,
        findings=[*findings, *studied],
    )


def search_of(task: TrainingTask) -> Search:
    """The search that the task's settings describe: `components=7` tries one value, `components=7/20` two."""
    names = tuple(Search.__dataclass_fields__)
    task.check_settings((*names, "folds", "leave_out_systems", "shares"))
    found: dict[str, Any] = {}
    for name, default in asdict(Search()).items():
        if name not in task.settings:
            continue
        given = task.settings[name]
        if isinstance(default, tuple):
            found[name] = parse_numbers(name, given, type(default[0]))
        else:
            found[name] = task.setting(name, 1 if default is None else default)
    return replace(Search(), **found)


def standardised(ratings: Floats, groups: Sequence[str]) -> Floats:
    """The ratings with mean 0 and standard deviation 1 within each group, because groups have different scales.

    A group whose ratings are all equal is a `DataError`.
    """
    found = np.empty_like(ratings)
    for group in set(groups):
        mine = np.array([name == group for name in groups])
        if np.ptp(ratings[mine]) == 0:
            raise DataError(f"all ratings of the group `{group}` are equal: nothing to learn from it")
        found[mine] = (ratings[mine] - ratings[mine].mean()) / ratings[mine].std()
    return found
