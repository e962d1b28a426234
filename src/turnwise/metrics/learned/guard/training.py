"""Training of a guard: a network that separates frauds from people's replies.

In the data, the frauds are the alternatives of an agent. Real replies are the logged turns in their own context and,
equally often, turns of other dialogues: a reply that does not fit is wrong but not a fraud, and the head handles it.
The features of each half of the dialogues are computed with a lexicon of the other half; otherwise the lexicon would
contain the words of the real replies but not those of the frauds. The lexicon of the first half is kept. The threshold
is set on held-out dialogues.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError, UsageError
from turnwise.metrics.learned.contrastive.head import Head
from turnwise.metrics.learned.encoded_items import TURNS, EncodedItem, turn_vectors
from turnwise.metrics.learned.guard.guard import KEY, ContextContrast, remainder_vectors
from turnwise.metrics.learned.trained import encoder_of, load_trained
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.text_features import text_features
from turnwise.metrics.models import text_encoder
from turnwise.networks.training.loop import Plan, fit
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord
from turnwise.types import Dialogue, Floats

SETTINGS = ("guard", "start")  # settings of every trainer whose metric can have a guard
CONTEXTS = 64  # contexts of other dialogues that are stored; 300 changed the agreement with ratings by .001
HIDDEN = 32  # units of the hidden layer
DROPOUT = 0.1
HELD_OUT = 0.2  # share of the dialogues that are held out
# Weight of the remainder's probability in the score. It changes Spearman by -.009 on grade and +.046 on usr_persona.
WEIGHT = 0.25
# The threshold below which the guard lowers a score: the log odds that this share of real replies do not reach ...
FALSE_POSITIVE_RATE = 0.01
THRESHOLD_MARGIN = 1.0  # ... minus this margin, in log odds
FEWEST = 20  # held-out real replies that are needed to set the threshold
PLAN = Plan(epochs=12, batch=256, rate=3e-3, decay=1e-2, clip=None, patience=3)


@dataclass(frozen=True, slots=True, eq=False)
class _Replies:
    """Real replies and frauds, with text features by a lexicon that has not counted them."""

    items: list[EncodedItem]
    remainders: list[Vectors | None]
    counts: Floats  # (n, c) text features
    real: NDArray[np.bool_]  # (n,) False for frauds


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The input of the network with its labels."""

    rows: Floats  # (n, c)
    real: NDArray[np.bool_]  # (n,) False for frauds


def train_with_guard(task: TrainingTask, kind: str, train_heads: Callable[[], TrainedModel]) -> TrainedModel:
    """The model that `train_heads` trains, or that of the setting `start`; with a guard if `guard` is set."""
    made = _start_model(task, kind) if "start" in task.settings else train_heads()
    agent = task.setting("guard", "")
    if not agent:
        return made
    heads = {
        name: Head.of(made.tensors, name, turns=int(shape["turns"]), decay=float(shape["decay"]))
        for name, shape in made.config["heads"].items()
    }
    more, found = train_guards(task, agent, heads, text_encoder(made.config["encoder"]["name"]))
    findings = [*made.findings, *found]
    held_out = {finding.statistic: finding.estimate for finding in findings}
    return replace(
        made,
        tensors={**made.tensors, **more},
        config={**made.config, KEY: {"taught": agent, "weight": WEIGHT}},
        card={**made.card, "held_out": held_out, "attacks": None},  # known attacks were found without a guard
        findings=findings,
    )


def _start_model(task: TrainingTask, kind: str) -> TrainedModel:
    """The heads of the model that the setting `start` names, without its guard.

    Raises `UsageError` if the task names another encoder, or if the encoder has changed.
    """
    start = load_trained(kind, task.setting("start", ""))
    encoder_of(start)  # raises if the encoder has changed
    config = {key: value for key, value in start.config.items() if key != KEY}
    if task.model not in (None, config["encoder"]["name"]):
        raise UsageError(f"{start.path} uses vectors of {config['encoder']['name']}, not {task.model}")
    tensors = {key: part for key, part in start.tensors.items() if key.partition(".")[0] in config["heads"]}
    return TrainedModel(
        kind=kind, tensors=tensors, config=config, card={"raters": None, "languages": "those of the encoder"}
    )


