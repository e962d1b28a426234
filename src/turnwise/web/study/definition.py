"""The definition of a study: its mode, its questions with wording and scales, and its quality control.

Everything has a default, and a TOML file can change it (docs/rate.md lists the keys). The quality control follows ADEM
(Lowe et al. 2017, section 2): some contexts are rated by every rater, there are attention checks, and raters with a
kappa below .2 are set apart. Repeated tasks, which measure the consistency of a rater, are added here.
"""

import tomllib
from math import isfinite
from pathlib import Path
from typing import Literal

import msgspec

from turnwise.errors import DataError, Problem
from turnwise.ratings.quality import MIN_KAPPA, MIN_SHARED
from turnwise.types import Direction
from turnwise.web.crowd.entry import Crowd, Screening, Training
from turnwise.web.study.messages import texts

Mode = Literal["reply", "dialogue", "pairwise", "write", "chat"]
MAX_POINTS = 11  # most points of a Likert scale; a finer scale needs a slider


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question of a study. The fields are the keys of the TOML file."""

    name: str  # dimension of the exported ratings
    text: str = ""
    scale: tuple[float, float] = (1, 5)
    kind: Literal["likert", "slider"] = "likert"
    step: float = 1
    labels: tuple[str, ...] = ()  # for the two ends or for every point
    direction: Direction = "higher"

    @property
    def steps(self) -> int:
        """The number of steps from the lowest to the highest point."""
        low, high = self.scale
        return round((high - low) / self.step)

    @property
    def points(self) -> tuple[float, ...]:
        """The values of the scale from the lowest to the highest."""
        return tuple(self._point(k) for k in range(self.steps + 1))

    def label(self, index: int) -> str:
        """The label of the point with this index from 0; "" if it has none (two labels are those of the ends)."""
        if len(self.labels) == self.steps + 1:
            return self.labels[index]
        ends = {0: 0, self.steps: 1}
        return self.labels[ends[index]] if self.labels and index in ends else ""

    def to_point(self, value: float) -> float | None:
        """The point of the scale that equals `value` up to rounding, or None."""
        low, high = self.scale
        if not low <= value <= high:
            return None
        steps = (value - low) / self.step
        return self._point(round(steps)) if abs(steps - round(steps)) < 1e-6 else None

    def _point(self, index: int) -> float:
        """The value of the point with this index from 0, rounded to nine decimals."""
        return float(round(self.scale[0] + index * self.step, 9))

    def problem(self) -> str | None:
        """What is wrong with the question, as the end of a sentence; None if it is valid."""
        low, high = self.scale
        if not self.name.strip():
            return "has no name"
        if not (low < high and isfinite(low) and isfinite(high)):
            return f"has the scale {low:g} to {high:g}; expected two numbers in order"
        steps = (high - low) / self.step if self.step > 0 else 0.0
        if steps < 1 or abs(steps - round(steps)) > 1e-6:
            return f"has steps of {self.step:g}, which do not lead from {low:g} to {high:g}"
        if self.kind == "likert" and steps >= MAX_POINTS:
            return f'has {round(steps) + 1} points; more than {MAX_POINTS} need kind = "slider"'
        if self.labels and len(self.labels) not in (2, round(steps) + 1):
            return f"has {len(self.labels)} labels; expected 2 for the ends, or {round(steps) + 1}"
        return None


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Quality control: numbers of shared tasks, attention checks and repeats, and thresholds to screen raters."""

    shared: int = 5  # contexts that every rater rates
    checks: int = 2  # attention checks per rater
    repeats: int = 1  # tasks per rater that are shown twice
    kappa: float = MIN_KAPPA  # a rater with a lower kappa is set apart
    min_shared: int = MIN_SHARED  # tasks that two raters must share for a kappa


