"""Scores items shard by shard; shared by score, compare and meta.

Blocks that the store already has are read from it. The others are scored and stored before they are yielded.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec import structs

from turnwise.conformance.calls import (
    check_half_width,
    check_needs,
    fitted_on,
    foreign,
    number_of,
    numbers_of,
    reuse_key,
    signature_of,
)
from turnwise.encode.models.catalogue import NotFetched
from turnwise.errors import (
    DataError,
    MissingExtra,
    PluginError,
    Refused,
    TooManyErrors,
    UsageError,
    counted,
    setting,
)
from turnwise.logs.foreign import read_all
from turnwise.logs.items.items import Selection, all_items, items
from turnwise.logs.scan import Census
from turnwise.metrics import RATING, is_rating, names, resolve
from turnwise.metrics.rows import no_rows
from turnwise.metrics.task.tables import FOLDER, NoTables
from turnwise.protocols import Priced, metric_extras
from turnwise.records import Record, WhyNot
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import Block, Failure, content_key, ratings_key, score
from turnwise.run.scoring.costs import announce, forecast
from turnwise.run.scoring.rated import prepared_rating, rating_selection
from turnwise.run.workers.execute import Executor
from turnwise.settings.option import as_text
from turnwise.types import Item, Metric, NeedsFitting, Status, Summed, Turn, digest

if TYPE_CHECKING:
    from turnwise.commands.attack import Attacking
    from turnwise.settings.groups import Evaluating

AnyRecord = TypeVar("AnyRecord", bound=Record)

SHARD = 512  # items; an interrupted run loses at most the shards in work


@dataclass(frozen=True, slots=True)
class Shard:
    """Some consecutive items, and metric -> its block for them, and metric -> the key of that block in the store."""

    items: Sequence[Item]
    blocks: Mapping[str, Block]  # by metric
    keys: Mapping[str, str]  # by metric: the key of its block in the store


@dataclass(frozen=True, slots=True)
class _Task:
    """The items of one shard and the metrics that must score them."""

    items: Sequence[Item]
    keys: Mapping[str, str]  # metric -> key of its block
    wanted: tuple[str, ...]  # metrics whose block is not in the store


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A metric that could not be made or was stopped, and why."""

    metric: str
    status: Status
    reason: str
    why: WhyNot | None = None

    @classmethod
    def of(cls, metric: str, status: Status, error: Exception) -> "Unavailable":
        """The metric that this error prevents."""
        return cls(metric, status, str(error), WhyNot.of(error))

    def record(self, kind: Callable[..., AnyRecord]) -> AnyRecord:
        """The metric as a record of this type, without an estimate."""
        return kind(metric=self.metric, estimate=None, status=self.status, reason=self.reason, why=self.why)


def prepare(spec: "Evaluating | Attacking", census: Census) -> tuple[dict[str, Metric], list[Unavailable]]:
    """The metrics by name, fitted where they need it, and those that are not available."""
    metrics: dict[str, Metric] = {}
    absent: list[Unavailable] = []
    for name in dict.fromkeys(spec.metrics):
        try:
            db, cache = as_text(spec.db) or tables_beside(spec.paths), None if spec.reuse else False
            if is_rating(name):
                metric = prepared_rating(name, spec, census)
            elif name in census.dimensions and name not in names():
                raise UsageError(
                    f"there is no metric `{name}`; the ratings of this dimension are the metric `{RATING}{name}`"
                )
            else:
                found = resolve(name, model=as_text(spec.model), db=db, cache=cache, max_cost=_cap(spec))
                metric = _fitted(_checked(found), spec, census)
            signature_of(metric)  # a missing model is reported now and not at the first item
            if foreign(metric):
                check_half_width(metric)
        except Refused as error:
            absent.append(Unavailable.of(name, "refused", error))
        except PluginError as error:  # the other metrics are still scored
            absent.append(Unavailable.of(name, "error", error))
        except (MissingExtra, NotFetched, NoTables) as error:
            absent.append(Unavailable.of(name, "skipped", error))
        else:
            metrics[name] = metric
    return metrics, absent


def _cap(spec: "Evaluating | Attacking") -> float | None:
    """What each worker may spend on a judge: workers share the cap, as they do not know of each other."""
    return None if spec.max_cost is None else spec.max_cost / (spec.jobs or 1)


