"""What a GPU machine without a network needs for a training of the readers, in pieces that travel by themselves.

    python -m papers.flagship.carry pack TEXT GGUF -o DIR     DIR/1/part, DIR/2/part, ...: the bytes of two archives
    python -m papers.flagship.carry unpack DIR                the folders text/, smollm2/ and minilm/ in DIR
    python -m papers.flagship.carry tiny DIR                  makes them small: a rehearsal of everything on a CPU

TEXT is the folder of `prepare`, GGUF the file of the catalogue's SmolLM2. The first archive, `large.tar`, has the text
and SmolLM2, in the GGUF file's own integers; `unpack` makes of them the very weights that `turnwise fetch smollm2`
makes. The second, `small.tar`, has MiniLM in 16 bits without the words that the text does not have, which the students
need. `pack` ends with the pieces of each archive.
"""

import argparse
import json
import lzma
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from papers.flagship.corpus import FILE, Corpus, save

PIECE = 18_700_000  # bytes
GGUF_BLOCKS = {"Q4_1": (4, 20), "Q8_0": (2, 34)}  # bytes of a block's scales, and of all of it
QUICK = 3  # of lzma: more takes minutes and gains nothing on such data
TINY_LAYERS, TINY_RATED, TINY_DIALOGUES = 1, 40, 1500


def pack_llama(path: Path) -> dict[str, np.ndarray]:
    """The integers and the scales of every tensor of a GGUF file, apart from each other."""
    from papers.flagship.weights import stored_rows

    found: dict[str, np.ndarray] = {}
    for name, (kind, rows) in stored_rows(path)[0].items():
        if kind.name == "F32":
            found[f"{name}|F32|values"] = rows.astype(np.float32)
            continue
        scales, whole = GGUF_BLOCKS[kind.name]
        blocks = rows.reshape(len(rows), -1, whole)
        found[f"{name}|{kind.name}|codes"] = blocks[..., scales:]
        # The first bytes of all scales, then the second ones, and so on: they compress so.
        found[f"{name}|{kind.name}|scales"] = np.moveaxis(blocks[..., :scales], -1, 0)
    return found


def unpack_llama(stored: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """The weights in bf16."""
    found = {}
    for key, values in stored.items():
        name, kind, what = key.split("|")
        if what == "scales":
            continue
        if kind == "F32":
            found[name] = torch.from_numpy(values).to(torch.bfloat16)
            continue
        planes = np.moveaxis(stored[f"{name}|{kind}|scales"], 0, -1)
        scales = np.ascontiguousarray(planes).view(np.float16).astype(np.float32)  # (rows, blocks, 1 or 2)
        if kind == "Q8_0":
            dense = values.view(np.int8).astype(np.float32) * scales
        else:
            low_and_high = np.concatenate([values & 15, values >> 4], -1).astype(np.float32)
            dense = low_and_high * scales[..., :1] + scales[..., 1:]
        found[name] = torch.from_numpy(dense.reshape(len(dense), -1)).to(torch.bfloat16)
    return found


def pack_bert(folder: Path, corpus: Corpus) -> bytes:
    """The weights in 16 bits, zero for words that the text does not have."""
    weights = {
        name: one for name, one in load_file(folder / "model.safetensors").items() if one.is_floating_point()
    }
    words = weights["embeddings.word_embeddings.weight"]
    used = torch.zeros(len(words), dtype=torch.bool)
    used[torch.from_numpy(corpus.tokens("minilm").flat)] = True
    used[[0, 101, 102]] = True  # [PAD], [CLS], [SEP]
    words[~used] = 0
    halves = {name: one.half().contiguous().numpy() for name, one in weights.items()}
    buffer = BytesIO()
    np.savez(buffer, **halves)  # type: ignore[arg-type]
    return lzma.compress(buffer.getvalue(), preset=QUICK)


def write_tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, BytesIO(data))


