"""The first pass over the files: checks every line and counts what the files hold, in constant memory.

It tells a command what it needs before it starts: the agents, the dimensions, whether there are references, and a
checksum of each file's bytes as stored.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnwise import records
from turnwise.errors import DataError, Problem
from turnwise.logs.dialogue import TEXT_PARTS, UNNAMED
from turnwise.logs.foreign import Asking, foreign
from turnwise.logs.ids import FileIds, IdSet
from turnwise.logs.native import SharedId, checked, id_prefixes, read_each
from turnwise.types import AUTOMATIC, Dialogue, Direction, Preference, Rating

SET_APART = ("ratings_apart", "preferences_apart")  # keys of what the rating app holds for unreliable
HELD = 10_000  # dialogues that `meta` holds in memory: about 30 MB if each has few messages
# Short names of the kinds of content parts; others have the name that the part has.
PART_KINDS = {
    "image_url": "image", "input_image": "image", "input_audio": "audio", "output_audio": "audio",
    "audio_url": "audio", "input_file": "file", "video_url": "video",
}  # fmt: skip


@dataclass(slots=True)
class Dimension:
    """How one dimension was rated: counts of ratings, raters, scales and directions."""

    n_turn: int = 0  # ratings of single turns
    n_dialogue: int = 0  # ratings of whole dialogues
    rated: Counter[str] = field(default_factory=Counter)  # agent -> dialogues that have such ratings
    raters: dict[str, None] = field(default_factory=dict)  # in order of appearance
    scales: dict[tuple[float, float] | None, None] = field(default_factory=dict)
    directions: dict[Direction, None] = field(default_factory=dict)
    declared: bool = False  # whether a rating says that higher is good
    n_automatic: int = 0  # ratings by language models or programs

    @property
    def automatic_raters(self) -> list[str] | None:
        """The named raters if all ratings are automatic, else None."""
        return list(self.raters) if 0 < self.n_automatic == self.n_turn + self.n_dialogue else None

    @property
    def scale(self) -> tuple[float, float] | None:
        """The one scale of all ratings; None if some or all have none, or if they differ."""
        return next(iter(self.scales)) if len(self.scales) == 1 else None

    def add(self, rating: Rating) -> None:
        """Count one rating; not in `rated`, which counts dialogues."""
        if rating.turn is None:
            self.n_dialogue += 1
        else:
            self.n_turn += 1
        if rating.rater is not None:
            self.raters[rating.rater] = None
        self.scales[rating.scale] = None
        self.directions[rating.direction] = None
        self.declared |= rating.declared
        self.n_automatic += _is_automatic(rating)


@dataclass(slots=True)
class AutomaticChoices:
    """How many of the preferences on one dimension are by language models or programs, and by which."""

    n: int = 0
    raters: dict[str, None] = field(default_factory=dict)  # in order of appearance


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, with its checksum and the dimensions on which it rates turns."""

    path: str
    sha256: str  # hash of the bytes as stored
    n_dialogues: int
    turn_rated: frozenset[str] = frozenset()  # dimensions on which it has ratings of single turns
    n_unnamed: int = 0  # dialogues that name no agent


@dataclass(slots=True)
class UnseenParts:
    """Content parts that are no text (images, audio, files), which text metrics do not see."""

    replies: int = 0  # replies with such a part in themselves or in their contexts
    n_replies: int = 0  # all replies that have text
    parts: Counter[str] = field(default_factory=Counter)  # such parts of all messages, by kind

    def add(self, dialogue: Dialogue) -> None:
        """Count the replies and parts of one dialogue."""
        before = False
        for turn in dialogue.turns:
            for part in turn.parts:
                kind = str(part["type"])
                if kind not in TEXT_PARTS:
                    before = True
                    self.parts[PART_KINDS.get(kind, kind)] += 1
            if turn.role == "assistant" and turn.content:
                self.n_replies += 1
                self.replies += before

    def section(self) -> dict[str, records.UnseenParts]:
        """The key `unseen_parts` of results.json with its value; empty if there are no such parts."""
        if not self.parts:
            return {}
        counts = dict(self.parts.most_common())
        return {
            "unseen_parts": records.UnseenParts(replies=self.replies, n_replies=self.n_replies, parts=counts)
        }


