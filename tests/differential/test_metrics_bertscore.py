"""BERTScore against the bert-score package, with the same MiniLM from the same folder."""

import warnings

import numpy as np
import pytest

from turnwise.encode.models.catalogue import NotFetched, locate
from turnwise.logs import native
from turnwise.logs.items.items import Selection
from turnwise.logs.items.items import items as all_items
from turnwise.metrics import resolve
from turnwise.metrics.rows import scored
from turnwise.types import Item, NeedsFitting, Turn

PAIRS = [
    ("I like to ride my bike by the sea.", "I often cycle along the beach."),
    ("No.", "I do not think so, sorry."),
    ("The restaurant opens at 6 pm, shall I book a table for two?", "It opens at six. Do you want a table?"),
    ("what what what", "Could you say that again?"),
    ("Ça va bien, merci !", "I'm fine, thanks!"),
    ("It costs $12.50 (plus tax).", "The price is 12.50 dollars."),
    ("the cat sat on the mat", "the cat sat on the mat"),
]


@pytest.fixture(scope="module")
def minilm() -> str:
    try:
        return str(locate("minilm"))
    except NotFetched as error:
        pytest.skip(str(error))


def items(references: list[list[str]]) -> list[Item]:
    found = []
    for place, ((reply, _), refs) in enumerate(zip(PAIRS, references, strict=True)):
        turns = (Turn("user", "hi"), Turn("assistant", reply, references=tuple(refs)))
        found.append(Item(f"d{place}#1", f"d{place}", "bot", turns, 1, f"d{place}", f"d{place}"))
    return found


def theirs(folder: str, references: list, *, idf: bool) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import score

        replies = [reply for reply, _ in PAIRS]
        parts = score(replies, references, model_type=folder, num_layers=6, idf=idf, lang="en", device="cpu")
    return [part.numpy() for part in parts]


def test_real_pairs_score_as_the_package_scores_each_pair_alone(minilm, corpora):
    """In batches the package lets its padding, a cosine of 0, win over negative ones."""
    from bert_score import BERTScorer

    stream = native.read(str(corpora / "fbd.jsonl.gz"))
    referenced = [item for item in all_items(stream, Selection(items="all")) if item.references][::140]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = BERTScorer(model_type=minilm, num_layers=6, device="cpu")
        replies, references = [item.reply for item in referenced], [item.references[0] for item in referenced]
        alone = scorer.score(replies, references, batch_size=1)[2].numpy()
        together = scorer.score(replies, references, batch_size=64)[2].numpy()
    ours = resolve("bertscore").rows(referenced)[:, 0]
    np.testing.assert_allclose(ours, alone, atol=1e-4)
    assert np.max(np.abs(ours - together)) < 0.02


@pytest.mark.parametrize("idf", [False, True])
def test_precision_recall_and_f_are_the_packages(minilm, idf):
    references = [[reference] for _, reference in PAIRS]
    expected = theirs(minilm, [reference for _, reference in PAIRS], idf=idf)
    for name, column in zip(("bertscore-p", "bertscore-r", "bertscore"), expected, strict=True):
        metric = resolve(name, idf=idf)
        if isinstance(metric, NeedsFitting):
            metric = metric.fit(items(references))
        rows = metric.rows(items(references))
        assert scored(rows).all()
        np.testing.assert_allclose(rows[:, 0], column, atol=1e-4)


def test_of_several_references_the_best_counts(minilm):
    references = [[reference, "Something else entirely."] for _, reference in PAIRS]
    expected = theirs(minilm, references, idf=False)[2]
    rows = resolve("bertscore").rows(items(references))
    np.testing.assert_allclose(rows[:, 0], expected, atol=1e-4)


def test_a_baseline_rescales_as_the_package_does(minilm):
    references = [[reference] for _, reference in PAIRS]
    plain = resolve("bertscore").rows(items(references))[:, 0]
    rescaled = resolve("bertscore[baseline=0.3]").rows(items(references))[:, 0]
    np.testing.assert_allclose(rescaled, (plain - 0.3) / 0.7)
