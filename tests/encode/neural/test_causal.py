import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

from tests.tiny_models import write_bert, write_masked, write_sliding  # noqa: E402
from turnwise.encode import TextInContext, load_lm  # noqa: E402
from turnwise.encode.cache.disk import Cache  # noqa: E402
from turnwise.encode.neural.causal import CausalLM  # noqa: E402
from turnwise.errors import DataError, UsageError  # noqa: E402
from turnwise.types import Turn  # noqa: E402

HELLO = (Turn("user", "do you like my song ?"),)
LONG = (
    *HELLO,
    Turn("assistant", "i love the song and the guitar"),
    Turn("user", "we play piano . and you ?"),
)
SAID = [
    TextInContext("i love it", HELLO),
    TextInContext("not the piano !", HELLO),
    TextInContext("i love it"),
    TextInContext("a", LONG),
    TextInContext("i play the guitar and you hear me , day and day", LONG),
    TextInContext("see you", LONG, "user"),
    TextInContext("i love it", HELLO),
]


def one_by_one(folder: Path, context: str, text: str) -> np.ndarray:
    """The plain loop: one sequence, all logits."""
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    before = tokenizer(context, add_special_tokens=False)["input_ids"]
    after = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([before + after])).logits[0].log_softmax(dim=-1)
    return np.array([logits[len(before) - 1 + place, token] for place, token in enumerate(after)])


def as_lines(utterance: TextInContext) -> str:
    return "[CLS]" + "".join(f"{turn.text}\n" for turn in utterance.context)


def as_chat(utterance: TextInContext) -> str:
    said = "".join(f"<|{turn.role}|> {turn.text} [SEP] " for turn in utterance.context)
    return f"{said}<|{utterance.role}|> "


def test_log_probabilities_equal_a_plain_loop(llama: Path) -> None:
    found = load_lm(str(llama)).log_probs(SAID)
    for utterance, row in zip(SAID, found, strict=True):
        np.testing.assert_allclose(row, one_by_one(llama, as_lines(utterance), utterance.text), atol=1e-5)


@pytest.mark.parametrize("kind", ["mistral", "gemma3"])
def test_beyond_a_sliding_window_log_probabilities_equal_a_plain_loop(kind: str, tmp_path: Path) -> None:
    folder = write_sliding(tmp_path / kind, kind)
    more = (Turn("user", "we like the dog and the cat and the piano , not the day ."), *LONG)
    said = [
        *SAID,
        TextInContext("i hear you and i see the cat , not the dog", more),
        TextInContext("you", more),
    ]
    model = load_lm(str(folder))
    found = model.log_probs(said)
    for utterance, row in zip(said, found, strict=True):
        np.testing.assert_allclose(row, one_by_one(folder, as_lines(utterance), utterance.text), atol=2e-5)
    for utterance, row in zip(said, found, strict=True):
        np.testing.assert_array_equal(model.log_probs([utterance])[0], row)


def test_a_model_whose_tokens_see_those_after_them_is_no_language_model(tmp_path: Path) -> None:
    for folder in (write_masked(tmp_path / "masked"), write_bert(tmp_path / "bert")):
        with pytest.raises(UsageError, match="no causal language model"):
            load_lm(str(folder)).score(SAID)


def test_a_language_model_without_all_its_weights_is_refused(llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "cut"
    shutil.copytree(llama, folder)
    kept = load_file(folder / "model.safetensors")
    del kept["model.layers.1.mlp.up_proj.weight"]
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match=r"has no weights for model.layers.1.mlp.up_proj.weight"):
        load_lm(str(folder)).score(SAID)


def test_a_chat_model_reads_its_template_up_to_the_speakers_words(chat_llama: Path) -> None:
    model = load_lm(str(chat_llama))
    assert "form:chat" in str(model.signature)
    for utterance, row in zip(SAID, model.log_probs(SAID), strict=True):
        np.testing.assert_allclose(row, one_by_one(chat_llama, as_chat(utterance), utterance.text), atol=1e-5)


