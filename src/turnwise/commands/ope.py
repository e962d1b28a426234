"""How would people rate an agent they have not met? Off-policy evaluation from other agents' logs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Gated, Gating, Styled
from turnwise.errors import UsageError, counted, setting
from turnwise.library.notes import Warned, by_reason, first_of
from turnwise.library.results import Result, ResultOf, result
from turnwise.records import CriticCheck, EstimateRecord, Number, plain
from turnwise.report.documents import OpeDocument
from turnwise.report.fitting import Layout
from turnwise.report.text import number as text_of
from turnwise.settings.data import Data
from turnwise.settings.groups import Filtering, Reading, Seeding, Showing, Working, Writing
from turnwise.settings.option import Count, Names, Natural, Option, PathLike
from turnwise.terminal import visible

Road: TypeAlias = Literal["replies", "dialogues", "both"]
LeastTruth: TypeAlias = float | Mapping[str, float] | Sequence[tuple[str, float]]
# What the table of agents left out in turn shows first.
COMPARED = Layout(
    names=("rating", "estimator", "agent", "minus"),
    results=("estimate", "interval", "p_above", "regret"),
    others=("minus_is",),
)
COMPARED_HEAD = (
    "rating", "estimator", "agent", "minus", "minus_is", "estimate", "interval", "p_above", "regret",
)  # fmt: skip
CHECKS = Layout(
    names=("rating", "estimator"),
    results=("pearson", "mae", "coverage"),
    others=("spearman", "n_agents", "refused", "half_width"),
)


def _least_truth(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Pairs of a dimension and a number; `.5` alone has the dimension "", which stands for all."""
    least = []
    for text in texts:
        dimension, _, number = text.rpartition("=")
        try:
            least.append((dimension, float(number)))
        except ValueError:
            raise ValueError(f"`{text}` is neither a number nor DIMENSION=NUMBER") from None
    return tuple(least)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimates(ResultOf[EstimateRecord]):
    """The estimated mean rating of each target, by each estimator."""

    columns: ClassVar[tuple[str, ...]] = (
        "target", "rating", "estimator", "estimate", "interval", "difference", "raw", "mean_of_others", "logged",
        "own_dialogues", "own_ratings", "n_items", "n_clusters", "bleu-delex", "length", "entropy-2", "success",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("target", "rating", "estimator"),
        results=("estimate", "interval"),
        even_empty=("estimate",),
        others=(
            "difference", "mean_of_others", "logged", "own_dialogues", "own_ratings", "success", "bleu-delex",
            "n_items", "n_clusters", "raw", "length", "entropy-2",
        ),
    )  # fmt: skip

    document: OpeDocument

    @property
    def validation(self) -> list[dict[str, Any]]:
        """With `all_agents=True`, how far each estimator is from the known means, one dict a rating and estimator; else
        empty.
        """
        return [plain(one) for one in self.document.validation]

    def notes(self) -> list[str]:
        """As in `Result`, and on estimators beside the asked ones that have no estimate, on intervals that say
        nothing, and on the target's own ratings.
        """
        records = self.document.results
        return [
            *Result.notes(self), *others_without_a_result(records), *whole_scales(records), *of_own_ratings(records)
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Ope(Gated, Showing, Working, Seeding, Writing, Filtering, Reading):
    """How would people rate an agent they have not met? Off-policy evaluation from other agents' logs.

    LOGS hold rated dialogues of several agents and, of the target, what there is: unrated dialogues of its own, in the
    same file or in another one, or as `alternatives` what it would have said at each point of the others' dialogues.
    The estimate is the mean rating that the target would get, with a 95 % interval that was calibrated on the rated
    agents, each left out in turn. Where the logs cannot support an estimate it is refused (exit 4), with the reason
    and what would help.

    \b
      turnwise ope rated.jsonl new-agent.jsonl --target new-agent --rating overall
      turnwise ope logs.jsonl --all --truth logs.truth.json -o out
    """

    command: ClassVar[str] = "ope"

    data: Annotated[
        Data,
        Option(
            "Files of rated dialogues with alternatives; in Python also as `score` takes them.",
            flags="LOGS...", checked=False, record=None,
        ),
    ] = field(kw_only=False)  # fmt: skip
    targets: Annotated[
        Names,
        Option(
            "Agents to estimate, separated by commas; their own ratings, if there are any, are used only where said.",
            flags="--target", metavar="NAMES|@alternatives", repeatable=True,
        ),
    ] = ()  # fmt: skip
    all_agents: Annotated[
        bool,
        Option(
            "Leave out each logging agent in turn, and compare the estimates with the known means.",
            flags="--all",
        ),
    ] = False
    rating: Annotated[
        str | None,
        Option(
            "The dimension to estimate; `all` for each. Default: overall, else the only one. Or a metric's score.",
            metavar="D|metric:NAME",
        ),
    ] = None
    road: Annotated[
        Road | None,
        Option(
            "From what: replies of the target at logged points, its own dialogues, or both. Default: what is there.",
            metavar="replies|dialogues|both", record_default=False,
        ),
    ] = None  # fmt: skip
    against: Annotated[
        Names,
        Option(
            "Rated agents to compare the targets with, separated by commas; `all` for each.",
            metavar="NAMES|all", record_default=False,
        ),
    ] = ()  # fmt: skip
    estimators: Annotated[
        Names,
        Option(
            "Names of `turnwise ls estimators`; or metric:NAME. Default: robust, and the other quick ones.",
            flags="--estimator", metavar="NAMES",
        ),
    ] = ()  # fmt: skip
    truth: Annotated[
        PathLike | None,
        Option("True means to check against, as `turnwise simulate` writes them.", metavar="FILE"),
    ] = None
    fraction: Annotated[
        float, Meta(gt=0, le=1), Option("Use this share of each agent's dialogues.", metavar="F")
    ] = 1.0
    challenging: Annotated[
        Natural | None,
        Option(
            "Leave out dialogues whose every reply is within edit distance N of the target's (15 in the paper).",
            metavar="N",
        ),
    ] = None
    min_truth: Annotated[
        LeastTruth,
        Option(
            "Only targets whose known mean is X or more, e.g. flight=.5. Repeatable.",
            metavar="[D=]X", repeatable=True, parse=_least_truth,
        ),
    ] = ()  # fmt: skip
    calibrate: Annotated[
        bool,
        Option(
            "Without it, raw estimates; their intervals are marked as not calibrated.",
            flags="--calibrate/--no-calibrate",
        ),
    ] = True
    delexicalise: Annotated[
        bool,
        Option(
            "Replace values by whether the user said them before.", flags="--delexicalise/--no-delexicalise"
        ),
    ] = True
    stream: Annotated[
        bool,
        Option(
            "Constant memory, for logs of any size: estimators that are functions of sums alone (docs/scale.md)."
        ),
    ] = False
    seeds: Annotated[
        Count,
        Option(
            "Train estimators with a random start (enigma, ...) with N seeds from --seed on; the estimate is the mean.",
            metavar="N", record_default=False,
        ),
    ] = 1  # fmt: skip
    pair: Annotated[
        str | None,
        Option(
            "The key that pairs records of different agents. Default: the same context.",
            metavar="KEY", record=None,
        ),
    ] = None  # fmt: skip
    output: Annotated[
        PathLike | None,
        Option(
            "Write results.json and the regression plots here; an interrupted run resumes.",
            flags="-o --output", metavar="DIR", record=None,
        ),
    ] = None  # fmt: skip
    model: Annotated[
        PathLike | None, Option("Encoder of texts. Default: minilm.", metavar="NAME|DIR", record=None)
    ] = None
    db: Annotated[
        PathLike | None,
        Option(
            "Venue tables, for a critic of task logs. Default: multiwoz_db beside the data.",
            metavar="DIR", record=None,
        ),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Checked`; without targets, or with both targets and `all_agents`, raises `UsageError`."""
        super().__post_init__()
        object.__setattr__(self, "min_truth", self.least_truths)
        if bool(self.targets) == self.all_agents:
            raise UsageError(
                f"name agents with {setting('--target', 'NAMES')} or {setting('--target', '@alternatives')}, or leave "
                f"each out in turn with {setting('--all')}"
            )

    @property
    def least_truths(self) -> tuple[tuple[str, float], ...]:
        """Pairs of a dimension and its least true mean; a single number has the dimension "", which stands for all."""
        if isinstance(self.min_truth, float):
            return (("", self.min_truth),)
        return tuple(self.min_truth.items() if isinstance(self.min_truth, Mapping) else self.min_truth)

    def plugins(self) -> list[tuple[str, str]]:
        """As in `Command`."""
        return [("metrics" if name.startswith("metric:") else "estimators", name) for name in self.estimators]

    def run(self) -> Estimates:
        """Estimate the targets."""
        from turnwise.run.ope.command import ope as run

        with opened(self) as ready:
            return result(Estimates, run(ready), ready.files, figures=self.figures)

    def show(self, estimates: Estimates, screen: Gating) -> int:
        """Print the estimates, and what limits them."""
        return screen.conclude(estimates, after=below_table(estimates.document, screen))


def of_own_ratings(records: Sequence[EstimateRecord]) -> Iterator[str]:
    """A line on each answer that the target's own ratings are in: which dialogues these must be of, or that they
    contradict the prediction.
    """
    for record in records:
        if record.beside or record.estimate is None or not record.own_ratings:
            continue
        named = f"{record.target} {record.rating}"
        drawn = f"dialogues of {record.target} that were drawn at random"
        predicted = record.diagnostics.contradicted
        if predicted is None:
            yield f"note: {named}: {counted(record.own_ratings, 'rating')} of its own are in it, and must be of {drawn}"
        else:
            yield Warned(
                f"{named}: its own ratings ({text_of(record.diagnostics.of_ratings)}) contradict the prediction from "
                f"its dialogues ({text_of(predicted)}), which is not used: right only if they are of {drawn}"
            )


def below_table(document: OpeDocument, screen: Styled) -> str:
    """The lines under the table, after a blank one: estimators that disagree with the first, notes, a warning
    about raw intervals, critics, and the table of validation. Empty if there are none.
    """
    lines = [
        f"note: {row.target}: the mean {row.rating} by {', '.join(outside)} is outside the interval of "
        f"{row.estimator}"
        for row in document.results
        if row.estimator == document.results[0].estimator and (outside := row.diagnostics.disagrees)
    ]
    if any(row.estimate is not None and not row.diagnostics.calibrated for row in document.results):
        lines.append(
            "NOT CALIBRATED: these intervals account for sampling alone, and contain the truth far less often than 95 %"
        )
    lines += [_critic_line(name, about) for name, about in document.critics.items()]
    lines = list(map(visible, lines))
    if document.compared_answers:
        rows = [
            [row.rating, row.estimator, row.agent, row.minus, "rated" if row.rated else "estimated", row.estimate,
             row.interval, row.p_above, None if row.regret is None else round(row.regret, 3)]
            for row in document.compared_answers
        ]  # fmt: skip
        lines.append(screen.table(rows, [*COMPARED_HEAD], COMPARED))
    checks = document.validation
    if checks:
        head = list(checks[0].__struct_fields__)
        lines.append(screen.table([[getattr(row, name) for name in head] for row in checks], head, CHECKS))
    return "\n" + "\n".join(lines) if lines else ""


def _critic_line(name: str, about: CriticCheck) -> str:
    """One line on whether a critic ranks every real system above every control; `about` is its record."""
    if not about.controls:
        return f"{name}: no controls, which need whole dialogues of other agents than the target"
    values = _control_values(about.controls, taught=about.taught, unvalued=about.unvalued)
    if about.fooled:
        return (
            f"{name} IS FOOLED by {', '.join(about.fooled_by)}: valued no lower than {about.worst_system}; "
            f"do not trust its ranking (controls: {values})"
        )
    return f"{name}: every control is below every system, by {about.margin:.3g} or more (controls: {values})"


def _control_values(controls: Mapping[str, Number], *, taught: Sequence[str], unvalued: Sequence[str]) -> str:
    """The values of the controls in words; those that the critic was trained on are no test of it, and are
    listed apart, as are those without a value.
    """
    asked = [f"{name} {value:.3g}" for name, value in controls.items() if name not in taught]
    given = [f"{name} {value:.3g}" for name, value in controls.items() if name in taught]
    parts: dict[str, Sequence[str]] = {"": asked, "trained to be 0: ": given, "without a value: ": unvalued}
    return "; ".join(label + ", ".join(names) for label, names in parts.items() if names)


def others_without_a_result(records: Sequence[EstimateRecord]) -> list[str]:
    """As the lines of `notes` on records without a result, for other estimators than those that were asked for."""
    there = [record for record in records if record.status != "ok" and record.beside]
    return by_reason(there, _estimate_of)


def whole_scales(records: Sequence[EstimateRecord]) -> list[str]:
    """A line on the estimates whose interval is the whole scale of the ratings; empty if there are none."""
    named = [_estimate_of(record) for record in records if record.diagnostics.whole_scale]
    said = "the interval is the whole scale of the ratings, so the logs say nothing about this mean"
    return [f"note: {first_of(named)}: {said}"] if named else []


def _estimate_of(record: EstimateRecord) -> str:
    """Target, rating and estimator of an estimate."""
    return " ".join(record.named("target", "rating", "estimator"))


COMMAND = Ope
ope = function(Ope)
__all__ = ["Estimates", "ope"]
