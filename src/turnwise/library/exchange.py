"""`validate`, `convert` and `make_report`: files in and out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import Problem, UsageError
from turnwise.library.arguments import PathLike, checked, paths
from turnwise.library.data import Data, files
from turnwise.library.reading import MappingLike, Reading
from turnwise.library.written import Converted, Report, Validation

if TYPE_CHECKING:
    from turnwise.logs.scan import Census, Dimension

SHOWN = 20  # problems that are kept; the rest are counted


@checked
def validate(data: Data, *, reader: str | None = None, mapping: MappingLike | None = None) -> Validation:
    """Check files of dialogues; every bad line is named with its place.

    Parameters:
        data: As in `score`.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
    """
    from turnwise.logs.scan import survey

    found = _Problems()
    records: list[dict[str, Any]] = []
    read: list[Census] = []
    with files(data, reader=reader, mapping=mapping) as given:
        for path in given.paths:
            before, found.file = found.count, given.names.get(path)
            census = survey([path], found.note)
            name = given.names.get(path, path)
            records.append({"file": name, "problems": found.count - before, **_holdings(census)})
            read.append(census)
    for record, census in zip(records, read, strict=True):
        # The other record may be in a file that is read together with this one.
        missing = (one for one in census.others if not any(one in each.ids for each in read))
        record["missing_others"] = {one: census.others[one] for one in missing}
    return Validation(files=tuple(records), problems=tuple(found.first), n_problems=found.count)


class _Problems:
    """The first problems and the count of all of them, over several files."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0
        self.file: str | None = None  # the user's name of a temporary file

    def note(self, problem: Problem) -> None:
        """Count a problem, and keep it with the user's name of the file if it is among the first 20."""
        self.count += 1
        if self.count <= SHOWN:
            named = problem if self.file is None else _named(problem, self.file)
            self.first.append(named)


def _named(problem: Problem, name: str) -> Problem:
    """The problem with another name for its file, also in its message."""
    message = problem.message.replace(problem.file, name)
    return Problem(name, problem.line, problem.path, message)


def _holdings(census: "Census") -> dict[str, Any]:
    """What one file holds, as a record of `Validation`."""
    return {
        "dialogues": census.n_dialogues,
        "messages": census.n_messages,
        "agents": dict(census.agents.most_common()),
        "dimensions": {name: _rated(dimension) for name, dimension in census.dimensions.items()},
        "preferences": dict(census.preferences),
        "references": census.has_references,
        "alternatives": list(census.alternatives),
        "tool_calls": census.tool_calls,
        "parts": dict(census.unseen.parts.most_common()),
        "sha256": census.files[0].sha256,
    }


def _rated(dimension: "Dimension") -> dict[str, Any]:
    """How one dimension was rated, as a record: counts of ratings and raters, scales and directions."""
    return {
        "turn_ratings": dimension.n_turn,
        "dialogue_ratings": dimension.n_dialogue,
        "raters": len(dimension.raters),
        "scales": list(dimension.scales),
        "good": list(dimension.directions),
    }


@checked
def convert(
    source: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    reader: str | None = None,
    columns: str | Mapping[str, str] = "",
    split: str | None = None,
    roles: str | Mapping[str, str] = "",
    agent: str | None = None,
    each: str | None = None,
    strict: bool = False,
    redact: bool = False,
    progress: bool = False,
) -> Converted:
    """Convert dialogues of another format to the native one.

    The target appears whole or not at all, and is compressed if its name ends in .gz. A conversion that was killed is
    continued by the same call, and the result is the same; if the source has changed, it starts from the beginning.

    Parameters:
        source: The file or folder to read; several files where a format has several.
        target: The file to write.
        reader: The name of the format, as `turnwise ls readers` lists it. Default: the one that is recognised.
        columns: Of a table or of JSON: meaning -> column or path, such as {"id": "conv", "rating:overall": "score"}.
        split: The text that separates the turns of a table's context.
        roles: Speaker -> role where the format does not say it, such as {"Support": "assistant", "*": "user"}.
        agent: The agent's name where the records name none.
        each: Of JSON: the path of the records, such as `results[*]`.
        strict: Anything that cannot be kept is an error.
        redact: Replace personal data (names, mail addresses, phone, card and IBAN numbers, IP addresses, URLs with
            tokens, keys) by placeholders such as [PERSON_1]. The result has the counts; rules do not find everything.
        progress: Show a progress bar on standard error, in bytes of the source.
    """
    from turnwise.logs.conversion import convert as run
    from turnwise.logs.conversion import size
    from turnwise.logs.place import is_unpacked
    from turnwise.run.workers.execute import progress as bar

    first, *more = paths(source)
    said = Reading(columns=_listed(columns), split=split, roles=_listed(roles), agent=agent, each=each)
    options = said.options(more=tuple(more))
    passes = 2 if reader == "json" and "messages" in options.columns else 1  # roles first, then dialogues
    total = 0 if is_unpacked(reader, first) else passes * size([first, *more])
    with bar("converting", total or None, quiet=not progress, in_bytes=True) as advance:
        done = run(
            reader,
            first,
            str(target),
            options,
            strict=strict,
            redact=redact,
            resume=True,
            advance=advance if progress else None,
        )
    return Converted(
        path=str(target),
        n_dialogues=done.n_dialogues,
        dropped=dict(done.dropped),
        reader=done.name,
        understood=tuple(done.account.lines()),
        notes=done.notes,
        redacted=None if done.redacted is None else dict(done.redacted),
    )


def _listed(given: str | Mapping[str, str]) -> str:
    """A mapping as `key=name,...`, the form of the command line; a text is returned unchanged."""
    return given if isinstance(given, str) else ",".join(f"{key}={name}" for key, name in given.items())


@checked
def make_report(
    folders: PathLike | Sequence[PathLike],
    *,
    output: PathLike | Sequence[PathLike] = "report.html",
    title: str = "turnwise report",
) -> Report:
    """Write the tables and figures of finished runs: the command `turnwise report`.

    Parameters:
        folders: Folders that runs wrote, or folders that hold several of them.
        output: Files to write; .html, .md or .json in the name decides the form. () writes none.
        title: The heading of the report.
    """
    from turnwise.library.comment import comment
    from turnwise.report.report import report, write
    from turnwise.report.runs import find_runs

    named = paths(folders)
    if not named:
        raise UsageError("name the folders of finished runs, as -o wrote them: turnwise report DIR...")
    made = report(named, title=title)
    written = {path: tuple(write(made, Path(path))) for path in paths(output)}
    return Report(
        title=title,
        claims=tuple(map(str, made.claims)),
        n_figures=len(made.figures),
        written=written,
        comment=comment(made, find_runs(named)),
    )
