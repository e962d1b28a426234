"""The cost of a run with paid metrics, printed before it starts; and what such metrics would send."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from turnwise.conformance.calls import called, reuse_key
from turnwise.errors import DataError, PluginError, UsageError, setting
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census
from turnwise.protocols import Asks, Priced
from turnwise.records import Forecast, JudgePrompt, Message
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import content_key
from turnwise.terminal import say_lines
from turnwise.types import Item, Metric, digest

if TYPE_CHECKING:
    from turnwise.commands.score import Score

NOTHING = "nothing to ask: all of it is kept"


def forecast(
    metrics: Mapping[str, Metric], store: BlockStore, stream: Iterator[Item], *, shard: int
) -> dict[str, Any]:
    """What each paid metric will request, without the blocks that the store already has: its cost, or a text.

    `shard` is the number of items in a block. For a plugin whose `cost` raises, the text is the error.
    """
    priced = {name: metric for name, metric in metrics.items() if isinstance(metric, Priced)}
    total: dict[str, Any] = {}
    unknown: dict[str, str] = {}  # metric -> why its cost is not known
    for batch in iter(lambda: list(islice(stream, shard)), []):
        content = content_key(batch)
        asked = [item for item in batch if item.missing is None]
        for name, metric in priced.items():
            if name in unknown or digest(reuse_key(metrics[name]), content) in store:
                continue
            try:
                cost = called(metric, "cost", asked)
            except PluginError as error:
                unknown[name] = f"its cost is not known: {error}"
                continue
            total[name] = total[name] + cost if name in total else cost
    return {name: unknown.get(name) or total.get(name, NOTHING) for name in priced}


def announce(costs: Mapping[str, Any], *, cap: float | None, quiet: bool) -> None:
    """Print the costs to stderr, unless `quiet`; raises `UsageError` if the questions alone cost more than `cap`."""
    for name, cost in costs.items():
        if not quiet:
            say_lines(f"note: {name}: {cost}", err=True)
        least = getattr(cost, "least", None)
        if cap is not None and least is not None and least > cap:
            raise UsageError(
                f"{name}: its questions alone cost about {least:.4g}, and {setting('--max-cost')} allows {cap:.4g}; "
                f"{setting('--limit')} scores fewer dialogues"
            )


def prompts(spec: "Score", census: Census, metrics: Mapping[str, Metric]) -> tuple[JudgePrompt, ...]:
    """What each judge is sent for the item that the spec names, or for the first.

    Raises `UsageError` if no metric asks anything, and `DataError` if there is no such item.
    """
    asking = {name: metric for name, metric in metrics.items() if isinstance(metric, Asks)}
    if not asking:
        raise UsageError(f"no metric asks a language model; {setting('--show-prompt')} is for judges")
    found = []
    for name, metric in asking.items():
        whole = "dialogue" in metrics[name].needs
        for item in all_items(spec.paths, spec.selection, census, whole=whole):
            if item.missing is None and spec.show_prompt in ("", item.id):
                break
        else:
            raise DataError(
                f"{name}: there is no item `{spec.show_prompt}`; items are named DIALOGUE#TURN, or DIALOGUE"
            )
        for question in called(metric, "questions", item):
            found.append(judge_prompt(name, item.id, question))
    return tuple(found)


def judge_prompt(metric: str, item: str, question: Any) -> JudgePrompt:
    """What a judge is sent for an item, for the results."""
    messages = msgspec.convert(list(question.messages), tuple[Message, ...])
    return JudgePrompt(metric=metric, item=item, digest=question.digest, messages=messages)


def forecasts(costs: Mapping[str, Any]) -> tuple[Forecast, ...]:
    """The costs for the results: the numbers of each, where they are known, and in words."""
    keys = ("requests", "tokens_in", "tokens_out", "money")
    return tuple(
        Forecast(metric=name, words=str(cost), **{key: getattr(cost, key, None) for key in keys})
        for name, cost in costs.items()
    )
