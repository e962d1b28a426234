"""`python -m papers.flagship.train_student STAGE ...`: distil the columns of a large reply model into a MiniLM.

Stages: `label` (a large model gives its columns to contexts with replies, for `--seconds`), `train` (a student learns
to predict the columns, in standard deviations, for `--seconds`) and `soup` (the mean of the students of three seeds).
Labels and students are kept, so a second start goes on.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from papers.flagship.bert import PARTS, Bert, BertShape
from papers.flagship.corpus import Corpus, Ids
from papers.flagship.frauds import frauds
from papers.flagship.pair_model import PairModel, pad
from papers.flagship.train_large import (
    CHOICE,
    EVERY,
    RANK,
    Examples,
    arrived,
    draft_of,
    large_name,
    load_start,
    merged,
    rate_at,
    rated_groups,
    read_draft,
    table_of,
    write_arrays,
    write_draft,
)
from papers.flagship.weights import NAMES, base_llama, base_name, from_bytes, to_bytes
from turnwise.networks.replies.columns import COLUMNS, Group
from turnwise.networks.replies.pairs import pair_tokens
from turnwise.networks.replies.reply_model import ReplyModel

RATE = 2e-4
BATCH = 512
LEAST = -12.0  # log probabilities below this count as this
CHUNK = 512  # contexts that are labelled at a time
SEEDS = (0, 1, 2)  # of the large models
# How often a kind is drawn: more than in the training of the large model, replies that a bot could have made. The small
# model of a first run, which saw the kinds as the large one did, followed it less on rated replies (r = .82 for the
# score) than on these kinds (r = .93, from the training loss).
WEIGHTS = {"random": 0.5, "same dialogue": 0.9, "overlap": 1.3, "machine": 3.0, "copy": 0.4, "salad": 0.6,
           "generic": 1.0, "echo": 1.0, "bundle": 1.0}  # fmt: skip
Pair = tuple[list[Ids], Ids]  # words of the context's turns, oldest first, and of the reply


def label(given: argparse.Namespace) -> None:
    """Contexts with replies of all kinds, and `COLUMNS` of one large model; and its columns of the frauds."""
    corpus = Corpus.load(given.text)
    examples = Examples(corpus, given, 0, weights=WEIGHTS, machine_made=0.6)
    model = ReplyModel(base_llama(given.base, rank=given.rank))
    name = large_name(given)
    load_start(model, given.start or str(given.out / f"{name}.npz"), wait=given.wait)
    merged(model).to(given.device)
    tokens = corpus.tokens(given.base_name).tokens
    half = given.device == "cuda"
    rng = np.random.default_rng([given.seed, 77])
    texts: list[Ids] = []
    sizes: list[tuple[int, int]] = []  # turns and replies of each context
    tables: list[np.ndarray] = []
    started = time.time()
    while time.time() - started < given.seconds:
        groups: list[Group] = []
        for number in examples.drawn(CHUNK, rng):
            one = examples.pool.draw(number, rng)
            context = [np.concatenate(one.context)] if one.joined else one.context
            groups.append(([tokens(words) for words in context], [tokens(words) for words in one.replies]))
            texts += [*context, *one.replies]
            sizes.append((len(context), len(one.replies)))
        tables.append(table_of(model, groups, given.device, half=half))
    table = np.concatenate(tables)
    # Small enough to leave the machine: rounding moves a column by less than a hundredth of a standard deviation.
    write_arrays(
        given.out / f"{name}-labels.npz", table=table.astype(np.float16), sizes=np.array(sizes, np.uint8),
        words=np.concatenate(texts).astype(np.uint16), lengths=np.array([len(one) for one in texts], np.uint16),
    )  # fmt: skip
    print(f"{name}: {len(table)} pairs labelled in {time.time() - started:.0f} s", flush=True)
    tested = [
        ([tokens(turn) for turn in turns], [tokens(words)])
        for _, _, turns, words in frauds(corpus, np.random.default_rng(0))
    ]
    np.savez_compressed(given.out / f"{name}-frauds.npz", columns=table_of(model, tested, given.device))
    table = table_of(model, rated_groups(corpus, given.base_name), given.device)
    np.savez_compressed(given.out / f"{name}-rated.npz", columns=table)


def read_labels(paths: Sequence[Path]) -> tuple[list[Pair], np.ndarray]:
    """The pairs and the columns of several large models, one after the other."""
    pairs: list[Pair] = []
    tables = []
    for path in paths:
        with np.load(path) as found:
            words = found["words"].astype(np.int64)
            texts = iter(np.split(words, np.cumsum(found["lengths"].astype(np.int64))[:-1]))
            for turns, replies in found["sizes"].tolist():
                context = [next(texts) for _ in range(turns)]
                pairs += [(context, next(texts)) for _ in range(replies)]
            tables.append(found["table"].astype(np.float32))
    return pairs, np.concatenate(tables)


class Batches(IterableDataset):  # type: ignore[type-arg]
    """Padded batches of pairs of similar length, with the numbers of their rows."""

    def __init__(self, corpus: Corpus, pairs: list[Pair], size: int, seed: int, step: int) -> None:
        self.tokens, self.pairs, self.size = corpus.tokens("minilm").tokens, pairs, size
        self.seed, self.step = seed, step

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng([self.seed, worker.id if worker else 0, self.step])
        while True:
            rows = rng.integers(len(self.pairs), size=self.size * 16)
            coded = [
                pair_tokens(
                    [self.tokens(turn) for turn in self.pairs[row][0]], self.tokens(self.pairs[row][1])
                )
                for row in rows
            ]
            order = np.argsort([len(one) for one, _ in coded], kind="stable")
            for at in rng.permutation(16):
                some = order[at * self.size : (at + 1) * self.size]
                yield *pad([coded[n] for n in some]), torch.from_numpy(rows[some])


def base_student(folder: Path) -> PairModel:
    """A MiniLM with a fresh head, the same for all seeds: the mean of their weights is kept."""
    from safetensors.torch import load_file

    shape = BertShape.of(json.loads((folder / "config.json").read_text()))
    torch.manual_seed(0)
    return PairModel(Bert(load_file(folder / "model.safetensors"), shape), len(COLUMNS))


def start_student(student: PairModel, start: str) -> None:
    """Begin with the weights of a file of `train`, or with `shipped` for those of the package."""
    base = {name: one.detach().numpy().copy() for name, one in student.trainable().items()}
    if start == "shipped":
        from turnwise.encode.models import folder
        from turnwise.encode.models.differences import unpack

        published = {published_name(name): one for name, one in base.items() if name.startswith("bert.")}
        made = unpack(folder.load(folder.shipped("reader-small") or "", "reader-small").tensors, published)
        found = {
            name: torch.from_numpy(
                np.asarray(
                    made[published_name(name) if name.startswith("bert.") else f"head.{name}"], np.float32
                )
            )
            for name in base
        }
    else:
        with np.load(start) as packed:
            differences = from_bytes(dict(packed))
        found = {
            name: one + (torch.from_numpy(base[name]) if name.startswith("bert.") else 0)
            for name, one in differences.items()
        }
    with torch.no_grad():
        for name, one in student.trainable().items():
            one.copy_(found[name])


def published_name(name: str) -> str:
    """The name that transformers has for a weight of the body, `bert.layers.0.query.weight`."""
    _, _, layer, part, kind = name.split(".")
    return f"encoder.layer.{layer}.{PARTS[part]}.{kind}"


def save_student(student: PairModel, base: PairModel, path: Path) -> None:
    """Write the difference from the base as 8-bit integers, and round the student to the same values."""
    start = base.trainable()
    packed = to_bytes({
        name: one.detach().cpu() - (start[name].detach().cpu() if name.startswith("bert.") else 0)
        for name, one in student.trainable().items()
    })  # fmt: skip
    write_arrays(path, **packed)
    found = from_bytes(packed)
    with torch.no_grad():
        for name, one in student.trainable().items():
            one.copy_(found[name] + (start[name].detach().cpu() if name.startswith("bert.") else 0))


@torch.inference_mode()
def predict(student: PairModel, corpus: Corpus, pairs: list[Pair], device: str) -> np.ndarray:
    """(n, k) the predicted columns, in standard deviations."""
    tokens = corpus.tokens("minilm").tokens
    coded = [pair_tokens([tokens(turn) for turn in turns], tokens(reply)) for turns, reply in pairs]
    found = np.zeros((len(pairs), len(COLUMNS)), np.float32)
    order = np.argsort([len(one) for one, _ in coded], kind="stable")
    student.eval()
    for at in range(0, len(order), 256):
        some = order[at : at + 256]
        found[some] = (
            student(*(one.to(device) for one in pad([coded[n] for n in some]))).float().cpu().numpy()
        )
    student.train()
    return found


def rated_pairs(corpus: Corpus) -> list[Pair]:
    starts, ends, replies = (
        corpus.arrays[f"rated_{name}"] for name in ("context_start", "context_end", "reply")
    )
    return [
        ([corpus.turn(turn) for turn in range(start, end)], corpus.turn(reply))
        for start, end, reply in zip(starts, ends, replies, strict=True)
    ]


def spearman_of_score(corpus: Corpus, table: np.ndarray) -> float:
    """Mean Spearman of the column `score` over the groups that may be looked at while choosing."""
    from scipy.stats import spearmanr

    group, value = corpus.arrays["rated_group"], corpus.arrays["rated_value"]
    at = COLUMNS.index("score")
    return float(np.mean([spearmanr(table[group == n, at], value[group == n])[0] for n in CHOICE]))


def train(given: argparse.Namespace) -> None:
    """Train the student until its time is over; write its weights, and its columns of rated items and frauds."""
    corpus = Corpus.load(given.text)
    name = large_name(given).replace("large", "student")
    prefix = large_name(given).removesuffix(str(given.seed))
    seeds = [given.seed] if given.free else SEEDS
    labels = given.labels or [given.out / f"{prefix}{seed}-labels.npz" for seed in seeds]
    pairs, table = read_labels([arrived(path, given.wait) for path in labels])
    table = np.maximum(table, np.where([one.startswith("log p") for one in COLUMNS], LEAST, -np.inf))
    mean, spread = table.mean(0), table.std(0)
    target = torch.from_numpy(((table - mean) / spread).astype(np.float32)).to(given.device)
    student, base = base_student(given.student), base_student(given.student)
    if given.start:
        start_student(student, given.start)
    student.to(given.device)
    parameters = student.trainable()
    start = {
        name: one.detach().to(given.device) * name.startswith("bert.")
        for name, one in base.trainable().items()
    }
    optimiser = torch.optim.AdamW(list(parameters.values()), lr=RATE, weight_decay=0.01, fused=target.is_cuda)
    path = given.out / f"{name}.pt"
    used, step = 0.0, 0
    if path.exists():
        kept = torch.load(path, map_location="cpu", weights_only=True)
        student.load_state_dict(kept["student"])
        optimiser.load_state_dict(kept["optimiser"])
        used, step = kept["used"], kept["step"]
    elif draft_of(path).exists():
        changes = {name: torch.zeros_like(one) for name, one in parameters.items()}
        used, step = read_draft(draft_of(path), changes)
        with torch.no_grad():
            for name, one in parameters.items():
                one.copy_(changes[name] + start[name])
    loader = DataLoader(
        Batches(corpus, pairs, given.batch or BATCH, given.seed, step), batch_size=None, num_workers=given.workers,
        prefetch_factor=8 if given.workers else None,
    )  # fmt: skip
    last = saved = time.time()
    for *inputs, rows in loader:
        if used >= given.seconds:
            break
        for group in optimiser.param_groups:
            group["lr"] = RATE * rate_at(used / given.seconds)
        with torch.autocast(given.device, torch.bfloat16):
            found = student(*(one.to(given.device) for one in inputs))
        loss = functional.mse_loss(found.float().clamp(-8, 8), target[rows.to(given.device)].clamp(-8, 8))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(parameters.values()), 1.0)
        optimiser.step()
        step += 1
        now = time.time()
        used, last = used + now - last, now
        if step % 250 == 0:
            print(f"{name} step {step} {used:.0f} s loss {loss.item():.3f}", flush=True)
        if now - saved > EVERY:
            state = {"student": student.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save({**state, "used": used, "step": step}, path)
            changes = {name: one.detach() - start[name] for name, one in parameters.items()}
            write_draft(draft_of(path), changes, used, step)
            saved = now
    save_student(student, base, given.out / f"{name}.npz")
    print(f"{name}: {step} steps in {used:.0f} s, {len(pairs)} pairs", flush=True)
    measure(student, corpus, given, name, mean=mean, spread=spread, pairs=len(pairs), steps=step)


def soup(given: argparse.Namespace) -> None:
    """The mean of the students of the three seeds, which began with the same weights."""
    corpus = Corpus.load(given.text)
    names = [f"student-{seed}" for seed in SEEDS]
    parts = []
    for name in names:
        with np.load(arrived(given.out / f"{name}.npz", given.wait)) as packed:
            parts.append(from_bytes(dict(packed)))
    student, base = base_student(given.student), base_student(given.student)
    start = {name: one.detach().clone() for name, one in student.trainable().items()}
    with torch.no_grad():
        for name, one in student.trainable().items():
            mean = torch.stack([part[name] for part in parts]).mean(0)
            one.copy_(mean + (start[name] if name.startswith("bert.") else 0))
    save_student(student, base, given.out / "student-soup.npz")
    with np.load(arrived(given.out / f"{names[0]}-rated.npz", given.wait)) as kept:
        scales = {name: kept[name] for name in ("mean", "spread", "pairs", "steps")}
    measure(student.to(given.device), corpus, given, "student-soup", **scales)


def measure(student: PairModel, corpus: Corpus, given: argparse.Namespace, name: str, **kept: object) -> None:
    """Write the student's columns of rated items and frauds, with the scale of its columns."""
    tested = [(context, words) for _, _, context, words in frauds(corpus, np.random.default_rng(0))]
    rated, fraud = (predict(student, corpus, one, given.device) for one in (rated_pairs(corpus), tested))
    print(f"{name}: Spearman of the score on the groups for choosing {spearman_of_score(corpus, rated):.3f}")
    write_arrays(given.out / f"{name}-rated.npz", rated=rated, frauds=fraud, **kept)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["label", "train", "soup"])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="SmolLM2 or Qwen, a GGUF file or a folder, for `label`")
    parser.add_argument(
        "--base-name", choices=NAMES.values(), default="smollm2", help="for `train`: the teacher's"
    )
    parser.add_argument("--student", type=Path, help="the folder of MiniLM, for `train`")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", help="weights to begin with: a file, or `shipped`; for `label`, the model")
    parser.add_argument("--labels", type=Path, nargs="*", help="files of `label`, for `train`")
    parser.add_argument(
        "--samples", type=Path, help="the file of `train_large sample`, if it is not in --out"
    )
    parser.add_argument("--mined", type=Path, help="the file of `train_large mine`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--wait", action="store_true", help="wait for files that other processes are to write"
    )
    given = parser.parse_args()
    given.share = None
    if given.base:
        given.base_name = base_name(given.base)
    torch.manual_seed(given.seed)
    {"label": label, "train": train, "soup": soup}[given.stage](given)


if __name__ == "__main__":
    main()
