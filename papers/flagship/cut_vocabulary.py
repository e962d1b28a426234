"""`python -m papers.flagship.cut_vocabulary MODEL.gguf TEXT -o PREFIX`: a larger base, small enough to carry.

Writes the weights of a GGUF file with those tokens alone that the words of TEXT (papers.flagship.prepare) need, in
parts PREFIX1/part, PREFIX2/part, ... whose bytes one after the other are a GGUF file, and PREFIX1/qwen_tokens.npz, the
table of words and tokens, to be put beside TEXT's corpus. All blocks stay as they are in MODEL. Tokens get new numbers:
0, 1 and 2 are `<|endoftext|>`, `<|im_start|>` and `<|im_end|>`, as in SmolLM2. The output layer of Qwen2.5-0.5B is tied
to the embeddings, and MODEL stores it twice: the copy of 8 bits is kept for both. Likelihoods of such a model are over
the tokens that were kept, so they are a little higher than over the whole vocabulary.

`smaller_tokeniser` keeps the most frequent tokens of any text instead, with a tokeniser that spells all other words.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from papers.flagship.corpus import Corpus, table_arrays, words_digest
from papers.flagship.weights import base_name

MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # REVERSED, START, END
PART = 56  # MiB


def cut(model: Path, corpus: Corpus, out: Path) -> dict[str, np.ndarray]:
    """Write the weights with the needed tokens alone to `out`; the table of tokens, in their new numbers."""
    from transformers import AutoTokenizer

    name = base_name(model)
    tokeniser: Any = AutoTokenizer.from_pretrained(str(model.parent), gguf_file=model.name)
    coded = tokeniser.backend_tokenizer.encode_batch(
        [f" {w}" for w in corpus.words], add_special_tokens=False
    )
    marks = tokeniser.convert_tokens_to_ids(list(MARKS))
    used = np.unique(np.concatenate([one.ids for one in coded]))
    kept = np.concatenate([marks, np.setdiff1d(used, marks)])
    number = {int(token): at for at, token in enumerate(kept)}
    write_gguf(model, kept, out)
    return {
        **table_arrays(name, [[number[token] for token in one.ids] for one in coded]),
        f"{name}_words": np.frombuffer(words_digest(corpus.words), np.uint8),
    }


def write_gguf(model: Path, kept: np.ndarray, out: Path) -> None:
    """Write a GGUF file with the given rows of the embeddings, for `weights.read_gguf`."""
    from gguf import GGUFReader, GGUFWriter

    reader = GGUFReader(model)
    kind = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(out, kind)
    for key, field in reader.fields.items():
        if key.startswith(f"{kind}."):
            writer.add_key_value(key, field.contents(), field.types[0])
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    embeddings = tensors.pop("output.weight", tensors["token_embd.weight"])
    for name, tensor in tensors.items():
        data = embeddings.data[kept] if name == "token_embd.weight" else tensor.data
        stored = embeddings if name == "token_embd.weight" else tensor
        writer.add_tensor(name, np.ascontiguousarray(data), raw_dtype=stored.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def in_parts(file: Path, size: float) -> Iterator[bytes]:
    """The bytes of a file in parts of at most `size` MiB."""
    data, step = file.read_bytes(), int(size * 2**20)
    for start in range(0, len(data), step):
        yield data[start : start + step]


def smaller_tokeniser(tokeniser: Any, texts: Sequence[str], size: int) -> tuple[str, np.ndarray]:
    """The JSON text of a tokeniser with at most `size` tokens of a byte-level BPE tokeniser, and their old numbers.

    It has the marks, all bytes and the most frequent tokens of the texts. A text whose tokens are all kept has the same
    tokens as before: whatever is merged on the way to a kept token is kept too. Other words are spelt with kept tokens.
    """
    made = json.loads(tokeniser.to_str())
    vocabulary: dict[str, int] = made["model"]["vocab"]
    rank = {(first, second): at for at, (first, second) in enumerate(made["model"]["merges"])}
    old = {one["content"]: one["id"] for one in made["added_tokens"]}
    counts: Counter[str] = Counter()
    for one in tokeniser.encode_batch(list(texts), add_special_tokens=False):
        counts.update(one.tokens)
    needed: Counter[str] = Counter()
    for token, count in counts.items():
        if token not in old:
            needed.update(dict.fromkeys(merged(token, rank), count))
    alphabet = sorted(token for token in vocabulary if len(token) == 1)
    frequent = sorted(needed, key=lambda token: (-needed[token], len(token), token))
    kept = list(dict.fromkeys([*MARKS, *alphabet, *frequent]))[:size]
    number = {token: at for at, token in enumerate(kept)}
    made["model"]["vocab"] = number
    made["model"]["merges"] = [
        list(pair) for pair in rank if all(one in number for one in (*pair, "".join(pair)))
    ]
    made["added_tokens"] = [
        {**one, "id": number[one["content"]]} for one in made["added_tokens"] if one["content"] in number
    ]
    return json.dumps(made, ensure_ascii=False), np.array([old.get(one, vocabulary.get(one)) for one in kept])


def merged(token: str, rank: Mapping[tuple[str, str], int]) -> set[str]:
    """The token and all shorter tokens that BPE makes on the way to it."""
    parts, found = list(token), set(token)
    while len(parts) > 1:
        pairs = list(pairwise(parts))
        at = min(range(len(pairs)), key=lambda place: rank.get(pairs[place], len(rank)))
        if pairs[at] not in rank:
            break
        parts[at : at + 2] = ["".join(pairs[at])]
        found.add(parts[at])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path, help="the folder of papers.flagship.prepare")
    parser.add_argument("-o", "--out", required=True, help="prefix of the folders")
    parser.add_argument("--part", type=float, default=PART, help="MiB of a part")
    given = parser.parse_args()
    whole = Path(f"{given.out}1", "whole")
    whole.parent.mkdir(parents=True, exist_ok=True)
    table = cut(given.model, Corpus.load(given.text), whole)
    np.savez_compressed(whole.with_name("qwen_tokens.npz"), **table)
    for number, data in enumerate(in_parts(whole, given.part), 1):
        part = Path(f"{given.out}{number}", "part")
        part.parent.mkdir(exist_ok=True)
        part.write_bytes(data)
    print(f"{whole.stat().st_size} bytes in {number} parts")
    whole.unlink()


if __name__ == "__main__":
    main()
