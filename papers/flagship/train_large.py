"""`python -m papers.flagship.train_large STAGE ...`: train the adapters of `turnwise-large` on a GPU.

Stages: `lm` (dialogue language model), `sample` (its replies, as machine-made candidates), `discriminate` (kinds and
score), `soup` (the mean of three), and `mine` (replies and templates that a model scores highest in contexts they were
not made for, which a next round of `discriminate` is taught). `lm` and `discriminate` take `--seconds`, write a
checkpoint every minute, and go on from it when they are started again. `--start` names the adapters that a round begins
with: a file of `soup`, or `shipped` for those of the package.
"""

import argparse
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from papers.flagship.candidates import ALONE, KINDS, SLOTS, WEIGHTS, Candidates, Example, Mined, Template
from papers.flagship.corpus import Corpus, Ids, TokenTable
from papers.flagship.sources import FREE, NAMES
from papers.flagship.weights import base_llama, base_name, from_bytes, to_bytes
from turnwise.networks.replies.columns import Group, batches, columns
from turnwise.networks.replies.llama import END, attention_mask
from turnwise.networks.replies.reply_model import Packed, ReplyModel, context_tokens, pack, reply_tokens

RANK = 32
RATE = {"lm": 6e-4, "discriminate": 5e-4}
WARM_UP = 0.03  # share of the time
EVERY = 60.0  # seconds between checkpoints
WINDOWS = 256  # of the language model's batch
CONTEXTS = 768  # contexts that are drawn at a time, sorted by length and cut into batches
TOKENS = 7_000  # of a batch of the discriminator, with padding
WITHOUT, BACKWARD, SENTENCES = 14, 6, 8  # further replies of a batch: no context, reversed, sentence pairs
LIKELIHOOD_WEIGHT, LIST_WEIGHT, RELATION_WEIGHT = 0.3, 1.0, 0.3
IGNORED = -1
SMOOTHING = 0.6  # a corpus of n replies is drawn with a probability proportional to n to this power
SAMPLED = 64_000  # contexts that get a machine-made reply
NEW_TOKENS = 40
STRANGE = 32  # contexts in which a mined reply is scored
POOL, MINED = 4000, 400  # turns and templates that are tried, and those that are kept


def clock(started: float, seconds: float) -> float:
    """The share of the time that is over."""
    return (time.time() - started) / seconds


def rate_at(share: float) -> float:
    """Factor of the learning rate: a short warm-up, then a cosine to zero."""
    if share < WARM_UP:
        return share / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (share - WARM_UP) / (1 - WARM_UP))))


class Trainer:
    """An optimiser with a schedule by the clock, and checkpoints."""

    def __init__(
        self, model: ReplyModel, rate: float, seconds: float, path: Path, steps: int | None = None
    ) -> None:
        """It ends after `seconds`, or after `steps` if these are over before."""
        self.model, self.seconds, self.path, self.steps = model, seconds, path, steps
        self.parameters = model.trainable()
        self.optimiser = torch.optim.AdamW(
            list(self.parameters.values()), lr=rate, weight_decay=0.01, betas=(0.9, 0.98),
            fused=next(iter(self.parameters.values())).is_cuda,
        )  # fmt: skip
        self.rate, self.used, self.step, self.saved, self.skipped = rate, 0.0, 0, 0.0, 0
        if path.exists():
            kept = torch.load(path, map_location="cpu", weights_only=True)
            with torch.no_grad():
                for name, one in self.parameters.items():
                    one.copy_(kept["weights"][name])
            self.optimiser.load_state_dict(kept["optimiser"])
            self.used, self.step = kept["used"], kept["step"]
        elif draft_of(path).exists():
            self.used, self.step = read_draft(draft_of(path), self.parameters)
        self.last = self.saved = time.time()

    @property
    def share(self) -> float:
        """The share of the time, or of the steps, that is used, over all runs."""
        return max(self.used / self.seconds, self.step / (self.steps or math.inf))

    def update(self, loss: Tensor) -> None:
        """One step; none if the gradient is not finite, which would be the end of all weights."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * rate_at(self.share)
        self.optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), 1.0)
        if torch.isfinite(norm):
            self.optimiser.step()
        else:
            self.skipped += 1
            print(f"step {self.step}: the gradient is not finite, {self.skipped} so far", flush=True)
        self.step += 1
        now = time.time()
        self.used, self.last = self.used + now - self.last, now
        if now - self.saved > EVERY:
            self.save()
            self.saved = now

    def save(self) -> None:
        """Write the checkpoint."""
        kept = {
            "weights": {name: one.detach().cpu() for name, one in self.parameters.items()},
            "optimiser": self.optimiser.state_dict(), "used": self.used, "step": self.step,
        }  # fmt: skip
        part = self.path.with_suffix(".part")
        torch.save(kept, part)
        part.replace(self.path)
        write_draft(draft_of(self.path), self.parameters, self.used, self.step)


def draft_of(path: Path) -> Path:
    """The small form of a checkpoint, which may leave the machine: weights as 8-bit integers, without the optimiser."""
    return path.with_name(f"{path.stem}-draft.npz")


def write_draft(path: Path, parameters: Mapping[str, Tensor], used: float, step: int) -> None:
    """Write the weights, the seconds that were used and the number of steps."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, **to_bytes(parameters), used=used, step=step)  # type: ignore[arg-type]
    part.replace(path)


