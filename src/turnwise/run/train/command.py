"""`turnwise train`: reads dialogues, ratings and preferences, calls a trainer and writes a model folder. Resumable.

A trainer is one entry of `TRAINERS`, or an entry point of another package in the group `turnwise.trainers`; its module
is imported when it is used. This module reads the data, reports what is wrong with it before training starts, and
writes what the trainer returns.
"""

import inspect
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwise import registry
from turnwise.encode.models import folder
from turnwise.errors import DataError, PluginError, TurnwiseError, UsageError, setting, unknown
from turnwise.extras import require
from turnwise.logs.items.items import Selection, all_items, selected_dialogues
from turnwise.logs.native import read_all
from turnwise.logs.scan import Census, scan
from turnwise.meta.gold import gold
from turnwise.networks.training.checks import trained_problem, trainer_problem
from turnwise.networks.training.task import Ratings, TrainedModel, TrainingTask
from turnwise.plugin_code import described, plugin_code
from turnwise.protocols import Learns, trainer_extras
from turnwise.ratings.ceiling import ceiling
from turnwise.records import TrainedModelFolder
from turnwise.report.documents import TrainDocument
from turnwise.run.scoring.raters import with_direction
from turnwise.run.spec import document_of
from turnwise.run.train.preferences import training_preferences
from turnwise.settings.option import as_text
from turnwise.types import Item

if TYPE_CHECKING:
    from turnwise.commands.train import Train


class Trainer(NamedTuple):
    """One entry of the table of trainers: `module:function`, what the data must contain, a text, the package, and
    whether it can train a guard.
    """

    target: str  # module:function, called with a `TrainingTask`, returns a `TrainedModel`
    learns: Learns  # what the data must contain
    what: str  # one line for `turnwise ls trainers`
    owner: str = "turnwise"  # the package
    takes_guard: bool = False  # whether it can train a guard, so that `attack --harden` can use it
    on_preferences: str = ""  # the target with --on preferences; empty for a trainer that cannot use them


def _learned(module: str, learns: Learns, what: str, *, takes_guard: bool = False) -> Trainer:
    """The entry of a trainer in a module of `metrics.learned`."""
    return Trainer(f"turnwise.metrics.learned.{module}:train", learns, what, takes_guard=takes_guard)


TRAINERS: dict[str, Trainer] = {
    "turnwise": _learned(
        "turnwise.calibration", "ratings", "our own metric, fitted to your domain from 30 ratings or more"
    )._replace(on_preferences="turnwise.metrics.learned.turnwise.preference_fit:train"),
    "turnwise-large": _learned(
        "turnwise.calibration", "ratings", "the same with both readers: about fifty times the cost"
    )._replace(on_preferences="turnwise.metrics.learned.turnwise.preference_fit:train"),
    "usr-ret": _learned(
        "usr.retrieval", "dialogues", "USR's retrieval score: a head on frozen turn vectors", takes_guard=True
    ),
    "usr-full": _learned("usr.full", "ratings", "USR's regression over its sub-metrics"),
    "maude": _learned(
        "contrastive.maude",
        "dialogues",
        "MAUDE: noise-contrastive, semantic and syntactic negatives",
        takes_guard=True,
    ),
    "att": _learned(
        "contrastive.att", "dialogues", "a Turing test trained against an adversary", takes_guard=True
    ),
    "adem": _learned("adem.training", "ratings", "ADEM: a rating predicted from context and reference"),
    "adem-c": _learned("adem.training", "ratings", "ADEM from the context alone"),
    "adem-r": _learned("adem.training", "ratings", "ADEM from the reference alone"),
    "characters": Trainer(
        "turnwise.agents.training:characters",
        "dialogues",
        "an encoder by letters, as tweet2vec: a bi-GRU",
    ),
    "hred": Trainer("turnwise.agents.training:hred", "dialogues", "an agent: HRED, pretrained on likelihood"),
    "vhred": Trainer(
        "turnwise.agents.training:vhred", "dialogues", "an agent: VHRED, with a variable a turn"
    ),
    "dual": Trainer("turnwise.agents.training:dual", "dialogues", "an agent: the dual encoder"),
    "tfidf": Trainer("turnwise.agents.training:tfidf", "dialogues", "an agent: TF-IDF retrieval"),
    "user": Trainer(
        "turnwise.users.learned:train",
        "dialogues",
        "a simulated user for `play`: what real users said, by place",
    ),
    "seller": Trainer(
        "turnwise.agents.booking_training:seller",
        "dialogues",
        "an agent: a seller of the booking world, with heads for intent, flight and name",
    ),
    "customer": Trainer(
        "turnwise.agents.booking_training:customer",
        "dialogues",
        "a customer of the booking world, for self-play with sellers",
    ),
    "lava": Trainer(
        "turnwise.run.train.lava:lava", "dialogues", "an agent: LAVA, latent actions of task dialogue"
    ),
    "plas": Trainer(
        "turnwise.run.train.lava:offline", "dialogues", "an agent: LAVA, trained offline by a critic"
    ),
    "lava-pg": Trainer(
        "turnwise.run.train.lava:by_gradient", "dialogues", "an agent: LAVA, trained on corpus success"
    ),
}


