"""A conversion to the native format: read, named, checked, redacted and written, whole or not at all."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from turnwise import __version__, registry
from turnwise.errors import DataError, Problem, UsageError, WrongForFile, counted
from turnwise.logs import labels, native, typed
from turnwise.logs.checks import RuleError, shown
from turnwise.logs.dialogue import UNNAMED, from_record
from turnwise.logs.draft import Draft, State, can_resume
from turnwise.logs.files import Advance, counting, replacing
from turnwise.logs.foreign import mistaken
from turnwise.logs.ids import IdSet
from turnwise.logs.memory import is_file, is_folder
from turnwise.logs.place import Place, located
from turnwise.logs.readers import Reader, find
from turnwise.logs.readers.account import Account
from turnwise.logs.readers.source import Options, decoded, raise_data_error
from turnwise.logs.readers.speakers import Heard
from turnwise.plugin_code import described
from turnwise.types import Dialogue

OTHER_FILES = "other files of the zip file"
CONTINUED = "an interrupted conversion was continued after"
AFRESH = (
    "an interrupted conversion to this file had another input or options; this one started from the beginning"
)
IDENTIFIERS = (
    "ids, agents or raters look like personal data; they are not redacted, because results are joined by them"
)


class Converted(NamedTuple):
    """What a conversion wrote, understood and could not keep."""

    n_dialogues: int
    dropped: Mapping[str, int]  # what could not be kept -> how often
    account: Account
    name: str  # name of the reader
    notes: tuple[str, ...] = ()  # what the reader took for granted
    redacted: Mapping[str, int] | None = None  # replacements by kind; None where nothing was to be redacted


def convert(
    name: str | None,
    source: str,
    target: str,
    options: Options | None = None,
    *,
    strict: bool = False,
    redact: bool = False,
    resume: bool = False,
    advance: Advance | None = None,
) -> Converted:
    """Write `source`, in the format `name`, to `target` in the native one: all of it, or nothing.

    Without a name the format is recognised; an unknown name raises `UsageError`. `strict` makes anything that
    cannot be kept a `DataError`. `redact` replaces personal data by placeholders. With `resume` a conversion that was
    interrupted is continued, if source and options are the same; a note says so. `advance` is called with the number
    of bytes that were read, as stored.
    """
    options = options or Options()
    if any(_is_same(one, target) for one in (source, *options.more)):
        raise UsageError(f"{target}: is both read and written; give the output another name")
    with ExitStack() as stack:
        read = located(source, name, options, stack)
        found, reader = read.reader, find(read.reader)
        work = _Conversion(reader, read, options, Counter() if redact else None, name)
        if advance is not None:
            stack.enter_context(counting(advance))
        if resume and can_resume(target) and all(map(_is_stored, (source, *options.more))):
            draft = stack.enter_context(Draft(target, _key(found, reader, source, options, redact)))
            work.restore(draft)
            for line in work.lines(strict):
                draft.write(line)
                if draft.is_due:
                    draft.save(work.state(draft.done.key))
        else:
            stream = stack.enter_context(replacing(target))
            for line in work.lines(strict):
                stream.write(line)
                stream.write(b"\n")
    return Converted(
        work.account.dialogues,
        Counter(options.dropped),
        work.account,
        found,
        tuple(dict.fromkeys([*work.resumed, *options.notes])),
        work.redacted,
    )


def native_lines(name: str | None, source: str, options: Options) -> Iterator[bytes]:
    """The lines that `convert` would write for a source, without its line ends."""
    with ExitStack() as stack:
        read = located(source, name, options, stack)
        yield from _Conversion(find(read.reader), read, options, None, name).lines(strict=False)


@dataclass(slots=True)
class _Conversion:
    """One conversion: what was read so far, and the lines to write."""

    reader: Reader
    source: Place
    options: Options
    redacted: Counter[str] | None  # replacements by kind; None where nothing is to be redacted
    asked: str | None  # the format that the user named
    account: Account = field(default_factory=Account)
    seen: IdSet = field(default_factory=IdSet)  # ids
    resumed: list[str] = field(default_factory=list)  # notes on how it went on after an interruption
    labelled: labels.Account = field(default_factory=labels.Account)
    heard: Heard = field(init=False)

    def __post_init__(self) -> None:
        self.heard = Heard(self.options.roles)

    def restore(self, draft: Draft) -> None:
        """Take over what an interrupted conversion wrote, and add a note on it.

        Counts are made anew from the lines of the draft; the journal has those that lines do not hold.
        """
        if draft.is_other:
            self.resumed.append(AFRESH)
        for number, line in enumerate(draft.written(), 1):
            dialogue = native.parse(line, file=self.source.given, line_number=number)
            self.account.add(dialogue)
            self.labelled.add(dialogue)
            self.heard.add(dialogue)
            self.seen.add(dialogue.id)
        done = draft.done
        if not done.dialogues:
            return
        self.options.already.left = done.dialogues
        self.options.already.dropped = done.dropped
        self.options.notes.extend(done.notes)
        if self.redacted is not None:
            self.redacted.update(done.redacted)
            self.heard.named.update(self.options.roles)  # names in the draft are placeholders
        self.resumed.append(f"{CONTINUED} {counted(done.dialogues, 'dialogue')}")

    def state(self, key: str) -> State:
        """What the journal must have for `restore`; its length is filled in by the draft."""
        return State(
            key,
            self.account.dialogues,
            dropped=dict(self.options.dropped),
            notes=list(self.options.notes),
            redacted=dict(self.redacted or {}),
        )

    def lines(self, strict: bool) -> Iterator[bytes]:
        """The lines to write; with `strict`, anything that cannot be kept is a `DataError` at the end."""
        dialogues = _named(_readable(self.reader, self.source.path, self.options), self.options)
        with self._explained():
            before, offer = self.account.dialogues, self.reader.offer
            for dialogue, line in _checked(dialogues, self.source.given, self.seen, before, offer):
                self.heard.add(dialogue)
                self.labelled.add(dialogue)
                if self.redacted is not None:
                    dialogue = _redacted(dialogue, self.redacted, self.options)
                    line = native.dump(dialogue)
                self.account.add(dialogue)
                yield line
        if self.source.others:
            self.options.dropped[OTHER_FILES] = self.source.others
        self.heard.check(self.source.given, self.options.notes)
        self.options.notes.extend(self.labelled.notes())
        if strict and self.options.dropped:
            lost = "; ".join(f"{what}: {count}" for what, count in self.options.dropped.items())
            raise DataError(
                Problem(self.source.given, None, "", f"was not kept whole, and --strict is given: {lost}")
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Make errors of the block name the user's file; and where the first dialogue of a format that the user named
        cannot be read, say which format the file has.
        """
        try:
            yield
        except (DataError, UsageError) as error:
            source = self.source
            if type(error) not in (
                DataError,
                UsageError,
                WrongForFile,
            ):  # nothing that another format explains
                raise
            if self.asked is not None and not (source.folder or self.options.more or self.account.dialogues):
                mapped = bool(self.options.columns)
                other = mistaken(source.path, self.asked, error, shown=source.given, is_mapped=mapped)
                if other is not None:
                    raise other from None
            raise source.renamed(error) from None