def read_draft(path: Path, parameters: Mapping[str, Tensor]) -> tuple[float, int]:
    """Copy the weights of a draft into the parameters; its seconds and steps. The optimiser begins anew."""
    with np.load(path) as packed, torch.no_grad():
        found = from_bytes(dict(packed))
        for name, one in parameters.items():
            one.copy_(found[name])
    return float(found["used"]), int(found["step"])


def arrived(path: Path, wait: bool) -> Path:
    """The path, with `wait` after another process has written the file."""
    while wait and not path.exists():
        time.sleep(0.2)
    return path


def write_arrays(path: Path, **arrays: object) -> None:
    """Write a file that is whole from the first moment, so that other processes can wait for it."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    part.replace(path)


def load_adapters(model: ReplyModel, path: Path) -> None:
    """Copy the adapters and heads of a file of `save_adapters` into the model."""
    with np.load(path) as packed, torch.no_grad():
        found = from_bytes(dict(packed))
        for name, one in model.trainable().items():
            one.copy_(found[name])


def load_start(model: ReplyModel, start: str, *, wait: bool = False) -> None:
    """Begin with the adapters and heads of a file, or with `shipped` for those of the package."""
    if start != "shipped":
        load_adapters(model, arrived(Path(start), wait))
        return
    from turnwise.encode.models import folder
    from turnwise.encode.models.differences import unpack

    trained = unpack(folder.load(folder.shipped("reader-large") or "", "reader-large").tensors, {})
    with torch.no_grad():
        for name, one in model.trainable().items():
            weights = torch.from_numpy(np.asarray(trained[name], np.float32))
            one.copy_(weights.T if name.endswith(".up") else weights)


def save_adapters(model: ReplyModel, path: Path) -> None:
    """Write adapters and heads as 8-bit integers, and round the model's own to the same values."""
    write_arrays(path, **to_bytes(model.trainable()))
    load_adapters(model, path)


def merged(model: ReplyModel) -> ReplyModel:
    """The model in float32 with its adapters added to the weights, as it is used."""
    model.float()
    model.llama.merge()
    return model


def large_name(given: argparse.Namespace) -> str:
    """The name of the files of a large model."""
    return f"large-{variant(given)}{given.seed}"


def variant(given: argparse.Namespace) -> str:
    """The part of a file's name that tells another base than SmolLM2, and a part of the text."""
    share = "" if given.share is None else f"share-{given.share:g}-"
    return f"{of_base(given)}{'free-' if given.free else ''}{share}"


def of_base(given: argparse.Namespace) -> str:
    """The part of a file's name that tells another base than SmolLM2."""
    return "" if given.base_name == "smollm2" else f"{given.base_name}-"


def lm_path(given: argparse.Namespace) -> Path:
    """The adapters of the language model."""
    return Path(given.out, f"{of_base(given)}lm.npz")


def sources(free: bool) -> frozenset[int]:
    """The numbers of the corpora that are used."""
    return frozenset(n for n, name in enumerate(NAMES) if not free or name in FREE)


# -- the language model --------------------------------------------------------------------------------------------


