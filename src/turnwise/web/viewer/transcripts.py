"""Transcripts of attacks: what strategies said that a metric scores above people's replies."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.records import Number, StrategyRecord, both_ends
from turnwise.report.documents import AttackDocument
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
    found = [
        _strategy(run.name, run.document, record)
        for run in runs
        if isinstance(run.document, AttackDocument)
        for record in run.document.results
        if record.transcript
    ]
    runs_in_order = {run.name: place for place, run in enumerate(runs)}
    return sorted(found, key=lambda one: (runs_in_order[one.run], not one.fraud, -(one.gain or 0.0)))


def _strategy(run: str, document: AttackDocument, record: StrategyRecord) -> Strategy:
    """A strategy of the run with this name."""
    heard_said = record.transcript
    logged = record.people_said or ("",) * len(heard_said)
    scores: Sequence[tuple[Number, Number]] = record.transcript_scores or [(None, None)] * len(heard_said)
    return Strategy(
        run=run,
        metric=record.metric,
        name=record.strategy or "",
        description=record.description or "",
        people="a person" if document.people and document.people.agent == HUMAN else "logged reply",
        fraud=bool(record.significant),
        gain=record.gain,
        interval=both_ends(record.gain_interval),
        beats_human=record.beats_human,
        exchanges=tuple(
            Exchange(heard, reply, theirs, said, own)
            for (heard, said), reply, (own, theirs) in zip(heard_said, logged, scores, strict=False)
        ),
    )