def tables_beside(data: Sequence[str]) -> str | None:
    """The first folder of venue tables beside a data file; None if there is none."""
    folders = (Path(path).parent / FOLDER for path in data)
    return next((str(folder) for folder in folders if folder.is_dir()), None)


def _checked(metric: Metric | NeedsFitting) -> Metric | NeedsFitting:
    """The metric; raises `PluginError` if an attribute of a plugin raises that tells whether it must be fitted."""
    if foreign(metric):
        check_needs(metric)
    return metric


def _fitted(metric: Metric | NeedsFitting, spec: "Evaluating | Attacking", census: Census) -> Metric:
    """The metric; one that needs fitting is fitted on --real, or on the data itself."""
    if not isinstance(metric, NeedsFitting):
        return metric
    if spec.real is None:
        there = all_items(spec.paths, spec.selection, census)
        return fitted_on(metric, (item for item in there if item.missing is None))
    there = items(read_all([str(spec.real)], command=None), Selection(items="all", role=spec.selection.role))
    return fitted_on(metric, (_real(item) for item in there))


def _real(item: Item) -> Item:
    """An item of --real FILE as a reply by a person, whoever wrote it. Its references are dropped."""
    return replace(item, agent="human", turns=(*item.turns[:-1], Turn(item.role, item.reply)))


