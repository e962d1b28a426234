"""`turnwise attack`: search for replies that a metric scores above people's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from turnwise.attacks.attack import Attack, attack
from turnwise.attacks.context import Context, sample_contexts, split_contexts
from turnwise.attacks.diagnosis import Tendency
from turnwise.attacks.perturb import CALLS_PER_CONTEXT, Perturbation, perturb
from turnwise.attacks.strategy import Candidate
from turnwise.attacks.target import ScoreOrError, Target
from turnwise.conformance.calls import called, reuse_key, rows_of
from turnwise.errors import Unmeasured, UsageError, setting
from turnwise.logs.items.items import all_items
from turnwise.logs.items.selection import FILE
from turnwise.logs.native import file_names
from turnwise.logs.scan import Census, scan
from turnwise.metrics import is_rating
from turnwise.metrics.judge.cost import Cost
from turnwise.metrics.rows import better_direction
from turnwise.protocols import Asks, Priced, metric_extras
from turnwise.records import (
    EditEffect,
    FeatureTendency,
    GamingVerdict,
    MetricDiagnosis,
    PeopleScore,
    StrategyRecord,
    TuningRepetition,
    finite,
)
from turnwise.report.documents import AttackDocument
from turnwise.run.attack.policy_tuning import PolicyTuning
from turnwise.run.attack.trained_model_card import model_folder, write_attacks
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.scoring.blocks import item_scores, missing
from turnwise.run.scoring.judge_cards import add_attack
from turnwise.run.scoring.shards import prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.run.workers.execute import progress
from turnwise.settings.option import as_text
from turnwise.terminal import say_lines
from turnwise.types import Direction, Floats, Item, Metric, digest

if TYPE_CHECKING:
    from turnwise.commands.attack import Attacking

PATH = "calls.jsonl"  # in the output folder
AnyPart = TypeVar("AnyPart", FeatureTendency, EditEffect)


class CallJournal:
    """The metric's scores and errors by the key of the call; each batch is one part of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.known: dict[str, ScoreOrError] = {}
        parts = journal.parts
        self._next = parts[-1] + 1 if parts else 0
        for part in parts:
            self.known |= msgspec.convert(journal.get(part), dict[str, ScoreOrError])

    def put(self, found: dict[str, ScoreOrError]) -> None:
        """Append a batch (key -> score or error) to the journal; `known` keeps only what was there at the start."""
        self._journal.put(self._next, found)
        self._next += 1


@contextmanager
def open_call_journal(spec: "Attacking", *about: Any, name: str = PATH) -> Iterator[CallJournal]:
    """Open the journal of metric calls of this spec, and delete it when the block ends without an error.

    Answers are reused only if metrics, selection, seed, options and `about` (further inputs that determine the calls)
    are the same, and `spec.reuse` is set. `name` is the file in the output folder; without -o the journal is in memory.
    """
    key = digest(*(repr(part) for part in (spec.metrics, spec.selection, spec.seed, spec.options, *about)))
    folder = spec.folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    path = None if folder is None else folder / name
    with Journal(path, key, reuse=spec.reuse) as journal:
        yield CallJournal(journal)


Report = Callable[[str], None]
HUMAN = "human"  # the agent name of people in the data


def check_can_be_attacked(metrics: Sequence[str]) -> None:
    """Raise `UsageError` for people's ratings, which a reply that nobody has rated does not have."""
    for name in metrics:
        if is_rating(name):
            raise UsageError(
                f"`{name}` is what people said, and nobody rated the replies of an attack; name a metric"
            )


def run_attack(spec: "Attacking", *, report: Report = lambda _: None) -> AttackDocument:
    """Attack the one metric of the spec; the document has the verdict and a record for each tested strategy.

    If the metric cannot be prepared, the only record says why, and the verdict is None. With `spec.card` the frauds
    are also written to the card of the attacked trained model.
    """
    check_can_be_attacked(spec.metrics)
    census = scan_data(spec)
    metrics, absent = prepare(spec, census)
    if not metrics:
        records = [unavailable.record(StrategyRecord) for unavailable in absent]
        return finish(AttackDocument, spec, records, census.sha256)
    ((name, metric),) = metrics.items()
    card = model_folder(name) if spec.card else None
    run = attack_metric(spec, name, metric, census, report=report)
    check_scored(run.found, metric.unscored)
    document_verdict = verdict(run.found)
    if (
        run.found.gameable or not run.found.unsearched
    ):  # an attack that hardly searched says nothing good of a judge
        add_attack(metric, document_verdict, list(spec.paths))
    sign = run.sign
    records = _strategy_records(name, str(metric.signature), run.found, sign, better_direction(metric))
    if card is not None:
        about = ", ".join(file_names(spec.paths).values())
        write_attacks(card, about, [record for record in records if record.significant])
    diagnosis = run.found.diagnosis
    return finish(
        AttackDocument, spec, records, census.sha256,
        verdict=document_verdict,
        people=PeopleScore(
            agent=run.people,
            score=finite(sign * run.found.people.score),
            interval=_negated_interval(run.found.people.interval, sign),
        ),
        tendencies=tuple(
            _record_of(tendency if sign > 0 else tendency.negated, FeatureTendency)
            for tendency in run.found.tendencies
        ),
        perturbations=tuple(_record_of(edit if sign > 0 else edit.negated, EditEffect) for edit in run.edits),
        diagnosis=MetricDiagnosis(
            constant=diagnosis.constant,
            noise=finite(diagnosis.noise),
            unscored=finite(diagnosis.unscored),
            errors=diagnosis.errors,
            words=diagnosis.warning,
        ),
        repetitions=tuple(run.repetitions),
        tried=run.found.tried,
        unsearched=run.found.unsearched,
        unjudged=run.found.untested,
        errors=run.found.errors,
        calls=run.found.calls,
    )  # fmt: skip