def pack(given: argparse.Namespace) -> None:
    from turnwise.encode.models.catalogue import locate

    minilm, smollm2 = locate("minilm"), locate("smollm2")
    buffer = BytesIO()
    np.savez(buffer, **pack_llama(given.gguf))  # type: ignore[arg-type]
    large = {
        "text/" + FILE: (given.text / FILE).read_bytes(),
        "smollm2/config.json": (smollm2 / "config.json").read_bytes(),
        "smollm2/weights.npz.xz": lzma.compress(buffer.getvalue(), preset=QUICK),
    }
    small = {
        "minilm/config.json": (minilm / "config.json").read_bytes(),
        "minilm/weights.npz.xz": pack_bert(minilm, Corpus.load(given.text)),
    }
    number = 1
    for name, members in (("large", large), ("small", small)):
        whole = given.out / f"{name}.tar"
        write_tar(whole, members)
        data = whole.read_bytes()
        whole.unlink()
        count = -(-len(data) // PIECE)
        size = -(-len(data) // count)
        for at in range(count):
            folder = given.out / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.iterdir():
                old.unlink()
            (folder / f"{name}-{at + 1}-of-{count}").write_bytes(data[at * size : (at + 1) * size])
            number += 1
        print(f"{name}.tar: {len(data) / 1e6:.1f} MB, pieces {number - count} to {number - 1}")


def unpack(folder: Path) -> None:
    """What has arrived whole and is not unpacked yet."""
    for name, model in (("large", "smollm2"), ("small", "minilm")):
        pieces = sorted(folder.glob(f"{name}-*-of-*"))
        if not pieces or len(pieces) < int(pieces[0].name.rsplit("-", 1)[1]):
            print(
                f"{name}: {len(pieces)} pieces, more are needed"
                if pieces
                else f"{name}: no piece, or unpacked"
            )
            continue
        with tarfile.open(fileobj=BytesIO(b"".join(one.read_bytes() for one in pieces))) as archive:
            archive.extractall(folder, filter="data")
        packed = folder / model / "weights.npz.xz"
        with np.load(BytesIO(lzma.decompress(packed.read_bytes()))) as found:
            stored = dict(found)
        dense = (
            unpack_llama(stored)
            if name == "large"
            else {n: torch.from_numpy(one) for n, one in stored.items()}
        )
        part = folder / model / "part"
        save_file({n: one.contiguous() for n, one in dense.items()}, part)
        part.replace(
            folder / model / "model.safetensors"
        )  # whole from the first moment: the campaign waits for it
        for one in (packed, *pieces):
            one.unlink()
        print(f"{name}: unpacked")


def tiny(folder: Path) -> None:
    """One layer of each model, some rated replies of each group, and some dialogues of each corpus."""
    for model, prefix in (("smollm2", "model.layers."), ("minilm", "encoder.layer.")):
        if not (folder / model).exists():
            continue
        weights = load_file(folder / model / "model.safetensors")
        beyond = tuple(f"{prefix}{number}." for number in range(TINY_LAYERS, 100))
        save_file(
            {n: one.clone() for n, one in weights.items() if not n.startswith(beyond)},
            folder / model / "model.safetensors",
        )
        config = folder / model / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": TINY_LAYERS}))
    corpus = Corpus.load(folder / "text")
    arrays = dict(corpus.arrays)
    group = arrays["rated_group"]
    kept = np.concatenate([np.flatnonzero(group == number)[:TINY_RATED] for number in np.unique(group)])
    arrays |= {name: one[kept] for name, one in arrays.items() if name.startswith("rated_")}
    every = max(1, len(arrays["dialogues"]) // TINY_DIALOGUES)
    arrays["dialogues"] = arrays["dialogues"][::every]
    extra = arrays["extra"][arrays["extra"][:, 0] % every == 0]
    arrays["extra"] = np.column_stack([extra[:, 0] // every, extra[:, 1:]])
    arrays["probes"] = arrays["probes"][:20]
    save(folder / "text", arrays, corpus.words)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    packing = commands.add_parser("pack")
    packing.add_argument("text", type=Path)
    packing.add_argument("gguf", type=Path)
    packing.add_argument("-o", "--out", type=Path, required=True)
    for name in ("unpack", "tiny"):
        commands.add_parser(name).add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.command == "pack":
        pack(given)
    else:
        {"unpack": unpack, "tiny": tiny}[given.command](given.folder)


if __name__ == "__main__":
    sys.exit(main())