class Writing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the mode in which raters write replies: least number of words, and further offensive words."""

    least_words: int = 3  # ADEM's workers "were instructed to generate longer responses"
    blocked: tuple[str, ...] = ()  # offensive words in addition to the built-in list


class Chat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the mode in which raters talk to agents: prepared messages, who begins, limits of turns and time."""

    templates: tuple[str, ...] = ()  # prepared messages; {key} is replaced by the value in the goal
    opening: Literal["rater", "agent"] = "rater"  # who speaks first
    beside: bool = False  # talk to two agents at once, side by side, and say which is better
    least_turns: int = 0  # messages before the rater may end the dialogue
    most_turns: int = 40  # messages after which the dialogue ends; both count what the rater sees
    seconds: float = 60  # time limit of an agent's reply


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When the study closes by itself: the interval of every agent's mean is narrow enough."""

    half_width: float  # largest half of the 95 % interval of an agent's mean on the first question
    least_tasks: int = 20  # rated tasks of an agent before its interval is looked at


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A study. The fields are the keys of the TOML file."""

    mode: Mode = "reply"
    title: str = ""  # default: that of the language
    instructions: str = ""  # Markdown
    language: str = "en"  # a shipped language, or a message file beside the study's file
    markdown: bool = False  # show messages as Markdown
    # What is shown beside a dialogue: `goal`, `meta.KEY`. None: in a chat the goal, else nothing.
    show: tuple[str, ...] | None = None
    tools: bool = True  # show tool calls and their results, folded
    questions: tuple[Question, ...] = msgspec.field(default=(), name="question")
    whole: bool = False  # pairwise mode: compare whole dialogues instead of replies
    per_task: int = 3  # raters per task
    # Tasks per rater, without shared tasks, checks and repeats; None: no limit.
    per_rater: int | None = None
    understood: bool = False  # show the box "I did not understand this"
    minutes: float = 30  # time without an action after which an unfinished task is given to others
    link_days: float | None = None  # days after which a link expires; None: never
    retention_days: float | None = None  # days after the last action until a rater's identity is erased
    consent: str = ""  # Markdown; asked before anything else
    seed: int = 0
    screening: tuple[Screening, ...] = ()
    training: Training | None = None
    crowd: Crowd | None = None
    stop: Stop | None = None
    quality: Quality = Quality()
    write: Writing = Writing()
    chat: Chat = Chat()

    @property
    def compares(self) -> bool:
        """Whether raters choose between two: replies, dialogues, or agents that they talk to side by side."""
        return self.mode == "pairwise" or (self.mode == "chat" and self.chat.beside)

    @property
    def shown(self) -> tuple[str, ...]:
        """The keys of a dialogue that are shown beside it."""
        if self.show is not None:
            return self.show
        return ("meta.context", "goal") if self.mode == "chat" else ()

    def problem(self) -> tuple[str, str] | None:
        """The key of the first invalid value and what is wrong with it; None if all is valid."""
        parts: list[tuple[str, Question | Screening | Training | Crowd]] = []
        parts += [(f"question[{index}]", question) for index, question in enumerate(self.questions)]
        parts += [(f"screening[{index}]", question) for index, question in enumerate(self.screening)]
        parts += [(name, one) for name, one in (("training", self.training), ("crowd", self.crowd)) if one]
        for path, part in parts:
            if found := part.problem():
                return path, found
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            return "question", "has the same name twice; expected different names"
        counts = {
            "per_task": (self.per_task, 1),
            "per_rater": (1 if self.per_rater is None else self.per_rater, 1),
            "quality.shared": (self.quality.shared, 0),
            "quality.checks": (self.quality.checks, 0),
            "quality.repeats": (self.quality.repeats, 0),
            "quality.min_shared": (self.quality.min_shared, 2),
            "chat.most_turns": (self.chat.most_turns, max(2, self.chat.least_turns)),
            "chat.least_turns": (self.chat.least_turns, 0),
            "write.least_words": (self.write.least_words, 1),
        }
        if not 0 < self.chat.seconds < 3600:
            return "chat.seconds", f"is {self.chat.seconds:g}; expected more than 0 and less than an hour"
        spans = {"minutes": self.minutes, "link_days": self.link_days, "retention_days": self.retention_days}
        if self.stop is not None:
            spans["stop.half_width"] = self.stop.half_width
        for path, span in spans.items():
            if span is not None and not (span > 0 and isfinite(span)):
                return path, f"is {span:g}; expected more than 0"
        if self.show and (wrong := [k for k in self.show if k != "goal" and not k.startswith("meta.")]):
            return "show", f"has {wrong[0]!r}; expected goal or meta.KEY"
        if not -1 <= self.quality.kappa <= 1:
            return "quality.kappa", f"is {self.quality.kappa:g}; expected -1 to 1"
        low = ((path, least) for path, (value, least) in counts.items() if value < least)
        return next(((path, f"is too low; expected {least} or more") for path, least in low), None)


def default_questions(study: Study) -> tuple[Question, ...]:
    """The questions of a study that has none of its own, in its language."""
    t = texts(study.language)
    ends = (t["question.low"], t["question.high"])
    if study.compares:
        return (Question(name="preference", text=t["question.better"], scale=(0, 1), step=0.5),)
    if study.mode == "chat":
        yes_or_no, marks = (t["question.no"], t["question.yes"]), (t["question.worst"], t["question.best"])
        return (
            Question(name="success", text=t["question.success"], scale=(0, 1), labels=yes_or_no),
            Question(name="overall", text=t["question.assistant"], labels=marks),
        )
    asked = {"reply": "question.overall", "dialogue": "question.dialogue"}
    return (Question(name="overall", text=t[asked[study.mode]], labels=ends),) if study.mode in asked else ()


def read_study(path: str | None, **changes: object) -> Study:
    """Read the study from a TOML file, or take the default one; `changes` that are not None override its keys.

    Raises `DataError` for an unreadable file or an invalid study.
    """
    values: dict[str, object] = {}
    if path is not None:
        try:
            values = tomllib.loads(Path(path).read_text())
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(Problem(path, None, "", f"cannot be read: {error}")) from None
    values |= {key: value for key, value in changes.items() if value is not None}
    source = path or "command line"
    try:
        found = msgspec.convert(values, Study)
    except msgspec.ValidationError as error:
        raise DataError(Problem(source, None, "", str(error))) from None
    if wrong := found.problem():
        raise DataError(Problem(source, None, *wrong))
    return _with_defaults(_with_paths(found, Path(path).parent if path is not None else Path()))


def _with_paths(found: Study, folder: Path) -> Study:
    """The study with the paths of its message file and its training data, which are relative to `folder`."""
    if found.language.endswith(".toml"):
        found = msgspec.structs.replace(found, language=str(folder / found.language))
    if found.training is not None:
        data = msgspec.structs.replace(found.training, data=str(folder / found.training.data))
        found = msgspec.structs.replace(found, training=data)
    return found


def _with_defaults(found: Study) -> Study:
    """The study with the default questions if it has none; pairwise questions have points 0, .5 and 1.

    Raises `DataError` for an unknown language, questions in the mode `write`, `whole` outside the mode `pairwise`, and
    settings that the mode does not have.
    """
    if found.mode == "write" and found.questions:
        raise DataError('mode = "write" takes no questions; rate the written replies in a second study')
    if found.whole and found.mode != "pairwise":
        raise DataError("`whole` is an option of --mode pairwise; --mode dialogue rates dialogues one by one")
    if found.chat.beside and found.mode != "chat":
        raise DataError("chat.beside is an option of --mode chat")
    if found.training is not None and found.mode in ("write", "chat"):
        raise DataError(f"training needs right answers, and --mode {found.mode} has none")
    questions = found.questions or default_questions(found)
    if found.compares:
        questions = tuple(
            msgspec.structs.replace(q, scale=(0, 1), step=0.5, kind="likert", labels=()) for q in questions
        )
    title = found.title or texts(found.language)["page.title"]
    return msgspec.structs.replace(found, questions=questions, title=title)
