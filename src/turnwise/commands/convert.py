"""Convert dialogues of another format to the native one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias

from turnwise.commands.function import function
from turnwise.commands.screen import Screen
from turnwise.errors import counted
from turnwise.library.reading import Reading
from turnwise.settings.groups import Restated, Resumption, Showing, Unnamed
from turnwise.settings.option import Option, PathLike, Paths, split_paths
from turnwise.terminal import say, visible

Named: TypeAlias = str | Mapping[str, str]  # key -> name, or `key=name,...`
# Key of a mapping file -> setting.
KEPT = {
    "from": "reader",
    "map": "columns",
    "split": "split",
    "roles": "roles",
    "agent": "agent",
    "each": "each",
}


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
        lines += [f"not kept: {what}: {count}" for what, count in self.dropped.items()]
        return "\n".join(map(visible, lines))


@dataclass(frozen=True, kw_only=True)
class Converting(Screen):
    """Settings of the command line of `convert`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "No progress bar, and nothing on what was understood."}}
    mapping: Annotated[
        str | None,
        Option("Take --from, --map, --split, --roles, --agent and --each from here.", metavar="FILE.toml"),
    ] = None
    save_mapping: Annotated[
        str | None, Option("Write these options to a file for --mapping.", metavar="FILE.toml")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Convert(Unnamed, Showing):
    """Convert dialogues of another format to the native one.

    What was understood is said. OUT appears whole or not at all, and is compressed if its name ends in .gz. A
    conversion that was killed is continued by the same command; if the source has changed, it starts from the
    beginning. `-` is a pipe. Only mt-bench, a format of several files, and native, which merges files, take more than
    one IN.

    \b
      turnwise convert results.json logs.jsonl
      turnwise convert --from csv --map id=conv,role=who,content=text \\
        --map rating:overall=score in.csv logs.jsonl
      turnwise convert --from json --map messages=traj,role=author,content=text \\
        --each 'runs[*]' in.json logs.jsonl
    """

    command: ClassVar[str] = "convert"
    screen_class = Converting
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "target"

    source: Annotated[
        Paths, Option("The file or folder to read; several files where a format has several.", flags="IN...")
    ] = field(kw_only=False)
    target: Annotated[PathLike, Option("The file to write.", flags="OUT")] = field(kw_only=False)
    reader: Annotated[
        str | None,
        Option(
            "Format of the source; `turnwise ls readers` lists them. Default: the format that is recognised.",
            flags="--from", metavar="FORMAT",
        ),
    ] = None  # fmt: skip
    columns: Annotated[
        Named,
        Option(
            "What a table's columns, or the paths of --from json, are: id, role, content, turn, time, message, "
            "reply_to, agent, context, response, rater, reference, messages, goal, say:ROLE, rating:NAME, "
            "dialogue-rating:NAME, alternative:AGENT. A rating may have a scale: rating:NAME[1-5].",
            flags="--map", metavar="MEANING=COLUMN,...", repeatable=True, parse=",".join,
        ),
    ] = ""  # fmt: skip
    split: Annotated[
        str | None, Option("What separates the turns of a table's context.", metavar="TEXT")
    ] = None  # fmt: skip
    roles: Annotated[
        Named,
        Option(
            "Who is who where the format does not say it: 'Support=assistant,*=user'.",
            metavar="SPEAKER=ROLE,...", repeatable=True, parse=",".join,
        ),
    ] = ""  # fmt: skip
    each: Annotated[
        str | None,
        Option("With --from json: where the records are, e.g. 'results[*]'.", metavar="PATH"),
    ] = None
    strict: Annotated[
        bool, Option("Anything that cannot be kept is an error, and nothing is written.")
    ] = False  # fmt: skip
    redact: Annotated[
        bool,
        Option(
            "Replace names, mail addresses, phone, card and IBAN numbers, IPs, URLs with tokens and keys by "
            "placeholders such as [PERSON_1]. By rules, offline, not complete."
        ),
    ] = False

    @classmethod
    def on_command_line(cls, screen: Converting, given: dict[str, Any]) -> int:
        """As in `Command`, with options from a mapping file and to one."""
        from turnwise.logs.readers.mapping import load, save

        kept = load(screen.mapping) if screen.mapping else {}
        kept |= {key: given[name] for key, name in KEPT.items() if name in given}
        command = cls(**given | {KEPT[key]: value for key, value in kept.items()})
        converted = command.run()
        if screen.save_mapping:
            save(screen.save_mapping, {"from": converted.reader, **kept})
        return command.show(converted, screen)

    def run(self) -> Converted:
        """Convert the source."""
        from turnwise.logs.conversion import convert as run
        from turnwise.logs.conversion import size
        from turnwise.logs.place import is_unpacked
        from turnwise.run.workers.execute import progress as bar

        first, *more = split_paths(self.source)
        said = Reading(
            columns=_listed(self.columns), split=self.split, roles=_listed(self.roles), agent=self.agent,
            each=self.each,
        )  # fmt: skip
        options = said.options(more=tuple(more))
        # Roles first, then dialogues.
        passes = 2 if self.reader == "json" and "messages" in options.columns else 1
        total = 0 if is_unpacked(self.reader, first) else passes * size([first, *more])
        with bar("converting", total or None, quiet=self.quiet, in_bytes=True) as advance:
            done = run(
                self.reader,
                first,
                str(self.target),
                options,
                strict=self.strict,
                redact=self.redact,
                resume=True,
                advance=advance if self.progress else None,
            )
        return Converted(
            path=str(self.target),
            n_dialogues=done.n_dialogues,
            dropped=dict(done.dropped),
            reader=done.name,
            understood=tuple(done.account.lines()),
            notes=done.notes,
            redacted=None if done.redacted is None else dict(done.redacted),
        )

    def show(self, converted: Converted, screen: Converting) -> int:
        """Say what was understood and what was not kept."""
        if not screen.quiet:
            say(str(converted), err=True)
        return 0


def _listed(given: Named) -> str:
    """A mapping as `key=name,...`, the form of the command line; a text is returned unchanged."""
    return given if isinstance(given, str) else ",".join(f"{key}={name}" for key, name in given.items())


COMMAND = Convert
convert = function(Convert)
__all__ = ["Converted", "convert"]
