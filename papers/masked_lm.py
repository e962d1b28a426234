"""Train a masked language model on dialogues: MiniLM's body with a head tied to its word embeddings.

    python papers/masked_lm.py prepare DATA MINILM out/carry            dialogues and rounded weights, below 25 MB
    python papers/masked_lm.py train out/carry -o out/masked --work out/masked.work --seconds 240 [--corpora all]
    python papers/masked_lm.py join out/masked MINILM out/minilm-mlm    a folder that `usr-mlm[model=FOLDER]` reads
    python papers/masked_lm.py ship out/masked MINILM src/turnwise/data/models/usr-mlm   the difference that is shipped

No package registry has a masked language model with its head, so one is trained. The head is BERT's: a linear layer,
GELU and layer normalisation, then the word embeddings as the output layer, with a bias. The word embeddings are frozen,
so only the body and the head have to be kept. An example is what `usr-mlm` reads: the end of a context and a reply;
15 % of its tokens are predicted, of which 80 % are masked, 10 % replaced and 10 % left (Devlin et al. 2019).

`prepare` leaves out each dialogue that has a turn of six words or more in common with a rated corpus, and from training
those that have one in common with a held-out dialogue. `train` needs torch and transformers alone; it begins from
weights rounded to 7 bits (word embeddings: 6), so that they can be carried to a GPU without a network.
"""

import argparse
import json
import lzma
import math
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from masked_lm_weights import BASE, export, join, read_base, round_weights, ship

TEXT = "dialogues.json.xz"
LONGEST = 128  # tokens of an example
MOST_TURNS = 4  # turns of context in an example, at most
MASKED = 0.15
CLS, SEP, MASK, PAD = 101, 102, 103, 0
FIRST_WORD = 1996  # tokens below are marks and single letters: never drawn as a replacement


def read_dialogues(folder: Path, corpora: str) -> tuple[list[list[str]], dict[str, list[list[str]]]]:
    """The dialogues for training, and the held-out ones of each corpus; `corpora` is `permissive` or `all`."""
    read = json.loads(lzma.decompress((folder / TEXT).read_bytes()))
    train, held = [], {}
    for name, corpus in read["masked_lm"].items():
        if corpora == "all" or corpus["permissive"]:
            texts = {
                part: [read["dialogues"][one] if isinstance(one, int) else one for one in corpus[part]]
                for part in ("train", "held")
            }
            train += texts["train"]
            held[name] = texts["held"]
    return train, held


