"""A tiny model as llama.cpp would store it, packed to 8 bits, comes back as the model that it was."""

import json
from pathlib import Path

import numpy as np
import pytest

from turnwise.encode import TextInContext, load_lm
from turnwise.types import Turn

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
pytest.importorskip("accelerate")

from turnwise.encode.neural.gguf import unpack  # noqa: E402 - needs what may be absent

WIDTH, HEADS, KEYS, INNER, LAYERS = 32, 4, 2, 64, 2
CHAT = "{% for m in messages %}{{ '<s>' + m['role'] + ' ' + m['content'] }}{% endfor %}"
LAYER = {  # of the file -> of transformers, and how many heads share its rows
    "attn_q": ("self_attn.q_proj", HEADS),
    "attn_k": ("self_attn.k_proj", KEYS),
    "attn_v": ("self_attn.v_proj", 0),
    "attn_output": ("self_attn.o_proj", 0),
    "ffn_gate": ("mlp.gate_proj", 0),
    "ffn_up": ("mlp.up_proj", 0),
    "ffn_down": ("mlp.down_proj", 0),
    "attn_norm": ("input_layernorm", 0),
    "ffn_norm": ("post_attention_layernorm", 0),
}


def vocabulary() -> list[str]:
    """Bytes as GPT-2 writes them, one merge, and the mark of beginning."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return [*bytes_to_unicode().values(), "he", "<s>"]


def original() -> "torch.nn.Module":
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(vocabulary()),
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEYS,
        max_position_embeddings=64,
        initializer_range=0.2,
        bos_token_id=len(vocabulary()) - 1,
        eos_token_id=len(vocabulary()) - 1,
    )
    return LlamaForCausalLM(config).eval()


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp turns pairs of neighbours where transformers turns halves: rows are stored in another order."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write(path: Path, model: "torch.nn.Module") -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_vocab_size(len(vocabulary()))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary())
    writer.add_token_types([gguf.TokenType.NORMAL] * (len(vocabulary()) - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(len(vocabulary()) - 1)
    writer.add_eos_token_id(len(vocabulary()) - 1)
    writer.add_chat_template(CHAT)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    add(writer, "token_embd.weight", state["model.embed_tokens.weight"])
    add(writer, "output.weight", state["lm_head.weight"])
    add(writer, "output_norm.weight", state["model.norm.weight"])
    for layer in range(LAYERS):
        for name, (theirs, heads) in LAYER.items():
            weight = state[f"model.layers.{layer}.{theirs}.weight"]
            add(writer, f"blk.{layer}.{name}.weight", interleaved(weight, heads) if heads else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add(writer: "gguf.GGUFWriter", name: str, weight: np.ndarray) -> None:
    """Tables are packed, vectors are kept as they are: as in files that are to be had."""
    if weight.ndim == 1:
        writer.add_tensor(name, weight)
        return
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor(name, gguf.quants.quantize(weight, kind), raw_dtype=kind)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    write(folder / "tiny.gguf", original())
    unpack(folder / "tiny.gguf", folder / "model")
    return folder / "model"


def test_a_packed_model_comes_back_as_it_was_but_for_the_packing(unpacked: Path) -> None:
    from transformers import AutoModelForCausalLM

    there = original().state_dict()
    back = AutoModelForCausalLM.from_pretrained(unpacked, dtype=torch.float32).eval()
    for name, weight in back.state_dict().items():
        # 8 bits of the greatest of 32 numbers, then 8 bits of bfloat16.
        assert torch.allclose(weight, there[name], atol=float(there[name].abs().max()) * 2**-7), name
    ids = torch.tensor([[5, 66, 100, 256, 7]])
    with torch.inference_mode():
        ours, theirs = back(ids).logits, original()(ids).logits
    assert torch.corrcoef(torch.stack([ours.ravel(), theirs.ravel()]))[0, 1] > 0.999


def test_an_unpacked_model_is_stored_in_bfloat16_and_loads_as_any_other(unpacked: Path) -> None:
    assert json.loads((unpacked / "config.json").read_text())["dtype"] == "bfloat16"
    model = load_lm(str(unpacked))
    assert model.prompt.form == "chat"
    context, text = model.prompt.encode(TextInContext("hehe", (Turn("user", "hi"),)))
    merged = vocabulary().index("he")
    assert text == (merged, merged)
    assert context[0] == len(vocabulary()) - 1
    ((total, count),) = model.score([TextInContext("hehe", (Turn("user", "hi"),))])
    assert count == 2
    assert np.isfinite(total)
    assert total < 0
