"""Rubrics: what a judge is asked, as a TOML file.

A rubric has a question, what it is about (a reply or a whole dialogue), and either a scale with anchors or a checklist
of criteria, each answered with yes, no or n/a. The score of a checklist is the share of yes among the criteria that
apply. A rubric with a scale may have criteria too; they are asked for and kept, and do not change the score.

    question = "Is everything in the reply supported by what the tools returned?"
    level = "reply"                  # or "dialogue"
    scale = [1, 5]                   # left out: a checklist
    sees = ["tools", "system"]       # of tools, system, media; left out: tools and system
    chunks = "mean"                  # or "min": how the parts of a dialogue that is too long become one score
    [anchors]
    1 = "it contradicts a tool's result"
    5 = "every statement is in a result"
    [[criteria]]
    name = "numbers"
    question = "Are all numbers those of the results?"
    [[examples]]
    conversation = [{role = "user", content = "When does it leave?"}]
    reply = "At noon."
    verdict = 1
    reason = "No tool said so."

A file may hold several rubrics, each in a table `[rubric.NAME]`; `FILE#NAME` names one. The library of our own is in
`data/rubrics`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from turnwise.errors import UsageError, nearest
from turnwise.types import digest

ORDINARY = "Take the word in its ordinary meaning, for {what} at this point of this conversation."
FAIR = "Length is no merit in itself, and neither is politeness, certainty or praise."
YES, NO, INAPPLICABLE = "yes", "no", "n/a"
LARGEST = 1000  # end of a scale
RubricLevel = Literal["reply", "dialogue"]
AGREEMENT = Path(str(files("turnwise"))) / "data" / "rubrics" / "agreement.json"  # of our own rubrics


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question of a checklist; the answer yes is the good one."""

    name: str
    question: str


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A judged example that is shown to the judge."""

    verdict: int | str
    reply: str = ""
    conversation: tuple[dict[str, Any], ...] = ()
    reason: str = ""


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Measured agreement of a model's scores by this rubric with people."""

    model: str
    corpus: str
    dimension: str
    n: int
    spearman: float
    interval: tuple[float, float]
    command: str
    one_rater: float | None = None  # what one rater reaches with the mean of the others


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a judge is asked."""

    question: str
    name: str = ""
    level: RubricLevel = "reply"
    scale: tuple[int, int] | None = None  # None: the share of criteria that are met
    anchors: dict[str, str] = {}  # value of the scale -> what it means
    criteria: tuple[Criterion, ...] = ()
    examples: tuple[Example, ...] = ()
    sees: tuple[Literal["tools", "system", "media"], ...] = ("tools", "system")
    chunks: Literal["mean", "min"] = "mean"
    source: str = ""  # where the wording is from
    agreement: tuple[Agreement, ...] = ()  # as it was measured; not shown to the judge

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise UsageError(f"the rubric `{self.name}` has no question")
        if self.scale is None and not self.criteria:
            raise UsageError(f"the rubric `{self.name}` has neither a scale nor criteria")
        if self.scale is not None and not 0 <= self.scale[0] < self.scale[1] <= LARGEST:
            raise UsageError(f"the rubric `{self.name}`: its scale is two whole numbers from 0 on, in order")
        for value in self.anchors:
            if value not in self.values:
                raise UsageError(f"the rubric `{self.name}`: the anchor {value} is not on its scale")
        names = [one.name for one in self.criteria]
        if len(set(names)) != len(names) or not all(names):
            raise UsageError(f"the rubric `{self.name}`: each criterion needs a name of its own")

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the scale as texts; empty for a checklist."""
        return () if self.scale is None else tuple(map(str, range(self.scale[0], self.scale[1] + 1)))

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return (0.0, 1.0) if self.scale is None else (float(self.scale[0]), float(self.scale[1]))

    @property
    def task(self) -> str:
        """The question with the meaning of the scale, as the judge is given it."""
        lines = [self.question]
        if self.scale is not None:
            low, high = self.scale
            what = "reply" if self.level == "reply" else "conversation"
            lines.append(f"{low} is the worst that a {what} can be here, {high} the best.")
            lines += [f"{value}: {meaning}" for value, meaning in self.anchors.items()]
        return "\n".join(lines)

    @property
    def digest(self) -> str:
        """Digest of everything that the judge is told by this rubric."""
        told = msgspec.structs.replace(self, agreement=(), source="")
        return digest(msgspec.json.encode(told))


def rubric(name: str) -> Rubric:
    """The rubric of our library with this name, or of a file `FILE.toml` or `FILE.toml#NAME`.

    Raises `UsageError` for an unknown name, and for a file that cannot be read or is no rubric.
    """
    found = library().get(name)
    if found is not None:
        return found
    path, _, inner = name.partition("#")
    if not path.endswith(".toml"):
        raise UsageError(
            f"there is no rubric `{name}`; {nearest(name, tuple(library()))}; a file of your own ends with .toml"
        )
    try:
        there = dict(_read(Path(path).read_bytes(), path))
    except OSError as error:
        raise UsageError(f"the rubric {path} cannot be read: {error}") from error
    if not inner and len(there) == 1:
        return next(iter(there.values()))
    if inner not in there:
        raise UsageError(f"{path} has the rubrics {', '.join(there)}; name one of them: {path}#NAME")
    return there[inner]


@cache
def library() -> Mapping[str, Rubric]:
    """Our own rubrics by name, with their measured agreement."""
    found: dict[str, Rubric] = {}
    measured = msgspec.json.decode(AGREEMENT.read_bytes(), type=dict[str, tuple[Agreement, ...]])
    for file in sorted((files("turnwise") / "data" / "rubrics").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            found |= _read(file.read_bytes(), file.name)
    return {
        name: msgspec.structs.replace(one, agreement=measured.get(name, ())) for name, one in found.items()
    }


def of_dimension(dimension: str, meaning: str | None, scale: tuple[int, int] | None) -> Rubric:
    """The rubric for a score of replies on one dimension: ours, or with the meaning that a user wrote.

    Without either, the name of the dimension stands for itself. `scale` replaces the scale, with its anchors.
    """
    ours = library().get(dimension)
    if meaning is None and ours is not None:
        if scale is None or scale == ours.scale:
            return ours
        if ours.scale is not None:
            return msgspec.structs.replace(ours, scale=scale, anchors={})
    text = f"{ORDINARY.format(what='a reply')} {FAIR}" if meaning is None else meaning
    return Rubric(question=text, name=dimension, scale=scale or (1, 5))


def _read(data: bytes, path: str) -> Iterator[tuple[str, Rubric]]:
    """The rubrics of a file by name; `UsageError` for what is no rubric."""
    try:
        values = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the rubric {path} is no TOML: {error}") from error
    several = values.pop("rubric", None)
    if several is None:
        several = {values.get("name") or Path(path).stem: values}
    elif values or not isinstance(several, dict):
        raise UsageError(f"the rubric {path}: beside tables [rubric.NAME] it must have nothing else")
    for name, one in several.items():
        try:
            yield name, msgspec.convert({**one, "name": name}, Rubric)
        except (msgspec.ValidationError, TypeError) as error:
            raise UsageError(f"the rubric {path}, `{name}`: {error}") from error
