"""`python -m papers.flagship.train_rated FOLDS ...`: go on training the large reader, on ratings as well.

A further head predicts ratings, in standard deviations of their group, and is to put the logged reply above copies,
word salads and generic replies by 1. The losses of `train_large discriminate` go on beside it, so that the other
columns stay what they are. A fold names the groups whose ratings are left out, by their numbers: `0`, `1.2.3`, or
`none`; each starts anew from --start. Writes OUT/rated-FOLD-SEED.npz: the columns and, last, the predicted rating of
all texts of --read. The program that wrote these texts (rated replies, taught frauds and frauds for measuring, as
tokens of SmolLM2), and the one that put the results into the regression, are not kept.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from papers.flagship.candidates import KINDS
from papers.flagship.corpus import Corpus, Ids
from papers.flagship.train_large import (
    RANK,
    Examples,
    load_start,
    losses,
    merged,
    rate_at,
    rated_groups,
    table_of,
    total,
)
from papers.flagship.weights import base_llama, base_name
from turnwise.networks.replies.columns import ENOUGH, Group, batches
from turnwise.networks.replies.reply_model import Packed, ReplyModel, context_tokens, pack, reply_tokens

STEPS, BATCH, TOKENS = 160, 64, 3000  # steps of a fold, rated replies and tokens of examples of a step
RATE = 1e-4
FRAUDS_WEIGHT, KINDS_WEIGHT = 0.3, 0.5
FRAUDS = [KINDS.index(name) for name in ("copy", "salad", "generic")]


def read_texts(path: Path) -> list[Group]:
    """The texts of a file, one reply a context.

    `turns` has the number of turns of each context; its turns and its reply follow each other in `tokens`, and `ends`
    has where each ends.
    """
    with np.load(path) as kept:
        parts = iter(np.split(kept["tokens"].astype(np.int64), kept["ends"][:-1]))
        return [([next(parts) for _ in range(turns)], [next(parts)]) for turns in kept["turns"].tolist()]


def ratings(model: ReplyModel, head: nn.Linear, packed: Packed) -> Tensor:
    """(b, c) the predicted ratings."""
    found: Tensor = head(model.pooled(model.hidden(packed), packed))[..., 0].float()
    return found


def fraud_loss(predicted: Tensor, kinds: Tensor) -> Tensor:
    """softplus(1 - logged + fraud), over the frauds of contexts whose logged reply a person wrote."""
    frauds = torch.isin(kinds, torch.tensor(FRAUDS, device=kinds.device)) & (kinds[:, :1] == 0)
    return functional.softplus(1 - predicted[:, :1] + predicted)[frauds].sum() / frauds.sum().clamp(min=1)


def coded(group: Group) -> tuple[Ids, list[Ids]]:
    turns, replies = group
    return context_tokens(turns), [reply_tokens(reply) for reply in replies]


def train(given: argparse.Namespace, corpus: Corpus, loader: DataLoader, fold: str) -> None:  # type: ignore[type-arg]
    torch.manual_seed(given.seed)
    rng = np.random.default_rng([given.seed, 3])
    started = time.time()
    model = ReplyModel(base_llama(given.base, rank=given.rank)).to(given.device)
    load_start(model, given.start)
    head = nn.Linear(model.score.in_features, 1).to(given.device)
    nn.init.zeros_(head.weight)
    left_out = set() if fold == "none" else {int(one) for one in fold.split(".")}
    group, value = corpus.arrays["rated_group"], corpus.arrays["rated_value"].astype(float)
    rows = {n: np.flatnonzero(group == n) for n in np.unique(group).tolist() if n not in left_out}
    target = np.zeros(len(value), np.float32)
    for some in rows.values():
        target[some] = (value[some] - value[some].mean()) / value[some].std()
    rated = [coded(one) for one in rated_groups(corpus, given.base_name)]
    parameters = [*model.trainable().values(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=given.rate, weight_decay=0.01, betas=(0.9, 0.98))
    sums = np.zeros(3)
    for step, (examples, *labels) in zip(range(given.steps), loader, strict=False):
        for one in optimiser.param_groups:
            one["lr"] = given.rate * rate_at(step / given.steps)
        chosen = np.array([rng.choice(rows[n]) for n in rng.choice(list(rows), size=BATCH)])
        wanted = torch.from_numpy(target[chosen]).to(given.device)
        kinds, likely, relation = (one.to(given.device) for one in labels)
        examples = examples.to(given.device)
        with torch.autocast(given.device, torch.bfloat16):
            predicted = ratings(model, head, pack([rated[at] for at in chosen]).to(given.device))[:, 0]
            found = losses(model, examples, kinds, likely, relation)
            frauds = fraud_loss(ratings(model, head, examples), kinds)
        error = functional.mse_loss(predicted, wanted)
        optimiser.zero_grad()
        (error + FRAUDS_WEIGHT * frauds + KINDS_WEIGHT * total(found)).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        sums = 0.9 * sums + 0.1 * np.array([error.item(), frauds.item(), found["kinds"].item()])
        if step % 40 == 39:
            shown = ", ".join(f"{one:.3f}" for one in sums)
            print(f"{fold} {step + 1}: {shown}, {time.time() - started:.0f} s", flush=True)
    merged(model)
    texts = read_texts(given.read)
    table = table_of(model, texts, given.device, half=given.device == "cuda", enough=ENOUGH)
    last = np.zeros((len(texts), 1), np.float32)
    model.eval()
    with torch.inference_mode(), torch.autocast(given.device, torch.bfloat16):
        for some in batches(texts, 60_000):
            last[some] = (
                ratings(model, head, pack([coded(texts[at]) for at in some]).to(given.device)).cpu().numpy()
            )
    np.savez_compressed(
        given.out / f"rated-{fold}-{given.seed}.npz",
        table=np.concatenate([table, last], 1).astype(np.float32),
    )
    print(f"{fold} done, {time.time() - started:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folds", nargs="+")
    parser.add_argument("--text", type=Path, required=True, help="the folder of papers.flagship.prepare")
    parser.add_argument("--read", type=Path, required=True, help="the texts that are read")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", default="shipped")
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("--mined", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    given.base_name, given.batch = base_name(given.base), TOKENS
    given.free, given.share, given.wait = False, None, False
    given.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus.load(given.text)
    loader = DataLoader(
        Examples(corpus, given, 0), batch_size=None, num_workers=given.workers,
        prefetch_factor=8 if given.workers else None, persistent_workers=given.workers > 0,
    )  # fmt: skip
    for fold in given.folds:
        if not (given.out / f"rated-{fold}-{given.seed}.npz").exists():
            train(given, corpus, loader, fold)


if __name__ == "__main__":
    main()