def train_guards(
    task: TrainingTask, agent: str, heads: Mapping[str, Head], encoder: TextEncoder
) -> tuple[dict[str, NDArray[Any]], list[StatisticRecord]]:
    """Train a guard for each head. Returns the tensors for `guard_of`, and the mean factors on held-out replies.

    `agent` is the agent whose alternatives are the frauds. Too few of them are a `DataError`.
    """
    rng = task.rng
    dialogues = [task.dialogues[number] for number in rng.permutation(len(task.dialogues))]
    halves = dialogues[::2], dialogues[1::2]
    lexicons = [Lexicon.of(plain(turn.text) for one in half for turn in one.turns) for half in halves]
    test, learn = list[_Replies](), list[_Replies]()
    for half, lexicon in zip(halves, lexicons[::-1], strict=True):
        apart = max(1, round(HELD_OUT * len(half)))
        test.append(_real_and_fraud_replies(half[:apart], agent, lexicon, encoder, rng))
        learn.append(_real_and_fraud_replies(half[apart:], agent, lexicon, encoder, rng))
    real = np.concatenate([part.real for part in test])
    if real.all() or real.sum() < FEWEST or all(part.real.all() for part in learn):
        raise DataError(f"too few alternatives of `{agent}` in the data for a guard to learn from")
    frauds, honest = (sum(int((part.real == kind).sum()) for part in learn) for kind in (False, True))
    task.say(f"guard: {frauds} frauds and {honest} real replies")
    elsewhere = turn_vectors(_random_contexts(dialogues, rng), encoder)
    tensors: dict[str, NDArray[Any]] = dict(lexicons[0].tensors)
    findings: list[StatisticRecord] = []
    for head_name, head in heads.items():
        contexts = np.stack([head.context(np.nan_to_num(turns)) for turns in elsewhere])
        learned, tested = (_network_input(part, ContextContrast(head, contexts)) for part in (learn, test))
        parts, factors = _train_network(learned, tested, task, f"{KEY} {head_name}")
        parts["contexts"] = contexts
        tensors |= {f"{KEY}.{head_name}.{name}": part.astype(np.float32) for name, part in parts.items()}
        findings += [
            StatisticRecord(
                metric=task.metric,
                statistic=f"let through, {head_name}: {name}",
                estimate=float(factors[kind].mean()),
                n_items=int(kind.sum()),
                method="dialogues held out",
            )
            for name, kind in (("real replies", real), ("frauds", ~real))
        ]
    return tensors, findings


def _real_and_fraud_replies(
    dialogues: Sequence[Dialogue],
    agent: str,
    lexicon: Lexicon,
    encoder: TextEncoder,
    rng: np.random.Generator,
) -> _Replies:
    """At each turn with frauds: the logged reply and a random turn of these dialogues, both real, and the frauds."""
    pool = [text for one in dialogues for turn in one.turns if (text := plain(turn.text))]
    texts: list[tuple[str, tuple[str, ...]]] = []
    real: list[bool] = []
    for context, own, frauds in _turns_with_frauds(dialogues, agent):
        other = pool[int(rng.integers(len(pool)))]
        for text, honest in [(own, True), (other, True), *((fraud, False) for fraud in frauds)]:
            if text:
                texts.append((text, context))
                real.append(honest)
    vectors = turn_vectors([[text, *context] for text, context in texts], encoder)
    items = [
        EncodedItem(np.nan_to_num(rows[0]), np.nan_to_num(rows[1:]), context, text)
        for rows, (text, context) in zip(vectors, texts, strict=True)
    ]
    counts = [list(text_features(text, context, lexicon).values()) for text, context in texts]
    return _Replies(items, remainder_vectors(items, encoder), np.array(counts), np.array(real, dtype=bool))


