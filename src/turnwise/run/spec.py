"""The typed description of a run, one class for each command, and the outcome of a run.

Equal specs over equal files give equal bytes. The outcome has the findings, their origin, and the document that is
written and printed.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from turnwise import __version__
from turnwise.logs.items.items import Selection
from turnwise.registry import package_version, used_offer
from turnwise.report import results
from turnwise.run.workers.execute import Executor, executor
from turnwise.types import Finding

Stage = Literal["baselines", "search", "samples", "rl"]
Place = Literal["local", "ray"]  # where the work is done
Judgements = Literal["ratings", "preferences"]  # what people said


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

    def executor(self) -> Executor:
        """The workers of this run."""
        return executor(self.jobs, on=self.on, address=self.address)


COMMON = frozenset(one.name for one in fields(Spec))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeSpec(Spec):
    """The settings of `turnwise ope`."""

    command: ClassVar[str] = "ope"
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset({"seeds"})

    targets: tuple[str, ...] = ()
    all_agents: bool = False
    rating: str | None = None
    estimators: tuple[str, ...] = ()  # (): the quick ones
    truth: str | None = None
    fraction: float = 1.0
    challenging: int | None = None
    min_truth: tuple[tuple[str, float], ...] = ()  # (dimension, least true mean); "" is every dimension
    calibrate: bool = True
    delexicalise: bool = True
    stream: bool = False
    seeds: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackSpec(Spec):
    """The settings of `turnwise attack`."""

    command: ClassVar[str] = "attack"

    count: int = 200
    budget: int = 20_000
    stages: tuple[Stage, ...] = ("baselines", "search")
    perturb: bool = True
    timeout: float = 120.0
    card: bool = False
    # The stages `samples` and `rl`.
    policy: str = "smollm2"
    samples: int = 8
    epochs: int = 5
    updates: int = 20
    batch: int = 16
    repetitions: int = 1
    learning_rate: float = 1e-5
    kl: float = 0.05
    entropy: float = 0.0
    longest: int = 40
    minutes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardenSpec(AttackSpec):
    """The settings of `turnwise attack --harden`."""

    rounds: int = 4
    learn_from: tuple[str, ...] = ()  # (): the dialogues of the data that are not attacked
    taught: int = 2000
    agree_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec(Spec):
    """The settings of `turnwise train`."""

    command: ClassVar[str] = "train"
    unrecorded: ClassVar[frozenset[str]] = frozenset({"dimension", "lower", "device", "restart"})
    recorded_if_changed: ClassVar[frozenset[str]] = frozenset({"source"})

    source: Judgements = "ratings"  # what a trainer learns from that can learn from either
    settings: Mapping[str, Any] = field(default_factory=dict)
    dimension: str | None = None  # None: overall, else the only one
    lower: tuple[str, ...] = ()
    device: str = "auto"
    restart: bool = False


class Recorded(Protocol):
    """What of a command is recorded with its results."""

    command: ClassVar[str]

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics by name."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the data."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """Path -> the name that the user gave it."""
        ...

    @property
    def folder(self) -> Path | None:
        """The output folder."""
        ...

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """The command's own settings by name."""
        ...


class Selects(Protocol):
    """A command that reads items of dialogues."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the data."""
        ...

    @property
    def selection(self) -> Selection:
        """Which items are read."""
        ...


class Prepares(Selects, Protocol):
    """A command that makes metrics."""

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics by name."""
        ...

    @property
    def model(self) -> str | Path | None:
        """The model of metrics that have one and do not name it."""
        ...

    @property
    def real(self) -> str | Path | None:
        """Reference dialogues for metrics that need fitting; None: the data itself."""
        ...

    @property
    def db(self) -> str | Path | None:
        """Venue tables of task metrics; None: the folder beside the data."""
        ...

    @property
    def jobs(self) -> int | None:
        """The number of workers."""
        ...

    @property
    def max_cost(self) -> float | None:
        """The most that may be spent on a judge."""
        ...

    @property
    def reuse(self) -> bool:
        """Whether cached verdicts of a judge are used."""
        ...

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """The dimensions on which a low rating is good whatever the data says."""
        ...


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


def finish(
    spec: Recorded, findings: tuple[Finding, ...], sha256: Mapping[str, str], **sections: Any
) -> Outcome:
    """Make the document of these findings, and write it as results.json to the spec's output folder, if it has one.

    `sha256`: input path -> digest. `sections` are further entries of the document.
    """
    document = results.document(spec.command, findings, origin(spec, sha256), **sections)
    if spec.folder is not None:
        results.write(spec.folder / "results.json", document)
    return Outcome(findings, document)


def origin(spec: Recorded, sha256: Mapping[str, str]) -> dict[str, Any]:
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
        "inputs": [{"path": str(path), "sha256": sha256[path]} for path in spec.paths],
        "settings": recorded,
    }


def _plugin_packages(spec: Recorded) -> dict[str, str | None]:
    """The packages of the plugins that a spec names as metrics, estimators or trainer, with their versions."""
    named = [("trainers" if isinstance(spec, TrainSpec) else "metrics", name) for name in spec.metrics]
    if isinstance(spec, OpeSpec):
        named += [
            ("metrics" if name.startswith("metric:") else "estimators", name) for name in spec.estimators
        ]
    offers = (
        used_offer(group, name.removeprefix("metric:").partition("[")[0])
        for group, name in dict.fromkeys(named)
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