class Windows(IterableDataset[tuple[Tensor, Tensor]]):
    """Windows of dialogues as token sequences, (tokens, lengths)."""

    def __init__(self, corpus: Corpus, given: argparse.Namespace, step: int) -> None:
        """`step` is the one that training starts from, so that a resumed training does not see the same text again."""
        self.corpus, self.given, self.step = corpus, given, step

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng([self.given.seed, worker.id if worker else 0, self.step])
        table = self.corpus.arrays["dialogues"]
        chance = source_chances(table[:, 2], sources(self.given.free))
        tokens = self.corpus.tokens(self.given.base_name)
        size = self.given.batch or WINDOWS
        while True:
            rows = []
            for dialogue in rng.choice(len(table), size=size, p=chance):
                start, end, _ = table[dialogue]
                first = int(rng.integers(start, end))
                turns = [tokens.tokens(self.corpus.turn(t)) for t in range(first, min(first + 7, end))]
                row = np.concatenate([[1], *(np.append(turn[:80], END) for turn in turns)])[:160]
                rows.append(row)
            length = max(map(len, rows))
            batch = np.full((size, length), END, np.int64)
            for at, row in enumerate(rows):
                batch[at, : len(row)] = row
            yield torch.from_numpy(batch), torch.tensor([len(row) for row in rows])


def source_chances(source: Ids, used: frozenset[int]) -> np.ndarray:
    """The probability of each row, given its corpus."""
    counts = np.bincount(source, minlength=len(NAMES)).astype(float)
    weight = np.array([
        counts[n] ** SMOOTHING / counts[n] if n in used and counts[n] else 0.0 for n in range(len(counts))
    ])  # fmt: skip
    chance = weight[source]
    return chance / chance.sum()


def language_model(given: argparse.Namespace) -> None:
    corpus = Corpus.load(given.text)
    model = ReplyModel(base_llama(given.base, rank=given.rank)).to(given.device)
    path = lm_path(given)
    trainer = Trainer(model, given.rate or RATE["lm"], given.seconds, path.with_suffix(".pt"))
    loader = DataLoader(
        Windows(corpus, given, trainer.step),
        batch_size=None,
        num_workers=given.workers,
        prefetch_factor=None if not given.workers else 8,
    )
    for tokens, lengths in loader:
        if trainer.share >= 1:
            break
        tokens, lengths = tokens.to(given.device), lengths.to(given.device)
        size, length = tokens.shape
        order = torch.arange(length, device=given.device)
        segments = torch.where(order[None] < lengths[:, None], 0, -1)
        with torch.autocast(given.device, torch.bfloat16):
            hidden = model.llama(tokens, order.expand(size, -1), attention_mask(segments))
            known = segments[:, 1:] == 0
            logits = model.llama.token_logits(hidden[:, :-1][known])
            loss = functional.cross_entropy(logits.float(), tokens[:, 1:][known])
        trainer.update(loss)
        if trainer.step % 50 == 0:
            print(f"lm step {trainer.step} {trainer.used:.0f} s loss {loss.item():.3f}", flush=True)
    save_adapters(model, path)


# -- its replies ---------------------------------------------------------------------------------------------------


def sample(given: argparse.Namespace) -> None:
    """Replies of the language model to contexts of the corpus: temperature .4 to 1.2, top-p .95."""
    corpus = Corpus.load(given.text)
    pool = Candidates(corpus, sources=sources(given.free), samples={})
    model = ReplyModel(base_llama(given.base, rank=given.rank)).to(given.device)
    load_start(model, given.start or str(lm_path(given)), wait=given.wait)
    model.llama.merge()
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    source = corpus.arrays["dialogues"][pool.targets[:, 0], 2]
    chance = source_chances(source, sources(given.free))
    count = min(given.count or SAMPLED, len(pool.targets))
    chosen = rng.choice(len(pool.targets), size=count, replace=False, p=chance)
    table = corpus.tokens(given.base_name)
    contexts = []
    for number in chosen:
        dialogue, target = pool.targets[number]
        first = max(int(pool.ranges[dialogue, 0]), int(target) - 6)
        turns = [table.tokens(corpus.turn(turn)) for turn in range(first, int(target))]
        contexts.append(context_tokens(turns)[-64:])
    order = np.argsort([len(one) for one in contexts], kind="stable")
    words_of = Words(table)
    targets, flat, ends = [], [], []
    size = given.batch or 2048
    started = time.time()
    for at in range(0, count, size):
        some = order[at : at + size]
        for number, ids in zip(some, generate(model, [contexts[n] for n in some], given.device), strict=True):
            if words := words_of(ids):
                targets.append(int(pool.targets[chosen[number], 1]))
                flat += words
                ends.append(len(flat))
        print(
            f"{at + len(some)} of {count} contexts, {len(ends)} kept, {time.time() - started:.0f} s",
            flush=True,
        )
    write_arrays(
        given.out / "samples.npz", target=np.array(targets, np.uint32), flat=np.array(flat, np.uint16),
        ends=np.array(ends, np.uint32),
    )  # fmt: skip