def _key(name: str, reader: Reader, source: str, options: Options, redact: bool) -> str:
    """A digest of everything that determines the output: version, reader, options, and sizes and times of the files."""
    described = (
        __version__, name, reader.offer and (reader.offer.owner, reader.offer.target),
        sorted((meaning, columns) for meaning, columns in options.columns.items()), options.split,
        sorted((meaning, sorted(words.items())) for meaning, words in options.words.items()),
        sorted(options.roles.items()), options.agent, options.each, redact,
        [_identity(path) for path in (source, *options.more)],
    )  # fmt: skip
    return hashlib.sha256(repr(described).encode()).hexdigest()


def _is_same(source: str, target: str) -> bool:
    """Whether both are the same regular file, also under two names."""
    return is_file(source) and os.path.isfile(target) and os.path.samefile(source, target)


def _is_stored(path: str) -> bool:
    """Whether a source can be read again: a file or a folder, not a pipe."""
    return is_file(path) or is_folder(path)


def _identity(path: str) -> list[tuple[str, int, int]]:
    """Path, size and time of change of a file, or of each file in a folder, without hidden ones such as our drafts."""
    files = [path]
    if os.path.isdir(path):
        visible = ((place, [one for one in names if one[0] != "."]) for place, _, names in os.walk(path))
        files = sorted(os.path.join(place, name) for place, names in visible for name in names)
    found = []
    for file in files:
        about = os.stat(file)
        found.append((os.path.realpath(file), about.st_size, about.st_mtime_ns))
    return found


