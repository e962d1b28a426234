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
    most_turns: int = 40  # messages after which the dialogue ends
    seconds: float = 60  # time limit of an agent's reply


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A study. The fields are the keys of the TOML file."""

    mode: Mode = "reply"
    title: str = "Rate dialogues"
    instructions: str = ""
    questions: tuple[Question, ...] = msgspec.field(default=(), name="question")
    whole: bool = False  # pairwise mode: compare whole dialogues instead of replies
    per_task: int = 3  # raters per task
    # Tasks per rater, without shared tasks, checks and repeats; None: no limit.
    per_rater: int | None = None
    understood: bool = False  # show the box "I did not understand this"
    seed: int = 0
    quality: Quality = Quality()
    write: Writing = Writing()
    chat: Chat = Chat()

    def problem(self) -> tuple[str, str] | None:
        """The key of the first invalid value and what is wrong with it; None if all is valid."""
        for index, question in enumerate(self.questions):
            if found := question.problem():
                return f"question[{index}]", found
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
            "chat.most_turns": (self.chat.most_turns, 2),
            "write.least_words": (self.write.least_words, 1),
        }
        if not 0 < self.chat.seconds < 3600:
            return "chat.seconds", f"is {self.chat.seconds:g}; expected more than 0 and less than an hour"
        if not -1 <= self.quality.kappa <= 1:
            return "quality.kappa", f"is {self.quality.kappa:g}; expected -1 to 1"
        low = ((path, least) for path, (value, least) in counts.items() if value < least)
        return next(((path, f"is too low; expected {least} or more") for path, least in low), None)


_OVERALL = Question(
    name="overall",
    text="How appropriate is the reply overall?",
    labels=("low quality", "high quality"),
)
# Mode -> its default questions.
DEFAULTS: dict[Mode, tuple[Question, ...]] = {
    "reply": (_OVERALL,),
    "dialogue": (msgspec.structs.replace(_OVERALL, text="How good is the assistant in this dialogue?"),),
    "pairwise": (Question(name="preference", text="Which is better?", scale=(0, 1), step=0.5),),
    "write": (),
    "chat": (
        Question(name="success", text="Was your goal fulfilled?", scale=(0, 1), labels=("no", "yes")),
        Question(name="overall", text="How good was the assistant?", labels=("worst", "best")),
    ),
}


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
    return _with_defaults(found)


def _with_defaults(found: Study) -> Study:
    """The study with the default questions if it has none; pairwise questions have points 0, .5 and 1.

    Raises `DataError` for questions in the mode `write`, or `whole` outside the mode `pairwise`.
    """
    if found.mode == "write" and found.questions:
        raise DataError('mode = "write" takes no questions; rate the written replies in a second study')
    if found.whole and found.mode != "pairwise":
        raise DataError("`whole` is an option of --mode pairwise; --mode dialogue rates dialogues one by one")
    questions = found.questions or DEFAULTS[found.mode]
    if found.mode == "pairwise":
        questions = tuple(
            msgspec.structs.replace(q, scale=(0, 1), step=0.5, kind="likert", labels=()) for q in questions
        )
    return msgspec.structs.replace(found, questions=questions)