EXTRA = "neural"  # every model is written as safetensors, and most trainers use torch


def train(spec: "Train", *, say: Callable[[str], None] = lambda _: None) -> TrainDocument:
    """Train the one metric of the spec, write the model to its output folder, and return the trainer's findings."""
    metric = spec.metric
    chosen = trainer(metric)
    require(EXTRA, f"`train {metric}`")
    if spec.on == "preferences":
        chosen = _on_preferences(metric, chosen)
    folder.check_replaceable(spec.folder, metric)
    census = scan(spec.paths)
    ratings = _ratings(spec, metric, census) if chosen.learns == "ratings" else None
    if ratings is not None and spec.dimension is None and ratings.dimension != "overall":
        say(
            f"learns the ratings of replies on `{ratings.dimension}`; {setting('--dimension')} chooses another"
        )
    preferences = training_preferences(spec, metric, census) if chosen.learns == "preferences" else None
    work = spec.folder.with_name(f".{spec.folder.name}.training")
    if spec.restart:
        shutil.rmtree(work, ignore_errors=True)
    choice: Any = {"items": "rated", "dimension": ratings.dimension} if ratings else {"items": "all"}
    task = TrainingTask(
        metric=metric,
        # Sorted, so that the order of the data changes no weight.
        dialogues=sorted(selected_dialogues(read_all(spec.paths), spec.selection), key=lambda one: one.id),
        items=_items(spec, census, **choice),
        ratings=ratings,
        preferences=preferences,
        settings=spec.settings or {},
        model=as_text(spec.model),
        seed=spec.seed,
        device=_device(spec.device),
        work=work,
        data=_data(spec, census),
        say=say,
    )
    trained = _call(metric, chosen, task)
    card = {"data": task.data, "command": _command(spec, metric), **trained.card}
    made = folder.save(
        spec.folder, kind=trained.kind, tensors=trained.tensors, config=trained.config, card=card
    )
    shutil.rmtree(work, ignore_errors=True)
    return document_of(
        TrainDocument,
        spec,
        trained.findings,
        census.sha256,
        model=TrainedModelFolder(folder=str(spec.folder), kind=made.kind, digest=made.digest),
        curve=tuple(trained.curve),
    )


def names() -> tuple[str, ...]:
    """All names, those of other packages last. A listed plugin may still fail its check when it is used."""
    return (*TRAINERS, *_plugins().usable)


def broken() -> tuple[PluginError, ...]:
    """One error for each plugin that is unusable because of its name; plugins are not imported for this."""
    return tuple(_plugins().problems.values())


def trainer(name: str) -> Trainer:
    """The entry of a trainer.

    Raises `UsageError` for an unknown name and `PluginError` for a plugin that is no trainer.
    """
    if name in TRAINERS:
        return TRAINERS[name]
    if (offer := _plugins().find(name)) is None:
        raise unknown("trainer", name, names())
    function = offer.load()
    try:
        problem = trainer_problem(function)
    except PluginError as error:  # an attribute raised
        raise offer.error(error) from error
    if problem is not None:
        raise offer.error(problem)
    what = (inspect.getdoc(function) or "").partition("\n")[0] or f"of the package {offer.owner}"
    extras = trainer_extras(function)
    return Trainer(offer.target, extras.learns, what, offer.owner, extras.takes_guard)


def _on_preferences(name: str, chosen: Trainer) -> Trainer:
    """The trainer as it learns from preferences; `UsageError` if it cannot."""
    if chosen.learns == "preferences":
        return chosen
    if not chosen.on_preferences:
        able = ", ".join(one for one, entry in TRAINERS.items() if entry.on_preferences)
        raise UsageError(
            f"`train {name}` learns from {chosen.learns}, not from preferences; these can: {able}"
        )
    return chosen._replace(target=chosen.on_preferences, learns="preferences")


