"""The results of runs. A result prints as its table, and a notebook shows the table and figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from turnwise.errors import REFUSED, UNMEASURED, MissingExtra, counted
from turnwise.report import page, text
from turnwise.report.figure import Figure
from turnwise.types import Finding

if TYPE_CHECKING:
    import pandas
    import polars


from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TypeVar

from turnwise.library.arguments import PathLike
from turnwise.library.notes import notes, strength_notes, unseen_parts
from turnwise.run.spec import Outcome


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """The results of a command. Iterates as one dict a result, with the keys of results.json."""

    columns: ClassVar[tuple[str, ...]] = ("metric", "estimate", "interval")  # columns of the table

    findings: tuple[Finding, ...]  # what was asked for
    document: Mapping[str, Any]  # the content of results.json
    drawn: tuple[Figure, ...] = ()  # the figures that a report would show

    @property
    def exit_code(self) -> int:
        """0 unless nothing that was asked has an estimate: then 4 if it was refused, else 3.

        Dialogues that `calibrate` drew for rating are an answer too.
        """
        if any(finding.estimate is not None for finding in self.findings) or self.document.get("plan"):
            return 0
        return REFUSED if any(finding.status == "refused" for finding in self.findings) else UNMEASURED

    def records(self) -> list[dict[str, Any]]:
        """One dict a result, as in results.json."""
        return [dict(record) for record in self.document["results"]]

    def notes(self) -> list[str]:
        """Lines on what was not scored and why, and on what limits the results; empty if there is nothing to say."""
        return [*notes(self.findings), *unseen_parts(self.document)]

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
        "metric", "agent_a", "agent_b", "group", "a", "b", "ties", "both_bad", "estimate", "interval", "p",
        "p_adjusted", "effect_size",
        "n_items", "n_clusters", "unpaired_a", "unpaired_b", "verdict",
    )  # fmt: skip

    @property
    def strengths(self) -> list[dict[str, Any]]:
        """Bradley-Terry strengths, one dict an agent, for each dimension of preferences; empty without preferences."""
        return [
            {"metric": fit["metric"], "group": fit["group"], **one}
            for fit in self.document.get("preferences", ())
            for one in fit["strengths"]
        ]

    def notes(self) -> list[str]:
        """As in `Result`, and on strengths that could not be found or compared."""
        return [*Result.notes(self), *strength_notes(self.document.get("preferences", ()))]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agreement(Result):
    """The agreement of metrics with people, or of raters among themselves."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "dimension", "group", "level", "statistic", "estimate", "interval", "p", "ceiling", "n_items",
        "n_tied", "n_clusters", "n_raters", "raters_are",
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
        """With `all_agents=True`, how far each estimator is from the known means, one dict a rating and estimator; else
        empty.
        """
        return list(self.document.get("validation", ()))


SURPRISING = 0.01  # p below which labels that are said to be random look as if they were not


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Result):
    """The mean rating of each agent and the differences between agents, from scores and a few ratings."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "rating", "group", "agent", "minus", "estimate", "interval", "p", "p_adjusted", "labels_alone",
        "labels_alone_interval", "width_ratio", "if_random", "if_tilted", "turning_tilt", "gap", "n_labels", "n_items",
        "n_clusters",
    )  # fmt: skip

    @property
    def plan(self) -> dict[str, Any]:
        """What `plan` drew: how many dialogues of which agent, and the key of their weights; empty without it."""
        return dict(self.document.get("plan") or {})

    def means(self) -> list[dict[str, Any]]:
        """The records of the agents' means."""
        return [record for record in self.records() if record.get("agent") and not record.get("minus")]

    def differences(self) -> list[dict[str, Any]]:
        """The records of the differences between agents."""
        return [record for record in self.records() if record.get("minus")]

    def notes(self) -> list[str]:
        """As for every result, with one line for all that was refused for one reason; and agents whose rated items
        have other scores than the rest.
        """
        refused = Counter(one.reason for one in self.findings if one.status == "refused")
        many = {reason for reason, count in refused.items() if count > 1}
        found = notes([one for one in self.findings if one.reason not in many])
        found += [
            f"note: {counted(refused[reason], 'estimate')} refused: {reason}"
            for reason in sorted(map(str, many))
        ]
        for one in self.findings:
            about = one.details.get("diagnostics", {})
            gap, p = about.get("gap"), about.get("gap_p")
            if gap and p is not None and p < SURPRISING:
                found.append(
                    f"note: {one.what['metric']}: the rated items of {one.what['agent']} score {abs(gap):.2f} standard "
                    f"deviations {'above' if gap > 0 else 'below'} the others (p {text.p_value(p)}); were they drawn "
                    "at random?"
                )
        return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Power(Result):
    """The dialogues that show a difference, or the smallest difference that dialogues show, for each design."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "design", "scores", "turns", "raters", "difference", "dialogues", "between", "ratings",
        "judge_calls", "cost",
    )  # fmt: skip

    def cheapest(self) -> dict[str, Any] | None:
        """The record of the design that costs least; without prices None."""
        priced = [record for record in self.records() if record.get("cost") is not None]
        return min(priced, key=lambda record: float(record["cost"]), default=None)


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


AnyResult = TypeVar("AnyResult", bound=Result)


@contextmanager
def folder_of(output: PathLike | None, *, figures: bool) -> Iterator[Path | None]:
    """The folder that a run writes to; a temporary one if there is no output but figures are made, None if neither."""
    if output is not None or not figures:
        yield None if output is None else Path(output)
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def result(
    kind: type[AnyResult], command: str, outcome: Outcome, folder: Path | None, *, figures: bool
) -> AnyResult:
    """The outcome of a run as a result of type `kind`; with `figures` and a folder, it has the figures that a
    report of the folder shows.
    """
    if not figures or folder is None:
        return kind(findings=outcome.findings, document=outcome.document)
    from turnwise.report.report import figures as drawn
    from turnwise.report.runs import Run

    run = Run(command, folder, outcome.document)
    return kind(findings=outcome.findings, document=outcome.document, drawn=tuple(drawn(run)))


LEFT_OUT = ("unpaired_a", "unpaired_b")  # columns of counts


def table(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The columns in which some record has a value, as an aligned table; blank lines if there is no such column."""
    shown, rows = cells(records, columns)
    return text.table(rows, shown)


def cells(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """The columns in which some record has a value, in the given order, and a row of these columns for each record.

    A column of counts of what was left out is shown if one of them is not 0.
    """
    empty = {name: (None, 0) if name in LEFT_OUT else (None,) for name in columns}
    shown = [name for name in columns if any(record.get(name) not in empty[name] for record in records)]
    return shown, [[_cell(name, record.get(name)) for name in shown] for record in records]


def _cell(column: str, value: Any) -> Any:
    """The value; in the columns `p` and `p_adjusted` as text such as `<.001`."""
    return text.p_value(value) if column in ("p", "p_adjusted") else value
