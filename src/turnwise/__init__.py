"""turnwise evaluates dialogue systems from their dialogues; every number has an interval and a signature.

    import turnwise as tw

    tw.score("logs.jsonl", metrics="bleu-4,distinct-2")

Every command is a function with typed parameters and a typed result: `score`, `compare`, `diff`, `calibrate`, `ope`,
`power`, `attack`, `train`, `respond`, `simulate`, `convert`, `validate`, `rate`, `view`, `fetch` and `doctor` have the
names of their commands; `meta_evaluate` is `turnwise meta`, `make_report` is `turnwise report`, `harden` is `turnwise
attack --harden`, `list_available` is `turnwise ls`, `demo_corpus` is `turnwise demo --corpus`, `export_ratings` is
`turnwise rate --export`. Nothing is loaded before it is used.

The names in `__all__` are public: one that is removed is deprecated for a minor version first.
"""

TYPE_CHECKING = (
    False  # type checkers take it as true; importing `typing` would double the time of `turnwise --help`
)

__version__ = "0.2.0"

if TYPE_CHECKING:
    from turnwise.errors import (
        DataError,
        MissingExtra,
        Refused,
        TooManyErrors,
        TurnwiseError,
        Unmeasured,
        UsageError,
    )
    from turnwise.library import (
        Agreement,
        Attack,
        Calibration,
        Changes,
        Comparison,
        Converted,
        Estimates,
        ExportedRatings,
        Extra,
        Hardened,
        Installation,
        Listing,
        Power,
        RatingLinks,
        Replies,
        Report,
        Result,
        Scores,
        Simulated,
        Trained,
        Validation,
        ViewerLink,
        attack,
        calibrate,
        compare,
        convert,
        demo_corpus,
        diff,
        doctor,
        export_ratings,
        fetch,
        harden,
        list_available,
        make_report,
        meta_evaluate,
        ope,
        power,
        rate,
        respond,
        score,
        simulate,
        train,
        validate,
        view,
    )
    from turnwise.types import Dialogue, Finding, Rating, Reply, Turn

__all__ = [
    "Agreement",
    "Attack",
    "Calibration",
    "Changes",
    "Comparison",
    "Converted",
    "DataError",
    "Dialogue",
    "Estimates",
    "ExportedRatings",
    "Extra",
    "Finding",
    "Hardened",
    "Installation",
    "Listing",
    "MissingExtra",
    "Power",
    "Rating",
    "RatingLinks",
    "Refused",
    "Replies",
    "Reply",
    "Report",
    "Result",
    "Scores",
    "Simulated",
    "TooManyErrors",
    "Trained",
    "Turn",
    "TurnwiseError",
    "Unmeasured",
    "UsageError",
    "Validation",
    "ViewerLink",
    "__version__",
    "attack",
    "calibrate",
    "compare",
    "convert",
    "demo_corpus",
    "diff",
    "doctor",
    "export_ratings",
    "fetch",
    "harden",
    "list_available",
    "make_report",
    "meta_evaluate",
    "ope",
    "power",
    "rate",
    "respond",
    "score",
    "simulate",
    "train",
    "validate",
    "view",
]
_ERRORS = {
    "DataError",
    "MissingExtra",
    "Refused",
    "TooManyErrors",
    "TurnwiseError",
    "Unmeasured",
    "UsageError",
}
_TYPES = {"Dialogue", "Finding", "Rating", "Reply", "Turn"}

if not TYPE_CHECKING:  # a type checker would accept any attribute of a module that has this function

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module `turnwise` has no `{name}`{_advice(name)}", name=name)
        from importlib import import_module

        home = "errors" if name in _ERRORS else "types" if name in _TYPES else "library"
        return getattr(import_module(f"turnwise.{home}"), name)


def _advice(name: str) -> str:
    """The nearest public name in words; empty for private names and where none is near."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def __dir__() -> list[str]:
    return list(__all__)
