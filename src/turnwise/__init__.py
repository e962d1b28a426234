"""turnwise evaluates dialogue systems from their dialogues; every number has an interval and a signature.

    import turnwise as tw

    tw.score("logs.jsonl", metrics="bleu-4,distinct-2")

Every command is a function with typed parameters and a typed result: `init`, `validate`, `convert`, `score`, `compare`,
`diff`, `calibrate`, `power`, `reliability`, `attack`, `train`, `simulate`, `rate`, `view`, `respond`, `play`, `ope`,
`fetch` and `doctor` have the names of their commands; `meta_evaluate` is `turnwise meta`, `harden` is
`turnwise attack --harden`, `export_ratings` is `turnwise rate --export`, `make_report` is `turnwise report`,
`export_scores` is `turnwise export`, `demo_corpus` is `turnwise demo --corpus`, `list_available` is `turnwise ls`;
`judge` makes a judge of a function. Errors are raised, and nothing is printed unless `progress=True`. Nothing is loaded
before it is used: a command needs one module, and all take .1 s.

The names in `__all__` are public: one that is removed is deprecated for a minor version first.
"""

TYPE_CHECKING = (
    False  # type checkers take it as true; importing `typing` would double the time of `turnwise --help`
)

__version__ = "0.3.0"

_TYPES = {  # module -> its public names, beside those of the commands
    "errors": "DataError MissingExtra Refused TooManyErrors TurnwiseError Unmeasured UsageError",
    "library.own_judge": "judge",
    "library.results": "Result",
    "library.written": "Replies Simulated",
    "records": "Record",
    "run.inventory": "Listing",
    "types": "Dialogue Rating Reply Turn",
}
# from `__all__` of the modules of the commands: python -m tools.make_api
_COMMANDS = {
    "commands.attack": "Attack Hardened attack harden",
    "commands.calibrate": "Calibration calibrate",
    "commands.compare": "Comparison compare",
    "commands.convert": "Converted convert",
    "commands.demo": "demo_corpus",
    "commands.diff": "Changes diff",
    "commands.doctor": "Extra Installation doctor",
    "commands.export": "ExportedScores export_scores",
    "commands.fetch": "fetch",
    "commands.init": "InitialFiles init",
    "commands.ls": "list_available",
    "commands.meta": "Agreement meta_evaluate",
    "commands.ope": "Estimates ope",
    "commands.play": "Played play",
    "commands.power": "Power power",
    "commands.rate": "ExportedRatings RatingLinks export_ratings rate",
    "commands.reliability": "Reliability reliability",
    "commands.report": "Report make_report",
    "commands.respond": "respond",
    "commands.score": "Scores score",
    "commands.simulate": "simulate",
    "commands.train": "Trained train",
    "commands.validate": "Validation validate",
    "commands.view": "ViewerLink view",
}
if TYPE_CHECKING:
    from turnwise.commands.attack import Attack as Attack
    from turnwise.commands.attack import Hardened as Hardened
    from turnwise.commands.attack import attack as attack
    from turnwise.commands.attack import harden as harden
    from turnwise.commands.calibrate import Calibration as Calibration
    from turnwise.commands.calibrate import calibrate as calibrate
    from turnwise.commands.compare import Comparison as Comparison
    from turnwise.commands.compare import compare as compare
    from turnwise.commands.convert import Converted as Converted
    from turnwise.commands.convert import convert as convert
    from turnwise.commands.demo import demo_corpus as demo_corpus
    from turnwise.commands.diff import Changes as Changes
    from turnwise.commands.diff import diff as diff
    from turnwise.commands.doctor import Extra as Extra
    from turnwise.commands.doctor import Installation as Installation
    from turnwise.commands.doctor import doctor as doctor
    from turnwise.commands.export import ExportedScores as ExportedScores
    from turnwise.commands.export import export_scores as export_scores
    from turnwise.commands.fetch import fetch as fetch
    from turnwise.commands.init import InitialFiles as InitialFiles
    from turnwise.commands.init import init as init
    from turnwise.commands.ls import list_available as list_available
    from turnwise.commands.meta import Agreement as Agreement
    from turnwise.commands.meta import meta_evaluate as meta_evaluate
    from turnwise.commands.ope import Estimates as Estimates
    from turnwise.commands.ope import ope as ope
    from turnwise.commands.play import Played as Played
    from turnwise.commands.play import play as play
    from turnwise.commands.power import Power as Power
    from turnwise.commands.power import power as power
    from turnwise.commands.rate import ExportedRatings as ExportedRatings
    from turnwise.commands.rate import RatingLinks as RatingLinks
    from turnwise.commands.rate import export_ratings as export_ratings
    from turnwise.commands.rate import rate as rate
    from turnwise.commands.reliability import Reliability as Reliability
    from turnwise.commands.reliability import reliability as reliability
    from turnwise.commands.report import Report as Report
    from turnwise.commands.report import make_report as make_report
    from turnwise.commands.respond import respond as respond
    from turnwise.commands.score import Scores as Scores
    from turnwise.commands.score import score as score
    from turnwise.commands.simulate import simulate as simulate
    from turnwise.commands.train import Trained as Trained
    from turnwise.commands.train import train as train
    from turnwise.commands.validate import Validation as Validation
    from turnwise.commands.validate import validate as validate
    from turnwise.commands.view import ViewerLink as ViewerLink
    from turnwise.commands.view import view as view
    from turnwise.errors import DataError as DataError
    from turnwise.errors import MissingExtra as MissingExtra
    from turnwise.errors import Refused as Refused
    from turnwise.errors import TooManyErrors as TooManyErrors
    from turnwise.errors import TurnwiseError as TurnwiseError
    from turnwise.errors import Unmeasured as Unmeasured
    from turnwise.errors import UsageError as UsageError
    from turnwise.library.own_judge import judge as judge
    from turnwise.library.results import Result as Result
    from turnwise.library.written import Replies as Replies
    from turnwise.library.written import Simulated as Simulated
    from turnwise.records import Record as Record
    from turnwise.run.inventory import Listing as Listing
    from turnwise.types import Dialogue as Dialogue
    from turnwise.types import Rating as Rating
    from turnwise.types import Reply as Reply
    from turnwise.types import Turn as Turn
# end
_FORMER = {"Finding": "Record"}  # names before version 0.3, which still work
_HOME = {name: home for home, names in (_TYPES | _COMMANDS).items() for name in names.split()}
__all__ = sorted([*_HOME, "__version__"])

if not TYPE_CHECKING:  # a type checker would accept any attribute of a module that has this function

    def __getattr__(name: str) -> object:
        if name in _FORMER:
            from warnings import warn

            warn(f"`turnwise.{name}` is `turnwise.{_FORMER[name]}` now", DeprecationWarning, stacklevel=2)
            name = _FORMER[name]
        if name not in _HOME:
            raise AttributeError(f"module `turnwise` has no `{name}`{_advice(name)}", name=name)
        from importlib import import_module

        return getattr(import_module(f"turnwise.{_HOME[name]}"), name)


def _advice(name: str) -> str:
    """The nearest public name in words; empty for private names and where none is near."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, n=1, cutoff=0.75)
    return f"; did you mean `{near[0]}`?" if near else ""


def __dir__() -> list[str]:
    return list(__all__)
