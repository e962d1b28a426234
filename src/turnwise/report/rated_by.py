"""Who gave the ratings of a run: people, or language models and programs, which no text may call people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from turnwise.records import AgreementRecord, DifferenceRecord
from turnwise.report.runs import Run

Rated: TypeAlias = AgreementRecord | DifferenceRecord

UNNAMED = ("people", "raters", "automatic raters")
MAX_NAMES = 2  # raters that are named; more are `automatic raters`


@dataclass(frozen=True, slots=True)
class RatedBy:
    """How texts name the raters."""

    words: str = "people"
    automatic: bool = False  # whether none of them is a person
    one: bool = False  # whether the words are singular

    @property
    def are_people(self) -> bool:
        """Whether all of them are people, as far as the data says."""
        return self == RatedBy()

    @property
    def first(self) -> str:
        """The words at the beginning of a sentence; names of raters are not changed."""
        return self.words.capitalize() if self.words in UNNAMED else self.words

    @property
    def possessive(self) -> str:
        """The words before what the raters gave, such as `people's`."""
        return f"{self.words}'" if self.words.endswith("s") else f"{self.words}'s"

    @property
    def one_of_them(self) -> str:
        """A single rater."""
        return "one person" if self.are_people else "one rater"

    @property
    def reservation(self) -> str:
        """A clause that says that automatic raters are no people; empty for others."""
        if not self.automatic:
            return ""
        what = "is a language model or a program" if self.one else "are language models or programs"
        return f"{self.words} {what}, not {'a person' if self.one else 'people'}"

    def verb(self, plural: str) -> str:
        """A verb, given in the plural, in the form that goes with the words."""
        return {"do": "does"}.get(plural, f"{plural}s") if self.one else plural


def rated_by(run: Run, records: Iterable[Rated]) -> RatedBy:
    """The raters behind these records, which are about ratings or preferences on some dimensions."""
    automatic = run.document.automatic_raters
    known = {_name(record) for record in records} if automatic else set()
    if not known & automatic.keys():
        return RatedBy()
    if not known <= automatic.keys():
        return RatedBy("raters")
    names = list(dict.fromkeys(name for one in sorted(known) for name in automatic[one]))
    if not 0 < len(names) <= MAX_NAMES:
        return RatedBy("automatic raters", automatic=True)
    return RatedBy(" and ".join(names), automatic=True, one=len(names) == 1)


def _name(record: Rated) -> str:
    """What a record is about: `rating:DIMENSION` or `preference:DIMENSION`, which is its metric in a comparison."""
    if isinstance(record, AgreementRecord) and record.dimension:
        return f"{'preference' if record.level == 'pair' else 'rating'}:{record.dimension}"
    return str(record.metric).split("[")[0]
