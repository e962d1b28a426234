"""The card of each judge on this machine: its measured agreement with people, and what attacks on it found.

A judge is a model with a prompt, so a card belongs to a signature. `meta` and `attack` write to it, `score` reminds of
what is missing, and `turnwise ls judges` lists all cards. Cards are small JSON files in the cache folder.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from turnwise.encode.models.catalogue import cache_home
from turnwise.logs.files import atomic
from turnwise.protocols import Asks
from turnwise.records import AgreementRecord, GamingVerdict
from turnwise.types import Metric, digest

FOLDER = "judges"
MOST = 20  # measurements of each kind that a card keeps, the last ones


class Agreed(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agreement with people that was measured."""

    data: tuple[str, ...]  # names of the files
    dimension: str
    level: str
    statistic: str
    estimate: float
    interval: tuple[float, float] | None
    n_items: int


class Attacked(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict of an attack."""

    data: tuple[str, ...]
    gameable: bool
    description: str | None  # of the worst strategy


class JudgeCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known about a judge."""

    signature: str
    agreement: tuple[Agreed, ...] = ()
    attacks: tuple[Attacked, ...] = ()


def is_judge(metric: object) -> bool:
    """Whether a metric is a judge: one that asks a language model."""
    return isinstance(metric, Asks)


def card_of(signature: str) -> JudgeCard:
    """The card of a judge; an empty one if it has none, or a file that cannot be read."""
    try:
        return msgspec.json.decode(_path(signature).read_bytes(), type=JudgeCard)
    except (OSError, msgspec.DecodeError):
        return JudgeCard(signature)


def cards() -> Iterator[JudgeCard]:
    """All cards on this machine, by the names of their files."""
    folder = cache_home() / FOLDER
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            yield msgspec.json.decode(path.read_bytes(), type=JudgeCard)
        except (OSError, msgspec.DecodeError):
            continue


def add_agreement(
    metrics: Mapping[str, Metric], records: Sequence[AgreementRecord], data: Sequence[str]
) -> None:
    """Add the rank correlations of the judges among the metrics to their cards."""
    files = tuple(os.path.basename(path) for path in data)
    for name, metric in metrics.items():
        if not is_judge(metric):
            continue
        found = [
            Agreed(
                files,
                str(record.dimension),
                str(record.level),
                str(record.statistic),
                record.estimate,
                record.bounds,
                record.n_items,
            )
            for record in records
            if record.metric == name and record.statistic == "spearman" and record.estimate is not None
        ]
        if found:
            card = card_of(str(metric.signature))
            kept = [one for one in card.agreement if not any(_same(one, other) for other in found)]
            _write(msgspec.structs.replace(card, agreement=tuple([*kept, *found][-MOST:])))


def add_attack(metric: Metric, verdict: GamingVerdict, data: Sequence[str]) -> None:
    """Add the verdict of an attack to the card of a judge."""
    if not is_judge(metric):
        return
    found = Attacked(tuple(os.path.basename(path) for path in data), verdict.gameable, verdict.description)
    card = card_of(str(metric.signature))
    kept = [one for one in card.attacks if one.data != found.data]
    _write(msgspec.structs.replace(card, attacks=tuple([*kept, found][-MOST:])))


def reminders(metrics: Mapping[str, Metric]) -> Iterator[str]:
    """For each judge that was not checked: what to do. For one that an attack gamed: that it was."""
    for name, metric in metrics.items():
        if not is_judge(metric):
            continue
        card = card_of(str(metric.signature))
        attackable = "dialogue" not in metric.needs  # an attack replaces single replies
        missing = [
            *([] if card.agreement else ["compared with people (turnwise meta)"]),
            *([] if card.attacks or not attackable else ["attacked (turnwise attack)"]),
        ]
        if missing:
            yield f"{name} was never {' nor '.join(missing)} on this machine: its scores are unchecked"
        for one in card.attacks:
            if one.gameable:
                yield f"{name} can be gamed: the worst strategy {one.description}"
                break


def _same(one: Agreed, other: Agreed) -> bool:
    """Whether two measurements are of the same thing."""
    return (one.data, one.dimension, one.level) == (other.data, other.dimension, other.level)


def _path(signature: str) -> Path:
    """The file of a judge's card."""
    return cache_home() / FOLDER / f"{digest(signature)}.json"


def _write(card: JudgeCard) -> None:
    """Write a card; it replaces an earlier one at once."""
    path = _path(card.signature)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=1))
