"""Training a guard: frauds stand in the conversations as the alternatives of an agent, real replies are the turns.

Real are people's replies in their place, and as often replies out of another conversation: a reply that does not fit is
wrong and no fraud, and the head sees to it. Each half of the conversations is read with a lexicon that counts the
other, else people's words would be known words and no one else's; the first is kept. What passes is decided on
conversations held out.
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
from turnwise.metrics.learned.guard.guard import KEY, Witness, rests
from turnwise.metrics.learned.trained import encoder_of, trained
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.surface import surface
from turnwise.metrics.learned.views import TURNS, View, turn_vectors
from turnwise.metrics.models import text_encoder
from turnwise.networks.training.loop import Plan, fit
from turnwise.networks.training.task import Trained, TrainingTask
from turnwise.types import Dialogue, Finding, Floats

SETTINGS = ("guard", "start")  # of every trainer whose metric can have one
CONTEXTS = 64  # of other conversations; 300 moved agreement with people by .001
HIDDEN = 32
DROPOUT = 0.1
HELD_OUT = 0.2  # of the conversations that the network learns from
WEIGHT = (
    0.25  # of the rest in the score: alone it costs .009 of Spearman on grade and adds .046 on usr_persona
)
STOPPED = 0.01  # of real replies, at the point below which,
MARGIN = 1.0  # by so much in log odds, less than all is let through
FEWEST = 20  # real replies held out, to set that point
PLAN = Plan(epochs=12, batch=256, rate=3e-3, decay=1e-2, clip=None, patience=3)


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """Replies to learn from or to test on, with their counts by a lexicon that has not counted them."""

    views: list[View]
    rests: list[Vectors | None]
    counts: Floats  # (n, c)
    real: NDArray[np.bool_]  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    rows: Floats  # (n, c)
    real: NDArray[np.bool_]  # (n,)


def taught(task: TrainingTask, kind: str, afresh: Callable[[], Trained]) -> Trained:
    """A model trained afresh, or the one to start from, with a guard where frauds are at hand."""
    made = _kept(task, kind) if "start" in task.settings else afresh()
    agent = task.setting("guard", "")
    if not agent:
        return made
    heads = {
        name: Head.of(made.tensors, name, turns=int(shape["turns"]), decay=float(shape["decay"]))
        for name, shape in made.config["heads"].items()
    }
    more, found = guarded(task, agent, heads, text_encoder(made.config["encoder"]["name"]))
    findings = [*made.findings, *found]
    held_out = {finding.what["statistic"]: finding.estimate for finding in findings}
    return replace(
        made,
        tensors={**made.tensors, **more},
        config={**made.config, KEY: {"taught": agent, "weight": WEIGHT}},
        card={**made.card, "held_out": held_out, "attacks": None},  # those that are known worked without it
        findings=findings,
    )


def _kept(task: TrainingTask, kind: str) -> Trained:
    """The heads of a model to start from, as they are."""
    start = trained(kind, task.setting("start", ""))
    encoder_of(start)  # which must be as it was
    config = {key: value for key, value in start.config.items() if key != KEY}
    if task.model not in (None, config["encoder"]["name"]):
        raise UsageError(f"{start.path} stands on vectors of {config['encoder']['name']}, not {task.model}")
    tensors = {key: part for key, part in start.tensors.items() if key.partition(".")[0] in config["heads"]}
    return Trained(
        kind=kind, tensors=tensors, config=config, card={"raters": None, "languages": "those of the encoder"}
    )


def guarded(
    task: TrainingTask, agent: str, heads: Mapping[str, Head], encoder: TextEncoder
) -> tuple[dict[str, NDArray[Any]], list[Finding]]:
    """The tensors that `guard_of` reads, and how much is let through of what was not learned from."""
    rng = task.rng
    talks = [task.dialogues[place] for place in rng.permutation(len(task.dialogues))]
    halves = talks[::2], talks[1::2]
    lexicons = [Lexicon.of(plain(turn.text) for one in half for turn in one.turns) for half in halves]
    test, learn = list[_Shown](), list[_Shown]()
    for half, lexicon in zip(halves, lexicons[::-1], strict=True):
        apart = max(1, round(HELD_OUT * len(half)))
        test.append(_shown(half[:apart], agent, lexicon, encoder, rng))
        learn.append(_shown(half[apart:], agent, lexicon, encoder, rng))
    real = np.concatenate([part.real for part in test])
    if real.all() or real.sum() < FEWEST or all(part.real.all() for part in learn):
        raise DataError(f"too few alternatives of `{agent}` in the data for a guard to learn from")
    frauds, honest = (sum(int((part.real == kind).sum()) for part in learn) for kind in (False, True))
    task.say(f"guard: {frauds} frauds and {honest} real replies")
    elsewhere = turn_vectors(_contexts(talks, rng), encoder)
    tensors: dict[str, NDArray[Any]] = dict(lexicons[0].tensors)
    findings: list[Finding] = []
    for which, head in heads.items():
        contexts = np.stack([head.context(np.nan_to_num(turns)) for turns in elsewhere])
        learned, tested = (_rows(part, Witness(head, contexts)) for part in (learn, test))
        parts, passed = _fitted(learned, tested, task, f"{KEY} {which}")
        parts["contexts"] = contexts
        tensors |= {f"{KEY}.{which}.{name}": part.astype(np.float32) for name, part in parts.items()}
        findings += [
            Finding(
                what={"metric": task.metric, "statistic": f"let through, {which}: {name}"},
                estimate=float(passed[kind].mean()),
                n_items=int(kind.sum()),
                method="dialogues held out",
            )
            for name, kind in (("real replies", real), ("frauds", ~real))
        ]
    return tensors, findings


def _shown(
    talks: Sequence[Dialogue], agent: str, lexicon: Lexicon, encoder: TextEncoder, rng: np.random.Generator
) -> _Shown:
    pool = [words for one in talks for turn in one.turns if (words := plain(turn.text))]
    told: list[tuple[str, tuple[str, ...]]] = []
    real: list[bool] = []
    for said, own, frauds in _places(talks, agent):
        other = pool[int(rng.integers(len(pool)))]
        for text, honest in [(own, True), (other, True), *((fraud, False) for fraud in frauds)]:
            if text:
                told.append((text, said))
                real.append(honest)
    vectors = turn_vectors([[text, *said] for text, said in told], encoder)
    views = [
        View(np.nan_to_num(rows[0]), np.nan_to_num(rows[1:]), said, text)
        for rows, (text, said) in zip(vectors, told, strict=True)
    ]
    counts = [list(surface(text, said, lexicon).values()) for text, said in told]
    return _Shown(views, rests(views, encoder), np.array(counts), np.array(real, dtype=bool))


def _places(talks: Sequence[Dialogue], agent: str) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """Every turn at which the agent has alternatives: what was said before it, newest first, its words, theirs."""
    for one in talks:
        for at, turn in enumerate(one.turns):
            said = [words for before in reversed(one.turns[:at]) if (words := plain(before.text))]
            if said and (frauds := [plain(reply.content) for reply in turn.alternatives.get(agent, ())]):
                yield tuple(said[:TURNS]), plain(turn.text), frauds


def _contexts(talks: Sequence[Dialogue], rng: np.random.Generator) -> list[list[str]]:
    """What was said before a turn, newest first, at places drawn at random."""
    told = [
        said[::-1]
        for one in talks
        for at in range(1, len(one.turns))
        if (said := [words for turn in one.turns[max(0, at - TURNS) : at] if (words := plain(turn.text))])
    ]
    return [told[place] for place in rng.permutation(len(told))[:CONTEXTS]]


def _rows(shown: Sequence[_Shown], witness: Witness) -> _Rows:
    tables = []
    for part in shown:
        pairs = zip(part.views, part.rests, strict=True)
        fits = np.array([witness.evidence(view, left).fits for view, left in pairs])
        tables.append(np.hstack([fits, part.counts]) if len(fits) else fits.reshape(0, 0))
    known = [table for table in tables if len(table)]
    return _Rows(np.concatenate(known), np.concatenate([part.real for part in shown]))


def _fitted(
    learn: _Rows, test: _Rows, task: TrainingTask, about: str
) -> tuple[dict[str, NDArray[Any]], Floats]:
    """The network's tensors, and how much it lets through of each reply held out."""
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
        rows = torch.tensor((part.rows - centre) / scale, dtype=torch.float32)
        real = torch.tensor(part.real, dtype=torch.float32)
        share = float(part.real.mean())  # both kinds weigh alike, however many there are of each
        weights = torch.where(real > 0, 0.5 / share, 0.5 / (1 - share))

        def some(places: Sequence[int] | slice) -> torch.Tensor:
            logits = network(rows[places]).squeeze(-1)
            return torch.nn.functional.binary_cross_entropy_with_logits(
                logits, real[places], weights[places], reduction="none"
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
    least = float(np.quantile(logits[test.real], STOPPED)) - MARGIN
    parts = {name: part.cpu().numpy() for name, part in network.state_dict().items()}
    tensors: dict[str, NDArray[Any]] = {
        "centre": centre,
        "scale": scale,
        "first": parts["0.weight"],
        "bias": parts["0.bias"],
        "last": parts["3.weight"][0],
        "offset": parts["3.bias"] - least,
    }
    return tensors, np.minimum(1, 2 / (1 + np.exp(least - logits)))
