"""The content of results.json: what the documents of all commands have; `report.documents` has those of commands."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import msgspec
from msgspec import field

from turnwise.records.record import Part, Record, no_keys, no_rows, nothing

if TYPE_CHECKING:
    from turnwise.report.claims import Claim
    from turnwise.report.figure import Figure
    from turnwise.report.runs import Run, RunOf

SCHEMA_VERSION: Literal[1] = 1


def current_version() -> Literal[1]:
    """The version of the schema that is written."""
    return SCHEMA_VERSION


class InputFile(Part, frozen=True, kw_only=True):
    """A file that was read, with its checksum."""

    path: str
    sha256: str


class RunSettings(Part, frozen=True, kw_only=True):
    """The settings of a run that can change a number."""

    metrics: tuple[str, ...] = field(default_factory=no_rows)
    selection: dict[str, Any] = field(default_factory=no_keys)  # of `logs.items.items.Selection`
    real: Any = field(default_factory=nothing)
    model: str | None = field(default_factory=nothing)
    db: Any = field(default_factory=nothing)
    seed: int | None = field(default_factory=nothing)
    draws: int | None = field(default_factory=nothing)
    options: dict[str, Any] = field(default_factory=no_keys)  # of the command


class Origin(Part, frozen=True, kw_only=True):
    """Where the numbers come from: enough to have them again."""

    turnwise: str
    commit: str | None
    python: str
    packages: dict[str, str | None]
    inputs: tuple[InputFile, ...]
    settings: RunSettings


class UnseenParts(Part, frozen=True, kw_only=True):
    """Content parts of the data that text metrics do not see: images, audio, files."""

    replies: int  # with such a part in themselves or in their contexts
    n_replies: int  # all replies that have text
    parts: dict[str, int]  # by kind


class Document(Part, frozen=True, kw_only=True, tag_field="command"):
    """The content of results.json."""

    question: ClassVar[str] = ""  # what a report calls its section; "" if reports leave it out

    schema_version: Literal[1] = field(default_factory=current_version)
    results: tuple[Record, ...]
    notes: tuple[str, ...] = ()  # what was left out or pooled
    # rating:DIMENSION or preference:DIMENSION -> raters, none of whom is a person
    automatic_raters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unseen_parts: UnseenParts | None = None
    # Why ratings of the data were set apart by the rating app -> their number.
    ratings_apart: dict[str, int] = field(default_factory=dict)
    origin: Origin

    @property
    def command(self) -> str:
        """The command that made it, such as `score`."""
        return str(self.__struct_config__.tag)

    @property
    def has_other_answer(self) -> bool:
        """Whether what was asked for is not in the results, as in a dry run."""
        return False

    def question_of(self, run: "RunOf[Self]") -> str:
        """The question that these results answer: `question`, unless that depends on them."""
        return self.question

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterable[Claim]":
        """What a report concludes from this run; the runs `among` tell what is known of its metrics."""
        return ()

    def figures(self, run: "RunOf[Self]") -> "Iterable[Figure] | None":
        """The figures of its section; None: its estimates are listed."""
        return None


class StatisticRecord(Record, frozen=True, kw_only=True):
    """A number of a trained model on replies that it was not trained on."""

    names: ClassVar[tuple[str, ...]] = ("metric", "statistic")

    metric: str | None = field(default_factory=nothing)
    statistic: str | None = field(default_factory=nothing)


class TrainedModelFolder(Part, frozen=True, kw_only=True):
    """The folder of a trained model."""

    folder: str
    kind: str
    digest: str


def plain(part: Part) -> dict[str, Any]:
    """A document or a part of one as objects of JSON: in a record, what it is about comes first."""
    made: dict[str, Any] = _flat(msgspec.to_builtins(part, str_keys=True, enc_hook=_number))
    if isinstance(part, Record):
        return _named_first(part, made)
    if isinstance(part, Document):
        records = zip(part.results, made["results"], strict=True)
        return {**made, "results": [_named_first(kind, record) for kind, record in records]}
    return made


def _number(value: Any) -> Any:
    """A number of numpy as Python's; anything else raises `TypeError`."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} cannot stand in a result")
    return value.item()


def _named_first(kind: Record, record: dict[str, Any]) -> dict[str, Any]:
    """The object of a record, with the fields first that say what it is about."""
    return {name: record[name] for name in kind.names if name in record} | record


def _flat(value: Any) -> Any:
    """The value with the keys of `more` among those of the object that has it, at any depth.

    Intervals stay tuples, which tables write in brackets; all other tuples become lists.
    """
    if isinstance(value, dict):
        more = value.pop("more", {})
        return {key: _flat(part) for key, part in (value | more).items()}
    if not isinstance(value, list | tuple) or _is_interval(value):
        return value
    return [_flat(part) for part in value]


def _is_interval(value: Sequence[Any]) -> bool:
    """Whether a value is a pair of numbers, one of which may be unknown."""
    return (
        isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, float | None) for end in value)
    )
