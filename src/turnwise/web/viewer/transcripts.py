"""Transcripts of attacks: what strategies said that a metric scores above people's replies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.report.figure import Record
from turnwise.report.runs import Run

HUMAN = "human"  # the agent name of people


@dataclass(frozen=True, slots=True)
class Exchange:
    """One context of an attack: what was said, the logged reply and the strategy's, with their scores."""

    heard: str
    logged: str
    logged_score: float | None
    said: str
    said_score: float | None


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy that an attack tried, with its transcript."""

    run: str
    metric: str
    name: str
    description: str
    people: str  # whose replies it is compared with
    fraud: bool
    gain: float | None
    interval: tuple[float, float] | None
    beats_human: float | None
    exchanges: tuple[Exchange, ...]


def strategies(runs: Sequence[Run]) -> list[Strategy]:
    """The strategies of attacks that have a transcript, by run: frauds first, then by gain."""
    found = [_strategy(run, record) for run in runs for record in run.results if record.get("transcript")]
    runs_in_order = {run.name: place for place, run in enumerate(runs)}
    return sorted(found, key=lambda one: (runs_in_order[one.run], not one.fraud, -(one.gain or 0.0)))


def _strategy(run: Run, record: Record) -> Strategy:
    """A record of `turnwise attack`."""
    heard_said = record["transcript"]
    logged = record.get("people_said") or [""] * len(heard_said)
    scores = record.get("transcript_scores") or [(None, None)] * len(heard_said)
    return Strategy(
        run=run.name,
        metric=_text(record.get("metric")),
        name=_text(record.get("strategy")),
        description=_text(record.get("description")),
        people="a person" if (run.document.get("people") or {}).get("agent") == HUMAN else "logged reply",
        fraud=bool(record.get("significant")),
        gain=record.get("gain"),
        interval=_two(record.get("gain_interval")),
        beats_human=record.get("beats_human"),
        exchanges=tuple(
            Exchange(_text(heard), _text(reply), theirs, _text(said), own)
            for (heard, said), reply, (own, theirs) in zip(heard_said, logged, scores, strict=False)
        ),
    )


def _text(value: Any) -> str:
    """The value as text; "" for None."""
    return "" if value is None else str(value)


def _two(value: Any) -> tuple[float, float] | None:
    """Two ends of an interval; None if there are none."""
    return (value[0], value[1]) if isinstance(value, list | tuple) and len(value) == 2 else None
