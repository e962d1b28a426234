"""turnwise evaluates dialogue systems from their dialogues; every number has an interval and a signature.

    import turnwise as tw

    tw.score("logs.jsonl", metrics="bleu-4,distinct-2")

Every command is a function with typed parameters and a typed result: `score`, `compare`, `calibrate`, `ope`,
`attack`, `train`, `respond`, `simulate`, `convert` and `validate` have the names of their commands;
`meta_evaluate` is `turnwise meta`, `make_report` is `turnwise report`, `harden` is `turnwise attack --harden`.
Nothing is loaded before it is used.

The names in `__all__` are public: one that is removed is deprecated for a minor version first.
"""

TYPE_CHECKING = (
    False  # type checkers take it as true; importing `typing` would double the time of `turnwise --help`
)

__version__ = "0.2.0"

if TYPE_CHECKING:
    from turnwise.errors import DataError, MissingExtra, Refused, TurnwiseError, Unmeasured, UsageError
    from turnwise.library import (
        Agreement,
        Attack,
        Calibration,
        Comparison,
        Converted,
        Estimates,
        Hardened,
        Replies,
        Report,
        Result,
        Scores,
        Simulated,
        Trained,
        Validation,
        attack,
        calibrate,
        compare,
        convert,
        harden,
        make_report,
        meta_evaluate,
        ope,
        respond,
        score,
        simulate,
        train,
        validate,
    )
    from turnwise.types import Dialogue, Finding, Rating, Reply, Turn

__all__ = [
    "Agreement",
    "Attack",
    "Calibration",
    "Comparison",
    "Converted",
    "DataError",
    "Dialogue",
    "Estimates",
    "Finding",
    "Hardened",
    "MissingExtra",
    "Rating",
    "Refused",
    "Replies",
    "Reply",
    "Report",
    "Result",
    "Scores",
    "Simulated",
    "Trained",
    "Turn",
    "TurnwiseError",
    "Unmeasured",
    "UsageError",
    "Validation",
    "__version__",
    "attack",
    "calibrate",
    "compare",
    "convert",
    "harden",
    "make_report",
    "meta_evaluate",
    "ope",
    "respond",
    "score",
    "simulate",
    "train",
    "validate",
]
_ERRORS = {"DataError", "MissingExtra", "Refused", "TurnwiseError", "Unmeasured", "UsageError"}
_TYPES = {"Dialogue", "Finding", "Rating", "Reply", "Turn"}

if not TYPE_CHECKING:  # a type checker would accept any attribute of a module that has this function

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module `turnwise` has no `{name}`")
        from importlib import import_module

        home = "errors" if name in _ERRORS else "types" if name in _TYPES else "library"
        return getattr(import_module(f"turnwise.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
