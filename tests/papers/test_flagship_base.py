"""A Qwen2 whose vocabulary is cut to the words of a corpus: against transformers, and in every stage of training."""

import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("gguf")

import gguf
import torch
from transformers import AutoTokenizer, BertConfig, BertModel, Qwen2Config, Qwen2ForCausalLM
from transformers.convert_slow_tokenizer import bytes_to_unicode

from papers.flagship import carry, cut_vocabulary, train_large, train_rated, train_student, weights
from papers.flagship.candidates import Candidates
from papers.flagship.corpus import Corpus, save, table_arrays
from papers.flagship.weights import base_llama, base_name
from turnwise.networks.replies.columns import COLUMNS
from turnwise.networks.replies.llama import attention_mask

MERGES = ["Ġ h", "Ġ t", "Ġt h", "e r", "i n", "Ġ a", "o n"]
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = [*bytes_to_unicode().values(), *(merge.replace(" ", "") for merge in MERGES), *MARKS]
CONFIG = Qwen2Config(
    vocab_size=len(TOKENS), hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, tie_word_embeddings=True, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=256,
)  # fmt: skip
GGUF = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "model.layers": "blk", "model.embed_tokens": "token_embd", "model.norm": "output_norm",
}  # fmt: skip
TEXTS = [
    "hello there how are you", "i am fine and the weather is nice", "yes the sun shines on the house",
    "we went to the river and saw a horse", "that horse ran into the water", "tell me more about the horse",
]  # fmt: skip


@pytest.fixture(scope="module")
def peer() -> Qwen2ForCausalLM:
    """A model of transformers whose weights are exact in the GGUF file of `whole`; its biases are not zero."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(CONFIG).eval()
    with torch.no_grad():
        for name, one in model.named_parameters():
            one.normal_(std=1.0 if name.endswith("bias") else 0.2)
            one.copy_(one.bfloat16())
        rows = gguf.quantize(model.model.embed_tokens.weight.numpy(), kind := gguf.GGMLQuantizationType.Q8_0)
        model.model.embed_tokens.weight.copy_(torch.from_numpy(gguf.dequantize(rows, kind)).bfloat16())
    return model


@pytest.fixture(scope="module")
def whole(peer, tmp_path_factory) -> Path:
    """The model as a GGUF file with its tokeniser, and with a coarser copy of the embeddings, as Qwen's has."""
    path = tmp_path_factory.mktemp("model") / "qwen.gguf"
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(CONFIG.num_hidden_layers)
    writer.add_context_length(256)
    writer.add_embedding_length(CONFIG.hidden_size)
    writer.add_feed_forward_length(CONFIG.intermediate_size)
    writer.add_head_count(CONFIG.num_attention_heads)
    writer.add_head_count_kv(CONFIG.num_key_value_heads)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if token in MARKS else 1 for token in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(len(TOKENS) - 1)
    writer.add_bos_token_id(len(TOKENS) - 3)
    for name, one in peer.model.state_dict(prefix="model.").items():
        for published, stored in GGUF.items():
            name = name.replace(published, stored)
        if name == "token_embd.weight":
            for copy, kind in (("output.weight", "Q8_0"), (name, "Q5_0")):
                rows = gguf.quantize(one.numpy(), of := gguf.GGMLQuantizationType[kind])
                writer.add_tensor(copy, rows, raw_dtype=of)
        else:
            writer.add_tensor(name, one.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def text(whole, tmp_path_factory) -> Path:
    """A folder with a small corpus, and with the cut model and its table of tokens as the command writes them."""
    folder = tmp_path_factory.mktemp("text")
    words = ["something", *sorted({word for one in TEXTS for word in one.split()} - {"something"})]
    turns = [np.array([words.index(word) for word in one.split()]) for one in TEXTS * 4]
    rated = [(group, 6 * n, 6 * n + 2, 7 * n + 3, n) for group in range(1, 6) for n in range(3)]
    arrays = {
        "flat": np.concatenate(turns), "turn_ends": np.cumsum([len(one) for one in turns]),
        "dialogues": np.array([(6 * n, 6 * n + 6, n) for n in range(4)]),
        "extra": np.zeros((0, 3), np.int64), "probes": np.array([(0, 0, 2, 2)]),
        "pairs": np.array([(0, 1, 0), (1, 2, 2)]),
        **{f"rated_{name}": np.array(column) for name, column in zip(
            ("group", "context_start", "context_end", "reply", "value"), zip(*rated, strict=True), strict=True)},
        **table_arrays("minilm", [[110 + at] for at in range(len(words))]),
    }  # fmt: skip
    save(folder, arrays, words)
    prefix = folder / "carried-"
    run(cut_vocabulary, str(whole), str(folder), "-o", str(prefix), "--part", "0.05")
    parts = sorted(folder.glob("carried-*/part"), key=lambda one: int(one.parent.name.split("-")[1]))
    assert len(parts) > 2
    (folder / "qwen.gguf").write_bytes(b"".join(one.read_bytes() for one in parts))
    (folder / "carried-1" / "qwen_tokens.npz").rename(folder / "qwen_tokens.npz")
    return folder


def run(module, *arguments: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["", *arguments])
        module.main()


def test_logits_are_those_of_transformers_at_the_tokens_that_were_kept(peer, whole, text):
    corpus = Corpus.load(text)
    llama = base_llama(text / "qwen.gguf", rank=2).float()
    assert base_name(text / "qwen.gguf") == "qwen"
    tokens = corpus.tokens("qwen").tokens(corpus.turn(1))
    kept = original(corpus, whole)
    spelt = "".join(TOKENS[at] for at in kept[tokens])
    assert spelt == "".join(f"Ġ{word}" for word in TEXTS[1].split())
    ids = torch.from_numpy(np.concatenate([[1], tokens, [2]]))[None]
    assert [TOKENS[at] for at in kept[:3]] == MARKS
    assert len(kept) == len(llama.embeddings) < len(TOKENS)
    with torch.no_grad():
        mask = attention_mask(torch.zeros_like(ids))
        found = llama.token_logits(llama(ids, torch.arange(ids.shape[1])[None], mask))
        expected = peer(torch.from_numpy(kept)[ids]).logits[..., torch.from_numpy(kept)]
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-3)