def _turns_with_frauds(
    dialogues: Sequence[Dialogue], agent: str
) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """For every turn with alternatives of the agent and words before it: context, text of the turn, alternatives.

    All texts are normalised. The context is up to 6 turns, newest first.
    """
    for one in dialogues:
        for at, turn in enumerate(one.turns):
            context = [text for before in reversed(one.turns[:at]) if (text := plain(before.text))]
            if context and (frauds := [plain(reply.content) for reply in turn.alternatives.get(agent, ())]):
                yield tuple(context[:TURNS]), plain(turn.text), frauds


def _random_contexts(dialogues: Sequence[Dialogue], rng: np.random.Generator) -> list[list[str]]:
    """The contexts of up to `CONTEXTS` random turns, newest turn first."""
    contexts = [
        texts[::-1]
        for one in dialogues
        for at in range(1, len(one.turns))
        if (texts := [text for turn in one.turns[max(0, at - TURNS) : at] if (text := plain(turn.text))])
    ]
    return [contexts[number] for number in rng.permutation(len(contexts))[:CONTEXTS]]


def _network_input(replies: Sequence[_Replies], contrast: ContextContrast) -> _Rows:
    """The network's input for several sets of replies, one after another: contrast features, then text features."""
    tables = []
    for part in replies:
        pairs = zip(part.items, part.remainders, strict=True)
        features = np.array([contrast.evidence(item, remainder).features for item, remainder in pairs])
        tables.append(np.hstack([features, part.counts]) if len(features) else features.reshape(0, 0))
    known = [table for table in tables if len(table)]
    return _Rows(np.concatenate(known), np.concatenate([part.real for part in replies]))


def _train_network(
    learn: _Rows, test: _Rows, task: TrainingTask, about: str
) -> tuple[dict[str, NDArray[Any]], Floats]:
    """Train the network. Returns its tensors, and its factor for each held-out reply."""
    centre, spread = learn.rows.mean(axis=0), learn.rows.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(learn.rows.shape[1], HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Dropout(DROPOUT),
            torch.nn.Linear(HIDDEN, 1),
        )

    def losses(part: _Rows) -> Any:
        """A function that gives the weighted losses of these replies with the network as it is then."""
        rows = torch.tensor((part.rows - centre) / scale, dtype=torch.float32)
        real = torch.tensor(part.real, dtype=torch.float32)
        share = float(part.real.mean())  # real replies and frauds have the same total weight
        weights = torch.where(real > 0, 0.5 / share, 0.5 / (1 - share))

        def some(indices: Sequence[int] | slice) -> torch.Tensor:
            """(b,) the binary cross-entropy of the replies at these indices, each with its weight."""
            logits = network(rows[indices]).squeeze(-1)
            return torch.nn.functional.binary_cross_entropy_with_logits(
                logits, real[indices], weights[indices], reduction="none"
            )

        return some

    held = losses(test)
    fit(
        network, losses(learn), len(learn.rows), plan=PLAN, validate=lambda: float(held(slice(None)).mean()),
        work=task.work / about.replace(" ", "-") if task.work else None,
        about=f"{task.fingerprint} {about}", say=task.say,
    )  # fmt: skip
    with torch.no_grad():
        standard = torch.tensor((test.rows - centre) / scale, dtype=torch.float32)
        logits: Floats = network(standard).squeeze(-1).numpy().astype(np.float64)
    threshold = float(np.quantile(logits[test.real], FALSE_POSITIVE_RATE)) - THRESHOLD_MARGIN
    parts = {name: part.cpu().numpy() for name, part in network.state_dict().items()}
    tensors: dict[str, NDArray[Any]] = {
        "centre": centre,
        "scale": scale,
        "first": parts["0.weight"],
        "bias": parts["0.bias"],
        "last": parts["3.weight"][0],
        "offset": parts["3.bias"] - threshold,
    }
    return tensors, np.minimum(1, 2 / (1 + np.exp(threshold - logits)))