@dataclass(slots=True)
class Census:
    """Counts of what the files hold, and the dialogues if a command holds them."""

    n_dialogues: int = 0
    n_messages: int = 0
    agents: Counter[str] = field(default_factory=Counter)  # dialogues of each, in order of appearance
    dimensions: dict[str, Dimension] = field(default_factory=dict)
    preferences: Counter[str] = field(default_factory=Counter)  # dimension -> choices between two
    automatic_choices: dict[str, AutomaticChoices] = field(default_factory=dict)  # dimension -> its
    others: dict[str, str] = field(default_factory=dict)  # id of a preference's other record -> of its own
    ids: IdSet = field(default_factory=IdSet)  # of all dialogues
    alternatives: Counter[str] = field(default_factory=Counter)  # agent -> points where it would have spoken
    has_references: bool = False
    tool_calls: int = 0
    unseen: UnseenParts = field(default_factory=UnseenParts)
    set_apart: Counter[str] = field(default_factory=Counter)  # why -> ratings that the rating app set apart
    files: list[Source] = field(default_factory=list)
    held: tuple[tuple[Dialogue, ...], ...] = ()  # by file: for commands that keep all dialogues in memory
    apart: bool = False  # each file has ids of its own, which then begin with its name

    @property
    def turn_rated(self) -> frozenset[str]:
        """The dimensions on which there are ratings of single turns."""
        return frozenset(name for name, dimension in self.dimensions.items() if dimension.n_turn)

    @property
    def sha256(self) -> Mapping[str, str]:
        """Path -> checksum of the file's bytes as stored."""
        return {str(source.path): source.sha256 for source in self.files}

    @property
    def automatic_raters(self) -> dict[str, list[str]]:
        """`rating:DIMENSION` and `preference:DIMENSION` of which all are automatic -> the named raters."""
        found = {f"rating:{name}": one.automatic_raters for name, one in self.dimensions.items()}
        for name, choices in self.automatic_choices.items():
            found[f"preference:{name}"] = (
                list(choices.raters) if choices.n == self.preferences[name] else None
            )
        return {name: raters for name, raters in found.items() if raters is not None}

    def automatic_section(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The key `automatic_raters` of results.json with its value; empty if people rated on every dimension."""
        found = {name: tuple(raters) for name, raters in self.automatic_raters.items()}
        return {"automatic_raters": found} if found else {}

    def unused_section(self) -> dict[str, Any]:
        """The keys of results.json on what the data holds and metrics do not use; empty if there is nothing."""
        apart = dict(self.set_apart.most_common())
        return {**self.unseen.section(), **({"ratings_apart": apart} if apart else {})}

    def hold(self) -> None:
        """Read the files once more and keep the dialogues in `held`, for commands that go over them often."""
        paths = [source.path for source in self.files]
        self.held = tuple(map(tuple, read_each(paths, apart=self.apart)))

    @property
    def ratings(self) -> list[Rating]:
        """All ratings of the dialogues that are held; empty unless `hold` was called."""
        return [rating for dialogues in self.held for one in dialogues for rating in one.ratings]

    def read_ratings(self) -> list[Rating]:
        """All ratings of the files, which are read once more.

        Up to `HELD` dialogues are held then; of more nothing but the ratings is kept, and later passes read the files.
        """
        if self.n_dialogues <= HELD:
            self.hold()
            return self.ratings
        files = read_each([source.path for source in self.files], apart=self.apart)
        return [rating for dialogues in files for one in dialogues for rating in one.ratings]

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue; its file must be counted by the caller."""
        self.n_dialogues += 1
        self.n_messages += len(dialogue.turns)
        self.agents[dialogue.agent] += 1
        self.unseen.add(dialogue)
        self.set_apart.update(reasons_apart(dialogue))
        rated_whole: set[str] = set()
        for rating in dialogue.ratings:
            name = rating.dimension
            dimension = self.dimensions.get(name)
            if dimension is None:
                dimension = self.dimensions[name] = Dimension()
            dimension.add(rating)
            if rating.turn is None and name not in rated_whole:
                rated_whole.add(name)
                dimension.rated[dialogue.agent] += 1
        for preference in dialogue.preferences:
            self.preferences[preference.dimension] += 1
            self.others.setdefault(preference.other, dialogue.id)
            if _is_automatic(preference):
                choices = self.automatic_choices.setdefault(preference.dimension, AutomaticChoices())
                choices.n += 1
                choices.raters.update({preference.rater: None} if preference.rater is not None else {})
        for turn in dialogue.turns:
            if turn.references:
                self.has_references = True
            if turn.alternatives:
                self.alternatives.update(turn.alternatives.keys())
            if turn.extra:
                self.tool_calls += len(turn.tool_calls)


def reasons_apart(dialogue: Dialogue) -> Iterator[str]:
    """Why each rating and preference of a dialogue was set apart, where the rating app did so."""
    for key in SET_APART:
        found = dialogue.extra.get(key)
        for one in found if isinstance(found, list) else ():
            if isinstance(one, dict):
                yield str(one.get("reason") or "no reason given")


def _is_automatic(one: Rating | Preference) -> bool:
    """Whether a language model or a program gave the rating or preference."""
    return one.extra.get(AUTOMATIC) is True


def scan(paths: Sequence[str], *, apart: bool = False, command: Asking = "score") -> Census:
    """The counts over all files; the first problem raises `DataError`. `apart` as in `native.read_each`.

    The error on a file in another format names how `command` reads it.
    """

    def give_up(problem: Problem) -> None:
        """Raise the problem as a `DataError`."""
        raise DataError(problem)

    return survey(paths, give_up, apart=apart, command=command)


def scan_agents(paths: Sequence[str], *, apart: bool = False, command: Asking = "compare") -> Census:
    """As `scan`, for files that are compared: if ids of one file are in another, the files are kept `apart`.

    Files of two agents with their replies to the same test set have the same ids.
    """
    try:
        return scan(paths, apart=apart, command=command)
    except DataError as error:
        if not any(isinstance(problem, SharedId) for problem in error.problems):
            raise
    return scan(paths, apart=True, command=command)


def survey(
    paths: Sequence[str],
    on_problem: Callable[[Problem], None],
    *,
    apart: bool = False,
    command: Asking = "score",
) -> Census:
    """The counts over every valid dialogue; `on_problem` is called with each problem.

    A file that is in another format has one problem, which names how `command` reads it, and its other lines are not
    read. A file that is given twice is read once.
    """
    ids, given = FileIds(), set[str]()
    census = Census(apart=apart, ids=ids)
    prefixes = id_prefixes(paths)
    for path in paths:
        if path in given:
            on_problem(Problem(path, None, "", "is given twice; expected each file once"))
            continue
        given.add(path)
        hasher, before, unnamed = hashlib.sha256(), census.n_dialogues, census.agents[UNNAMED]
        rated: set[str] = set()
        lines = checked(path, tap=hasher.update, ids=ids, prefix=prefixes[path], apart=apart)
        for place, found in enumerate(lines):
            if isinstance(found, Problem):
                other = foreign(path, command=command) if place == 0 else None
                on_problem(other or found)
                if other:
                    break  # every line of it would be wrong
            else:
                census.add(found)
                if found.ratings:
                    rated.update([rating.dimension for rating in found.ratings if rating.turn is not None])
        counts = census.n_dialogues - before, frozenset(rated), census.agents[UNNAMED] - unnamed
        census.files.append(Source(path, hasher.hexdigest(), *counts))
    return census