def size(paths: Iterable[str]) -> int:
    """The bytes of files and of all files in folders; files that are absent count as 0."""
    return sum(size for path in paths if _is_stored(path) for _, size, _ in _identity(path))


def _redacted(dialogue: Dialogue, counts: Counter[str], options: Options) -> Dialogue:
    """The dialogue with placeholders for personal data; adds the replacements by kind to `counts`, and to the notes of
    `options` that identifiers look like personal data.
    """

    from turnwise.logs.redact import redact

    done = redact(dialogue)
    counts.update(done.counts)
    if done.identifiers and IDENTIFIERS not in options.notes:
        options.notes.append(IDENTIFIERS)
    return done.dialogue


def _readable(reader: Reader, source: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a source, without those that an interrupted conversion has written.

    A reader that cannot open the source is an error about the source, not about the target.
    """
    try:
        for dialogue in reader.read(source, options):
            if options.already.left:
                options.already.left -= 1
            else:
                yield dialogue
    except OSError as error:
        raise DataError(Problem(source, None, "", f"cannot be read: {error.strerror or error}")) from None


def _named(dialogues: Iterator[Dialogue], options: Options) -> Iterator[Dialogue]:
    """The dialogues; those whose agent is unknown get the name that --agent gives, if it is given."""
    for dialogue in dialogues:
        if options.agent is not None and dialogue.agent == UNNAMED:
            yield replace(dialogue, agent=options.agent)
        else:
            yield dialogue


def checked(dialogues: Iterator[Dialogue], source: str) -> Iterator[Dialogue]:
    """The dialogues of a reader, each checked by the native rules; a broken rule, an id that appears twice, or
    no dialogue at all raises `DataError` about `source`.
    """
    return (dialogue for dialogue, _ in _checked(dialogues, source, IdSet(), 0))


def _checked(
    dialogues: Iterator[Dialogue],
    source: str,
    seen: IdSet,
    before: int,
    offer: registry.Offer | None = None,
) -> Iterator[tuple[Dialogue, bytes]]:
    """As `checked`, each dialogue with its native line; `before` dialogues, whose ids are in `seen`, came earlier.

    A broken rule is a `PluginError` if the reader is that of another package, `offer`.
    """
    place = before
    for place, dialogue in enumerate(dialogues, before + 1):
        try:
            line = native.dump(dialogue)
            if typed.read(line, place) is None:  # then the slower check says what is wrong, if anything is
                from_record(decoded(line), default_id="")
        except RuleError as error:
            if offer is not None:  # options of `convert` cannot help: they are the reader's to use
                rule = f"{error.path} {error.message}"
                raise offer.error(f"dialogue {place} of {source}, as read: {rule}") from None
            raise_data_error(error, f"{source}: dialogue {place}, as converted")
        except (
            AttributeError,
            TypeError,
            ValueError,
        ) as error:  # fields of a plugin's dialogue with wrong types
            about = f"dialogue {place}, as converted, cannot be written: {described(error)}"
            if offer is not None:
                raise offer.error(f"{source}: {about}") from error
            raise DataError(Problem(source, None, "", about)) from error
        if dialogue.id in seen:
            expected = "expected ids that differ"
            raise DataError(Problem(source, None, "", f"has the id {shown(dialogue.id)} twice; {expected}"))
        seen.add(dialogue.id)
        yield dialogue, line
    if not place:
        raise DataError(Problem(source, None, "", "has no dialogue in it"))