def scan_data(spec: "Attacking") -> Census:
    """Scan the data of an attack; raises `UsageError` for groups other than `file`: an attack has one verdict."""
    if any(key != FILE for key in spec.selection.group_keys):
        raise UsageError(
            f"an attack has one verdict: attack each group separately with {setting('--where')}; "
            f"{setting('--by')} accepts only `file`"
        )
    return scan(spec.paths, apart=spec.selection.apart)


@dataclass(frozen=True, slots=True)
class AttackRun:
    """The result of an attack with the results of its optional stages; `people` names the agent to compare with.

    `sign` is -1 if lower scores are better, else 1; `repetitions` of the policy tuning are sorted best first.
    """

    found: Attack
    edits: list[Perturbation]
    repetitions: list[TuningRepetition]  # repetitions of policy tuning, best first
    people: str  # agent whose replies the strategies are compared with
    sign: int  # -1 if lower scores are better, else 1
    contexts: tuple[Context, ...]


def attack_metric(
    spec: "Attacking", name: str, metric: Metric, census: Census, *, report: Report = lambda _: None
) -> AttackRun:
    """Run the stages of the attack and, with `spec.perturb`, the edits; an interrupted run repeats no metric call.

    Raises `UsageError` for a metric that scores dialogues or systems, and if the selection leaves out `human`.
    Contexts are drawn from the replies of the agent `human` if there is one, else from all replies, and are the same
    for every metric.
    """
    if "dialogue" in metric.needs or metric.level == "system":
        raise UsageError(f"`{name}` does not score single replies, which an attack needs")
    stream = all_items(spec.paths, replace(spec.selection, items=spec.selection.items or "all"), census)
    # Strategies are compared with the replies of the agent `human` if there is one, else with all replies.
    people = HUMAN if HUMAN in census.agents else None
    rng_contexts = generator(spec.seed, "contexts")  # the same contexts for every metric
    chosen = sample_contexts(
        (item for item in stream if people in (None, item.agent)), spec.count, rng_contexts
    )
    if people and not chosen and (spec.selection.limit is not None or spec.selection.where):
        raise UsageError(
            f"strategies are compared with the replies of the agent `{people}`, which the data has, but not among the "
            f"dialogues that {setting('--where')} and {setting('--limit')} select; "
            f"{setting('--where', f'agent={people}')} selects its dialogues"
        )
    search_on, test_on = split_contexts(chosen)
    _announce(spec, name, metric, chosen)
    # The settings of a metric may name folders, and the same model in another folder is to be attacked in the same way.
    rng = generator(spec.seed, "attack", str(metric.signature) if "[" in name else name)
    edit_calls = CALLS_PER_CONTEXT * len(test_on) if spec.perturb else 0
    with (
        open_call_journal(spec, reuse_key(metric), sorted(census.sha256.values())) as journal,
        progress("calling the metric", spec.budget + edit_calls, quiet=spec.quiet) as advance,
    ):

        def remember(results: dict[str, ScoreOrError]) -> None:
            """Store the results of a batch and move the progress bar."""
            journal.put(results)
            advance(len(results))

        target = Target(
            scorer(metric), spec.budget, timeout=spec.timeout,
            lower_is_better=not metric.higher_is_better, remembered=journal.known, remember=remember,
        )  # fmt: skip
        tuning = PolicyTuning(spec, str(metric.signature), target, search_on, test_on, report)
        found = attack(
            target, search_on, test_on, texts=_texts_to_mine(search_on), rng=rng, draws=spec.draws,
            verdicts=metric_extras(metric).verdicts, planted=isinstance(metric, Asks),
            stages=spec.stages, further=partial(_language_model_candidates, spec, tuning), report=report,
        )  # fmt: skip
        edits = []
        if spec.perturb:
            target.budget += edit_calls
            edits = perturb(target, test_on, rng)
    sign = 1 if metric.higher_is_better else -1
    return AttackRun(found, edits, tuning.repetitions, people or "everyone in the data", sign, tuple(chosen))


