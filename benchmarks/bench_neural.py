"""BERTScore, encoding and language-model scoring: cold, from the cache, and beside what one would write by hand.

Texts are the `fbd` corpus where it is (TURNWISE_DATA), else generated. Loading a model is outside every timing, and
each side has the same threads. Peak memory is that of a process of its own which does nothing else.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.harness import Line, best_of, peak
from turnwise.encode import Cache, Utterance, load, load_lm
from turnwise.encode.weights import locate
from turnwise.logs import native
from turnwise.logs.items import Selection, items
from turnwise.metrics import models
from turnwise.metrics.reference.bertscore import BertScore
from turnwise.types import Item

CORPORA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAIRS, TEXTS, UTTERANCES = 2000, 4000, 60


def judged() -> list[Item]:
    corpus = CORPORA / "fbd.jsonl.gz"
    if corpus.is_file():
        found = [item for item in items(native.read(str(corpus)), Selection(judged="all")) if item.references]
        step = max(1, len(found) // PAIRS)
        return found[::step][:PAIRS]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "logs.jsonl", PAIRS)
        return list(items(native.read(str(Path(folder) / "logs.jsonl")), Selection(judged="all")))


def elapsed(function: object) -> float:
    begun = time.perf_counter()
    function()  # type: ignore[operator]
    return time.perf_counter() - begun


def bertscore(chosen: list[Item]) -> Iterator[Line]:
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        metric = BertScore()
        cache = Cache(Path(folder) / "vectors.sqlite")
        encoder = load("minilm", cache=cache)
        models.text_encoder = lambda *_, **__: encoder  # type: ignore[assignment]  # whose cache starts empty
        encoder.encode(["load the model"])
        scorer = BERTScorer(model_type=str(locate("minilm")), num_layers=6, device="cpu")
        replies = [item.reply for item in chosen]
        references = [list(item.references) for item in chosen]
        peer = elapsed(lambda: scorer.score(replies, references, batch_size=64))
        cold = elapsed(lambda: metric.rows(chosen))
        warm = best_of(lambda: metric.rows(chosen))
    yield Line(f"BERTScore of {len(chosen):,} pairs, cold", cold, peer, "bert-score", goal=2)
    yield Line(f"BERTScore of {len(chosen):,} pairs, from the cache", warm, peer, "bert-score", goal=20)


def encoding(chosen: list[Item]) -> Iterator[Line]:
    texts = list(dict.fromkeys(text for item in chosen for text in (item.reply, *item.references)))[:TEXTS]
    with tempfile.TemporaryDirectory() as folder:
        encoder = load("minilm", cache=Cache(Path(folder) / "vectors.sqlite"))
        load("minilm").encode(["load the model"])
        encoder.model  # noqa: B018 - loads it
        first = elapsed(lambda: encoder.encode(texts))
        second = best_of(lambda: encoder.encode(texts))
    yield Line(f"encoding {len(texts):,} texts again", second, first, "the first time", goal=50)


def likelihood(chosen: list[Item]) -> Iterator[Line]:
    import torch
    from transformers import AutoModelForCausalLM

    model = load_lm("smollm2")
    said = [Utterance(item.reply, item.context, item.role) for item in chosen[:: len(chosen) // UTTERANCES]][
        :UTTERANCES
    ]
    tokens = sum(len(model.prompt.encode(utterance)[1]) for utterance in said)
    model.score(said[:1])
    ours = elapsed(lambda: model.score(said))
    naive = AutoModelForCausalLM.from_pretrained(locate("smollm2"), dtype=torch.float32).eval()

    def one_by_one() -> None:
        for utterance in said:
            context, text = model.prompt.encode(utterance)
            with torch.inference_mode():
                logits = naive(torch.tensor([[*context, *text]])).logits[0]
            ahead = torch.log_softmax(logits, dim=-1)[len(context) - 1 : -1]
            ahead.gather(1, torch.tensor(text)[:, None]).sum()

    peer = elapsed(one_by_one)
    name = f"SmolLM2, {tokens:,} tokens of {len(said)} replies"
    yield Line(name, tokens / ours, tokens / peer, "one by one in fp32", goal=4, unit="tokens/s", rate=True)


def memory() -> Iterator[Line]:
    texts = "texts = ['the cat sat on the mat number %d' % i for i in range(2000)]\n"
    ours = peak(texts + "from turnwise.encode import load; load('minilm').encode(texts)")
    theirs = peak(
        texts
        + f"from sentence_transformers import SentenceTransformer as S; S({str(locate('minilm'))!r}).encode(texts)"
    )
    yield Line(
        "peak memory, 2,000 sentence vectors", ours, theirs, "sentence-transformers", 1.0, "MiB", at_most=True
    )


def bench() -> Iterator[Line]:
    chosen = judged()
    yield from bertscore(chosen)
    yield from encoding(chosen)
    yield from likelihood(chosen)
    yield from memory()
