"""Results of `turnwise score`, and what a dry run says of judges."""

from typing import Any, ClassVar

from msgspec import field

from turnwise.records.record import Number, Part, Record, nothing
from turnwise.types import Direction, Level


class PrecisionRecall(Part, frozen=True, kw_only=True):
    """Points of a curve of precision against recall."""

    precision: tuple[Number, ...] = ()
    recall: tuple[Number, ...] = ()


class ScoreRecord(Record, frozen=True, kw_only=True):
    """A metric of an agent; without an agent where the metric could not be had at all."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent", "group", "level")

    metric: str
    agent: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    level: Level | None = field(default_factory=nothing)
    # Which end of the number is good; null for a feature such as length.
    better: Direction | None = field(default_factory=nothing)
    floor: Number = None  # of a distance: between two samples of real replies
    thinned: Number = None  # of a distance: of as many generated replies
    n_real: int | None = None  # of a distance: real replies
    at_infinity: Number = None  # of a distance: its limit for infinitely many replies
    curve: PrecisionRecall | None = None
    cut: int = 0  # truncated texts of all agents, equal texts counted once
    # Unknown placeholders of all agents -> how often.
    unresolved: dict[str, int] = field(default_factory=dict)
    in_training: str | None = None  # items that the metric learned from, such as `3 of 60`
    explained: int = 0  # items about whose score the metric says more in items.jsonl
    spent: dict[str, float] = field(default_factory=dict)  # by a judge: requests, tokens, seconds, cost
    panel_agreement: Number = None  # Krippendorff's alpha of the judges of a panel
    panel_means: dict[str, Number] = field(default_factory=dict)  # mean score of each judge of a panel
    sample_sd: Number = None  # standard deviation of a judge's samples of one item, pooled over items
    item_margin: Number = None  # half the 95 % interval of an item's mean over its samples
    # What a metric of another package says beside its number. In a file these are keys of the record itself.
    more: dict[str, Any] = field(default_factory=dict)


class ToolRecord(Part, frozen=True, kw_only=True):
    """What an agent's calls of one tool were like."""

    agent: str
    group: str | None = field(default_factory=nothing)
    tool: str
    calls: int
    dialogues: int  # in which it was called
    errors: int  # calls whose result reports a failure
    # Calls that the tool's schema does not allow; null without a schema.
    invalid: int | None = field(default_factory=nothing)
    repeated: int  # calls that repeat one with the same arguments, after it failed or with the same result
    # Mean seconds from the call to its result; null where the log has no times.
    latency: Number = field(default_factory=nothing)
    # Failed dialogues in which it was the first tool that failed, and their share among the agent's failed dialogues.
    failed_first: int
    failed_first_share: Number = field(default_factory=nothing)


class Forecast(Part, frozen=True, kw_only=True):
    """What a judge would be asked, and what it would cost."""

    metric: str
    words: str
    requests: int | None = field(default_factory=nothing)
    tokens_in: int | None = field(default_factory=nothing)
    tokens_out: int | None = field(default_factory=nothing)
    money: Number = field(default_factory=nothing)


class Message(Part, frozen=True, kw_only=True):
    """A message to a language model."""

    role: str
    content: str | tuple[dict[str, Any], ...]  # a text, or parts as the server's interface has them


class JudgePrompt(Part, frozen=True, kw_only=True):
    """What a judge is sent for one item."""

    metric: str
    item: str
    digest: str = field(name="prompt")
    messages: tuple[Message, ...]
