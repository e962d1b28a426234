"""Models of a few thousand random weights, written to disk as real ones are: what a loader test needs, offline."""

from pathlib import Path

WORDS = "i you we they like love hate hear play see the a my your guitar piano song cat dog day and or not".split()
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHAT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] + ' [SEP] ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def write_bert(folder: Path, *, seed: int = 0, max_length: int = 32) -> Path:
    """A two-layer BERT with token types."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=max_length,
        initializer_range=0.5,  # large enough for texts to differ
    )
    BertModel(config).eval().save_pretrained(folder)
    _tokenizer(pair="[CLS] $A [SEP] $B:1 [SEP]:1", single="[CLS] $A [SEP]").save_pretrained(folder)
    return folder


def write_regression(folder: Path, *, seed: int = 0) -> Path:
    """A BERT of two layers with one output, as BLEURT has."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
        initializer_range=0.5,
        num_labels=1,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    _tokenizer(pair="[CLS] $A [SEP] $B:1 [SEP]:1", single="[CLS] $A [SEP]").save_pretrained(folder)
    return folder


def write_masked(folder: Path, *, seed: int = 0) -> Path:
    """A BERT of two layers with the head of a masked language model."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
        initializer_range=0.5,
    )
    BertForMaskedLM(config).eval().save_pretrained(folder)
    _tokenizer(pair="[CLS] $A [SEP] $B:1 [SEP]:1", single="[CLS] $A [SEP]").save_pretrained(folder)
    return folder


def write_llama(folder: Path, *, seed: int = 0, chat: bool = False) -> Path:
    """A two-layer Llama, with grouped keys as in SmolLM2."""
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
    """A decoder whose tokens see only the last `window`: a `mistral` in all layers, a `gemma3` in one of two."""
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
    """A RoBERTa of two layers, which counts its positions from 2; with `labels`, a classifier on top."""
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


def write_bart(folder: Path, *, seed: int = 3) -> Path:
    """An encoder-decoder of one layer each."""
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
        max_position_embeddings=256,
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