def test_plain_form_can_be_asked_of_a_chat_model(chat_llama: Path, llama: Path) -> None:
    plain = load_lm(str(chat_llama), form="plain")
    np.testing.assert_array_equal(plain.score(SAID), load_lm(str(llama)).score(SAID))
    with pytest.raises(UsageError, match="no chat template"):
        load_lm(str(llama), form="chat").score(SAID)


def test_a_conversation_that_the_template_refuses_is_an_error_of_that_conversation(chat_llama: Path) -> None:
    """Not of the settings: others may do, and it must not end a run."""
    model = load_lm(str(chat_llama))
    model.prompt.tokenizer.chat_template = (
        "{% if messages[0]['role'] != 'user' %}{{ raise_exception('begin with the user') }}{% endif %}"
        "{% for m in messages %}{% if m['role'] != 'tool' %}{{ m['content'] }} {% endif %}{% endfor %}"
    )
    assert np.isfinite(model.score([TextInContext("i like", (Turn("user", "you"),))])).all()
    with pytest.raises(DataError, match=r"refuses this dialogue \(begin with the user\)"):
        model.score([TextInContext("i like", (Turn("system", "you"),))])
    with pytest.raises(DataError, match="drops turns of `tool`"):
        model.score([TextInContext("i like", (Turn("user", "you"),), "tool")])


def test_batch_and_order_change_no_more_than_the_last_bit(llama: Path) -> None:
    model = load_lm(str(llama))
    together = model.score(SAID)
    # One float32 step at this size: some processors multiply matrices of another height in another order.
    close = {"rtol": 0, "atol": 1e-6}
    np.testing.assert_allclose(np.vstack([model.score([utterance]) for utterance in SAID]), together, **close)
    np.testing.assert_allclose(model.score(SAID[::-1])[::-1], together, **close)
    np.testing.assert_allclose(load_lm(str(llama), budget=1).score(SAID), together, **close)


def test_in_bfloat16_company_changes_not_a_bit_either(llama: Path) -> None:
    model = load_lm(str(llama), precision="bf16")
    np.testing.assert_array_equal(
        np.vstack([model.score([utterance]) for utterance in SAID]), model.score(SAID)
    )


def test_the_score_is_the_sum_and_the_count_and_nothing_said_has_no_sum(llama: Path) -> None:
    model = load_lm(str(llama))
    scores = model.score([SAID[0], TextInContext("", HELLO)])
    tokens = model.log_probs([SAID[0]])[0]
    assert scores[0].tolist() == [tokens.sum(), len(tokens)]
    assert np.isnan(scores[1, 0])
    assert scores[1, 1] == 0
    assert model.score([]).shape == (0, 2)


def test_what_does_not_fit_loses_the_beginning_of_its_context(
    llama: Path, caplog: pytest.LogCaptureFixture
) -> None:
    short = CausalLM(llama, "t@0", max_length=12)
    assert short.cut(SAID) == 3
    row = short.log_probs([SAID[3]])[0]
    assert "read only 12 tokens of 1 longer text" in caplog.text
    tokenizer = AutoTokenizer.from_pretrained(llama)
    ids = tokenizer(as_lines(SAID[3]), add_special_tokens=False)["input_ids"][-11:]
    model = AutoModelForCausalLM.from_pretrained(llama).eval()
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0, -1].log_softmax(dim=-1)
    target = tokenizer("a", add_special_tokens=False)["input_ids"][0]
    np.testing.assert_allclose(row, [expected[target]], atol=1e-5)


def test_scores_from_the_cache_are_the_same_bytes(llama: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "v.sqlite", limit=10**8)
    model = load_lm(str(llama), cache=cache)
    model.score(SAID[:2])
    np.testing.assert_array_equal(model.score(SAID), load_lm(str(llama)).score(SAID))
    np.testing.assert_array_equal(model.score(SAID), load_lm(str(llama)).score(SAID))


def test_a_context_counts_by_its_speakers_too(chat_llama: Path, tmp_path: Path) -> None:
    model = load_lm(str(chat_llama), cache=Cache(tmp_path / "v.sqlite", limit=10**8))
    swapped = TextInContext("i love it", (Turn("assistant", HELLO[0].text),))
    assert model.score([SAID[0]])[0, 0] != model.score([swapped])[0, 0]
