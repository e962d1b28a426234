"""`python -m papers.cross_encoder DATA [--model DIR] [--pairs N] [--device cuda]`: a cross-encoder against `turnwise`.

A MiniLM that takes context and reply as one input is fine-tuned to separate the logged reply from random turns, turns
of the same dialogue and copies of the last turn, on the dialogues that the shipped heads are trained on. Prints its
mean Spearman over the nine groups, and that of the leave-one-corpus-out ridge regression with and without its score.
It is not shipped, because it has 90 MB and needs a forward pass for each reply. Meant for a GPU; on a CPU 60,000 pairs
take hours.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from papers.learned import Corpora
from papers.rated_corpora import pretraining
from turnwise.encode.models.catalogue import locate
from turnwise.encode.neural import loading
from turnwise.metrics.learned.contrastive.corpus import Corpus
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.turnwise.ridge import PENALTY, fit_ridge
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Dialogue, Floats, Item

KINDS = ("random", "same", "parrot")
TURNS = 3  # of context, newest last
BATCH = 64
RATE = 5e-5


class CrossEncoder:
    def __init__(self, folder: Path, device: str, *, seed: int = 0) -> None:
        from transformers import AutoModelForSequenceClassification

        torch.manual_seed(seed)  # for the random weights of the new head
        self.device, self.tokenizer = device, loading.read_tokenizer(folder)
        with loading.quiet():
            self.model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1).float()
        self.model.to(device)
        self.longest = loading.longest(self.model.config, self.tokenizer, 128)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """(n,) logits of pairs of context and reply; the longer text of an overlong pair loses its first words."""
        self.tokenizer.truncation_side = "left"
        inputs = self.tokenizer(
            [context for context, _ in pairs], [reply for _, reply in pairs], padding=True,
            truncation="longest_first", max_length=self.longest, return_tensors="pt",
        )  # fmt: skip
        logits: torch.Tensor = self.model(**inputs.to(self.device)).logits[:, 0]
        return logits

    def train(
        self, examples: Sequence[tuple[str, list[str]]], *, rate: float = RATE, seed: int = 0
    ) -> Iterator[float]:
        """Train for one epoch on (context, replies), whose first reply is the logged one; yields each batch's loss."""
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=rate)
        steps = -(-len(examples) // BATCH)
        schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
        order = np.random.default_rng(seed).permutation(len(examples))
        weight = torch.tensor(float(len(KINDS)), device=self.device)
        self.model.train()
        for start in range(0, len(order), BATCH):
            some = [examples[at] for at in order[start : start + BATCH]]
            pairs = [(context, reply) for context, replies in some for reply in replies]
            wanted = torch.tensor([float(at == 0) for _, replies in some for at in range(len(replies))])
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                self.logits(pairs), wanted.to(self.device), pos_weight=weight
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            yield loss.item()
        self.model.eval()

    def scores(self, items: Sequence[Item]) -> Floats:
        """(n,) logits of the items; NaN for an item without a reply or a context."""
        scores = np.full(len(items), np.nan)
        texts = [
            (number, pair)
            for number, item in enumerate(items)
            if (pair := reply_and_context(item)) is not None
        ]
        self.model.eval()
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            with torch.no_grad():
                logits = self.logits([(joined(context), reply) for _, (reply, context) in batch])
            scores[[number for number, _ in batch]] = logits.cpu().numpy()
        return scores


def joined(context: Sequence[str]) -> str:
    """The last turns of a context (given newest first) as one text, oldest first."""
    return " . ".join(context[:TURNS][::-1])


def examples_of(
    dialogues: Sequence[Dialogue], *, most: int, rng: np.random.Generator
) -> list[tuple[str, list[str]]]:
    corpus = Corpus.of(dialogues, most=most, rng=rng)
    replies = np.column_stack([corpus.reply, corpus.negatives(KINDS, rng)])
    return [
        (
            joined([corpus.texts[turn] for turn in context if turn >= 0]),
            [corpus.texts[reply] for reply in row],
        )
        for context, row in zip(corpus.context, replies, strict=True)
    ]


def left_out(corpora: Corpora, tables: Sequence[Floats]) -> float:
    """Mean Spearman over the groups, each predicted by a ridge regression on the others."""
    known = [~np.isnan(table).any(axis=1) for table in tables]
    x = [table[rows] for table, rows in zip(tables, known, strict=True)]
    y = [values[rows] for values, rows in zip(corpora.values, known, strict=True)]
    found = []
    for n in range(len(x)):
        others = [m for m in range(len(x)) if m != n]
        weights = fit_ridge([x[m] for m in others], [y[m] for m in others], penalty=PENALTY)
        found.append(STATISTICS["spearman"](weights.predict(x[n]), y[n]))
    return float(np.mean(found))


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument(
        "--pairs", type=int, default=50_000, help="logged replies; each with three wrong ones"
    )
    parser.add_argument("--device", default=loading.default_device())
    given = parser.parse_args()
    encoder = CrossEncoder(locate(given.model), given.device)
    examples = examples_of(pretraining(given.data), most=given.pairs, rng=np.random.default_rng(0))
    for step, loss in enumerate(encoder.train(examples)):
        if step % 100 == 0:
            print(f"{step * BATCH} of {len(examples)} pairs, loss {loss:.3f}", file=sys.stderr, flush=True)
    corpora = Corpora(given.data)
    alone = [encoder.scores(group.items) for group in corpora.groups]
    by_itself = [
        STATISTICS["spearman"](scores[~np.isnan(scores)], values[~np.isnan(scores)])
        for scores, values in zip(alone, corpora.values, strict=True)
    ]
    beside = [np.column_stack([table, scores]) for table, scores in zip(corpora.tables, alone, strict=True)]
    say(f"by itself {np.mean(by_itself):.3f}")
    say(
        f"the ridge without it {left_out(corpora, corpora.tables):.3f}, with it {left_out(corpora, beside):.3f}"
    )


if __name__ == "__main__":
    main()
