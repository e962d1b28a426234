"""The extras of the package: what each adds, which packages it installs, and whether they are installed here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from turnwise.errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Contents:
    """What `pip install 'turnwise[NAME]'` adds."""

    allows: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]  # what every use of the extra imports
    others: tuple[str, ...] = ()  # what some uses import
    # Instead of a module another can do its work: where ONNX Runtime has no wheel, torch computes small networks.
    instead: tuple[tuple[str, str], ...] = ()


CORE = Contents(
    "reading, scoring, statistics",
    (
        "numpy",
        "scipy",
        "msgspec",
        "click",
        "rich",
        "jinja2",
        "sacrebleu",
        "rapidfuzz",
        "ijson",
        "threadpoolctl",
        "pyyaml",
    ),
    (),
)  # what is installed without any extra
EXTRAS = {
    "tables": Contents(
        "Parquet and Arrow files, archives by Zstandard", ("polars", "zstandard"), ("polars",), ("zstandard",)
    ),
    "pandas": Contents("results as pandas data frames", ("pandas",), ("pandas",)),
    "neural": Contents(
        "language models, `turnwise-large`, training",
        ("torch", "transformers", "onnxruntime", "tokenizers", "safetensors", "gguf", "accelerate"),
        ("torch", "transformers", "tokenizers", "safetensors"),
        ("gguf", "accelerate"),
    ),
    "models": Contents(
        "encoders, learned metrics: small networks, without torch",
        ("onnxruntime", "tokenizers", "safetensors"),
        ("onnxruntime", "tokenizers", "safetensors"),
        ("huggingface_hub",),
        instead=(("onnxruntime", "torch"),),
    ),
    "tools": Contents("tool calls against their schemas", ("jsonschema",), ("jsonschema",)),
    "nltk": Contents("the tokens of bleu-paper", ("nltk",), ("nltk",)),
    "web": Contents(
        "the rating app and the viewer",
        ("h11", "markdown-it-py", "starlette", "uvicorn"),
        ("h11", "markdown_it", "starlette", "uvicorn"),
    ),
    "postgres": Contents("ratings in a PostgreSQL database", ("psycopg",), ("psycopg",)),
    "cluster": Contents("running on Ray", ("ray",), ("ray",)),
}
"""Extras by name; a test compares them with pyproject.toml."""

_EXTRA_OF_MODULE = {
    module: name for name, extra in EXTRAS.items() for module in (*extra.modules, *extra.others)
}


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'turnwise[{extra}]'"


def is_installed(extra: str) -> bool:
    """Whether the modules that every use of the extra imports, or others instead, are installed; none is imported."""
    instead = dict(EXTRAS[extra].instead)
    return all(
        has_module(module) or (module in instead and has_module(instead[module]))
        for module in EXTRAS[extra].modules
    )


def missing(extra: str | None) -> str | None:
    """The extra if it is named and not installed; otherwise None."""
    return None if extra is None or is_installed(extra) else extra


def require(extra: str, feature: str) -> None:
    """Raise `MissingExtra`, which begins with `feature`, if the extra is not installed."""
    if not is_installed(extra):
        raise MissingExtra(feature, extra)


@contextmanager
def named_extras(feature: str) -> Iterator[None]:
    """Inside the block, a missing module that an extra installs raises `MissingExtra`, which begins with `feature`."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = _EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingExtra(feature, extra) from error


def has_module(module: str) -> bool:
    """Whether a top-level module can be found; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a finder may refuse, and a module without a spec cannot be imported
        return False
