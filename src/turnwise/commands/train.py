"""Train a metric (or an agent) on dialogues or ratings; writes the folder of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Styled, print_json
from turnwise.errors import UsageError
from turnwise.library.notes import common_notes
from turnwise.library.results import Result, ResultOf, result
from turnwise.logs.items.selection import Selection
from turnwise.records import StatisticRecord
from turnwise.report.documents import TrainDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import (
    Filtering,
    LowerIsBetter,
    OneMetric,
    Reading,
    Restated,
    RoleOption,
    Seeding,
    Showing,
)
from turnwise.settings.option import Names, Option, PathLike
from turnwise.terminal import say, say_lines

Judgements = Literal["ratings", "preferences"]  # what people said


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    """Key -> value, a number, true, false or text; anything but KEY=VALUE raises `UsageError`."""
    from turnwise.metrics import settings

    values: dict[str, Any] = {}
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--set takes KEY=VALUE, as in --set epochs=10, and not `{text}`")
        values |= settings(f"set[{text}]")[1]
    return values


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trained(ResultOf[StatisticRecord]):
    """A trained model: its folder, and what it was measured at on replies that it was not trained on."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "statistic", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "statistic"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: TrainDocument

    def notes(self) -> list[str]:
        """As in `Result`; statistics share their items."""
        return common_notes(self.document, self.findings, shared=True)

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return Path("" if self.document.model is None else self.document.model.folder)

    def __str__(self) -> str:
        return f"{Result.__str__(self)}\nwritten to {self.folder}".lstrip("\n")

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class Train(Showing, Seeding, Filtering, LowerIsBetter, Reading, OneMetric):
    """Train a metric (or an agent) on dialogues, ratings or preferences; writes the folder of a model.

    METRIC is a name of `turnwise ls trainers`: a metric such as `turnwise`, or an agent such as `hred`, `seller` or
    `lava`. The folder holds model.safetensors, config.json and card.json. A setting of the metric names it. The printed
    results are of replies or dialogues that the model was not trained on.

    \b
      turnwise train turnwise rated.jsonl -o mine
      turnwise train turnwise choices.jsonl --on preferences -o mine
      turnwise score logs.jsonl -m 'turnwise[trained=mine]'
      turnwise train usr-ret dialogues.jsonl -o ret --set epochs=5
      turnwise train seller booking.jsonl -o seller
    """

    command: ClassVar[str] = "train"
    screen_class = Styled
    restated: ClassVar[Restated] = {"lower_is_better": {"record": None}}

    metric: Annotated[
        str, Option("The name of a trainer: turnwise, usr-ret, maude, hred, ...", flags="METRIC", record=None)
    ] = field(kw_only=False)
    output: Annotated[
        PathLike,
        Option(
            "The folder to write; an interrupted run resumes.",
            flags="-o --output", metavar="MODEL", record=None,
        ),
    ]  # fmt: skip
    on: Annotated[
        Judgements,
        Option(
            "What a trainer learns from that can learn from either: turnwise.",
            record="source", record_default=False,
        ),
    ] = "ratings"  # fmt: skip
    dimension: Annotated[
        str | None,
        Option(
            "What people rated or chose by. Default: overall, else the only one.", metavar="D", record=None
        ),
    ] = None
    settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A setting of the trainer, e.g. epochs=10. Repeatable; docs/train.md lists them.",
            flags="--set", metavar="KEY=VALUE", repeatable=True, parse=_settings,
        ),
    ] = None  # fmt: skip
    by: Annotated[
        Names | None,
        Option("Standardise ratings within each value of KEY, e.g. meta.corpus.", metavar="KEY", record=None),
    ] = None
    role: RoleOption = "assistant"
    model: Annotated[
        PathLike | None,
        Option("The encoder, language model or trained folder to build on.", metavar="NAME|DIR", record=None),
    ] = None
    device: Annotated[
        str, Option("Where it is trained.", metavar="auto|cpu|cuda", record=None)
    ] = "auto"  # fmt: skip
    restart: Annotated[bool, Option("Ignore the checkpoints of an interrupted run.", record=None)] = False

    def __post_init__(self) -> None:
        """As in `Checked`; no settings are an empty mapping."""
        super().__post_init__()
        object.__setattr__(self, "settings", self.settings or {})

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return Path(self.output)

    @property
    def selection(self) -> Selection:
        """What is learned from; the dimension is known once the data is."""
        return replace(super().selection, dimension=None)

    def plugins(self) -> list[tuple[str, str]]:
        """As in `Command`."""
        return [("trainers", self.metric)]

    def say(self, line: str) -> None:
        """Print a line on the progress to standard error, if progress is shown."""
        if self.progress:
            say(line, err=True)

    def run(self) -> Trained:
        """Train the model, and write its folder."""
        from turnwise.run.train.command import train as run

        with opened(self) as ready:
            return result(Trained, run(ready, say=ready.say), None, figures=False)

    def show(self, trained: Trained, screen: Styled) -> int:
        """Print how good the model is, and where it is."""
        if screen.style == "json":
            print_json(trained.document)
            return 0
        if len(trained):
            say(screen.records_table(trained.document.results, trained.columns, trained.layout))
        if not screen.quiet:
            say_lines(f"written to {self.output}", err=True)
        return 0


COMMAND = Train
train = function(Train)
__all__ = ["Trained", "train"]