def original(corpus: Corpus, whole: Path) -> np.ndarray:
    """The tokens of the whole vocabulary that were kept, by their new numbers."""
    tokeniser = AutoTokenizer.from_pretrained(whole.parent, gguf_file=whole.name)
    ids = [tokeniser.encode(f" {word}", add_special_tokens=False) for word in corpus.words]
    kept = {0: TOKENS.index(MARKS[0]), 1: TOKENS.index(MARKS[1]), 2: TOKENS.index(MARKS[2])}
    kept.update(zip(corpus.tokens("qwen").flat.tolist(), [one for some in ids for one in some], strict=True))
    return np.array([kept[at] for at in range(len(kept))])


def test_a_first_token_starts_a_word(text):
    corpus = Corpus.load(text)
    words = train_large.Words(corpus.tokens("qwen"))
    tokens = corpus.tokens("qwen").tokens(corpus.turn(3)).tolist()
    assert words(tokens) == corpus.turn(3).tolist()
    assert words(tokens[1:]) == []
    assert words([]) == []


@pytest.mark.slow
def test_every_stage_runs_from_the_cut_file(text, tmp_path):
    given = ["--text", str(text), "--base", str(text / "qwen.gguf"), "--out", str(tmp_path), "--rank", "2",
             "--device", "cpu", "--workers", "0"]  # fmt: skip
    run(train_large, "lm", *given, "--seconds", "1", "--batch", "4")
    run(train_large, "sample", *given, "--count", "8", "--batch", "4")
    with np.load(tmp_path / "samples.npz") as found:
        assert len(found["target"]) == len(found["ends"]) <= 8
    np.savez(
        tmp_path / "samples.npz", target=[2, 9], flat=[1, 2, 3, 4, 5], ends=[2, 5]
    )  # of a model that can spell
    run(train_large, "discriminate", *given, "--seconds", "4", "--batch", "1500", "--rate", "1e-3")
    with np.load(tmp_path / "large-qwen-0-rated.npz") as found:
        assert found["steps"] >= 2
        assert found["columns"].shape == (15, len(COLUMNS))
    with np.load(tmp_path / "large-qwen-0.npz") as trained:
        assert np.abs(trained["llama.layers.0.q_proj.up"]).max() > 0
    run(train_student, "label", *given, "--seconds", "0.1")
    with np.load(tmp_path / "large-qwen-0-labels.npz") as found:
        assert found["table"].shape == (found["sizes"][:, 1].sum(), len(COLUMNS))
        assert np.isfinite(found["table"]).all()
    pairs, table = train_student.read_labels([tmp_path / "large-qwen-0-labels.npz"])
    assert len(pairs) == len(table)
    small = BertConfig(
        vocab_size=200, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
    )
    BertModel(small, add_pooling_layer=False).save_pretrained(tmp_path / "minilm")
    run(train_student, "train", "--text", str(text), "--out", str(tmp_path), "--base-name", "qwen", "--labels",
        str(tmp_path / "large-qwen-0-labels.npz"),
        "--seed", "5", "--student", str(tmp_path / "minilm"), "--seconds", "1", "--batch", "8", "--device", "cpu",
        "--workers", "0")  # fmt: skip
    with np.load(tmp_path / "student-qwen-5-rated.npz") as found:
        assert found["rated"].shape == (15, len(COLUMNS))


