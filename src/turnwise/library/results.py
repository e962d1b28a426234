"""What the library functions return. A result prints as its table, and a notebook shows the table and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from turnwise.errors import REFUSED, UNMEASURED, MissingExtra, Problem, counted
from turnwise.report import page, text
from turnwise.report.figure import Figure
from turnwise.types import Finding

if TYPE_CHECKING:
    import pandas
    import polars

SHOWN = 5  # placeholders that a note names


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """The results of a command. Iterates as one dict a result, with the keys of results.json."""

    columns: ClassVar[tuple[str, ...]] = ("metric", "estimate", "interval")  # of the table, in this order

    findings: tuple[Finding, ...]  # what was asked for
    document: Mapping[str, Any]  # the content of results.json
    drawn: tuple[Figure, ...] = ()  # the figures that a report would show

    @property
    def exit_code(self) -> int:
        """0 unless nothing that was asked has an estimate: then 4 if it was refused, else 3."""
        if any(finding.estimate is not None for finding in self.findings):
            return 0
        return REFUSED if any(finding.status == "refused" for finding in self.findings) else UNMEASURED

    def records(self) -> list[dict[str, Any]]:
        """One dict a result, as in results.json."""
        return [dict(record) for record in self.document["results"]]

    def notes(self) -> list[str]:
        """Lines on what was not scored and why, and on what limits the results; empty if there is nothing to say."""
        return notes(self.findings)

    def figures(self) -> list[Figure]:
        """The figures that a report would show; empty if the run was made with `figures=False`."""
        return list(self.drawn)

    def to_pandas(self) -> "pandas.DataFrame":
        """The records as a pandas DataFrame, one row a result; `MissingExtra` without pandas."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("`to_pandas`", "pandas") from None
        return pandas.DataFrame(self.records())

    def to_polars(self) -> "polars.DataFrame":
        """The records as a polars DataFrame, one row a result; `MissingExtra` without polars."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("`to_polars`", "tables") from None
        return polars.DataFrame(self.records(), infer_schema_length=None, strict=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.document["results"])

    def __str__(self) -> str:
        return "\n".join([table(self.document["results"], self.columns), *self.notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table and the figures of these results, as a notebook shows them."""
        return page.notebook(*cells(self.document["results"], self.columns), self.figures())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scores(Result):
    """A score for each metric, agent and group, with its interval."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """The difference of two agents for each metric and group: A minus B."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent_a", "agent_b", "group", "a", "b", "estimate", "interval", "p", "p_adjusted", "effect_size",
        "n_items", "n_clusters", "verdict",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agreement(Result):
    """The agreement of metrics with people, or of raters among themselves."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "dimension", "group", "level", "statistic", "estimate", "interval", "p", "ceiling", "n_items",
        "n_clusters", "n_raters", "raters_are",
    )  # fmt: skip

    @property
    def differences(self) -> list[dict[str, Any]]:
        """The tests of every two metrics against each other on Pearson and Spearman, one dict a test; empty if
        none was made.
        """
        return list(self.document.get("differences", ()))

    @property
    def raters(self) -> list[dict[str, Any]]:
        """What `screen=True` found about each rater, one dict a report; empty without it."""
        return list(self.document.get("raters", ()))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimates(Result):
    """The estimated mean rating of each target, by each estimator."""

    columns: ClassVar[tuple[str, ...]] = (
        "target", "rating", "estimator", "estimate", "interval", "difference", "raw", "logged", "n_items", "n_clusters",
        "bleu-delex", "length", "entropy-2", "success",
    )  # fmt: skip

    @property
    def validation(self) -> list[dict[str, Any]]:
        """With `all_agents=True`, how far each estimator is from the known means; else empty."""
        return list(self.document.get("validation", ()))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Attack(Result):
    """Strategies against a metric, the strongest first."""

    columns: ClassVar[tuple[str, ...]] = (
        "kind", "score", "interval", "gain", "gain_interval", "beats_human", "significant", "description",
    )  # fmt: skip

    @property
    def gameable(self) -> bool:
        """Whether a strategy was shown to score above people."""
        return bool((self.document.get("verdict") or {}).get("gameable"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hardened(Result):
    """The best fraud that is left against a hardened metric, for each file that was attacked."""

    columns: ClassVar[tuple[str, ...]] = (
        "group", "strategy", "estimate", "human_score", "gain", "significant",
    )  # fmt: skip

    @property
    def robust(self) -> bool:
        """Whether nothing that was found scores above people."""
        return bool(self.document["robust"])

    @property
    def metric(self) -> str:
        """The name of the hardened metric, for `metrics=`."""
        return str(self.document["hardened"])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trained(Result):
    """A trained model: its folder, and what it was measured at on replies that it was not trained on."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "statistic", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return Path(self.document["model"]["folder"])

    def __str__(self) -> str:
        return f"{Result.__str__(self)}\nwritten to {self.folder}".lstrip("\n")

    __repr__ = __str__


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What `respond` wrote."""

    path: str
    n_dialogues: int
    n_points: int  # points that were to be answered
    n_replies: int
    n_there: int  # points that had replies of this agent before
    failures: tuple[str, ...]  # where the agent failed, and why

    def __str__(self) -> str:
        answered = f"{self.n_points - len(self.failures)} of {counted(self.n_points, 'point')}"
        lines = [f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written, replies at {answered}"]
        return "\n".join([*lines, *(f"note: {failure}" for failure in self.failures[:SHOWN])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What `simulate` wrote: the logs, and the true mean of each agent."""

    path: str
    truth_path: str | None  # None: no truth was asked for
    n_dialogues: int
    truth: Mapping[str, Any]  # the content of the truth file

    def records(self) -> list[dict[str, Any]]:
        """One dict an agent: `agent`, and by dimension its true mean with standard error and number of
        dialogues; empty if no truth was asked for.
        """
        return [{"agent": agent, **scores} for agent, scores in self.truth["agents"].items()]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.truth["agents"])

    def __str__(self) -> str:
        """The true means of the agents, one row each, with the largest standard error."""
        agents = self.truth["agents"]
        # A dimension on which none of an agent's dialogues has a score is not in its means.
        dimensions = list(dict.fromkeys(name for scores in agents.values() for name in scores))
        rows = [
            [
                agent,
                *(scores[name]["mean"] if name in scores else None for name in dimensions),
                max(about["se"] for about in scores.values()),
                max(about["n"] for about in scores.values()),
            ]
            for agent, scores in agents.items()
        ]
        written = f"{self.path}: {counted(self.n_dialogues, 'dialogue')}"
        return text.table(rows, ("agent", *dimensions, "se (largest)", "n")) if rows else written


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What `convert` wrote."""

    path: str
    n_dialogues: int
    dropped: Mapping[str, int] = field(default_factory=dict)  # what could not be kept -> how often
    reader: str = "native"  # the format that was read
    understood: tuple[str, ...] = ()  # messages by role, agents, ratings ..., a line each
    notes: tuple[str, ...] = ()  # what the reader assumed
    redacted: Mapping[str, int] | None = None  # placeholders written, by kind; None without `redact`

    def __str__(self) -> str:
        lines = [f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written, read as {self.reader}"]
        lines += [*self.understood, *(f"note: {note}" for note in self.notes)]
        if self.redacted is not None:
            from turnwise.logs.redact import KINDS, NOT_COMPLETE

            kinds = [f"{self.redacted[kind]} {kind}" for kind in KINDS if self.redacted.get(kind)]
            lines.append(f"redacted: {', '.join(kinds) or 'nothing found'}; {NOT_COMPLETE}")
        return "\n".join([*lines, *(f"not kept: {count} {what}" for what, count in self.dropped.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What files hold, and what is wrong with them. Iterates as one dict a file."""

    files: tuple[Mapping[str, Any], ...]
    problems: tuple[Problem, ...]  # the first ones
    n_problems: int  # all of them

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.n_problems

    def records(self) -> list[dict[str, Any]]:
        """One dict a file: its dialogues, messages, agents, rated dimensions and number of problems."""
        return [dict(one) for one in self.files]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.files)

    def table(self) -> str:
        """What the files without a problem hold; "" where there is none."""
        good = [_holdings(one) for one in self.files if not one["problems"]]
        return (
            text.table(good, ("file", "dialogues", "messages", "agents", "dimensions", "notes"))
            if good
            else ""
        )

    def __str__(self) -> str:
        more = self.n_problems - len(self.problems)
        lines = [self.table()] if self.table() else []
        return "\n".join([*lines, *map(str, self.problems), *([f"... and {more} more"] if more else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `make_report` wrote."""

    title: str
    claims: tuple[str, ...]  # the sentences that the results support
    n_figures: int
    written: Mapping[str, tuple[Path, ...]]  # output -> the files that it consists of

    def __str__(self) -> str:
        return "\n".join(
            f"{output}: {counted(self.n_figures, 'figure')}{_pictures(files)}"
            for output, files in self.written.items()
        )


def _pictures(files: Sequence[Path]) -> str:
    """` and 2 pictures` for the files beside the report itself; empty if there are none."""
    return f" and {counted(len(files) - 1, 'picture')}" if len(files) > 1 else ""


def table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The columns in which some record has a value, as an aligned table; "" without records."""
    shown, rows = cells(records, columns)
    return text.table(rows, shown)


def cells(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """The columns in which some record has a value, in the given order, and a row of these columns for each record."""
    shown = [name for name in columns if any(record.get(name) is not None for record in records)]
    return shown, [[_cell(name, record.get(name)) for name in shown] for record in records]


def _cell(column: str, value: Any) -> Any:
    """The value; p-values as text such as `<.001`."""
    return text.p_value(value) if column in ("p", "p_adjusted") else value


def _unpaired(finding: Finding) -> str | None:
    """A note on items of two compared agents that have no partner, or on a comparison without pairs; None if
    neither applies.
    """
    left = [finding.details.get(f"unpaired_{side}") for side in "ab"]
    agents = [finding.what.get(f"agent_{side}") for side in "ab"]
    if not any(left):
        if "unpaired, as fewer than half" not in str(finding.method):
            return None
        return (
            f"note: fewer than half of the items of {agents[0]} and {agents[1]} have a partner with the same context, "
            "so the agents are compared as independent samples; --pair KEY, such as meta.item, pairs by another key"
        )
    counts = " and ".join(f"{count or 0} of {agent}" for count, agent in zip(left, agents, strict=True))
    return f"note: items without a partner, left out: {counts}; --pair KEY pairs by another key"


def notes(findings: Sequence[Finding]) -> list[str]:
    """Lines on what was not scored, once for each metric and reason, then on what limits the findings; without
    repetitions. Counts of items are added up over findings; for agreement, where findings share items, the
    largest counts.
    """
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        for reason, count in finding.unscored.items():
            key = (str(finding.what.get("metric")), reason)
            counts[key] = (
                max(counts.get(key, 0), count) if "statistic" in finding.what else counts.get(key, 0) + count
            )
    found = [
        f"note: {metric}: {counted(count, 'item')} not scored: {reason}"
        for (metric, reason), count in counts.items()
    ]
    for finding in findings:
        metric = finding.what.get("metric")
        if trained_on := finding.details.get("in_training"):
            found.append(f"warning: {metric} learned from {trained_on} items here: its agreement with people says "
                         "nothing about new ones")  # fmt: skip
        if (unpaired := _unpaired(finding)) and unpaired not in found:
            found.append(unpaired)
        if cut := finding.details.get("cut"):
            found.append(f"note: {metric}: its model read only the beginning of {counted(cut, 'text')}")
        if unresolved := finding.details.get("unresolved"):
            named = ", ".join(f"{name} ({count})" for name, count in islice(unresolved.items(), SHOWN))
            more = f", and {len(unresolved) - SHOWN} more" if len(unresolved) > SHOWN else ""
            found.append(f"note: placeholders that the ontology does not know: {named}{more}")
        if finding.status != "ok" and not finding.unscored:
            about = " ".join(str(value) for value in finding.what.values() if value)
            found.append(f"note: {about}: {finding.status}: {finding.reason}")
    return list(dict.fromkeys(found))


NAMED = 3  # agents or dimensions that a line names


def _holdings(record: Mapping[str, Any]) -> list[Any]:
    """A row of the table of files: file, dialogues, messages, agents, dimensions with their scales, and notes."""
    agents = [f"{name} {count}" for name, count in record["agents"].items()]
    dimensions = [f"{name}{_scale(about['scales'])}" for name, about in record["dimensions"].items()]
    notes = ["references"] if record["references"] else []
    if record["alternatives"]:
        notes.append(f"alternatives of {_several(record['alternatives'])}")
    if mixed := [name for name, about in record["dimensions"].items() if len(about["scales"]) > 1]:
        notes.append(f"scales differ in {_several(mixed)}")
    counts = [record["dialogues"], record["messages"]]
    return [record["file"], *counts, _several(agents), _several(dimensions) or "-", "; ".join(notes) or "-"]


def _scale(scales: Sequence[tuple[float, float] | None]) -> str:
    """` 1-5` if all ratings have one scale, else empty."""
    return f" {scales[0][0]:g}-{scales[0][1]:g}" if len(scales) == 1 and scales[0] else ""


def _several(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
