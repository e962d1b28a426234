"""Look at dialogues with their scores, ratings and preferences in a browser."""

import os
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.errors import DataError, MissingExtra, UsageError, counted, setting
from turnwise.library.data import files
from turnwise.settings.data import Data, MappingLike
from turnwise.settings.groups import (
    DATA,
    PortOption,
    Reading,
    Restated,
    Resumption,
    Serving,
    Showing,
)
from turnwise.settings.option import Option, split_names
from turnwise.terminal import say, say_lines

if TYPE_CHECKING:
    from turnwise.report.runs import Run
    from turnwise.web.viewer.inputs import RunInput
    from turnwise.web.viewer.log_file import LogFile
    from turnwise.web.viewer.viewer import Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewerLink:
    """The address of a running viewer."""

    url: str
    n_dialogues: int
    notes: tuple[str, ...] = ()  # what cannot be shown, and why

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, kw_only=True)
class Viewing(Quiet):
    """Settings of the command line of `view`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "Only the link."}}

    def announce(self, link: ViewerLink) -> None:
        """Print the link of a viewer and how to end it."""
        say(str(link))
        if not self.quiet:
            notes = (f"note: {note}" for note in link.notes)
            say_lines(*notes, f"{link.n_dialogues:,} dialogues; Ctrl-C ends", err=True)


@dataclass(frozen=True, kw_only=True)
class View(Showing, Serving, Reading):
    """Look at dialogues with their scores, ratings and preferences in a browser.

    DIR is what `score`, `meta`, `compare`, `attack` or `ope` wrote with -o, DATA are files of dialogues. Prints a link
    and serves until it is interrupted. Nothing is changed, and nothing leaves this machine. The same data has the same
    link at each start.

    \b
      turnwise view logs.jsonl
      turnwise view out
      turnwise view out --item 'c17#3' --no-open
    """

    command: ClassVar[str] = "view"
    screen_class = Viewing
    resumption: ClassVar[Resumption] = "never"

    data: Annotated[
        Data,
        Option(
            f"{DATA} Or the output folder of a run, whose dialogues are shown with their scores, as long as its input "
            "files are there and unchanged. Several of them are shown together.",
            flags="DIR|DATA...", checked=False,
        ),
    ] = field(kw_only=False)  # fmt: skip
    pair: Annotated[
        str | None,
        Option(
            "The key that pairs dialogues of different agents. Default: the run's, else the same context.",
            metavar="KEY",
        ),
    ] = None
    item: Annotated[
        str | None, Option("The dialogue or reply to begin with.", metavar="ID[#TURN]")
    ] = None  # fmt: skip
    port: PortOption = 8766
    browser: Annotated[bool, Option("Open the page in the browser.", flags="--open/--no-open")] = True
    announce: Annotated[
        Callable[[ViewerLink], None],
        Option("Called once with the link, before the server starts.", only_python=True, checked=False),
    ] = print

    @classmethod
    def on_command_line(cls, screen: Viewing, given: dict[str, Any]) -> int:
        """As in `Command`; the link is printed as soon as there is one."""
        return super().on_command_line(screen, {**given, "announce": screen.announce})

    def run(self) -> None:
        """Serve until it is interrupted."""
        try:
            from turnwise.web.pages.serving import linked_host, open_socket, serve
            from turnwise.web.viewer.app import app
            from turnwise.web.viewer.links import Links
            from turnwise.web.viewer.token import link_token
        except ModuleNotFoundError:
            raise MissingExtra("the viewer", "web") from None

        with (
            open_socket(self.host, self.port) as sock,
            open_viewer(
                self.data,
                reader=self.reader,
                mapping=self.mapping,
                agent_key=split_names(self.agent_key),
                pair=self.pair,
                quiet=self.quiet,
            ) as viewer,
        ):
            token = link_token([os.path.realpath(path) for path in _as_paths(self.data) or ()])
            path = Links(viewer.index, token).item(self.item)
            url = f"http://{linked_host(self.host)}:{sock.getsockname()[1]}{path}"
            with suppress(KeyboardInterrupt):  # from the announcement on, an interrupt is the way to end
                self.announce(ViewerLink(url=url, n_dialogues=len(viewer.index), notes=tuple(viewer.notes)))
                if self.browser and _has_display():
                    webbrowser.open(url)
                serve(app(viewer, token), sock)

    def show(self, _: None, __: Viewing) -> None:
        """Nothing: the link has been printed."""


@dataclass(slots=True)
class _Sources:
    """The files and runs that are viewed."""

    files: "list[LogFile]" = field(default_factory=list)
    runs: "list[tuple[Run, dict[int, str]]]" = field(default_factory=list)  # with prefixes of ids by file
    notes: list[str] = field(default_factory=list)
    checksums: dict[str, int] = field(default_factory=dict)  # sha256 -> number of the file


@contextmanager
def open_viewer(
    data: Data,
    *,
    reader: str | None,
    mapping: MappingLike | None = None,
    agent_key: Sequence[str] = (),
    pair: str | None,
    quiet: bool,
) -> "Iterator[Viewer]":
    """The viewer of the data; temporary files are deleted at the end of the block."""
    from turnwise.logs.conversion import size
    from turnwise.logs.files import counting
    from turnwise.logs.items.selection import recorded_selection
    from turnwise.run.workers.execute import progress as bar
    from turnwise.web.viewer.reading import build
    from turnwise.web.viewer.scores import DIALOGUES, ITEMS, add_scores
    from turnwise.web.viewer.transcripts import strategies
    from turnwise.web.viewer.viewer import Viewer

    with ExitStack() as stack:
        sources = _open(data, reader, mapping, agent_key, stack)
        asked = [recorded_selection(run.document.origin) for run, _ in sources.runs]
        scored_files = [str(run.folder / name) for run, _ in sources.runs for name in (ITEMS, DIALOGUES)]
        total = size([*(file.path for file in sources.files), *scored_files])
        known: dict[str, str] = {}
        with bar("reading", total or None, quiet=quiet, in_bytes=True) as advance, counting(advance):
            index = build(
                sources.files,
                roles=frozenset(one.role for one in asked) | {"assistant"},
                pair=pair or next((one.pair for one in asked if one.pair), None),
                speakers=[name for one in asked for name in one.as_agents],
            )
            stack.enter_context(closing(index))
            if pair and not index.dialogues.rows.pair.any():
                raise UsageError(f"{setting('--pair', pair)}: no dialogue has this key")
            scored = [add_scores(index, run, of_run, known) for run, of_run in sources.runs]
        notes = [
            *sources.notes,
            *(
                f"{one.run.name}: {counted(one.unmatched, 'score line')} about dialogues or replies that are not shown"
                for one in scored
                if one.unmatched
            ),
        ]
        yield Viewer(index, scored, notes, strategies([run for run, _ in sources.runs]))


def _open(
    data: Data, reader: str | None, mapping: MappingLike | None, agent_key: Sequence[str], stack: ExitStack
) -> _Sources:
    """The files and runs of the data; without any dialogue or transcript of an attack, `DataError` says why."""
    from turnwise.logs.foreign import foreign
    from turnwise.logs.readers import recognise
    from turnwise.report.runs import find_runs
    from turnwise.web.viewer.inputs import holds_run, sha256
    from turnwise.web.viewer.transcripts import strategies

    sources = _Sources()
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="turnwise-view-")))
    paths = _as_paths(data)
    of_runs = [path for path in paths or () if holds_run(path) or (reader is None and Path(path).is_dir())]
    for path in of_runs:
        if not holds_run(path) and recognise(path) and (problem := foreign(path)):
            raise DataError(problem)
    others: Any = data if paths is None else [path for path in paths if path not in of_runs]
    if paths is None or others:
        held = stack.enter_context(
            files(others, reader=reader, mapping=mapping, agent_key=agent_key, name_files=True)
        )
        for path in held.paths:
            checksum = sha256(path) if of_runs else ""
            _add_file(sources, path, path, checksum, folder)
    for run in find_runs(of_runs) if of_runs else ():
        sources.runs.append((run, _inputs_of(run, sources, reader, stack, folder)))
    if not sources.files and not strategies([run for run, _ in sources.runs]):
        raise DataError("there is no dialogue to show", *sources.notes)
    return sources


def _as_paths(data: Any) -> list[str] | None:
    """The data as paths; None if it is anything else."""
    given = [data] if isinstance(data, str | Path) else list(data) if isinstance(data, list | tuple) else []
    return (
        [str(one) for one in given] if given and all(isinstance(one, str | Path) for one in given) else None
    )


def _add_file(sources: _Sources, path: str, shown: str, checksum: str, folder: Path) -> int:
    """Add a file, as a plain copy if it is packed; returns its number."""
    from turnwise.logs.native import file_names
    from turnwise.web.viewer.log_file import LogFile, plain_file

    names = file_names([*(file.shown for file in sources.files), shown])
    taken = {file.name for file in sources.files}
    name = next(
        one
        for number in count(1)
        if (one := names[shown] + (f" ({number})" if number > 1 else "")) not in taken
    )
    sources.files.append(LogFile(plain_file(path, folder), name, shown))
    sources.checksums.setdefault(checksum, len(sources.files) - 1)
    return len(sources.files) - 1


def _inputs_of(
    run: "Run", sources: _Sources, reader: str | None, stack: ExitStack, folder: Path
) -> dict[int, str]:
    """Add the input files of a run; number of each -> the prefix of its ids in the run.

    What is missing or changed is noted. If nothing is left, the few dialogues whose texts the run keeps are added.
    """
    from turnwise.logs.native import id_prefixes
    from turnwise.web.viewer.inputs import inputs, places, sha256, write_transcripts

    wanted = inputs(run)
    prefixes = id_prefixes([one.path for one in wanted])
    found: dict[int, str] = {}
    missing: list[RunInput] = []
    for one in wanted:
        if one.sha256 in sources.checksums:
            found[sources.checksums[one.sha256]] = prefixes[one.path]
            continue
        there = next((place for place in places(run, one.path) if sha256(place) == one.sha256), None)
        if there is None:
            missing.append(one)
        else:
            found[_add_file(sources, there, one.path, one.sha256, folder)] = prefixes[one.path]
    for one, path in _converted(run, missing, reader, stack).items():
        found[_add_file(sources, path, one.path, one.sha256, folder)] = prefixes[one.path]
        missing.remove(one)
    sources.notes += [_why_missing(run, one, reader) for one in missing]
    if not found and missing:
        kept = folder / f"{len(sources.runs)}-transcripts.jsonl"
        if n_kept := write_transcripts(run, kept):
            shown = f"{run.name}/transcripts.jsonl"
            found[_add_file(sources, str(kept), shown, shown, folder)] = ""
            sources.notes.append(
                f"{run.name}: only the {counted(n_kept, 'dialogue')} that the run keeps can be shown"
            )
    return found


def _converted(
    run: "Run", missing: "Sequence[RunInput]", reader: str | None, stack: ExitStack
) -> "Mapping[RunInput, str]":
    """Input files that the run read in another form, converted again: foreign formats, and agents named after files or
    told apart by keys.

    Only those whose converted bytes are those that the run read.
    """
    from turnwise.web.viewer.inputs import places, sha256

    found = {one: next(filter(os.path.exists, places(run, one.path)), None) for one in missing}
    there = {one: place for one, place in found.items() if place is not None}
    keys = run.options.get("agent_key") or ()
    if not there or (reader is None and not keys and len(missing) < 2):
        return {}
    try:
        held = stack.enter_context(
            files(list(there.values()), reader=reader, agent_key=keys, name_files=True)
        )
    except DataError:  # the note says that the file is not what it was
        return {}
    return {one: path for one, path in zip(there, held.paths, strict=True) if sha256(path) == one.sha256}


def _why_missing(run: "Run", one: "RunInput", reader: str | None) -> str:
    """Why an input file of a run is not shown, and what would help."""
    from turnwise.web.viewer.inputs import places

    if not any(Path(place).exists() for place in places(run, one.path)):
        return f"{run.name}: {one.path} is not here any more; name its new place as a further argument"
    hint = "" if reader else f"; if the run read it with {setting('--from', 'FORMAT')}, give the same option"
    return f"{run.name}: {one.path} is not the file that was scored (its sha256 differs), so it is not shown{hint}"


def _has_display() -> bool:
    """Whether a browser can open a window: False on Linux without a display."""
    return not sys.platform.startswith("linux") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


COMMAND = View
view = function(View)
__all__ = ["ViewerLink", "view"]
