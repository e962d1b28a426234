"""turnwise evaluates dialogue systems from their conversations, with numbers that can be believed.

    import turnwise as tw

    tw.score("logs.jsonl", metrics="bleu-4,distinct-2")

`score`, `compare`, `ope` and `attack` are the commands of the same names, `meta_evaluate` is `turnwise meta`. Nothing
is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from turnwise.library import Result, attack, compare, meta_evaluate, ope, score

__all__ = ["Result", "__version__", "attack", "compare", "meta_evaluate", "ope", "score"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `turnwise` has no `{name}`")
    return getattr(import_module("turnwise.library"), name)