class Words:
    """The words of a list of tokens. A word's first token, and no other, begins with a space."""

    def __init__(self, table: TokenTable) -> None:
        starts, ends = table.ends[:-1], table.ends[1:]
        self.first = set(table.flat[starts].tolist())
        self.number = {
            tuple(table.flat[start:end].tolist()): at
            for at, (start, end) in enumerate(zip(starts, ends, strict=True))
        }

    def __call__(self, tokens: list[int]) -> list[int]:
        """Their numbers; none if the tokens are not all of known words."""
        parts: list[list[int]] = []
        for token in tokens:
            if token in self.first or not parts:
                parts.append([])
            parts[-1].append(token)
        found = [self.number.get(tuple(part), -1) for part in parts]
        return [] if -1 in found else found


@torch.inference_mode()
def generate(model: ReplyModel, contexts: list[Ids], device: str) -> list[list[int]]:
    """One sampled reply for each context."""
    size, longest = len(contexts), max(map(len, contexts))
    tokens = torch.zeros((size, longest), dtype=torch.long)
    there = torch.zeros((size, longest), dtype=torch.bool)
    for row, context in enumerate(contexts):
        tokens[row, longest - len(context) :] = torch.from_numpy(context)
        there[row, longest - len(context) :] = True
    tokens, there = tokens.to(device), there.to(device)
    positions = (there.cumsum(1) - 1).clamp(min=0)
    causal = torch.ones((longest, longest), dtype=torch.bool, device=device).tril()
    mask = causal & there[:, None, :] | torch.eye(longest, dtype=torch.bool, device=device)
    past: list[list[Tensor]] = [[] for _ in model.llama.layers]
    temperature = torch.empty((size, 1), device=device).uniform_(0.4, 1.2)
    out, done = [], torch.zeros(size, dtype=torch.bool, device=device)
    with torch.autocast(device, torch.bfloat16):
        hidden = model.llama(tokens, positions, mask[:, None], past)[:, -1]
        position = positions[:, -1:]
        for _ in range(NEW_TOKENS):
            chance = (model.llama.token_logits(hidden).float() / temperature).softmax(-1)
            top, index = chance.topk(min(256, chance.shape[-1]), -1)
            top = top * (top.cumsum(-1) - top < 0.95)
            token = index.gather(1, torch.multinomial(top, 1))
            token = torch.where(done[:, None], END, token)
            out.append(token)
            done |= token[:, 0] == END
            if bool(done.all()):
                break
            there = torch.cat([there, torch.ones_like(there[:, :1])], 1)
            position = position + 1
            hidden = model.llama(token, position, there[:, None, None, :], past)[:, -1]
    rows = torch.cat(out, 1).cpu().numpy()
    return [row[: int(np.argmax(row == END))].tolist() if (row == END).any() else [] for row in rows]


def read_samples(path: Path) -> dict[int, list[Ids]]:
    """The sampled replies by the turn that they replace."""
    with np.load(path) as found:
        target, flat, ends = (found[name].astype(np.int64) for name in ("target", "flat", "ends"))
    starts = np.concatenate([[0], ends])[:-1]
    samples: dict[int, list[Ids]] = {}
    for turn, start, end in zip(target.tolist(), starts, ends, strict=True):
        samples.setdefault(turn, []).append(flat[start:end])
    return samples


# -- kinds of replies ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coded:
    """An example as tokens."""

    context: Ids
    replies: list[Ids]
    kinds: list[int]
    last: Ids  # the last turn of the context


