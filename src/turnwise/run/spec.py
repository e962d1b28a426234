"""The typed description of a run, one class for each command, and the outcome of a run.

Equal specs over equal files give equal bytes. The outcome has the findings, their origin, and the document that is
written and printed.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from turnwise import __version__
from turnwise.logs.items.items import Selection
from turnwise.registry import package_version, used_offer
from turnwise.report import results
from turnwise.run.workers.execute import Executor, executor
from turnwise.types import Finding, MetaLevel

Place = Literal["local", "ray"]  # where the work is done


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What every command has."""

    command: ClassVar[str]
    # Settings of a subclass that are recorded only where they differ from the default: results of earlier versions
    # do not have them.
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset()
    # Settings of a subclass that are not recorded in `options`.
    unrecorded: ClassVar[frozenset[str]] = frozenset()

    data: tuple[str, ...]
    metrics: tuple[str, ...]
    selection: Selection = field(default_factory=Selection)
    real: str | None = None  # reference dialogues for metrics that need fitting; None: the data itself
    model: str | None = None  # for metrics that have a model and do not name one; None: each metric's own
    db: str | None = None  # venue tables of task metrics; None: the folder beside the data
    seed: int = 0
    draws: int = 1000
    # The fields below change how the work is done, and never the results.
    output: Path | None = None
    jobs: int | None = None  # None: one on this machine, and one for each CPU of a cluster
    on: Place = "local"
    address: str | None = None  # address of a Ray cluster
    max_errors: int = 20
    max_cost: float | None = None  # most that may be spent on a judge
    reuse: bool = True
    quiet: bool = True
    names: Mapping[str, str] = field(default_factory=dict)  # path -> the name the user gave it: `-`

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the data."""
        return self.data

    @property
    def folder(self) -> Path | None:
        """The output folder."""
        return self.output

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """The command's own settings by name, as results.json and the keys of resumed work record them."""
        found = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in COMMON or one.name in self.unrecorded:
                continue
            if one.name in self.recorded_if_changed and value == one.default:
                continue
            found.append((one.name, value))
        return tuple(sorted(found))

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """The dimensions on which a low rating is good whatever the data says, where the command has that setting."""
        return ()

    def plugins(self) -> list[tuple[str, str]]:
        """The plugins that the settings name: kind (`metrics`, `estimators`, `trainers`) and name."""
        return [("metrics", name) for name in self.metrics]

    def executor(self) -> Executor:
        """The workers of this run."""
        return executor(self.jobs, on=self.on, address=self.address)


COMMON = frozenset(one.name for one in fields(Spec))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSpec(Spec):
    """The settings of `turnwise score`."""

    command: ClassVar[str] = "score"
    unrecorded: ClassVar[frozenset[str]] = frozenset({"dry_run", "show_prompt"})

    dry_run: bool = False  # only say what a judge would be asked and what that would cost
    show_prompt: str | None = None  # id of an item, "" for the first: only show what a judge is sent for it


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSpec(Spec):
    """The settings of `turnwise compare`."""

    command: ClassVar[str] = "compare"
    unrecorded: ClassVar[frozenset[str]] = frozenset({"dry_run", "show_prompt"})
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset({"lower", "independent"})

    agents: tuple[str, ...] = ()  # the two to compare; (): the only two of the data
    lower: tuple[str, ...] = ()  # dimensions on which a low rating is good
    independent: bool = False  # compare as independent samples, also where items have a pair
    dry_run: bool = False  # only say what a judge of pairs would be asked and what that would cost
    show_prompt: str | None = None  # id of an item, "" for the first: only show what is asked about its pair

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """As in `Spec`."""
        return self.lower


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSpec(Spec):
    """The settings of `turnwise diff`; the data is the old and the new folder."""

    command: ClassVar[str] = "diff"

    agents: tuple[str, ...] = ()  # (): all that both runs have


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaSpec(Spec):
    """The settings of `turnwise meta`."""

    command: ClassVar[str] = "meta"
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset({"length_bias", "normalised"})

    level: MetaLevel | None = None  # None: every level that the ratings have; pair: preferences
    statistics: tuple[str, ...] = ("pearson", "spearman", "kendall", "pairwise")
    dimension: str | None = None  # None: overall, else the only one; `all`: each
    lower: tuple[str, ...] = ()  # dimensions on which a low rating is good
    precision: float = 0.05
    differences: bool = True
    intervals: bool = True
    rescale: bool = False
    screen: bool = False
    stable_raters: bool | None = None  # None: inferred from the raters' names
    length_bias: bool = False
    normalised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateSpec(Spec):
    """The settings of `turnwise calibrate`."""

    command: ClassVar[str] = "calibrate"
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset({"plan"})

    labels: str  # how the labels were drawn: random, weights:KEY or unknown
    to: str | None = None  # rating:DIMENSION; None: overall, else the only one
    level: Literal["turn", "dialogue"] | None = None  # None: the only one at which it was rated
    fit: Literal["none", "linear", "isotonic"] = "none"
    plan: int | None = None  # dialogues to draw for rating
    rescale: bool = False

    @property
    def drawn(self) -> Literal["random", "weights", "unknown"]:
        """How the labels were drawn, without the key of the weights."""
        if self.labels in ("random", "unknown"):
            return "random" if self.labels == "random" else "unknown"
        return "weights"

    @property
    def weights_key(self) -> str:
        """The key of the weights, such as meta.weight; empty where labels have none."""
        return self.labels.removeprefix("weights:") if self.drawn == "weights" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSpec(Spec):
    """The settings of `turnwise power`; without data the spread is given."""

    command: ClassVar[str] = "power"

    difference: float | None = None  # difference that is to be shown
    have: int | None = None  # dialogues of each agent; then the smallest difference is found
    power: float = 0.8
    alpha: float = 0.05
    agents: tuple[str, ...] = ()  # agents of the pilot; (): all
    paired: bool | None = None  # None: both designs
    turns: tuple[int, ...] = ()  # items in a dialogue; (): 1 and the pilot's mean
    raters: tuple[int, ...] = ()  # ratings of each item
    people: int | None = None  # different raters of preferences; None: as many as the pilot has
    level: Literal["turn", "dialogue"] | None = None
    beside: str | None = None  # metric whose scores are used beside the ratings
    scored: int | None = None  # dialogues of each agent that are scored; None: far more than are rated
    sd: float | None = None  # standard deviation of the true values of items
    icc: float = 0.0  # share of the variance that is between dialogues
    rater_sd: float | None = None
    correlation: float | None = None  # correlation of two agents' true values in one context
    agreement: float | None = None  # correlation of scores and ratings, over dialogues
    win_rate: float | None = None
    ties: float = 0.0
    rater_icc: float = 0.0  # of preferences, share of the variance that is between raters
    cost_dialogue: float | None = None
    cost_rating: float | None = None
    cost_judge: float | None = None


