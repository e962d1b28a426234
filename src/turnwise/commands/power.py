"""How many dialogues, turns and raters show a difference? Or how small a difference is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Printing
from turnwise.errors import UsageError, counted, setting
from turnwise.library.notes import Warned
from turnwise.library.results import Result, ResultOf, result
from turnwise.records import PlanRecord, plain
from turnwise.report.documents import PowerDocument
from turnwise.report.fitting import Layout
from turnwise.settings.data import Data
from turnwise.settings.groups import Evaluating, Pairing
from turnwise.settings.option import Names, NamesOrFunctions, Option
from turnwise.stats.power import MOST_CLUSTERS

MOST = 1e100  # of a standard deviation: its square is a number
Share: TypeAlias = Annotated[float, Meta(gt=0, lt=1)]
UpToOne: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Correlation: TypeAlias = Annotated[float, Meta(ge=-1, le=1)]
Price: TypeAlias = Annotated[float, Meta(ge=0, le=MOST)]
Amount: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_CLUSTERS)]  # dialogues, items in one, ratings of one
SPREAD = ("sd", "rater_sd", "correlation", "agreement", "win_rate")  # settings that stand in for a pilot


def parsed_counts(text: str) -> tuple[int, ...]:
    """Positive whole numbers separated by commas; anything else raises `ValueError`."""
    try:
        counts = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        counts = (0,)
    if any(not 1 <= count <= MOST_CLUSTERS for count in counts):
        raise ValueError(f"`{text}` is not whole numbers from 1 to {MOST_CLUSTERS:,}, such as 1,3,5")
    return counts


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Power(ResultOf[PlanRecord]):
    """The dialogues that show a difference, or the smallest difference that dialogues show, for each design."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "design", "scores", "turns", "raters", "people", "difference", "dialogues", "between", "ratings",
        "scored_items", "cost",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "design", "scores", "turns", "raters", "people"),
        results=("difference", "dialogues"),
        others=("cost", "ratings", "between", "scored_items"),
    )

    document: PowerDocument

    def notes(self) -> list[str]:
        """As for every result, on a key that would pair more of the pilot's items, on the raters of the pilot, and on
        scores of a metric that learned from the pilot.
        """
        records = self.document.results
        few = [
            f"note: {one.metric}: planned for the pilot's {counted(one.people or 0, 'rater')}; --people N plans for "
            "another number"
            for one in records
            if one.people_of_pilot
        ]
        better = [
            f"note: {one.metric}: the pilot's replies are paired by their context; --pair {one.better_pair_key} "
            f"makes {counted(one.better_pair_key_pairs or 0, 'pair')} instead of {one.pairs}"
            for one in records
            if one.better_pair_key
        ]
        trained = [
            Warned(
                f"{one.scores} learned from {one.scores_in_training} items here: its agreement with people says "
                "nothing about new ones, so that it may save fewer ratings than planned"
            )
            for one in records
            if one.scores_in_training
        ]
        return [*Result.notes(self), *dict.fromkeys([*trained, *few, *better])]

    def cheapest(self) -> dict[str, Any] | None:
        """The record of the design that costs least as a dict; without prices None."""
        return None if self.cheapest_record is None else plain(self.cheapest_record)

    @property
    def cheapest_record(self) -> PlanRecord | None:
        """The record of the design that costs least; without prices None."""
        priced = [(record.cost, record) for record in self.findings if record.cost is not None]
        return min(priced, key=lambda pair: pair[0], default=(None, None))[1]


