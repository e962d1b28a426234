"""What is asked of raters: the mode, the questions with their wording and scales, and the quality control.

Everything has a default; a TOML file changes it (docs/rate.md has every key). The defaults of quality control
are ADEM's (Lowe et al. 2017, section 2) in kind: some contexts that everybody judges, attention checks among
the rest, raters below a kappa of .2 set apart. Repeats, on which a rater is compared with themselves, are ours.
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
MOST_POINTS = 11  # of a Likert scale; beyond, a slider is the better question


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str  # the dimension of the exported ratings
    text: str = ""
    scale: tuple[float, float] = (1, 5)
    kind: Literal["likert", "slider"] = "likert"
    step: float = 1
    labels: tuple[str, ...] = ()  # of the two ends, or of every point
    direction: Direction = "higher"

    @property
    def steps(self) -> int:
        low, high = self.scale
        return round((high - low) / self.step)

    @property
    def points(self) -> tuple[float, ...]:
        """The values a rater may choose on a Likert scale."""
        return tuple(self._point(k) for k in range(self.steps + 1))

    def label(self, place: int) -> str:
        """What the point at `place` is called, "" where only its number stands."""
        if len(self.labels) == self.steps + 1:
            return self.labels[place]
        ends = {0: 0, self.steps: 1}
        return self.labels[ends[place]] if self.labels and place in ends else ""

    def nearest(self, value: float) -> float | None:
        """The point of the scale that `value` is, but for rounding; None where it is none."""
        low, high = self.scale
        if not low <= value <= high:
            return None
        steps = (value - low) / self.step
        return self._point(round(steps)) if abs(steps - round(steps)) < 1e-6 else None

    def _point(self, place: int) -> float:
        return float(round(self.scale[0] + place * self.step, 9))

    def problem(self) -> str | None:
        low, high = self.scale
        if not self.name.strip():
            return "has no name"
        if not (low < high and isfinite(low) and isfinite(high)):
            return f"has the scale {low:g} to {high:g}; expected two numbers in order"
        steps = (high - low) / self.step if self.step > 0 else 0.0
        if steps < 1 or abs(steps - round(steps)) > 1e-6:
            return f"has steps of {self.step:g}, which do not lead from {low:g} to {high:g}"
        if self.kind == "likert" and steps >= MOST_POINTS:
            return f'has {round(steps) + 1} points; more than {MOST_POINTS} want kind = "slider"'
        if self.labels and len(self.labels) not in (2, round(steps) + 1):
            return f"has {len(self.labels)} labels; expected 2 for the ends, or {round(steps) + 1}"
        return None


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    shared: int = 5  # contexts that every rater judges
    checks: int = 2  # attention checks a rater
    repeats: int = 1  # tasks that come a second time
    kappa: float = MIN_KAPPA  # below it a rater is set apart
    min_shared: int = MIN_SHARED  # tasks two raters must have in common for a kappa


class Writing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    least_words: int = 3  # ADEM's workers "were instructed to generate longer responses"
    blocked: tuple[str, ...] = ()  # words beside those of the built-in list


class Chat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    templates: tuple[str, ...] = ()  # {key} is filled in from the goal
    opening: Literal["rater", "agent"] = "rater"  # who speaks first
    most_turns: int = 40  # messages, after which the conversation is over
    seconds: float = 60  # that an agent may take to answer


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: Mode = "reply"
    title: str = "Rate conversations"
    instructions: str = ""
    questions: tuple[Question, ...] = msgspec.field(default=(), name="question")
    whole: bool = False  # in pairs, whether whole conversations are compared and not replies
    per_task: int = 3  # raters for each task
    per_rater: int | None = (
        None  # tasks a rater, besides the shared ones and checks; None: as many as there are
    )
    understood: bool = False  # whether "I did not understand this" may be ticked
    seed: int = 0
    quality: Quality = Quality()
    write: Writing = Writing()
    chat: Chat = Chat()

    def problem(self) -> tuple[str, str] | None:
        """The path and what is wrong there, if something is."""
        for place, question in enumerate(self.questions):
            if found := question.problem():
                return f"question[{place}]", found
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            return "question", "has a name twice; expected names that differ"
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
DEFAULTS: dict[Mode, tuple[Question, ...]] = {
    "reply": (_OVERALL,),
    "dialogue": (msgspec.structs.replace(_OVERALL, text="How good is the assistant in this conversation?"),),
    "pairwise": (Question(name="preference", text="Which is better?", scale=(0, 1), step=0.5),),
    "write": (),
    "chat": (
        Question(name="success", text="Was your goal fulfilled?", scale=(0, 1), labels=("no", "yes")),
        Question(name="overall", text="How good was the assistant?", labels=("worst", "best")),
    ),
}


def study(path: str | None, **changes: object) -> Study:
    """The study in a TOML file, or the default one; `changes` are what the command line says otherwise."""
    values: dict[str, object] = {}
    if path is not None:
        try:
            values = tomllib.loads(Path(path).read_text())
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(Problem(path, None, "", f"cannot be read: {error}")) from None
    values |= {key: value for key, value in changes.items() if value is not None}
    place = path or "command line"
    try:
        found = msgspec.convert(values, Study)
    except msgspec.ValidationError as error:
        raise DataError(Problem(place, None, "", str(error))) from None
    if wrong := found.problem():
        raise DataError(Problem(place, None, *wrong))
    return _completed(found)


def _completed(found: Study) -> Study:
    """With the mode's own questions where none are asked; a preference is always on 0, .5, 1."""
    if found.mode == "write" and found.questions:
        raise DataError("a study in which people write asks no questions; rate the replies in a second one")
    if found.whole and found.mode != "pairwise":
        raise DataError("`whole` is for --mode pairwise; --mode dialogue rates conversations one by one")
    questions = found.questions or DEFAULTS[found.mode]
    if found.mode == "pairwise":
        questions = tuple(
            msgspec.structs.replace(q, scale=(0, 1), step=0.5, kind="likert", labels=()) for q in questions
        )
    return msgspec.structs.replace(found, questions=questions)