class Examples(IterableDataset[tuple[Packed, Tensor, Tensor, Tensor]]):
    """Batches: packed contexts with replies, the kinds (b, c), which replies count for the
    likelihood (b, c), relations (b,)."""

    def __init__(
        self,
        corpus: Corpus,
        given: argparse.Namespace,
        step: int,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        machine_made: float = 1 / 3,
    ) -> None:
        """`step` is the one that training starts from, so that a resumed training does not see the same text again.

        `weights` are those of the kinds of replies; `machine_made` is the share of contexts with a machine-made reply.
        """
        self.given, self.step, self.machine_made = given, step, machine_made
        # The sampled replies are of a model that was trained on all text, so a variant on a part of it cannot use them.
        some = given.free or given.share is not None
        samples = (
            {} if some else read_samples(arrived(given.samples or given.out / "samples.npz", given.wait))
        )
        mined = read_mined(arrived(given.mined, given.wait)) if given.mined else None
        self.pool = Candidates(
            corpus,
            sources=sources(given.free),
            samples=samples,
            weights=weights,
            mined=mined,
            share=given.share or 1.0,
        )
        source = corpus.arrays["dialogues"][self.pool.targets[:, 0], 2]
        self.chance = source_chances(source, sources(given.free))
        sampled = np.isin(self.pool.targets[:, 1], np.array(sorted(samples)))
        self.sampled = self.chance * sampled if sampled.any() else self.chance
        self.sampled = self.sampled / self.sampled.sum()
        self.corpus, self.table = corpus, corpus.tokens(given.base_name)

    def __iter__(self) -> Iterator[tuple[Packed, Tensor, Tensor, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng([self.given.seed, worker.id if worker else 0, self.step])
        pairs = self.corpus.arrays["pairs"]
        while True:
            examples = [self.coded(self.pool.draw(number, rng)) for number in self.drawn(CONTEXTS, rng)]
            lengths = np.array([len(one.context) + sum(map(len, one.replies)) for one in examples])
            order = np.argsort(lengths, kind="stable")
            cuts, start = [], 0
            for at in range(1, len(order) + 1):
                if at == len(order) or (at + 1 - start + 16) * lengths[order[at]] > (
                    self.given.batch or TOKENS
                ):
                    cuts.append(order[start:at])
                    start = at
            for at in rng.permutation(len(cuts)):
                yield self.batch(
                    [examples[n] for n in cuts[at]], pairs[rng.integers(len(pairs), size=SENTENCES)], rng
                )

    def drawn(self, count: int, rng: np.random.Generator) -> list[int]:
        """The numbers of so many targets, a part of them with a machine-made reply."""
        sampled = round(count * self.machine_made)
        numbers = [
            rng.choice(len(self.chance), size=sampled, p=self.sampled),
            rng.choice(len(self.chance), size=count - sampled, p=self.chance),
        ]
        return [int(one) for one in np.concatenate(numbers)]

    def coded(self, one: Example) -> "Coded":
        """The example as tokens."""
        tokens = self.table.tokens
        return Coded(
            context_tokens([tokens(words) for words in one.context], joined=one.joined),
            [reply_tokens(tokens(words)) for words in one.replies],
            one.kinds,
            reply_tokens(tokens(one.context[-1])),
        )

    def batch(
        self, examples: "list[Coded]", pairs: Ids, rng: np.random.Generator
    ) -> tuple[Packed, Tensor, Tensor, Tensor]:
        groups: list[tuple[Ids, list[Ids]]] = [(one.context, one.replies) for one in examples]
        kinds = [one.kinds for one in examples]
        likely = [[at == 0 and kind == 0 for at, kind in enumerate(one.kinds)] for one in examples]
        chosen = [examples[number] for number in rng.permutation(len(examples))]
        for start in range(0, WITHOUT, 7):
            if some := [one.replies[0] for one in chosen[start : start + 7]]:
                groups.append((context_tokens(()), some))
        for one in chosen[-BACKWARD:]:
            groups.append((context_tokens([one.replies[0][:-1]], reversed_=True), [one.last]))
        further = groups[len(examples) :]
        kinds += [[IGNORED] * len(replies) for _, replies in further]
        likely += [[True] * len(replies) for _, replies in further]
        relation = [IGNORED] * len(groups)
        tokens, turn = self.table.tokens, self.corpus.turn
        for premise, hypothesis, label in pairs:
            groups.append((context_tokens([tokens(turn(premise))]), [reply_tokens(tokens(turn(hypothesis)))]))
            kinds.append([IGNORED])
            likely.append([False])
            relation.append(int(label))
        most = max(map(len, kinds))
        wanted = torch.tensor([row + [IGNORED] * (most - len(row)) for row in kinds])
        counted = torch.tensor([row + [False] * (most - len(row)) for row in likely])
        return pack(groups), wanted, counted, torch.tensor(relation)


def losses(
    model: ReplyModel, packed: Packed, kinds: Tensor, likely: Tensor, relation: Tensor
) -> dict[str, Tensor]:
    """The four losses of a batch."""
    hidden = model.hidden(packed)
    pooled = model.pooled(hidden, packed)
    of_kinds = functional.cross_entropy(
        model.kinds(pooled).flatten(0, 1).float(), kinds.flatten(), ignore_index=IGNORED
    )
    scores = model.score(pooled)[..., 0].float().masked_fill(~packed.there, -1e4)
    ranked = (kinds[:, 0] == 0) & (packed.there.sum(1) > 1)
    # A small batch may have nothing to rank.
    listwise = -scores[ranked].log_softmax(-1)[:, 0].sum() / ranked.sum().clamp(min=1)
    wanted = likely.gather(1, (packed.segments - 1).clamp(min=0)) & (packed.segments > 0)
    likelihood = -model.log_likelihoods(hidden, packed, wanted).mean()
    related = functional.cross_entropy(model.relation(pooled[:, 0]).float(), relation, ignore_index=IGNORED)
    return {"kinds": of_kinds, "list": listwise, "likelihood": likelihood, "relation": related}


def total(found: Mapping[str, Tensor]) -> Tensor:
    """The weighted sum of the four losses."""
    return (
        found["kinds"] + LIST_WEIGHT * found["list"] + LIKELIHOOD_WEIGHT * found["likelihood"]
        + RELATION_WEIGHT * found["relation"]
    )  # fmt: skip


def discriminate(given: argparse.Namespace) -> None:
    torch.manual_seed(given.seed)
    corpus = Corpus.load(given.text)
    model = ReplyModel(base_llama(given.base, rank=given.rank)).to(given.device)
    name = large_name(given)
    # A variant on a part of the text cannot start from a model that was trained on all of it.
    if given.start:
        load_start(model, given.start, wait=given.wait)
    elif not given.free and given.share is None and arrived(lm_path(given), given.wait).exists():
        with np.load(lm_path(given)) as packed, torch.no_grad():
            for key, value in from_bytes(dict(packed)).items():
                if key.startswith("llama."):
                    model.trainable()[key].copy_(value)
    rate = given.rate or RATE["discriminate"]
    trainer = Trainer(model, rate, given.seconds, given.out / f"{name}.pt", given.steps)
    loader = DataLoader(
        Examples(corpus, given, trainer.step), batch_size=None, num_workers=given.workers,
        prefetch_factor=8 if given.workers else None,
    )  # fmt: skip
    trainer.last = time.time()
    sums: dict[str, float] = {}
    for packed_batch, *labels in loader:
        if trainer.share >= 1:
            break
        packed_batch = packed_batch.to(given.device)
        with torch.autocast(given.device, torch.bfloat16):
            found = losses(model, packed_batch, *(one.to(given.device) for one in labels))
        trainer.update(total(found))
        if trainer.step % 25 == 0:
            for key, value in found.items():
                sums[key] = 0.8 * sums.get(key, value.item()) + 0.2 * value.item()
        if trainer.step % 250 == 0:
            line = ", ".join(f"{key} {value:.3f}" for key, value in sums.items())
            print(f"{name} step {trainer.step} {trainer.used:.0f} s: {line}", flush=True)
            if trainer.step % 1000 == 0:
                report(model, corpus, given, name)
    trainer.save()
    save_adapters(model, given.out / f"{name}.npz")
    print(f"{name}: {trainer.step} steps in {trainer.used:.0f} s", flush=True)
    merged(model)
    table = report(model, corpus, given, name, half=False)
    np.savez_compressed(given.out / f"{name}-rated.npz", columns=table, steps=trainer.step)


def soup(given: argparse.Namespace) -> None:
    """The mean of the models of three seeds, cut to the rank of one: what ships, and what a next round starts from."""
    corpus = Corpus.load(given.text)
    parts = []
    for seed in range(3):
        with np.load(arrived(given.out / f"large-{variant(given)}{seed}.npz", given.wait)) as packed:
            parts.append(from_bytes(dict(packed)))
    model = ReplyModel(base_llama(given.base, rank=given.rank))
    with torch.no_grad():
        for key, one in model.trainable().items():
            if key.endswith(".down"):
                up, down = low_rank(parts, key.removesuffix(".down"), given.rank)
                one.copy_(down)
                model.trainable()[f"{key.removesuffix('.down')}.up"].copy_(up)
            elif not key.endswith(".up"):
                one.copy_(torch.stack([part[key] for part in parts]).mean(0))
    save_adapters(model, given.out / f"{variant(given)}soup.npz")
    merged(model).to(given.device)
    np.savez_compressed(
        given.out / f"{variant(given)}soup-rated.npz",
        columns=report(model, corpus, given, "soup", half=False),
    )


def low_rank(parts: Sequence[Mapping[str, Tensor]], name: str, rank: int) -> tuple[Tensor, Tensor]:
    """The best product of (outputs, rank) and (rank, inputs) for the mean of the models' products."""
    down = torch.cat([part[f"{name}.down"] for part in parts])  # (3r, inputs)
    up = torch.cat([part[f"{name}.up"] for part in parts], 1) / len(parts)  # (outputs, 3r)
    (left, up_core), (right, down_core) = torch.linalg.qr(up), torch.linalg.qr(down.T)
    u, s, v = torch.linalg.svd(up_core @ down_core.T)
    root = s[:rank].sqrt()
    return (left @ u[:, :rank]) * root, root[:, None] * (right @ v[:rank].T).T


# -- what a model is fooled by ---------------------------------------------------------------------------------------


def mine(given: argparse.Namespace) -> None:
    """Add to `mined.npz` the turns, bundles and templates whose mean score over `STRANGE` contexts is highest."""
    corpus = Corpus.load(given.text)
    pool = Candidates(corpus, sources=sources(given.free), samples={})
    model = ReplyModel(base_llama(given.base, rank=given.rank))
    load_start(model, given.start or str(given.out / f"{of_base(given)}soup.npz"), wait=given.wait)
    merged(model).to(given.device)
    rng = np.random.default_rng([given.seed, 5])
    known = read_mined(given.mined) if given.mined and given.mined.exists() else Mined([], [])
    contexts = [pool.draw(int(n), rng).context for n in rng.integers(len(pool.targets), size=STRANGE)]
    turns = (corpus.turn(pool.turns[n]) for n in rng.integers(len(pool.turns), size=4 * POOL))
    short = [one for one in turns if ALONE[0] <= len(one) <= ALONE[1]]
    count = given.count or POOL
    said = [pool.ids(text) for path in given.policies or () for text in sentences(path)]
    said = [one for one in said if len(one) >= ALONE[0]]
    replies = list({one.tobytes(): one for one in [*said, *pool.generic, *short]}.values())[:count]
    templates = [(pool.echo if at % 2 else pool.template)(rng) for at in range(count)]
    table = corpus.tokens(given.base_name).tokens
    gains = []
    bundles = [pool.bundle(rng) for _ in range(count)]
    for kind, made in (("replies", replies), ("bundles", bundles), ("templates", templates)):
        sums = np.zeros(len(made))
        for context in contexts:
            turns_of = [table(words) for words in context]
            texts = [one if isinstance(one, np.ndarray) else pool.filled(one, context, rng) for one in made]
            groups = [
                (turns_of, [table(words) for words in texts[at : at + 12]]) for at in range(0, len(texts), 12)
            ]
            sums += scores_of(model, groups, given.device)
        best = np.argsort(-sums)[:MINED]
        gains.append([made[at] for at in best])
        for at in best[:8]:
            print(f"{kind}: {sums[at] / STRANGE:.2f} {shown(corpus, made[at])}", flush=True)
    found = Mined(known.replies + gains[0] + gains[1], known.templates + gains[2])
    write_mined(given.out / "mined.npz", found)


def sentences(path: Path) -> list[str]:
    """The parts, between marks, of what policies replied that were trained against a metric."""
    replies = [text for one in json.loads(path.read_text())["policies"] for text in one["replies"]]
    parts = {" ".join(part.lower().split()) for text in replies for part in re.split(r"[.!?,;\n]+", text)}
    return sorted(parts)


def shown(corpus: Corpus, one: "Ids | Template") -> str:
    """A mined reply or template as text."""
    if isinstance(one, np.ndarray):
        return corpus.text(one)
    return f"{corpus.text(one.before)} [{one.slot}] {corpus.text(one.after)}"


def write_mined(path: Path, mined: Mined) -> None:
    texts = [*mined.replies, *(part for one in mined.templates for part in (one.before, one.after))]
    write_arrays(
        path, words=np.concatenate(texts), ends=np.cumsum([len(one) for one in texts]), replies=len(mined.replies),
        slots=np.array([SLOTS.index(one.slot) for one in mined.templates], np.int64),
    )  # fmt: skip


def read_mined(path: Path) -> Mined:
    with np.load(path) as found:
        texts = np.split(found["words"], found["ends"][:-1])
        count, slots = int(found["replies"]), found["slots"]
    sides = texts[count:]
    templates = [
        Template(before, SLOTS[slot], after)
        for before, slot, after in zip(sides[::2], slots, sides[1::2], strict=True)
    ]
    return Mined(texts[:count], templates)


def rated_groups(corpus: Corpus, table: str) -> list[Group]:
    """The rated items as groups of one reply."""
    tokens = corpus.tokens(table)
    starts, ends, replies = (
        corpus.arrays[f"rated_{name}"] for name in ("context_start", "context_end", "reply")
    )
    return [
        ([tokens.tokens(corpus.turn(t)) for t in range(start, end)], [tokens.tokens(corpus.turn(reply))])
        for start, end, reply in zip(starts, ends, replies, strict=True)
    ]


def table_of(
    model: ReplyModel,
    groups: list[Group],
    device: str,
    *,
    most: int = 60_000,
    half: bool = False,
    enough: float | None = None,
) -> np.ndarray:
    """(n, k) the columns of all replies in the order of the groups; `enough` as in `columns`."""
    model.eval()
    found: list[np.ndarray | None] = [None] * len(groups)
    for batch in batches(groups, most):
        some = [groups[at] for at in batch]
        ends = np.cumsum([len(replies) for _, replies in some])[:-1]
        parts = np.split(columns(model, some, device=device, half=half, enough=enough), ends)
        for at, part in zip(batch, parts, strict=True):
            found[at] = part
    model.train()
    return np.concatenate([part for part in found if part is not None])


@torch.inference_mode()
def scores_of(model: ReplyModel, groups: list[Group], device: str, *, most: int = 60_000) -> np.ndarray:
    """(n,) the scores of all replies in the order of the groups, in half precision on a GPU."""
    found: list[np.ndarray] = [np.zeros(0)] * len(groups)
    for batch in batches(groups, most):
        coded = [
            (context_tokens(groups[at][0]), [reply_tokens(reply) for reply in groups[at][1]]) for at in batch
        ]
        packed = pack(coded).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            scores = model.score(model.pooled(model.hidden(packed), packed))[..., 0].float().cpu().numpy()
        for at, row in zip(batch, scores, strict=True):
            found[at] = row[: len(groups[at][1])]
    return np.concatenate(found)


def report(
    model: ReplyModel, corpus: Corpus, given: argparse.Namespace, name: str, *, half: bool = True
) -> np.ndarray:
    """The columns of the rated items; prints the mean Spearman of the score over the groups of `CHOICE` alone."""
    from scipy.stats import spearmanr

    table = table_of(model, rated_groups(corpus, given.base_name), given.device, half=half)
    group, value = corpus.arrays["rated_group"], corpus.arrays["rated_value"]
    by_group = [
        spearmanr(table[group == n, len(KINDS)], value[group == n])[0]
        for n in np.unique(group)
        if n in CHOICE
    ]
    print(f"{name}: Spearman of the score on the groups for choosing {np.mean(by_group):.3f}", flush=True)
    return table


CHOICE = (1, 2, 3, 4, 5)  # the groups that may be looked at while choosing: GRADE's three, FED, engagement


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["lm", "sample", "discriminate", "soup", "mine"])
    parser.add_argument("--text", type=Path, required=True, help="the folder of papers.flagship.prepare")
    parser.add_argument("--base", type=Path, required=True, help="SmolLM2 or Qwen, a GGUF file or a folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", help="adapters to begin with: a file of `soup`, or `shipped`")
    parser.add_argument("--samples", type=Path, help="the file of `sample`, if it is not in --out")
    parser.add_argument("--mined", type=Path, help="the file of `mine`")
    parser.add_argument(
        "--policies",
        type=Path,
        nargs="*",
        help="for `mine`: files of `papers.probing_gpu train`, whose sentences are tried",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rank", type=int, default=RANK, help="of the adapters")
    parser.add_argument("--rate", type=float, help="highest learning rate")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument(
        "--steps", type=int, help="for `discriminate`: the most steps, if the time is not over before"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--free", action="store_true", help="only text that is free for commercial use")
    parser.add_argument(
        "--share", type=float, help="for `discriminate`: share of the dialogues that are used"
    )
    parser.add_argument(
        "--batch", type=int, help="tokens of a batch; windows for `lm`, contexts for `sample`"
    )
    parser.add_argument(
        "--count", type=int, help="contexts that get a sampled reply; turns that `mine` tries"
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--wait", action="store_true", help="wait for files that other processes are to write"
    )
    given = parser.parse_args()
    given.base_name = base_name(given.base)
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    stages = {
        "lm": language_model, "sample": sample, "discriminate": discriminate, "soup": soup, "mine": mine,
    }  # fmt: skip
    stages[given.stage](given)


if __name__ == "__main__":
    main()
