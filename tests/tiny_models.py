"""Models with a few thousand random weights, saved like real ones, for tests without network and weights."""

from pathlib import Path
from typing import Any

WORDS = "i you we they like love hate hear play see the a my your guitar piano song cat dog day and or not".split()
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHAT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] + ' [SEP] ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def write_bert(folder: Path, *, seed: int = 0, max_length: int = 32) -> Path:
    """A two-layer BERT with token types."""
    from transformers import BertModel

    return _write_bert(folder, BertModel, seed=seed, max_length=max_length)


def write_regression(folder: Path, *, seed: int = 0) -> Path:
    """A two-layer BERT with one output, like BLEURT."""
    from transformers import BertForSequenceClassification

    return _write_bert(folder, BertForSequenceClassification, seed=seed, num_labels=1)


def write_masked(folder: Path, *, seed: int = 0) -> Path:
    """A two-layer BERT with the head of a masked language model."""
    from transformers import BertForMaskedLM

    return _write_bert(folder, BertForMaskedLM, seed=seed)


def _write_bert(folder: Path, kind: Any, *, seed: int, max_length: int = 256, **more: Any) -> Path:
    """Save a two-layer BERT of this class with its tokenizer."""
    import torch
    from transformers import BertConfig

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=max_length,
        initializer_range=0.5,  # large enough for texts to have different vectors
        **more,
    )
    kind(config).eval().save_pretrained(folder)
    _tokenizer(pair="[CLS] $A [SEP] $B:1 [SEP]:1", single="[CLS] $A [SEP]").save_pretrained(folder)
    return folder


def write_llama(folder: Path, *, seed: int = 0, chat: bool = False) -> Path:
    """A two-layer Llama with grouped-query attention, like SmolLM2."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
        initializer_range=0.3,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).eval().save_pretrained(folder)
    tokenizer = _tokenizer(single="$A", pair="$A $B")
    if chat:
        tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    return folder


def write_sliding(folder: Path, kind: str, *, window: int = 24, seed: int = 0) -> Path:
    """A decoder with sliding-window attention: in all layers for `mistral`, in one of two for `gemma3`."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig, MistralConfig, MistralForCausalLM

    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(_vocabulary()),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "intermediate_size": 32,
        "max_position_embeddings": 256,
        "initializer_range": 0.5,
        "sliding_window": window,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "pad_token_id": 0,
    }
    if kind == "mistral":
        model = MistralForCausalLM(MistralConfig(**sizes))
    else:
        layers = ["sliding_attention", "full_attention"]
        model = Gemma3ForCausalLM(Gemma3TextConfig(**sizes, layer_types=layers))
    model.eval().save_pretrained(folder)
    _tokenizer(single="$A", pair="$A $B").save_pretrained(folder)
    return folder


def write_roberta(folder: Path, *, seed: int = 0, places: int = 34, labels: int | None = None) -> Path:
    """A two-layer RoBERTa, whose position numbers start at 2; with `labels`, a classifier."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification, RobertaModel

    torch.manual_seed(seed)
    config = RobertaConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=places,
        type_vocab_size=2,
        initializer_range=0.5,
        pad_token_id=1,
        num_labels=labels or 1,
    )
    model = RobertaModel(config) if labels is None else RobertaForSequenceClassification(config)
    model.eval().save_pretrained(folder)
    _tokenizer(pair="[CLS] $A [SEP] $B [SEP]", single="[CLS] $A [SEP]").save_pretrained(folder)
    return folder


def write_bart(folder: Path, *, seed: int = 3, positions: int = 256) -> Path:
    """An encoder-decoder with one layer each."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(seed)
    tokenizer = _tokenizer(single="[CLS] $A [SEP]", pair="[CLS] $A $B [SEP]")
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=positions,
        init_std=0.5,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    BartForConditionalGeneration(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _vocabulary() -> dict[str, int]:
    letters = [chr(code) for code in range(97, 123)] + list(".,?!'<>|0123456789")
    pieces = [
        *MARKS,
        *letters,
        *(f"##{letter}" for letter in letters),
        *(word for word in WORDS if len(word) > 1),
    ]
    return {piece: number for number, piece in enumerate(pieces)}


def _tokenizer(*, single: str, pair: str) -> "PreTrainedTokenizerFast":  # noqa: F821 - imported below
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    vocabulary = _vocabulary()
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    specials = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=specials)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        bos_token="[CLS]",
        eos_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