@pytest.mark.slow
def test_a_round_teaches_what_the_mean_of_three_models_is_fooled_by(text, tmp_path, monkeypatch):
    # Trainings end by the clock: here it advances by a quarter of a second at each look, on a busy machine too.
    ticks = count(step=0.25)
    monkeypatch.setattr(train_large, "time", SimpleNamespace(time=lambda: next(ticks)))
    given = ["--text", str(text), "--base", str(text / "qwen.gguf"), "--out", str(tmp_path), "--rank", "2",
             "--device", "cpu", "--workers", "0"]  # fmt: skip
    np.savez(tmp_path / "samples.npz", target=[2, 9], flat=[1, 2, 3, 4, 5], ends=[2, 5])
    for seed in range(3):
        run(train_large, "discriminate", *given, "--seed", str(seed), "--seconds", "1", "--batch", "1500")
    run(train_large, "soup", *given)
    with np.load(tmp_path / "qwen-soup-rated.npz") as found:
        assert np.isfinite(found["columns"]).all()
    soup = tmp_path / "qwen-soup.npz"
    run(train_large, "mine", *given, "--count", "9")
    mined = train_large.read_mined(tmp_path / "mined.npz")
    assert len(mined.templates) == 9
    assert 9 < len(mined.replies) <= 18  # turns, and nine bundles
    after = tmp_path / "after"
    more = [
        "--start",
        str(soup),
        "--mined",
        str(tmp_path / "mined.npz"),
        "--samples",
        str(tmp_path / "samples.npz"),
    ]
    run(train_large, "discriminate", *given[:4], "--out", str(after), *given[6:], *more, "--seconds", "2",
        "--batch", "1500", "--rate", "1e-3")  # fmt: skip
    with np.load(after / "large-qwen-0.npz") as trained, np.load(soup) as begun:
        assert trained.keys() == begun.keys()
        assert any((trained[name] != begun[name]).any() for name in begun)
    turns = [np.array([3, 4, 5]), np.array([6, 7])]  # a context and its reply
    np.savez(tmp_path / "read.npz", tokens=np.concatenate(turns), ends=[3, 5], turns=[1])
    read = ["--read", str(tmp_path / "read.npz"), *given[:4], *given[6:], *more, "--rate", "1e-2"]
    run(train_rated, "1.2", "none", *read, "--out", str(after), "--steps", "4")
    run(train_rated, "none", *read, "--out", str(tmp_path / "begun"), "--steps", "0")
    tables = [
        np.load(path / f"rated-{fold}-0.npz")["table"]
        for path, fold in ((after, "1.2"), (after, "none"), (tmp_path / "begun", "none"))
    ]
    assert [one.shape for one in tables] == [(1, len(COLUMNS) + 2)] * 3
    assert all((one != tables[2]).any() for one in tables[:2])
    load = Corpus.load

    def with_other_ratings(folder: Path) -> Corpus:
        corpus = load(folder)
        of_left_out = np.isin(corpus.arrays["rated_group"], [1, 2])
        corpus.arrays["rated_value"] = np.where(of_left_out, -1, 1) * corpus.arrays["rated_value"]
        return corpus

    monkeypatch.setattr(Corpus, "load", staticmethod(with_other_ratings))
    run(train_rated, "1.2", "none", *read, "--out", str(tmp_path / "other"), "--steps", "4")
    without, with_all = (
        np.load(tmp_path / "other" / f"rated-{fold}-0.npz")["table"] for fold in ("1.2", "none")
    )
    assert (without == tables[0]).all()  # the changed ratings are left out
    assert (with_all != tables[1]).any()


