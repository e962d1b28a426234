"""A language model with the chat-completions interface: real weights, or a tiny random Llama."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from tests.judge_server import Exchange

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_llama(folder: Path) -> Path:
    """Save a Llama with two layers of random weights, and a byte tokenizer with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator([], trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def speaking(folder: Path) -> Callable[[Exchange], None]:
    """A behaviour that answers by greedy generation.

    With `guided` in a request, decoding is constrained to the form of a verdict, and the model chooses only the most
    probable of the digits 1 to 5.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    digits = [tokenizer(str(digit), add_special_tokens=False)["input_ids"][-1] for digit in range(1, 6)]
    lock = Lock()

    def behave(exchange: Exchange) -> None:
        start = f"VERDICT {exchange.code}: " if exchange.body.get("guided") else ""
        shown = tokenizer.apply_chat_template(
            exchange.body["messages"], add_generation_prompt=True, tokenize=False
        )
        ids = tokenizer(shown + start, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with lock, torch.inference_mode():
            if start:
                value = int(model(ids, logits_to_keep=1).logits[0, -1, digits].argmax()) + 1
                exchange.say(f"{start}{value}")
                return
            allowed = exchange.body["max_tokens"]
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=allowed, do_sample=False
            )
        new = made[0, ids.shape[1] :]
        finish = "length" if len(new) == allowed else "stop"
        exchange.say(tokenizer.decode(new, skip_special_tokens=True), finish_reason=finish)

    return behave
