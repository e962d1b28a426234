"""Metrics with encoders and language models, on tiny models whose scores are recomputed in the test."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tests.tiny_models import write_bert, write_llama, write_regression, write_roberta
from turnwise.cli.building import command_line
from turnwise.commands.score import Score
from turnwise.encode import load
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.types import Item, Turn


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> str:
    return str(write_bert(tmp_path_factory.mktemp("m") / "bert"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> str:
    return str(write_llama(tmp_path_factory.mktemp("m") / "llama", chat=True))


def item(reply: str, *references: str, said: str = "i love my cat") -> Item:
    turns = (Turn("user", said), Turn("assistant", reply, references=references))
    return Item("d#1", "d", "bot", turns, 1, "d", "d")


def number(metric, *items: Item) -> float:
    return metric.reduce(metric.rows(list(items)))


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def words(model: str, text: str) -> np.ndarray:
    (tokens,) = load(model).tokens([text])
    return tokens.vectors[~tokens.special].astype(np.float64)


def test_average_greedy_and_extrema_follow_their_papers(bert):
    a, b = words(bert, "i like the piano"), words(bert, "you play a song")
    one = item("i like the piano", "you play a song")
    mean = unit(a.mean(axis=0)) @ unit(b.mean(axis=0))
    assert number(resolve("average", model=bert), one) == pytest.approx(mean, abs=1e-6)
    cosines = unit(a) @ unit(b).T
    greedy = (cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2
    assert number(resolve("greedy", model=bert), one) == pytest.approx(greedy, abs=1e-6)
    far = [np.take_along_axis(m, np.abs(m).argmax(axis=0)[None], axis=0)[0] for m in (a, b)]
    assert number(resolve("extrema", model=bert), one) == pytest.approx(unit(far[0]) @ unit(far[1]), abs=1e-6)
    top = unit(a.max(axis=0)) @ unit(b.max(axis=0))
    assert number(resolve("extrema-max", model=bert), one) == pytest.approx(top, abs=1e-6)


@pytest.mark.parametrize("name", ["average", "greedy", "extrema", "extrema-max", "bertscore"])
def test_a_copy_of_a_reference_scores_highest_and_the_best_reference_counts(name, bert):
    metric = resolve(name, model=bert)
    assert number(metric, item("i like the piano", "i like the piano")) == pytest.approx(1, abs=1e-6)
    apart = [number(metric, item("i like the piano", text)) for text in ("a dog", "we hear a song")]
    both = number(metric, item("i like the piano", "a dog", "we hear a song"))
    assert both == pytest.approx(max(apart), abs=1e-9)


def test_relatedness_compares_with_the_partners_last_message(bert):
    metric = resolve("relatedness", model=bert)
    assert number(metric, item("i love my cat")) == pytest.approx(1, abs=1e-6)  # a parrot
    turns = (Turn("user", "a dog"), Turn("assistant", "we play"), Turn("assistant", "a dog"))
    assert number(metric, Item("d#2", "d", "bot", turns, 2, "d", "d")) == pytest.approx(1, abs=1e-6)


def test_a_regression_checkpoint_reads_reference_and_reply_together(tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = write_regression(tmp_path / "bleurt")
    metric = resolve("regression", model=str(folder))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**tokenizer("a dog", "i like the piano", return_tensors="pt")).logits
    assert number(metric, item("i like the piano", "a dog")) == pytest.approx(float(logits), abs=1e-6)


def test_a_regression_without_a_trained_head_is_refused(bert):
    with pytest.raises(UsageError, match=r"no weights for classifier.bias, classifier.weight"):
        resolve("regression", model=bert).rows([item("i like the piano", "a dog")])


def test_a_regression_reads_long_texts_with_a_model_that_counts_positions_from_2(tmp_path):
    folder = write_roberta(tmp_path / "roberta", places=34, labels=1)
    rows = resolve("regression", model=str(folder)).rows([item("the cat " * 40, "a dog " * 40)])
    assert np.isfinite(rows).all()


def test_truncated_texts_are_counted_in_the_results_also_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    folder, checkpoint = write_bert(tmp_path / "bert", max_length=16), write_regression(tmp_path / "bleurt")
    turns = [
        {"role": "user", "content": "i love my cat"},
        {"role": "assistant", "content": "the cat " * 200, "references": ["a dog"]},
    ]
    data = tmp_path / "logs.jsonl"
    data.write_text("".join(json.dumps({"agent": bot, "messages": turns}) + "\n" for bot in "ab"))
    names = f"bertscore[model={folder}],regression[model={checkpoint}]"
    for _ in range(2):  # the second time vectors come from the cache, and blocks from the store
        done = CliRunner().invoke(
            command_line(Score),
            [str(data), "-m", names, "--format", "json", "--jobs", "1", "-o", str(tmp_path / "out")],
        )
        cut = {record["metric"]: record["cut"] for record in json.loads(done.stdout)["results"]}
        assert cut == dict(zip(names.split(","), (1, 2), strict=True))  # one text, and two pairs
        assert "its model read only the beginning of 1 text" in done.stderr


def test_fbd_paper_refuses_a_decoder_because_its_first_token_sees_no_context(llama):
    from turnwise.metrics.distribution.pair_encoding import PairEncoding

    with pytest.raises(UsageError, match="pooling=last"):
        PairEncoding(llama, "together", 0).raw([item("i like the piano")], reply_only=False)
    vectors = PairEncoding(llama, "together", 0, pooling="last").raw(
        [item("i like the piano")], reply_only=False
    )
    assert np.isfinite(vectors).all()


def test_a_regression_without_a_checkpoint_says_how_to_name_one():
    with pytest.raises(UsageError, match="--model DIR"):
        resolve("regression")


def test_settings_in_brackets_reach_the_metric(bert):
    assert resolve(f"bertscore[model={bert},layer=1]").layer == 1
    assert "layer:1" in str(resolve(f"bertscore[model={bert},layer=1]").signature)
    assert "precision:bf16" in str(resolve(f"bertscore[model={bert},precision=bf16]").signature)
    with pytest.raises(UsageError, match="its settings are: model, layer, idf, baseline"):
        resolve("bertscore-p[layers=1]")
    with pytest.raises(UsageError, match="write for example"):
        resolve("bertscore[layer]")
    assert resolve("relatedness", model=bert).model == bert
    assert resolve(f"relatedness[model={bert}]", model="minilm").model == bert
