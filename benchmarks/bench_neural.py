"""Speed of BERTScore, encoding and language-model scoring, with and without cache, against simple implementations.

Texts are the `fbd` corpus if it is there (TURNWISE_DATA), else generated. Loading of a model is never timed. Each side
has one thread, and times are processor times: with more threads on a shared machine, most of the time would be waiting.
BERTScore is computed on the whole corpus. The language model scores all replies to some contexts, as in a corpus of
several systems; the loop that we compare with scores each reply with its context separately. Peak memory is that of a
process that does only one of the two.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.corpus import write
from benchmarks.harness import Line, peak
from turnwise.encode import Cache, TextInContext, load, load_lm
from turnwise.encode.models.catalogue import locate
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import models
from turnwise.metrics.reference.bertscore import BertScore
from turnwise.types import Item

CORPORA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAIRS = 5000  # number of generated pairs, without the corpus
CONTEXTS = 16  # contexts whose replies the language model scores


@cache
def scored_items() -> list[Item]:
    """The items of the corpus, or generated ones."""
    corpus = CORPORA / "fbd.jsonl.gz"
    if corpus.is_file():
        return [item for item in items(native.read(str(corpus)), Selection(items="all")) if item.references]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "logs.jsonl", PAIRS)
        return list(items(native.read(str(Path(folder) / "logs.jsonl")), Selection(items="all")))


def elapsed(function: Callable[[], object]) -> float:
    """Processor seconds of a call, including reading and writing of the cache."""
    start = time.process_time()
    function()
    return time.process_time() - start


def bert_scorer() -> Callable[[], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        scorer = BERTScorer(model_type=str(locate("minilm")), num_layers=6, device="cpu")
    replies = [item.reply for item in scored_items()]
    references = [list(item.references) for item in scored_items()]
    return lambda: scorer.score(replies, references, batch_size=64)


def cold_bertscore(folder: str, name: str = "vectors", **options: Any) -> Callable[[], Any]:
    """A function that computes our BERTScore, with a loaded encoder and an empty cache."""
    encoder = load("minilm", cache=Cache(Path(folder) / f"{name}.sqlite"), **options)
    encoder.encode(["load the model"])

    def rows() -> Any:
        models.text_encoder = lambda *_, **__: encoder  # type: ignore[assignment]
        return BertScore().rows(scored_items())

    return rows


def bertscore() -> Iterator[Line]:
    peer, count = elapsed(bert_scorer()), f"{len(scored_items()):,} pairs"
    with tempfile.TemporaryDirectory() as folder:
        rows = cold_bertscore(folder, precision="fp32")
        cold, warm = elapsed(rows), elapsed(rows)
        rounded = elapsed(cold_bertscore(folder, "bf16", precision="bf16"))
    yield Line(f"BERTScore of {count}, cold", cold, peer, "bert-score", goal=2)
    yield Line(f"BERTScore of {count}, from the cache", warm, peer, "bert-score", goal=20)
    yield Line(f"bertscore[precision=bf16] of {count}, cold", rounded, peer, "bert-score", goal=2)


def encoding() -> Iterator[Line]:
    texts = list(dict.fromkeys(text for item in scored_items() for text in (item.reply, *item.references)))
    with tempfile.TemporaryDirectory() as folder:
        encoder = load("minilm", cache=Cache(Path(folder) / "vectors.sqlite"))
        encoder.encode(["load the model"])
        first = elapsed(lambda: encoder.encode(texts))
        second = elapsed(lambda: encoder.encode(texts))
    yield Line(f"encoding {len(texts):,} texts again", second, first, "the first time", goal=50)


def utterances_of_contexts() -> list[TextInContext]:
    """All replies to some contexts."""
    by_context: dict[str, list[TextInContext]] = {}
    for item in scored_items():
        by_context.setdefault(item.pair, []).append(TextInContext(item.reply, item.context, item.role))
    step = max(1, len(by_context) // CONTEXTS)
    return [utterance for replies in list(by_context.values())[::step] for utterance in replies]


def together() -> Callable[[], Any]:
    model, utterances = load_lm("smollm2"), utterances_of_contexts()
    model.score(utterances[:1])
    return lambda: model.score(utterances)


def one_by_one() -> Callable[[], Any]:
    import torch
    from transformers import AutoModelForCausalLM

    prompt, utterances = load_lm("smollm2").prompt, utterances_of_contexts()
    model = AutoModelForCausalLM.from_pretrained(locate("smollm2"), dtype=torch.float32).eval()

    def score() -> None:
        for utterance in utterances:
            context, text = prompt.encode(utterance)
            with torch.inference_mode():
                logits = model(torch.tensor([[*context, *text]])).logits[0]
            ahead = torch.log_softmax(logits, dim=-1)[len(context) - 1 : -1]
            ahead.gather(1, torch.tensor(text)[:, None]).sum()

    return score


def likelihood() -> Iterator[Line]:
    prompt = load_lm("smollm2").prompt
    tokens = sum(len(prompt.encode(utterance)[1]) for utterance in utterances_of_contexts())
    ours, peer = elapsed(together()), elapsed(one_by_one())
    name = f"SmolLM2, {tokens:,} tokens of {len(utterances_of_contexts())} replies"
    yield Line(name, tokens / ours, tokens / peer, "one by one in fp32", goal=4, unit="tokens/s", rate=True)


def memory() -> Iterator[Line]:
    bench = "import tempfile, torch; torch.set_num_threads(1); from benchmarks import bench_neural as b\n"
    texts = "texts = [text for item in b.scored_items() for text in (item.reply, *item.references)]\n"
    folder = repr(str(locate("minilm")))
    sides = {
        "BERTScore": ("b.cold_bertscore(tempfile.mkdtemp())()", "b.bert_scorer()()", "bert-score"),
        "sentence vectors": (
            f"{texts}b.load('minilm').encode(texts)",
            f"{texts}from sentence_transformers import SentenceTransformer as S; S({folder}).encode(texts)",
            "sentence-transformers",
        ),
        "SmolLM2": ("b.together()()", "b.one_by_one()()", "one by one in fp32"),
    }
    for name, (ours, theirs, peer) in sides.items():
        yield Line(
            f"peak memory, {name}", peak(bench + ours), peak(bench + theirs), peer, 1.0, "MiB", at_most=True
        )


def bench() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    yield from bertscore()
    yield from encoding()
    yield from likelihood()
    yield from memory()
