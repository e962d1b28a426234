"""The commands as functions: `tw.score("logs.jsonl", metrics="bleu-4")` is `turnwise score logs.jsonl -m bleu-4`.

Every function has named, typed parameters and a typed result. Errors are raised, and nothing is printed unless
`progress=True`. The command line parses its options into calls of these functions.

A module is loaded when one of its names is first used: a command needs one of them, and all take .1 s.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise.commands.attack import attack, harden
    from turnwise.commands.diff import diff
    from turnwise.commands.ope import ope
    from turnwise.commands.respond import respond
    from turnwise.commands.score import score
    from turnwise.commands.simulate import simulate
    from turnwise.commands.train import train
    from turnwise.library.estimating import calibrate
    from turnwise.library.exchange import convert, make_report, validate
    from turnwise.library.inventory import (
        Extra,
        Installation,
        Listing,
        demo_corpus,
        doctor,
        fetch,
        list_available,
    )
    from turnwise.library.planning import power
    from turnwise.library.rating import ExportedRatings, RatingLinks, export_ratings, rate
    from turnwise.library.results import (
        Agreement,
        Attack,
        Calibration,
        Changes,
        Comparison,
        Estimates,
        Hardened,
        Power,
        Result,
        Scores,
        Trained,
    )
    from turnwise.library.scoring import compare, meta_evaluate
    from turnwise.library.viewing import ViewerLink, view
    from turnwise.library.written import Converted, Replies, Report, Simulated, Validation

__all__ = [
    "Agreement",
    "Attack",
    "Calibration",
    "Changes",
    "Comparison",
    "Converted",
    "Estimates",
    "ExportedRatings",
    "Extra",
    "Hardened",
    "Installation",
    "Listing",
    "Power",
    "RatingLinks",
    "Replies",
    "Report",
    "Result",
    "Scores",
    "Simulated",
    "Trained",
    "Validation",
    "ViewerLink",
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
_HOMES = {  # module -> its public names
    "estimating": ("calibrate",),
    "exchange": (
        "convert",
        "make_report",
        "validate",
    ),
    "inventory": (
        "Extra",
        "Installation",
        "Listing",
        "demo_corpus",
        "doctor",
        "fetch",
        "list_available",
    ),
    "planning": ("power",),
    "rating": (
        "ExportedRatings",
        "RatingLinks",
        "export_ratings",
        "rate",
    ),
    "results": (
        "Agreement",
        "Attack",
        "Calibration",
        "Changes",
        "Comparison",
        "Estimates",
        "Hardened",
        "Power",
        "Result",
        "Scores",
        "Trained",
    ),
    "scoring": (
        "compare",
        "meta_evaluate",
    ),
    "viewing": (
        "ViewerLink",
        "view",
    ),
    "written": (
        "Converted",
        "Replies",
        "Report",
        "Simulated",
        "Validation",
    ),
}

COMMANDS = {  # module of `turnwise.commands` -> its public names
    "attack": ("attack", "harden"),
    "diff": ("diff",),
    "ope": ("ope",),
    "respond": ("respond",),
    "score": ("score",),
    "simulate": ("simulate",),
    "train": ("train",),
}

if not TYPE_CHECKING:  # a type checker would accept any attribute of a module that has this function

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"turnwise.library.{home}"), name)
        for home, names in COMMANDS.items():
            if name in names:
                return getattr(import_module(f"turnwise.commands.{home}"), name)
        raise AttributeError(f"module `turnwise.library` has no `{name}`", name=name)


def __dir__() -> list[str]:
    return list(__all__)
