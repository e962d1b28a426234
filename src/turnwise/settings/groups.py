"""Groups of settings that several commands share, each stated once.

A group is a mixin: `class Score(Measuring, Reading)` has the settings of both. A command that means something else by
a setting declares the field again.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

from msgspec import Meta

from turnwise.errors import UsageError, setting
from turnwise.logs.items.selection import ItemChoice, Selection
from turnwise.metrics import is_rating
from turnwise.report.run_files import HeldFiles, RunFiles, StoredFiles
from turnwise.settings.data import Data, MappingLike
from turnwise.settings.option import (
    Checked,
    Count,
    Money,
    NameOrFunction,
    Names,
    NamesOrFunctions,
    Natural,
    Option,
    Pairs,
    PathLike,
    settings,
    split_names,
)
from turnwise.types import Direction

if TYPE_CHECKING:
    from turnwise.run.workers.execute import Executor

Margins = float | str | Sequence[str] | Mapping[str, float]
Place = Literal["local", "ray"]  # where the work is done
ScoredRole = Literal["assistant", "user"]
# What the same command does after an interruption: it goes on from the folder of -o, or from the rows stored there,
# or from what is beside the file it writes; it goes on in any case, or begins again.
Resumption = Literal["output", "rows", "target", "always", "never"]

DATA = "Files of dialogues; in Python also dialogues as dicts or `Dialogue` objects, or a table of dialogues."
PAIR = (
    "The key that pairs items of different agents; `id` is the id or line of a dialogue in its file. Default: the same "
    "context."
)
# Settings of several commands that have different defaults there, or another place among the settings.
PortOption = Annotated[int, Meta(ge=0, le=65535), Option("Port to listen on; 0 takes a free one.")]
RoleOption = Annotated[ScoredRole, Option("Whose messages are scored.", record=None)]
# Setting of a group -> what its `Option` has otherwise in a command.
Restated = Mapping[str, Mapping[str, Any]]


class Command(Checked):
    """Base class of all commands and groups of settings."""

    command: ClassVar[str] = ""  # its name on the command line
    function: ClassVar[str] = ""  # the name of its function, where it is not that of the command
    screen_class: ClassVar[Any] = None  # of the settings that its command line has beside these
    configurable: ClassVar[bool] = True  # whether its command line has --config
    resumption: ClassVar[Resumption] = "output"

    @classmethod
    def on_command_line(cls, screen: Any, given: dict[str, Any]) -> int:
        """Run the command with the values that its command line was given, print its result, return the exit code."""
        command: Any = cls(**given)
        return int(command.show(command.run(), screen) or 0)

    def show(self, result: Any, screen: Any) -> int | None:
        """Print the result of a run, and return the exit code: its table and notes, where a command prints no more."""
        return int(screen.conclude(result))

    @classmethod
    def public_name(cls) -> str:
        """The name of the function, as messages say it."""
        return cls.function or cls.command

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """The command's own settings by name, as results.json and the keys of resumed work record them."""
        recorded = []
        for one in settings(type(self)):
            key, value = one.option.record, getattr(self, one.name)
            if key is not None and (one.option.record_default or value != one.default):
                recorded.append((key or one.name, value))
        return tuple(sorted(recorded))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files whose checksums results have, once the data has been opened (`opened`)."""
        return ()

    @property
    def folder(self) -> Path | None:
        """The folder that results are written to."""
        return None

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """Dimensions on which a low rating is good whatever the data says, where the command has that setting."""
        return ()

    @property
    def higher_dimensions(self) -> tuple[str, ...]:
        """Dimensions on which a high rating is good whatever the data says, where the command has that setting."""
        return ()

    def plugins(self) -> list[tuple[str, str]]:
        """The plugins that the settings name: kind (`metrics`, `estimators`, `trainers`) and name."""
        return []

    def changed(self, **values: Any) -> Self:
        """A copy with these attributes, which are not checked again."""
        made = copy(self)
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made


@dataclass(frozen=True, kw_only=True)
class Formatted(Command):
    """The format of the dialogues that a command reads."""

    shared_agent: ClassVar[str | None] = None  # the agent of all records, which the files' names replace
    source: ClassVar[str] = "data"  # the setting that has the dialogues

    reader: Annotated[
        str | None,
        Option(
            "Format of the data where it is not the native one; `turnwise ls readers` lists them.",
            flags="--from", metavar="FORMAT", record=None,
        ),
    ] = None  # fmt: skip
    mapping: Annotated[
        MappingLike | None,
        Option(
            "Read the data as this file says, which `turnwise convert --save-mapping` writes; in Python also its "
            "content as a dict.",
            metavar="FILE.toml", checked=False, record=None,
        ),
    ] = None  # fmt: skip

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the data, once it has been opened (`opened`)."""
        return cast("tuple[str, ...]", getattr(self, self.source))