def _language_model_candidates(spec: "Attacking", tuning: PolicyTuning) -> list[Candidate]:
    """The candidates of the stages `samples` and `rl`, if the spec has them."""
    found: list[Candidate] = []
    if "samples" in spec.stages:
        from turnwise.agents.language_model import language_model
        from turnwise.attacks.fluent import fluent_candidates

        found += fluent_candidates(
            language_model(as_text(spec.policy), longest=spec.longest), tuning.target, tuning.search_on, tuning.test_on,
            samples=spec.samples, seed=spec.seed, report=tuning.report,
        )  # fmt: skip
    return found + (tuning() if "rl" in spec.stages else [])


def _announce(spec: "Attacking", name: str, metric: Metric, contexts: Sequence[Context]) -> None:
    """Print what the whole budget of calls would cost, by the cost of people's own replies, unless `spec.quiet`."""
    if spec.quiet or not isinstance(metric, Priced):
        return
    # Replies whose scores are cached cost nothing now, unlike those that the attack will make up.
    each = [called(metric, "cost", [context.item]) for context in contexts]
    asked = [cost for cost in each if isinstance(cost, Cost) and cost.requests]
    if asked:
        cost = sum(asked, Cost()).scaled(spec.budget / len(asked))
        say_lines(f"note: {name}: if the whole budget is used, {cost}", err=True)


def scorer(metric: Metric) -> Callable[[Sequence[Item]], Floats]:
    """A picklable function from items to their scores in the metric's own sign; NaN where an item has no score."""
    return partial(_scores, metric)


def _scores(metric: Metric, items: Sequence[Item]) -> Floats:
    """The metric's score of each item; NaN, without a call of the metric, for items that lack what it needs."""
    found = np.full(len(items), np.nan)
    able = [index for index, item in enumerate(items) if missing(metric, item) is None]
    if able:
        found[able] = item_scores(metric, rows_of(metric, [items[index] for index in able]))
    return found


def verdict(found: Attack) -> GamingVerdict:
    """The verdict for the document: whether the metric is gameable, the fraud with the largest gain and counts.

    `worst`, `description` and `gain` are None without a fraud. Raises `Unmeasured` if people's replies have no score.
    """
    check_scored(found)
    worst = found.worst
    return GamingVerdict(
        gameable=found.gameable,
        worst=None if worst is None else worst.strategy,
        description=None if worst is None else worst.description,
        gain=None if worst is None else worst.gain,
        frauds=sum(strategy.significant for strategy in found.strategies),
        judged=len(found.strategies),
        note=found.diagnosis.warning,
    )


def check_scored(found: Attack, unscored: str = "it returned NaN") -> None:
    """Raise `Unmeasured` if no reply of a person has a score, in the search contexts or in the test contexts.

    `unscored` is the metric's own reason for a row without a score.
    """
    if found.diagnosis.unscored == 1 or not found.people.n:
        why = next(iter(found.errors), unscored)
        raise Unmeasured(f"the metric scored none of people's replies: {why}")


def _strategy_records(
    name: str, signature: str, found: Attack, sign: int, end: Direction | None
) -> list[StrategyRecord]:
    """One record for each tested strategy; scores are in the metric's own sign (`sign` is -1 if lower is better).

    Gains are not negated: positive means better than people. `end` is the better direction that the report shows.
    """
    return [
        StrategyRecord(
            metric=name,
            strategy=one.strategy,
            kind=one.kind,
            better=end,
            estimate=finite(sign * one.score),
            interval=_negated_interval(one.interval, sign),
            n_items=one.n,
            n_clusters=one.n_clusters,
            unscored={"not scored by the metric": one.unscored} if one.unscored else {},
            method="mean over held-out contexts, interval by cluster; gain at the level shared by all that were tested",
            signature=signature,
            status="ok" if one.n else "skipped",
            reason=None if one.n else "the metric scored none of these replies",
            description=one.description,
            example=one.example,
            gain=finite(one.gain),
            gain_interval=one.gain_interval,
            beats_human=finite(one.beats_human),
            significant=one.significant,
            transcript=one.transcript,
            people_said=one.people_said,
            transcript_scores=tuple((sign * own, sign * theirs) for own, theirs in one.transcript_scores),
            score=finite(sign * one.score),
            human_score=finite(sign * found.people.score),
        )
        for one in found.strategies
    ]


def _record_of(measured: Tendency | Perturbation, kind: type[AnyPart]) -> AnyPart:
    """What was measured of the metric as the part of a document with the same fields."""
    return msgspec.convert(measured, kind, from_attributes=True)


def _texts_to_mine(chosen: Sequence[Context]) -> list[str]:
    """The person's reply and all turns of each search context, from which fixed replies are mined; repeats are kept."""
    return [text for one in chosen for text in (one.human, *(turn.text for turn in one.turns))]


def _negated_interval(interval: tuple[float, float] | None, sign: int) -> tuple[float, float] | None:
    """The interval, with its ends negated and swapped if `sign` is negative; None stays None."""
    return interval if interval is None or sign > 0 else (-interval[1], -interval[0])
