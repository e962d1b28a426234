"""The results of runs. A result prints as its table, and a notebook shows the table and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import get_annotations
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_args

import msgspec

from turnwise.errors import REFUSED, UNMEASURED, MissingExtra
from turnwise.library.notes import (
    common_notes,
)
from turnwise.records import (
    Counted,
    Document,
    Record,
    plain,
)
from turnwise.report import text
from turnwise.report.documents import (
    load,
)
from turnwise.report.figure import Figure
from turnwise.report.fitting import Layout, sized
from turnwise.report.run_files import RunFiles
from turnwise.terminal import visible

if TYPE_CHECKING:
    import pandas
    import polars

PLAIN = {int, float, str, bool, NoneType}  # types that a cell of a table can have
AnyResult = TypeVar("AnyResult", bound="Result")
AnyRecord = TypeVar("AnyRecord", bound=Record)


def result(kind: type[AnyResult], document: Document, files: RunFiles | None, *, figures: bool) -> AnyResult:
    """The document of a run as a result of type `kind`; with `figures` and the files of the run, it has the figures
    that a report of them shows.
    """
    if not figures or files is None:
        return kind(document=document)
    from turnwise.report.report import figures as drawn
    from turnwise.report.runs import RunOf

    return kind(document=document, drawn=tuple(drawn(RunOf(document.command, files, document))))


def _columns_of(kind: type[Document]) -> tuple[tuple[str, ...], Layout]:
    """The columns for the records of a document: what they are about, the estimate, numbers and texts of their own,
    counts. Of records without estimates: what they are about, and what they have of their own.
    """
    (record,) = [get_args(one.type)[0] for one in msgspec.structs.fields(kind) if one.name == "results"]
    of_all = {one.name for one in msgspec.structs.fields(Record)}
    own = tuple(
        one.name
        for one in msgspec.structs.fields(record)
        if one.name not in (*of_all, *record.names) and set(get_args(one.type) or (one.type,)) <= PLAIN
    )
    if issubclass(record, Counted):
        return (*record.names, *own), Layout(names=record.names, results=own)
    results, counts = ("estimate", "interval"), ("n_items", "n_clusters")
    layout = Layout(names=record.names, results=results, others=("p", *own, *counts))
    return (*record.names, *results, "p", *own, *counts), layout


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """The results of a command. Iterates as one dict a result, with the keys of results.json."""

    columns: ClassVar[
        tuple[str, ...]
    ] = ()  # of the table, in this order; made from the records if not stated
    layout: ClassVar[Layout] = Layout(names=(), results=())  # what matters most; the same

    def __init_subclass__(cls) -> None:
        """Make the columns of a type that states none from the records of its document."""
        super(Result, cls).__init_subclass__()
        kind = get_annotations(cls).get("document")
        if kind is not None and "columns" not in vars(cls):
            cls.columns, cls.layout = _columns_of(kind)

    document: Document  # the content of results.json
    drawn: tuple[Figure, ...] = ()  # the figures that a report would show

    @classmethod
    def fits(cls, document: Document) -> bool:
        """Whether it is the result of this document, where several types of results have documents of its type."""
        return True

    @property
    def findings(self) -> tuple[Record, ...]:
        """The records of what was asked for, without others that are shown for comparison."""
        return tuple(record for record in self.document.results if not record.beside)

    @property
    def exit_code(self) -> int:
        """0 unless nothing that was asked has an estimate: then 4 if it was refused, else 3.

        Counts are an answer too, dialogues that `calibrate` drew for rating, and what a dry run shows.
        """
        if self.document.has_other_answer or any(
            one.estimate is not None or isinstance(one, Counted) for one in self.findings
        ):
            return 0
        return REFUSED if any(one.status == "refused" for one in self.findings) else UNMEASURED

    def records(self) -> list[dict[str, Any]]:
        """One dict a result, as in results.json."""
        return list(plain(self.document)["results"])

    def notes(self) -> list[str]:
        """Lines on what was not scored and why, on what was left out, and on what limits the results."""
        return common_notes(self.document, self.findings)

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

    def table(self) -> str:
        """The table of the results, as wide as the terminal; a line below it names the columns that were left out."""
        head, rows = cells(self.records(), self.columns, self.layout)
        return sized(rows, head, self.layout)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.document.results)

    def __str__(self) -> str:
        return "\n".join([self.table(), *map(visible, self.notes())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table and the figures of these results, as a notebook shows them."""
        from turnwise.report import page  # slow to import

        return page.notebook(*cells(self.records(), self.columns, self.layout), self.figures())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResultOf(Result, Generic[AnyRecord]):
    """The results of a command whose records are of one type."""

    @property
    def findings(self) -> tuple[AnyRecord, ...]:
        """As in `Result`."""
        records = cast("tuple[AnyRecord, ...]", self.document.results)
        return tuple(record for record in records if not record.beside)


def result_type(document: Document) -> type[Result]:
    """The type of result that has documents of this kind, which the command's module declares; the columns of one that
    no module declares are made from the records.
    """
    load(document.command)
    known: list[type[Result]] = [*Result.__subclasses__(), *ResultOf.__subclasses__()]
    mine = (kind for kind in known if get_annotations(kind).get("document") is type(document))
    return next((kind for kind in mine if kind.fits(document)), Result)


# Columns of comparisons: the interval that belongs to the verdict, and what is of one comparison alone.
ADJUSTED = {
    "interval": ("interval_adjusted", "interval"), "interval_alone": ("interval",), "p_alone": ("p",)
}  # fmt: skip
LEFT_OUT = ("unpaired_a", "unpaired_b", "only_old", "only_new")  # columns of counts


def cells(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str], layout: Layout
) -> tuple[list[str], list[list[Any]]]:
    """The columns in which some record has a value, in the given order, and a row of these columns for each record.

    A column of counts of what was left out is shown if one of them is not 0, one of the layout's `even_empty` always.
    """
    empty = {name: (None, 0) if name in LEFT_OUT else (None,) for name in columns}
    rows = [{name: _value(record, layout.keys.get(name, (name,))) for name in columns} for record in records]
    shown = [
        name
        for name in columns
        if name in layout.even_empty or any(row[name] not in empty[name] for row in rows)
    ]
    return shown, [[_cell(name, row[name]) for name in shown] for row in rows]


def _value(record: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of these keys that has one; None if none has."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _cell(column: str, value: Any) -> Any:
    """The value; in the columns `p`, `p_alone` and `p_adjusted` as text such as `<.001`."""
    return text.p_value(value) if column in ("p", "p_alone", "p_adjusted") else value