@dataclass(frozen=True, kw_only=True)
class PlanStudy(Pairing, Evaluating):
    """How many dialogues, turns and raters show a difference? Or how small a difference is shown.

    The spread comes from a pilot file, or is given. The table has, for each design, the dialogues of each agent that
    show the difference with the asked power in a two-sided t-test; with --have, the smallest difference. `between` is
    what the pilot leaves open.

    \b
      turnwise power pilot.jsonl -m rating:overall --difference 0.3
      turnwise power pilot.jsonl -m rouge-l --have 200
      turnwise power --sd 0.9 --icc 0.3 --rater-sd 0.8 --difference 0.3
      turnwise power --win-rate 0.55 --ties 0.2
    """

    command: ClassVar[str] = "power"
    screen_class = Printing

    data: Annotated[
        Data,
        Option(
            "A pilot. Without one, the spread is given by `sd` or `win_rate`.",
            flags="[PILOT]...", checked=False, record=None,
        ),
    ] = field(kw_only=False, default=())  # fmt: skip
    metrics: Annotated[
        NamesOrFunctions,
        Option(
            "What is to differ: metrics, rating:DIMENSION or preference:DIMENSION. Default: the ratings of the pilot.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ] = ()  # fmt: skip
    difference: Annotated[
        Annotated[float, Meta(ge=-MOST, le=MOST)] | None,
        Option(
            "The difference of means that is to be shown; of preferences, that of a win rate from one half.",
            metavar="D",
        ),
    ] = None  # fmt: skip
    have: Annotated[
        Amount | None,
        Option("Dialogues of each agent; finds the smallest difference that they show.", metavar="N"),
    ] = None
    power: Annotated[Share, Option("Probability of showing the difference if it is there.")] = 0.8
    alpha: Annotated[Share, Option("Probability of showing one that is not there.")] = 0.05
    agents: Annotated[Names, Option("Agents of the pilot. Default: all.", metavar="NAMES")] = ()
    paired: Annotated[
        bool | None,
        Option(
            "Whether agents reply to the same contexts. Default: both designs.", flags="--paired/--unpaired"
        ),
    ] = None  # fmt: skip
    turns: Annotated[
        Sequence[Amount],
        Option(
            "Items in a dialogue. Default: 1, and the mean of the pilot.", metavar="N,N", parse=parsed_counts
        ),
    ] = ()  # fmt: skip
    raters: Annotated[
        Sequence[Amount],
        Option("Ratings of an item. Default: 1,2,3,5.", metavar="N,N", parse=parsed_counts),
    ] = ()
    people: Annotated[
        Amount | None,
        Option(
            "Different raters of preferences in all. Default: as many as the pilot has.", metavar="N"
        ),
    ] = None  # fmt: skip
    level: Annotated[
        Literal["turn", "dialogue"] | None,
        Option("Which ratings of the pilot. Default: those of turns where it has some."),
    ] = None
    beside: Annotated[
        str | None,
        Option(
            "Also plan with this metric's scores beside the ratings (calibrate).",
            flags="--with", metavar="METRIC",
        ),
    ] = None  # fmt: skip
    scored: Annotated[
        Amount | None,
        Option(
            "Dialogues of each agent that are scored. Default: far more than are rated, at no cost.", metavar="N"
        ),
    ] = None  # fmt: skip
    sd: Annotated[
        Annotated[float, Meta(gt=0, le=MOST)] | None,
        Option("Without a pilot: spread of the items' true values."),
    ] = None
    icc: Annotated[UpToOne, Option("Share of the variance that is between dialogues.")] = 0.0
    rater_sd: Annotated[Price | None, Option("Spread of the ratings of one item.")] = None
    correlation: Annotated[
        Correlation | None, Option("Of two agents' values in one context: adds the paired design.")
    ] = None
    agreement: Annotated[
        Correlation | None, Option("Correlation of a metric and ratings: adds designs with its scores.")
    ] = None
    win_rate: Annotated[
        Share | None, Option("Preferences: the share that the better agent gets, a tie being half.")
    ] = None
    ties: Annotated[UpToOne, Option("Share of ties.")] = 0.0
    rater_icc: Annotated[
        UpToOne, Option("Preferences: the share of the variance that is between raters.")
    ] = 0.0  # fmt: skip
    cost_dialogue: Annotated[
        Price | None,
        Option(
            "Cost of one dialogue that is compared; those that are scored alone cost nothing here.", metavar="X"
        ),
    ] = None  # fmt: skip
    cost_rating: Annotated[Price | None, Option("Cost of one rating.", metavar="X")] = None
    cost_judge: Annotated[
        Price | None,
        Option("Cost of scoring one item; beside ratings it needs --scored.", metavar="X"),
    ] = None

    def __post_init__(self) -> None:
        """As in `Measuring`; settings that do not go together raise `UsageError`."""
        super().__post_init__()
        self._check_spread()
        if self.win_rate is None and (self.rater_icc or (self.people is not None and not self.has_pilot)):
            raise UsageError(
                f"{setting('--people')} and {setting('--rater-icc')} are about preferences; they go with "
                f"{setting('--win-rate')}"
            )
        scores = self.beside is not None or self.agreement is not None
        if self.cost_judge and self.scored is None and scores:
            raise UsageError(
                f"{setting('--cost-judge')} needs {setting('--scored', 'N')}: the plan without it takes scores of far "
                "more dialogues than are rated, and what these cost depends on their number"
            )
        if not self.power > self.alpha:
            raise UsageError(
                f"{setting('--power', f'{self.power:g}')} must be above {setting('--alpha', f'{self.alpha:g}')}, which "
                "a test has without a difference"
            )
        if self.have is None and self.win_rate is None and not self.difference:
            raise UsageError(
                f"say which difference is to be shown ({setting('--difference', 'D')}), or what there is "
                f"({setting('--have', 'N')})"
            )
        if self.win_rate == 0.5 and self.have is None:
            raise UsageError("a win rate of one half is no difference")

    def _check_spread(self) -> None:
        """Raise `UsageError` for a spread that is given beside a pilot, for none at all, and for two kinds of it."""
        given = [name for name in SPREAD if getattr(self, name) is not None]
        options = ", ".join(setting(f"--{name.replace('_', '-')}") for name in given)
        if self.has_pilot and given:
            raise UsageError(f"{options}: the pilot's own spread is used; leave out one of them")
        if not self.has_pilot and (self.metrics or self.beside):
            raise UsageError(
                f"a metric needs a pilot file that it scores; without one, give {setting('--sd')} or "
                f"{setting('--win-rate')}"
            )
        if not self.has_pilot and not {"sd", "win_rate"} & set(given):
            raise UsageError(
                f"give a pilot file with {setting('-m')}, or the spread: {setting('--sd')} with {setting('--icc')} and "
                f"{setting('--rater-sd')}, or {setting('--win-rate')}"
            )
        if "win_rate" in given and len(given) > 1:
            raise UsageError(
                f"{options}: a win rate has the spread of preferences; it goes with {setting('--ties')}, "
                f"{setting('--icc')} and {setting('--rater-icc')} alone"
            )

    @property
    def has_pilot(self) -> bool:
        """Whether there is data."""
        return not (isinstance(self.data, tuple | list) and not self.data)

    def run(self) -> Power:
        """Plan the comparison."""
        from turnwise.run.power.command import run

        with opened(self, empty=not self.has_pilot) as ready:
            return result(Power, run(ready), ready.files, figures=self.figures)

    def show(self, plan: Power, screen: Printing) -> int:
        """Print the designs, and the one that costs least."""
        best = plan.cheapest_record
        return screen.conclude(plan, after="" if best is None else f"\ncheapest: {_described(best)}")


def _described(record: PlanRecord) -> str:
    """One design in words."""
    parts = [
        f"{record.metric}, {record.design}",
        *([f"scores of {record.scores}"] if record.scores else []),
        f"dialogues of each agent {record.dialogues}",
        f"turns {record.turns}",
        f"raters {record.raters}",
        f"cost {record.cost:,.2f}",
    ]
    return ", ".join(parts)


COMMAND = PlanStudy
power = function(PlanStudy)
__all__ = ["Power", "power"]
