"""Reports on finished runs: sections of figures, written as one HTML file, Markdown with pictures, or JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from turnwise.errors import UsageError
from turnwise.records import SCHEMA_VERSION, Origin, Record
from turnwise.report import markdown, page, plot, results
from turnwise.report.claims import Claim, claims
from turnwise.report.documents import CompareDocument, document_types
from turnwise.report.figure import Figure
from turnwise.report.figures.errors import errors
from turnwise.report.figures.interval_lists import listed
from turnwise.report.runs import Run, find_runs
from turnwise.report.tiles import Tile, tiles

SIDE_BY_SIDE = "Errors of the estimates, all runs"


@dataclass(frozen=True, slots=True)
class Section:
    """The section of one run: sentences, figures, and notes on what has no result."""

    title: str
    about: str  # output folder, command and input files
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]  # findings that were refused, skipped or failed
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A title and the sections of all runs."""

    title: str
    sections: tuple[Section, ...]

    names: tuple[str, ...] = ()  # of agents and metrics

    @property
    def tiles(self) -> list[Tile]:
        """What the top of the report shows: a claim for each question, and what to do next."""
        return tiles([section.claims for section in self.sections])

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all sections in order."""
        return tuple(claim for section in self.sections for claim in section.claims)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of all sections in order."""
        return tuple(figure for section in self.sections for figure in section.figures)


def report(paths: Sequence[str], *, title: str = "turnwise report") -> Report:
    """The report on all runs in these folders and their subfolders, by command in the order of `report.documents`.

    Raises `UsageError` if no run is of a command that reports show.
    """
    runs = find_runs(paths)
    known = in_order(run for run in runs if run.document.question)
    if not known:
        raise UsageError(f"nothing to show: there are results of {', '.join(run.command for run in runs)}")
    made = claims(known)
    sections = [
        _section(
            run,
            [claim for claim in made if claim.run == run.name],
            alone=sum(other.command == run.command for other in known) == 1,
        )
        for run in known
    ]
    across = tuple(errors(known))
    if across:
        sections.append(Section(SIDE_BY_SIDE, "all runs of `ope --all`", (), across, ()))
    return Report(title, tuple(sections), _names(known))


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """The names of the agents and metrics in these runs."""
    keys = ("agent", "agent_a", "agent_b", "minus", "target", "metric", "estimator")
    return tuple(
        dict.fromkeys(name for run in runs for record in run.results for name in record.named(*keys))
    )


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The runs in the order of their sections: by type of document, and a comparison of several agents first."""
    order = list(document_types())

    def place(run: Run) -> tuple[int, bool]:
        """The place of the type, and whether the run ranks no agents."""
        ranks = isinstance(run.document, CompareDocument) and bool(run.document.leaderboard)
        return (order.index(run.command), not ranks)

    return sorted(runs, key=place)


def figures(run: Run) -> list[Figure]:
    """All figures of one run in the order of the report."""
    made = run.document.figures(run)
    return list(listed(run) if made is None else made)


def _section(run: Run, made: Sequence[Claim], *, alone: bool) -> Section:
    """The section of one run with its claims; unless it is the only run of its command, the title has its folder."""
    question = run.document.question_of(run)
    files = ", ".join(Path(one.path).name for one in run.document.origin.inputs)
    return Section(
        question if alone else f"{question} ({Path(run.name).name})",
        f"{run.name}: turnwise {run.command}" + (f" on {files}" if files else ""),
        tuple(made),
        tuple(figures(run)),
        tuple(dict.fromkeys(_missing_note(record) for record in run.results if record.status != "ok")),
        run.document.origin,
    )


def _missing_note(record: Record) -> str:
    """A note on a finding without a result: what it is about, its status and its reason."""
    keys = ("metric", "strategy", "target", "rating", "estimator", "agent", "dimension", "level", "statistic")
    return f"{' '.join(record.named(*keys))}: {record.status}: {record.reason}"


def write(made: Report, path: Path) -> list[Path]:
    """Write the report as .html, .md (with a folder of pictures) or .json, by the suffix; returns the files written.

    Raises `UsageError` for another suffix.
    """
    forms = {".html": page.html, ".htm": page.html, ".json": _json, ".md": None}
    if path.suffix not in forms:
        raise UsageError(f"{path}: a report is written as .html, .md or .json, and the name says which")
    form = forms[path.suffix]
    if form is not None:
        with results.replacing(path) as file:
            file.write(form(made))
        return [path]
    folder = path.with_name(f"{path.stem}_figures")
    written = []
    for name, figure in markdown.picture_files(made.figures).items():
        with results.replacing(folder / name) as file:
            file.write(plot.standalone(figure.svg).encode())
        written.append(folder / name)
    with results.replacing(path) as file:
        file.write(markdown.text(made, folder.name).encode())
    return [path, *written]


def _json(made: Report) -> bytes:
    """The report as JSON: all sections, with figures as tables and without pictures."""
    sections = [
        {
            "title": section.title,
            "about": section.about,
            "claims": [{**asdict(claim), "text": str(claim)} for claim in section.claims],
            "notes": section.notes,
            "figures": [
                {
                    "kind": figure.kind, "title": figure.title, "meaning": figure.meaning, "notes": figure.notes,
                    "head": figure.head, "rows": figure.rows,
                }
                for figure in section.figures
            ],
            "origin": section.origin,
        }
        for section in made.sections
    ]  # fmt: skip
    return results.to_json({"schema_version": SCHEMA_VERSION, "title": made.title, "sections": sections})