class Watch:
    """Counts the errors of each metric and stops a metric that has too many; the others continue."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.unrated: Counter[str] = (
            Counter()
        )  # agent -> dialogues whose replies were not scored: none is rated
        self.without_reply: Counter[str] = (
            Counter()
        )  # agent -> dialogues in which metrics of replies find nothing
        self.stopped: dict[str, str] = {}  # metric -> why
        self._errors: Counter[str] = Counter()
        self._widths: dict[str, int] = {}  # metric -> columns of its rows
        self._shown: dict[tuple[str, str], str] = {}  # metric, where a plugin raised -> the first reason

    def count_errors(self, name: str, block: Block) -> None:
        """Count the errors of a block, and stop the metric if it has more than `allowed`."""
        failed = [failure for failure in block.failures if failure.status == "error"]
        self._errors[name] += len(failed)
        if self._errors[name] > self.allowed and name not in self.stopped:
            self.stopped[name] = (
                f"failed on {self._errors[name]} items, more than {setting('--max-errors', self.allowed)} allows; "
                f"the last: {failed[-1].reason}"
            )

    def merge_reasons(self, name: str, block: Block) -> Block:
        """The block with one reason to show for all exceptions from the same line of a plugin, the first one's.

        Their messages may differ from item to item, and notes would repeat them all.
        """
        if not any(failure.raised for failure in block.failures):
            return block
        failures = (
            structs.replace(one, shown=self._shown.setdefault((name, one.raised), one.reason))
            if one.raised
            else one
            for one in block.failures
        )
        return replace(block, failures=tuple(failures))

    def check_reduction(self, name: str, metric: Metric, block: Block) -> None:
        """Stop a metric whose rows change their width, or whose first row does not reduce to a number.

        It is added to `stopped` with the reason.
        """
        rows = block.rows
        if name in self.stopped or not rows.shape[0]:
            return
        try:
            width = self._widths.setdefault(name, rows.shape[1])
            if rows.shape[1] != width:
                raise PluginError(f"rows have {rows.shape[1]} columns here and had {width} before")
            if isinstance(metric, Summed):
                if not isinstance(rows, np.ndarray):
                    raise PluginError("a metric with `of_sums` returned sparse rows; expected a numpy array")
                numbers_of(metric, rows[:1])
            number_of(metric, rows[:1])
        except Refused:  # too few rows for this metric
            return
        except PluginError as error:
            self.stopped[name] = f"was stopped: {error}"

    def silence(self) -> list[str]:
        """A note on dialogues in which the agent says nothing, which metrics of replies leave out; empty if none."""
        if not self.without_reply:
            return []
        what = f"{counted(self.without_reply.total(), 'dialogue')} in which the agent says nothing"
        return [f"{what}: left out, as metrics of replies have nothing to score there"]

    def unavailable(self) -> list[Unavailable]:
        """The stopped metrics."""
        return [Unavailable(name, "error", reason) for name, reason in self.stopped.items()]


def shards(
    spec: "Evaluating",
    census: Census,
    metrics: Mapping[str, Metric],
    store: BlockStore,
    selection: Selection,
    watch: Watch,
    workers: Executor,
) -> Iterator[Shard]:
    """Yield the scored shards: of the selection's replies, then of its whole dialogues for the metrics that need them.

    The cost of paid metrics is printed first, unless `spec.quiet`. Raises `TooManyErrors` when every metric was
    stopped.
    """
    for whole in (False, True):
        of_unit = {name: metric for name, metric in metrics.items() if ("dialogue" in metric.needs) is whole}
        if of_unit:
            chosen = rating_selection(selection, of_unit) if whole else selection
            announced = not spec.quiet or spec.max_cost is not None
            if announced and any(isinstance(metric, Priced) for metric in of_unit.values()):
                stream = all_items(spec.paths, chosen, census, whole=whole)
                announce(forecast(of_unit, store, stream, shard=SHARD), cap=spec.max_cost, quiet=spec.quiet)
            unrated, without_reply = Counter[str](), Counter[str]()
            stream = all_items(
                spec.paths,
                chosen,
                census,
                whole=whole,
                silent=True,
                unrated=unrated,
                without_reply=without_reply,
            )
            yield from _scored(of_unit, store, stream, watch, workers)
            watch.unrated |= unrated  # of each agent the larger count
            watch.without_reply |= Counter() if whole else without_reply


def _scored(
    metrics: Mapping[str, Metric], store: BlockStore, stream: Iterator[Item], watch: Watch, workers: Executor
) -> Iterator[Shard]:
    """The shards of a stream of items, in order. Raises `TooManyErrors` when every metric was stopped."""
    batches = iter(lambda: list(islice(stream, SHARD)), [])
    tasks = (_task(metrics, store, batch, watch) for batch in batches)
    model = any(metric.signature.parts for metric in metrics.values())
    for task, fresh in workers.in_order(_score_missing, metrics, tasks, model=model):
        blocks = {}
        for name, key in task.keys.items():
            if name in watch.stopped:
                blocks[name] = _stopped_block(metrics[name], task.items, watch.stopped[name])
                continue
            block = fresh[name] if name in fresh else store.get(key)
            if block is None:
                raise DataError(
                    f"rows.bin was damaged during the run: rows of {name} have another checksum than before; the same "
                    f"command with the same {setting('-o')} makes them again"
                )
            if name in fresh:
                store.put(key, block)
            watch.count_errors(name, block)
            if name in fresh and foreign(metrics[name]):
                watch.check_reduction(name, metrics[name], block)
            blocks[name] = watch.merge_reasons(name, block)
        yield Shard(task.items, blocks, task.keys)
        if all(name in watch.stopped for name in metrics):
            raise TooManyErrors("; ".join(f"{name} {why}" for name, why in watch.stopped.items()))


def _stopped_block(metric: Metric, batch: Sequence[Item], reason: str) -> Block:
    """The block of a metric that was stopped: no rows, and a failure for each item."""
    failures = tuple(Failure(position, "error", f"stopped: {reason}") for position in range(len(batch)))
    return Block(np.zeros(0, dtype=np.int64), no_rows(metric), failures)


def _task(metrics: Mapping[str, Metric], store: BlockStore, batch: Sequence[Item], watch: Watch) -> _Task:
    """The task of one shard: the keys of its blocks, and the metrics that must score it.

    These are the metrics that are not stopped and whose block is not in the store.
    """
    content = content_key(batch)
    reads_ratings = any(metric_extras(metric).reads_ratings for metric in metrics.values())
    rated = digest(content, ratings_key(batch)) if reads_ratings else content
    keys = {
        name: digest(reuse_key(metric), rated if metric_extras(metric).reads_ratings else content)
        for name, metric in metrics.items()
    }
    wanted = (name for name, key in keys.items() if key not in store and name not in watch.stopped)
    return _Task(batch, keys, tuple(wanted))


def _score_missing(metrics: Mapping[str, Metric], task: _Task) -> dict[str, Block]:
    """Score the items of the task with each metric that must score them; metric -> its block."""
    return {name: score(metrics[name], task.items) for name in task.wanted}