@dataclass(frozen=True, kw_only=True)
class Reading(Formatted):
    """Settings of every command that reads dialogues as its `data`."""

    data: Annotated[
        Data, Option(DATA, flags="DATA...", checked=False, record=None)
    ] = field(kw_only=False)  # fmt: skip
    agent_key: Annotated[
        Names | None,
        Option(
            "The keys whose values tell agents apart, e.g. meta.prompt or agent,meta.prompt; `system` is the system "
            "prompt. Default: agent.",
            metavar="KEYS", record_default=False,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Measuring(Command):
    """The metrics of a command that needs some."""

    metrics: Annotated[
        NamesOrFunctions,
        Option(
            "Metrics, separated by commas; `turnwise ls metrics` lists them; `rating:overall` is people's ratings, "
            "`module:function` is your own.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ]  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Checked`; without a name raises `UsageError` where metrics are required."""
        super().__post_init__()
        required = next(one.required for one in settings(type(self)) if one.name == "metrics")
        if required and not self.metrics:
            raise UsageError("`metrics` names nothing")

    def plugins(self) -> list[tuple[str, str]]:
        """As in `Command`."""
        return [("metrics", name) for name in split_names(self.metrics)]


@dataclass(frozen=True, kw_only=True)
class OneMetric(Command):
    """The metric of a command that takes one."""

    metric: Annotated[
        NameOrFunction,
        Option(
            "A name of `turnwise ls metrics`, with settings in brackets; `module:function`; or an http address.",
            flags="METRIC", record=None,
        ),
    ] = field(kw_only=False)  # fmt: skip

    @property
    def metrics(self) -> tuple[str, ...]:
        """The one metric, as commands with several have them."""
        return (str(self.metric),)

    def plugins(self) -> list[tuple[str, str]]:
        """As in `Command`."""
        return [("metrics", str(self.metric))]


@dataclass(frozen=True, kw_only=True)
class AsAgents(Command):
    """In whose name replies are read."""

    as_agents: Annotated[
        Names,
        Option(
            "Score what these agents would have said at the logged points.",
            flags="--as", metavar="NAMES|@alternatives", record=None,
        ),
    ] = ()  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Filtering(Command):
    """Which dialogues are read."""

    where: Annotated[
        Pairs | None,
        Option(
            "Only dialogues with this value, e.g. meta.corpus=dailyz. Repeatable.",
            metavar="KEY=VALUE", repeatable=True, record=None,
        ),
    ] = None  # fmt: skip
    limit: Annotated[
        Count | None, Option("Only the first N dialogues of all files together.", metavar="N", record=None)
    ] = None

    @property
    def selection(self) -> Selection:
        """What is selected by the settings that the command has; `dimension` "all" selects no dimension."""
        given = {one.name: getattr(self, one.name) for one in fields(Selection) if hasattr(self, one.name)}
        given["where"] = tuple(self.where or ())
        if given.get("dimension") == "all":
            given["dimension"] = None
        if "by" in given:
            given["by"] = ",".join(given["by"] or ()) or None
        return Selection(**given)


@dataclass(frozen=True, kw_only=True)
class Choosing(Filtering):
    """Which items are scored, and what of them is resampled together."""

    items: Annotated[
        ItemChoice | None,
        Option(
            "What is scored. Default: the rated turns where the data has turn ratings, else all turns.", record=None
        ),
    ] = None  # fmt: skip
    role: RoleOption = "assistant"
    cluster: Annotated[
        str | None,
        Option(
            "The key of what is resampled together. Default: the task of a trial, else the dialogue.",
            metavar="KEY", record=None,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Grouping(Command):
    """By which keys results are apart."""

    by: Annotated[
        Names | None,
        Option(
            "One result for each value of KEYS, e.g. meta.corpus,meta.year; `file` is the file.",
            metavar="KEYS", record=None,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Pairing(Command):
    """By which key items of different agents are compared with each other."""

    pair: Annotated[str | None, Option(PAIR, metavar="KEY", record=None)] = None


@dataclass(frozen=True, kw_only=True)
class Selecting(Pairing, Grouping, Choosing):
    """Which items are scored, and by which keys they are grouped, paired and clustered."""


@dataclass(frozen=True, kw_only=True)
class Showing(Command):
    """What is shown while and after a command runs."""

    progress: Annotated[bool, Option("Show progress on standard error.", only_python=True, record=None)] = (
        False
    )

    @property
    def quiet(self) -> bool:
        """Whether no progress is shown."""
        return not self.progress


@dataclass(frozen=True, kw_only=True)
class Serving(Command):
    """Where a command that serves pages listens."""

    host: Annotated[str, Option("Address to listen on.")] = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Writing(Command):
    """Where results go."""

    output: Annotated[
        PathLike | None,
        Option(
            "Write results.json and items.jsonl here; an interrupted run resumes.",
            flags="-o --output", metavar="DIR", record=None,
        ),
    ] = None  # fmt: skip
    figures: Annotated[
        bool, Option("Keep the figures that a notebook shows.", only_python=True, record=None)
    ] = True

    @property
    def folder(self) -> Path | None:
        """The folder of `output`."""
        return Path(self.output) if self.output else None

    @cached_property
    def files(self) -> RunFiles | None:
        """The files that a report reads: in the folder of `output`, in memory for figures without one, else None."""
        if self.folder is not None:
            return StoredFiles(self.folder)
        return HeldFiles() if self.figures else None


@dataclass(frozen=True, kw_only=True)
class Modelling(Command):
    """What metrics are made with."""

    real: Annotated[
        Data | None,
        Option(
            "Reference dialogues for metrics that need fitting; in Python as the data of `score`.",
            metavar="FILE", checked=False, record=None,
        ),
    ] = None  # fmt: skip
    model: Annotated[
        PathLike | None,
        Option(
            "Model of the metrics that have one; metric[model=...] sets it for one metric.",
            metavar="NAME|DIR|hub id", record=None,
        ),
    ] = None  # fmt: skip
    db: Annotated[
        PathLike | None,
        Option(
            "Venue tables of task metrics. Default: the folder multiwoz_db beside the data.",
            metavar="DIR", record=None,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Seeding(Command):
    """The seed of a command that draws random numbers."""

    seed: Annotated[Natural, Option("Seed of everything random.", record=None)] = 0


@dataclass(frozen=True, kw_only=True)
class Drawing(Seeding):
    """Resampling."""

    draws: Annotated[
        int, Meta(ge=100), Option("Resamples behind an interval or a test.", record=None)
    ] = 1000  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Working(Command):
    """Where the work is done; the results are the same."""

    jobs: Annotated[
        Count | None,
        Option(
            "Number of workers: processes, or actors of a Ray cluster.",
            default="1; on ray the cluster's CPUs", record=None,
        ),
    ] = None  # fmt: skip
    on: Annotated[
        Place, Option("Where the work is done (docs/scale.md). The results are the same.", record=None)
    ] = "local"
    address: Annotated[
        str | None,
        Option(
            "Address of a Ray cluster. Default: RAY_ADDRESS, else a cluster on this machine.",
            metavar="HOST:PORT", record=None,
        ),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Checked`; an address without `on="ray"`, which would have no effect, raises `UsageError`."""
        super().__post_init__()
        if self.address and self.on != "ray":
            raise UsageError(
                f"{setting('--address', self.address)} is that of a Ray cluster: add {setting('--on', 'ray')}"
            )

    def executor(self) -> "Executor":
        """The workers of this run."""
        from turnwise.run.workers.execute import executor

        return executor(self.jobs, on=self.on, address=self.address)


@dataclass(frozen=True, kw_only=True)
class Limiting(Command):
    """When a run stops, and what it reuses."""

    max_errors: Annotated[
        Natural, Option("Stop when a metric has failed on more items than this.", record=None)
    ] = 20
    max_cost: Annotated[
        Money | None,
        Option(
            "Spend at most X on a judge, in the currency of its price; then it is not asked any more.",
            metavar="X", record=None,
        ),
    ] = None  # fmt: skip
    reuse: Annotated[
        bool,
        Option(
            "Do not reuse rows that are in the output folder, nor cached verdicts of a judge.",
            flags="--no-cache", inverted=True, record=None,
        ),
    ] = True  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Trying(Command):
    """What is shown of judges before they are asked."""

    dry_run: Annotated[
        bool,
        Option("Only say what judges would be asked and what it would cost; send nothing.", record=None),
    ] = False
    show_prompt: Annotated[
        str | None,
        Option(
            "Only show what judges are sent for ITEM, an id of items.jsonl; without ITEM for the first.",
            metavar="[ITEM]", record=None,
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LowerIsBetter(Command):
    """Which way dimensions point."""

    lower_is_better: Annotated[
        Names,
        Option(
            "Dimensions on which a high rating is bad, where the data does not say so itself.",
            metavar="DIMENSIONS", record="lower", record_default=False,
        ),
    ] = ()  # fmt: skip

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """As in `Command`."""
        return split_names(self.lower_is_better)


@dataclass(frozen=True, kw_only=True)
class Judging(LowerIsBetter):
    """What may be said of a difference: which end is good, and what size does not matter."""

    restated: ClassVar[Restated] = {
        "lower_is_better": {
            "help": "Dimensions of ratings and metrics of which a low number is good, where nothing else says so.",
            "metavar": "NAMES",
        }
    }

    higher_is_better: Annotated[
        Names,
        Option(
            "Dimensions of ratings and metrics of which a high number is good, where nothing else says so.",
            metavar="NAMES", record="higher", record_default=False,
        ),
    ] = ()  # fmt: skip
    margin: Annotated[
        Margins,
        Option(
            "A difference up to X does not matter: say where one is shown to be no worse than that, or both to be "
            "equal within it. NAME=X is for one metric. Repeatable.",
            metavar="X|NAME=X", repeatable=True, checked=False, record_default=False,
        ),
    ] = ()  # fmt: skip
    anytime: Annotated[
        bool,
        Option(
            "Intervals and tests that keep their error rate however often a growing log is looked at; they are wider.",
            record_default=False,
        ),
    ] = False  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Checked`; a margin that is no positive number raises `UsageError`."""
        super().__post_init__()
        object.__setattr__(self, "margin", margins_of(self.margin) or ())
        if both := set(split_names(self.lower_is_better)) & set(split_names(self.higher_is_better)):
            raise UsageError(
                f"{setting('--higher-is-better')} and {setting('--lower-is-better')} both name "
                f"{', '.join(sorted(both))}"
            )

    @property
    def margins(self) -> dict[str, float]:
        """Metric -> the margin; "" stands for all others."""
        return margins_of(self.margin)

    @property
    def higher_dimensions(self) -> tuple[str, ...]:
        """As in `Command`."""
        return split_names(self.higher_is_better)

    def direction_of(self, metric: str) -> Direction | None:
        """Which end of a metric was said to be good; a rating is named by its dimension too."""
        dimension = metric.partition(":")[2].partition("[")[0]
        for direction, names in (("lower", self.lower_dimensions), ("higher", self.higher_dimensions)):
            if metric in names or (is_rating(metric) and dimension in names):
                return cast("Direction", direction)
        return None


def margins_of(given: Margins) -> dict[str, float]:
    """Metric -> margin of texts such as `0.1` and `rouge-l=0.1`, a number, or a mapping; "" stands for all others."""
    if isinstance(given, int | float):
        return margins_of({"": given})
    if not isinstance(given, Mapping):
        texts = [given] if isinstance(given, str) else given
        return margins_of(dict(text.rpartition("=")[::2] for text in texts))  # type: ignore[misc]
    found = {}
    for name, value in given.items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = nan
        if not 0 < found[name] < inf:
            raise UsageError(f"{setting('--margin', value)}: expected a number above 0, or NAME=NUMBER")
    return found


@dataclass(frozen=True, kw_only=True)
class Rescaling(Command):
    """How ratings of different scales are used together."""

    rescale: Annotated[bool, Option("Map ratings of different scales to 0-1.")] = False


@dataclass(frozen=True, kw_only=True)
class Unnamed(Command):
    """Dialogues that do not name their agent."""

    agent: Annotated[
        str | None, Option("The agent's name where the records name none.", metavar="NAME", record=None)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Restarting(Command):
    """Whether a run goes on where it was interrupted."""

    restart: Annotated[bool, Option("Ignore what an interrupted run has done.", record=None)] = False


@dataclass(frozen=True, kw_only=True)
class Running(Showing, Limiting, Working, Seeding, Modelling, Writing, Choosing, Reading):
    """What a command needs to score items of dialogues."""


@dataclass(frozen=True, kw_only=True)
class Evaluating(Measuring, Running):
    """What a command needs to score items of dialogues with metrics that it names."""