PACKAGES = ("numpy", "scipy", "msgspec", "sacrebleu", "rapidfuzz")  # packages that compute numbers
# Common settings that can change a number, with the value that is recorded of a command that does not have them.
SETTINGS: dict[str, Any] = {
    "metrics": (), "selection": Selection(), "real": None, "model": None, "db": None, "seed": 0, "draws": 1000
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings and the document of a run."""

    findings: tuple[Finding, ...]
    document: dict[str, Any]  # the content of results.json


def finish(spec: Spec, findings: tuple[Finding, ...], sha256: Mapping[str, str], **sections: Any) -> Outcome:
    """Make the document of these findings, and write it as results.json to the spec's output folder, if it has one.

    `sha256`: input path -> digest. `sections` are further entries of the document.
    """
    document = results.document(spec.command, findings, origin(spec, sha256), **sections)
    if spec.folder is not None:
        results.write(spec.folder / "results.json", document)
    return Outcome(findings, document)


def origin(spec: Spec, sha256: Mapping[str, str]) -> dict[str, Any]:
    """Where results come from: versions, the commit of this code, the inputs with their hashes, the settings."""
    settings = {name: getattr(spec, name, default) for name, default in SETTINGS.items()}
    recorded = msgspec.to_builtins({**settings, "options": dict(spec.options)})
    # The key of `Selection.items` in results.json has been `judged` since version 0.1.
    recorded["selection"] = {"judged": recorded["selection"].pop("items"), **recorded["selection"]}
    return {
        "turnwise": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES} | _plugin_packages(spec),
        "inputs": [{"path": spec.names.get(path, path), "sha256": sha256[path]} for path in spec.paths],
        "settings": recorded,
    }


def _plugin_packages(spec: Spec) -> dict[str, str | None]:
    """The packages of the plugins that a command names, with their versions."""
    offers = (
        used_offer(group, name.removeprefix("metric:").partition("[")[0])
        for group, name in dict.fromkeys(spec.plugins())
    )
    return {offer.owner: package_version(offer.owner) for offer in offers if offer is not None}


@cache
def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None for an installed package, or if it is not found.

    It is read from git's files, because git itself may not answer in time on a busy machine; and once for each process,
    because one run must not record two commits.
    """
    return checked_out(Path(__file__).parents[3])


def checked_out(root: Path) -> str | None:
    """The commit that is checked out in a folder; None if it is no checkout, or its branch has no plain file."""
    own = root / ".git"
    try:
        if own.is_file():  # of a further worktree: the place of its files
            own = root / own.read_text().strip().removeprefix("gitdir: ")
        head = (own / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        branch = head.removeprefix("ref: ")
        shared = own / (own / "commondir").read_text().strip() if (own / "commondir").exists() else own
        if (shared / branch).is_file():
            return (shared / branch).read_text().strip()
        packed = (line.split() for line in (shared / "packed-refs").read_text().splitlines())
        return next((line[0] for line in packed if line[1:] == [branch]), None)
    except OSError:
        return None