def _call(name: str, chosen: Trainer, task: TrainingTask) -> TrainedModel:
    """Call the trainer. An error or a wrong result of a plugin becomes a `PluginError`."""
    if chosen.owner == "turnwise":
        module, _, attribute = chosen.target.partition(":")
        trained: TrainedModel = getattr(import_module(module), attribute)(task)
        return trained
    offer = registry.Offer("trainer", name, chosen.target, chosen.owner)
    function = offer.load()
    try:
        with plugin_code():
            made = function(task)
    except TurnwiseError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise offer.error(f"raised {described(error, offer.target)}") from error
    if (problem := trained_problem(made)) is not None:
        raise offer.error(problem)
    return made  # type: ignore[no-any-return]


@cache
def _plugins() -> registry.Offers:
    """The trainers of other packages."""
    return registry.offered("trainers", TRAINERS)


def _items(spec: "Train", census: Census, **choice: Any) -> list[Item]:
    """The items to learn from, by id: those of the selection, with `choice` as its settings."""
    selection: Selection = replace(spec.selection, **choice)
    return sorted(all_items(spec.paths, selection, census), key=lambda item: item.id)


def _ratings(spec: "Train", metric: str, census: Census) -> Ratings:
    """The ratings of replies on one dimension: that of the spec, else `overall`, else the only one.

    Raises `DataError` if no reply is rated, and `UsageError` if the dimension is not clear or not rated.
    """
    known = [name for name, one in census.dimensions.items() if one.n_turn]
    if not known:
        raise DataError(
            f"`train {metric}` learns from ratings of single replies, and the data has none; "
            f"`turnwise rate` collects some{_instead(metric, census)}"
        )
    default = "overall" if "overall" in known else known[0] if len(known) == 1 else None
    dimension = spec.dimension or default
    if dimension is None:
        raise UsageError(
            f"several dimensions were rated: {', '.join(known)}; choose with {setting('--dimension')}"
        )
    if dimension not in known:
        raise UsageError(f"no reply was rated on `{dimension}`; there are {', '.join(known)}")
    said = [r for dialogue in read_all(spec.paths) for r in dialogue.ratings if r.turn is not None]
    mine = [r for r in with_direction(said, spec.lower_dimensions) if r.dimension == dimension]
    people = gold(mine, dimension, "turn")
    agreed = ceiling(people.matrix)
    return Ratings(
        dimension=dimension,
        values=people.values,
        scale=people.matrix.scale,
        per_item=agreed.per_item,
        ceiling=agreed.correlation,
    )


def _instead(metric: str, census: Census) -> str:
    """The option that uses the preferences of the data, if there are any and the trainer can learn from them."""
    usable = bool(census.preferences) and metric in TRAINERS and bool(TRAINERS[metric].on_preferences)
    return f", and {setting('--on', 'preferences')} uses the preferences of the data" if usable else ""


def _device(asked: str) -> str:
    """The device to train on; "auto" is the default one of this machine."""
    if asked != "auto":
        return asked
    from turnwise.encode.neural.loading import default_device

    return default_device()


def _data(spec: "Train", census: Census) -> dict[str, Any]:
    """The input files and the selection, for the model's card."""
    files = [
        {
            "file": Path(source.path).name,
            "sha256": source.sha256,
            "dialogues": source.n_dialogues,
        }
        for source in census.files
    ]
    kept = {"where": dict(spec.selection.where), "limit": spec.selection.limit, "role": spec.selection.role}
    return {"files": files, "selection": kept}


def _command(spec: "Train", metric: str) -> str:
    """The command line of this training, for the model's card: the data, and every option that changes the model."""
    words = ["turnwise train", metric, *(Path(path).name for path in spec.paths)]
    words += [f"--on {spec.on}"] if spec.on != "ratings" else []
    words += [f"--dimension {spec.dimension}"] if spec.dimension else []
    words += [f"--lower-is-better {','.join(spec.lower_dimensions)}"] if spec.lower_dimensions else []
    words += [f"--role {spec.selection.role}"] if spec.selection.role != "assistant" else []
    words += [f"--limit {spec.selection.limit}"] if spec.selection.limit else []
    words += [f"--where {key}={value}" for key, value in spec.selection.where]
    words += [f"--set {key}={value}" for key, value in sorted((spec.settings or {}).items())]
    words += [f"--model {spec.model}"] if spec.model else []
    return " ".join([*words, f"--seed {spec.seed}"])