def test_a_share_of_the_text_is_drawn_from_alone(text):
    whole, half = (
        Candidates(Corpus.load(text), sources=frozenset(range(4)), samples={}, share=share)
        for share in (1.0, 0.5)
    )
    assert set(half.turns) < set(whole.turns)
    assert len(half.turns) == len(whole.turns) / 2


def test_the_loss_of_frauds_counts_contexts_that_a_person_answered():
    kinds = torch.tensor(
        [[0, 6, 1], [5, 8, 0], [0, 8, -1]]
    )  # logged, copy, random; machine, generic; logged, generic
    predicted = torch.tensor([[1.0, 2.0, 9.0], [0.0, 9.0, 9.0], [3.0, 1.0, 9.0]])
    wanted = (np.log1p(np.exp(2.0)) + np.log1p(np.exp(-1.0))) / 2
    assert train_rated.fraud_loss(predicted, kinds).item() == pytest.approx(wanted)


def test_a_table_of_other_words_is_refused(text, tmp_path):
    corpus = Corpus.load(text)
    save(tmp_path, corpus.arrays, [*corpus.words[:-1], "other"])
    (tmp_path / "qwen_tokens.npz").write_bytes((text / "qwen_tokens.npz").read_bytes())
    with pytest.raises(SystemExit, match="other words"):
        Corpus.load(tmp_path)


def test_what_travels_of_a_gguf_file_is_the_very_model(whole, monkeypatch):
    stored, shape = weights.stored_rows(whole)
    kept = {name: one for name, one in stored.items() if one[0].name in ("F32", "Q8_0")}
    rng = np.random.default_rng(0)
    quarter = gguf.quantize(rng.normal(size=(4, 64)).astype(np.float32), of := gguf.GGMLQuantizationType.Q4_1)
    kept["quarter"] = (of, quarter)
    monkeypatch.setattr(weights, "stored_rows", lambda path: (kept, shape))
    monkeypatch.setattr(weights, "_WHOLE_VOCABULARY", 0)
    kept["model.embed_tokens.weight"] = (
        kept["lm_head.weight"] if "lm_head.weight" in kept else kept["output.weight"]
    )
    found, expected = carry.unpack_llama(carry.pack_llama(whole)), weights.read_gguf(whole)[0]
    assert set(found) == set(expected)
    assert all(torch.equal(found[name].reshape(one.shape), one) for name, one in expected.items())
