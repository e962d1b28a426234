"""What papers/fbd_encoders.py keeps of PRD and BERTScore with an encoder, and the layers that it computes at once."""

import gzip
import json

import numpy as np
import pytest

pytest.importorskip("torch")

from papers import fbd_encoders
from papers.fbd_prd import FILES, Corpus, correlations, numbers
from tests.corpus import dialogue
from turnwise.encode import load
from turnwise.metrics import models


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with 50 replies of each of three agents; one of them has no reference."""
    monkeypatch.setattr(fbd_encoders, "RESULTS", tmp_path / "fbd_encoders.json")
    rng = np.random.default_rng(0)
    records = [
        dialogue(number, agent, rng, exchanges=1, meta={"corpus": "one"})
        for number in range(50)
        for agent in ("good", "fair", "poor")
    ]
    del records[0]["messages"][1]["references"]
    with gzip.open(tmp_path / FILES["fbd"], "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return tmp_path


def test_others_are_kept_and_shown_beside_what_was_there(home, data, bert, llama, capsys):
    fbd_encoders.RESULTS.write_text('{"fbd, tiny, output": {"one": [0.5, 0.25]}}')
    fbd_encoders.others(data, "tiny", str(bert))
    fbd_encoders.others(data, "smollm2", str(llama))
    kept = json.loads(fbd_encoders.RESULTS.read_text())
    assert [name.removesuffix(", output") for name in kept] == [
        "fbd, tiny", "prd, tiny", "bertscore, tiny", "prd-paper, tiny", "prd, smollm2", "bertscore, smollm2",
    ]  # fmt: skip
    capsys.readouterr()
    fbd_encoders.show()
    shown = capsys.readouterr().out.splitlines()
    assert shown[2] == "| fbd, tiny, output | .500 .250 | .500 .250 | .500 .250 |"
    assert len(shown) == 2 + len(kept)
    fbd_encoders.figures()
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "| | tiny | smollm2 |"
    assert shown[2] == "| fbd | .500 .250 | - |"
    assert shown[6:9] == ["", "| | one |", "|---|---|"]
    tiny = kept["bertscore, tiny, output"]["one"]
    assert shown[11] == f"| bertscore | {fbd_encoders._two(tiny)} |"  # `fbd` was measured with `tiny` only


def test_the_ratings_of_replies_without_a_reference_do_not_count_for_bertscore(home, data, bert):
    whole = Corpus.read(data / FILES["fbd"], "meta.corpus")
    fbd_encoders.others(data, "tiny", str(bert))
    kept = json.loads(fbd_encoders.RESULTS.read_text())
    metric = f"bertscore[model={bert}]"
    some = Corpus([item for item in whole.items if item.references], whole.ratings)
    assert len(some.items) == len(whole.items) - 1
    assert kept["bertscore, tiny, output"]["one"] == pytest.approx(
        correlations(some, numbers(some, metric))["one"]
    )
    assert kept["bertscore, tiny, output"]["one"][1] != pytest.approx(
        correlations(whole, numbers(whole, metric))["one"][1]
    )


def test_the_vectors_of_all_layers_from_one_pass_are_those_of_each_layer(home, data, bert):
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    fbd_encoders.fill(corpus, "fbd", str(bert), [1, 2])
    for layer in (1, 2):
        options = {"layer": layer, "pooling": "mean", "normalise": False}
        encoder = models.text_encoder(str(bert), **options)
        texts = fbd_encoders.wanted(corpus, "fbd", str(bert))["all"]
        np.testing.assert_allclose(encoder.encode(texts), load(str(bert), **options).encode(texts), atol=1e-5)