@dataclass
class Examples:
    """Turns as one long row of tokens on the device; an example is a reply with turns before it."""

    tokens: Any  # (total,)
    ends: Any  # (turns + 1,) where each turn begins, and the end of the last
    firsts: Any  # (replies,) the first turn of the reply's dialogue
    replies: Any  # (replies,) the number of the turn

    @classmethod
    def of(cls, dialogues: list[list[str]], tokenizer: Any, device: str) -> "Examples":
        """Tokenize the dialogues; every turn but the first of a dialogue is a reply."""
        import torch

        texts = [text for dialogue in dialogues for text in dialogue]
        encoded = [
            one.ids[: LONGEST // 2] or [SEP]
            for one in tokenizer.encode_batch(texts, add_special_tokens=False)
        ]
        ends = np.cumsum([0, *map(len, encoded)])
        starts = np.cumsum([0, *map(len, dialogues)])
        replies = [turn for a, b in pairwise(starts) for turn in range(a + 1, b)]
        firsts = np.repeat(starts[:-1], [max(0, len(one) - 1) for one in dialogues])
        flat = np.concatenate([np.asarray(one, dtype=np.int32) for one in encoded])
        rows = (flat, ends, firsts, np.asarray(replies))
        return cls(*(torch.as_tensor(row, dtype=torch.long, device=device) for row in rows))

    def lengths(self, chosen: Any, turns: Any) -> tuple[Any, Any, Any]:
        """(b,) where the context begins, the lengths of context and reply; the context is cut at its beginning."""
        import torch

        reply = self.replies[chosen]
        first = torch.maximum(self.firsts[chosen], reply - turns)
        size = self.ends[reply + 1] - self.ends[reply]
        before = torch.minimum(self.ends[reply] - self.ends[first], LONGEST - 3 - size)
        return self.ends[reply] - before, before, size

    def batch(self, chosen: Any, turns: Any) -> tuple[Any, Any]:
        """(b, t) tokens [CLS] context [SEP] reply [SEP] with padding, and token types."""
        import torch

        start, before, size = self.lengths(chosen, turns)
        width = -(-(int((before + size).max()) + 3) // 16) * 16
        at = torch.arange(width, device=self.tokens.device)[None]
        before, size = before[:, None], size[:, None]
        # Positions: 0 the start mark, 1..before the context, then a separator, the reply, a separator, padding.
        source = start[:, None] + at - 1 - (at > before).long()
        tokens = self.tokens[source.clamp(0, len(self.tokens) - 1)]
        tokens = torch.where(at > before + size + 2, PAD, tokens)
        tokens = torch.where((at == before + 1) | (at == before + size + 2), SEP, tokens)
        tokens = torch.where(at == 0, CLS, tokens)
        types = ((at > before + 1) & (at <= before + size + 2)).long()
        return tokens, types


def masked(tokens: Any, generator: Any, vocabulary: int) -> tuple[Any, Any]:
    """The tokens as the model reads them, and which of them it predicts."""
    import torch

    draw = torch.rand(tokens.shape, generator=generator, device=tokens.device)
    words = (tokens != CLS) & (tokens != SEP) & (tokens != PAD)
    predicted = words & (draw < MASKED)
    other = torch.randint(FIRST_WORD, vocabulary, tokens.shape, generator=generator, device=tokens.device)
    read = torch.where(predicted & (draw < 0.8 * MASKED), MASK, tokens)
    return torch.where(predicted & (draw >= 0.9 * MASKED), other, read), predicted


def loss(model: Any, tokens: Any, types: Any, read: Any, predicted: Any) -> Any:
    """(n,) cross-entropy of the predicted tokens; only their logits are computed."""
    import torch

    hidden = model.bert(input_ids=read, token_type_ids=types, attention_mask=(tokens != PAD).long())[0]
    logits = model.cls(hidden[predicted])
    return torch.nn.functional.cross_entropy(logits.float(), tokens[predicted], reduction="none")


def perplexity(model: Any, held: dict[str, "Examples"], device: str) -> dict[str, float]:
    """exp of the mean loss on each held-out corpus, with one fixed draw of masks, and on all."""
    import torch

    model.eval()
    total, found = [], {}
    for name, examples in held.items():
        generator = torch.Generator(device=device).manual_seed(1)
        losses = []
        with torch.no_grad(), torch.autocast(device.partition(":")[0], dtype=torch.bfloat16):
            for rows in torch.arange(len(examples.replies), device=device).split(512):
                tokens, types = examples.batch(rows, torch.full_like(rows, 2))
                losses.append(loss(model, tokens, types, *masked(tokens, generator, model.config.vocab_size)))
        found[name] = math.exp(float(torch.cat(losses).mean()))
        total += losses
    model.train()
    return {**found, "all": math.exp(float(torch.cat(total).mean()))}


def build(weights: dict[str, np.ndarray], config: dict[str, Any]) -> Any:
    """BERT with a head for masked words: the body has these weights, and the word embeddings are frozen."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    config = {
        key: value for key, value in config.items() if not key.startswith("_") and key != "architectures"
    }
    model = BertForMaskedLM(BertConfig(**config, tie_word_embeddings=True))
    state = {f"bert.{name}": torch.as_tensor(array) for name, array in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or any(name.startswith("bert.") and "position_ids" not in name for name in missing):
        raise SystemExit(f"the weights are not MiniLM's: {missing} {unexpected}")
    model.tie_weights()
    if model.cls.predictions.decoder.weight is not model.bert.embeddings.word_embeddings.weight:
        raise SystemExit("this version of transformers does not tie the output layer to the word embeddings")
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def train(carried: Path, output: Path, work: Path, given: argparse.Namespace) -> None:
    """Train for `seconds`; the learning rate rises for 3 % of them and falls to 0 at their end. Resumes from `work`."""
    import torch
    from tokenizers import Tokenizer

    begun = time.perf_counter()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    weights, config, tokenizer_text = read_base(carried)
    tokenizer = Tokenizer.from_str(tokenizer_text)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = build(weights, config).to(device)
    texts, held_texts = read_dialogues(carried, given.corpora)
    if given.most:
        texts, held_texts = texts[: given.most], {k: v[: given.most] for k, v in held_texts.items()}
    examples = Examples.of(texts, tokenizer, device)
    held = {name: Examples.of(one, tokenizer, device) for name, one in held_texts.items()}
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [one for one in trained if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in trained if one.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=given.rate, betas=(0.9, 0.98), eps=1e-6)
    curve: list[dict[str, Any]] = []
    update, spent = 0, 0.0
    checkpoint = work / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        curve, update, spent = saved["curve"], saved["update"], saved["seconds"]
        print(f"resumed after update {update}", flush=True)
    else:
        curve.append({"update": 0, "seconds": 0.0, "perplexity": perplexity(model, held, device)})
        print(json.dumps(curve[-1]), flush=True)
    generator = torch.Generator(device=device).manual_seed(1000 + update)
    vocabulary, pool = config["vocab_size"], list[Any]()
    start = last = time.perf_counter()
    seen = 0
    while (now := time.perf_counter()) - start < given.seconds:
        share = (now - start) / given.seconds
        for group in optimiser.param_groups:
            group["lr"] = given.rate * min(share / 0.03, (1 - share) / 0.97)
        if not pool:
            # Examples of similar length are batched, from a pool of 32 batches.
            shape = (32 * given.batch,)
            chosen = torch.randint(len(examples.replies), shape, generator=generator, device=device)
            turns = torch.randint(1, MOST_TURNS + 1, shape, generator=generator, device=device)
            _, before, size = examples.lengths(chosen, turns)
            order = (before + size).argsort()
            split = zip(chosen[order].split(given.batch), turns[order].split(given.batch), strict=True)
            batches = list(split)
            pool = [batches[at] for at in torch.randperm(len(batches)).tolist()]
        tokens, types = examples.batch(*pool.pop())
        read, predicted = masked(tokens, generator, vocabulary)
        with torch.autocast(device, dtype=torch.bfloat16):
            mean = loss(model, tokens, types, read, predicted).mean()
        optimiser.zero_grad(set_to_none=True)
        mean.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        update += 1
        seen += tokens.numel()
        if now - last > given.every:
            last = now
            point = {"update": update, "seconds": round(spent + now - start, 1), "loss": round(float(mean.detach()), 4),
                     "tokens": seen, "perplexity": perplexity(model, held, device)}  # fmt: skip
            curve.append(point)
            print(json.dumps(point), flush=True)
            _keep(checkpoint, model, optimiser, curve, update, spent + time.perf_counter() - start)
    spent += time.perf_counter() - start
    curve.append(
        {"update": update, "seconds": round(spent, 1), "perplexity": perplexity(model, held, device)}
    )
    print(json.dumps(curve[-1]), flush=True)
    _keep(checkpoint, model, optimiser, curve, update, spent)
    card = {
        "corpora": given.corpora, "dialogues": len(texts), "replies": len(examples.replies),
        "tokens": len(examples.tokens), "held_out": {name: len(one.replies) for name, one in held.items()},
        "updates": update, "batch": given.batch, "rate": given.rate, "seconds": round(spent, 1),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "before_training_s": round(start - begun, 1), "curve": curve,
    }  # fmt: skip
    export(model, output, card)


def _keep(path: Path, model: Any, optimiser: Any, curve: list[Any], update: int, seconds: float) -> None:
    """Write a checkpoint that a later call resumes from."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "curve": curve}
    torch.save({**state, "update": update, "seconds": seconds}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare")
    for name in ("data", "minilm", "target"):
        preparing.add_argument(name, type=Path)
    preparing.add_argument("--most", type=int, default=10**9, help="dialogues of a corpus")
    training = commands.add_parser("train")
    training.add_argument("carried", type=Path)
    training.add_argument("-o", "--output", type=Path, required=True)
    training.add_argument("--work", type=Path, required=True, help="folder of the checkpoint")
    training.add_argument("--seconds", type=float, default=240)
    training.add_argument("--every", type=float, default=30, help="seconds between measurements")
    training.add_argument("--corpora", choices=["permissive", "all"], default="permissive")
    training.add_argument("--batch", type=int, default=512)
    training.add_argument("--rate", type=float, default=5e-4)
    training.add_argument("--most", type=int, default=0, help="dialogues, for a trial; 0: all")
    for command in ("join", "ship"):
        joining = commands.add_parser(command)
        for name in ("trained", "minilm", "target"):
            joining.add_argument(name, type=Path)
    given = parser.parse_args()
    if given.command == "prepare":
        from masked_lm_corpora import prepare

        given.target.mkdir(parents=True, exist_ok=True)
        round_weights(given.minilm, given.target / BASE)
        prepare(given.data, given.target / TEXT, most=given.most)
    elif given.command == "train":
        train(given.carried, given.output, given.work, given)
    else:
        {"join": join, "ship": ship}[given.command](given.trained, given.minilm, given.target)


if __name__ == "__main__":
    main()
