"""What can be named in commands: metrics, estimators, readers and more, with what is known of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, field, to_builtins
from msgspec.structs import fields, replace

from turnwise.errors import DataError, MissingExtra, PluginError, UsageError, unknown
from turnwise.extras import install, missing
from turnwise.metrics.attacks import Fraud, GuardEffect
from turnwise.report.fitting import HINT, Layout, sized
from turnwise.types import Card

Listed = Literal[
    "metrics",
    "estimators",
    "readers",
    "agents",
    "worlds",
    "trainers",
    "statistics",
    "weights",
    "rubrics",
    "judges",
    "schemas",
]  # what can be listed
# What a list shows: see `Layout`.
LAYOUT = Layout(
    names=("name",),
    results=("better", "learns from", "here", "missing"),
    prose=(
        "needs",
        "says",
        "reads",
        "what",
        "families",
        "dimensions",
        "licence",
        "agreement",
        "attacked",
    ),
    others=("download", "level", "kind", "sha256"),
)
OF_CARDS = frozenset(  # what an entry has for its card, and a table does not show
    "card attacks guarded hardened question model agreement text ratings plain schema".split()
)
MORE_METRICS = """\
-m also takes names that depend on the data or on your code:
rating:DIMENSION      people's ratings of a dimension, such as rating:overall
preference:DIMENSION  people's choices between the replies of two agents (compare)
judge-pair            a judge's choices between the replies of two agents, in both orders (compare)
module:function       a function of your own"""


class Entry(Struct, frozen=True, kw_only=True):
    """What is known of a name."""

    name: str
    kind: str

    @property
    def known(self) -> dict[str, Any]:
        """Key -> value, as `turnwise ls --format json` prints them; a card is an object."""
        pairs = ((one.encode_name, getattr(self, one.name)) for one in fields(self))
        return {
            key: value if isinstance(value, Card) else to_builtins(value)
            for key, value in pairs
            if value is not UNSET
        }


class OwnModel(Struct, frozen=True, kw_only=True):
    """How a model of the user's own was trained, and how well it predicts. Types of values depend on the trainer."""

    command: Any = None
    raters: dict[str, Any] | None = None
    ceiling: Any = None
    held_out: dict[str, Any] | None = None
    known_before: Any = None
    guard: bool = False
    overall: bool = False  # it predicts no other dimension
    known_attacks: tuple[str, ...] = ()


class CardEntry(Entry, frozen=True, kw_only=True):
    """What is known of a metric or an estimator."""

    level: str
    needs: list[str]


class MetricEntry(CardEntry, frozen=True, kw_only=True):
    """What is known of a metric."""

    better: str | None
    missing: str | None  # the extra that it needs and that is not installed
    card: Card
    attacks: list[Fraud]
    guarded: GuardEffect | None
    hardened: GuardEffect | None
    plain: bool | UnsetType = UNSET  # what is known of attacks is about other settings
    # Of a metric that was named, what the card of its model says.
    agreement: UnsetType | dict[str, float] | None = UNSET  # corpus that was left out -> Spearman with people
    text: UnsetType | dict[str, bool] | None = (
        UNSET  # corpus of the readers -> whether it is free for commercial use
    )
    ratings: UnsetType | list[str | None] | None = UNSET  # licences of the ratings that it was fitted to
    model: OwnModel | UnsetType = UNSET


class EstimatorEntry(CardEntry, frozen=True, kw_only=True):
    """What is known of an estimator."""

    says: str
    missing: str | None
    card: Card


class ReaderEntry(Entry, frozen=True, kw_only=True):
    """What is known of a reader."""

    reads: str
    missing: str | None


class AgentEntry(Entry, frozen=True, kw_only=True):
    """What is known of a kind of agent."""

    what: str


class WorldEntry(Entry, frozen=True, kw_only=True):
    """What is known of a world."""

    families: list[str]
    dimensions: list[str]


class TrainerEntry(Entry, frozen=True, kw_only=True):
    """What is known of a trainer."""

    learns: str = field(name="learns from")
    what: str
    missing: str | None


class StatisticEntry(Entry, frozen=True, kw_only=True):
    """What is known of a statistic of agreement."""

    says: str


class WeightsEntry(Entry, frozen=True, kw_only=True):
    """What is known of a model that can be fetched."""

    what: str
    licence: str
    download: str
    sha256: str
    here: str
    missing: str | None


class RubricEntry(Entry, frozen=True, kw_only=True):
    """What is known of a rubric."""

    level: str
    scale: str
    agreement: list[str]
    question: str


class SchemaEntry(Entry, frozen=True, kw_only=True):
    """What is known of a kind of file: its JSON Schema."""

    says: str
    file: dict[str, Any] = field(name="schema")


class JudgeEntry(Entry, frozen=True, kw_only=True):
    """What is known of a judge that was checked."""

    agreement: list[str] | None
    attacked: list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What `list_available` found. Iterates as one dict a name."""

    kind: Listed
    entries: tuple[Entry, ...]  # one a name
    problems: tuple[str, ...] = ()  # plugins that cannot be used, and why

    def records(self) -> list[dict[str, Any]]:
        """One dict a name."""
        return [entry.known for entry in self.entries]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def missing_extras(self) -> dict[str, int]:
        """Each extra that is not installed, and how many of the names need it with their default settings."""
        return dict(Counter(extra for entry in self.records() if (extra := entry.get("missing"))))

    def table(self, *, wide: bool = False, hint: str = HINT) -> str:
        """The names with what is known of each, as wide as the terminal unless `wide`; cards, and the questions of
        rubrics, are left out. Extras that are not installed are named below. Metrics end with `MORE_METRICS`. `hint`
        says how to see columns that do not fit.
        """
        if not self.entries:
            return f"no {self.kind} are installed"
        hidden = OF_CARDS if self.missing_extras else OF_CARDS | {"missing"}
        records = self.records()
        columns = [name for name in records[0] if name not in hidden]
        rows = [[_cell(record[name]) for name in columns] for record in records]
        shown = sized(rows, columns, LAYOUT, wide=wide, hint=hint)
        lines = [
            f"{count} of these {'need' if count > 1 else 'needs'} the extra `{extra}` by default: {install(extra)}"
            for extra, count in self.missing_extras.items()
        ]
        parts = [shown, "\n".join(lines), MORE_METRICS if self.kind == "metrics" else ""]
        return "\n\n".join(filter(None, parts))

    def __str__(self) -> str:
        return self.table()


def listed(kind: Listed, names: Sequence[str] = ()) -> Listing:
    """What there is of a kind, or only these names."""
    entries, problems = _LISTS[kind]()
    if names:
        known = {entry.name: entry for entry in entries}
        wanted = [name.partition("[")[0] for name in names]  # without settings
        if named := [name for name in wanted if ":" in name and kind == "metrics"]:
            raise UsageError(
                f"`{named[0]}` depends on your data or code and has no card; see the end of `turnwise ls metrics`"
            )
        if missing := [name for name in wanted if name not in known]:
            raise unknown("model" if kind == "weights" else kind.removesuffix("s"), missing[0], list(known))
        entries = [_of_model(known[name], full) for name, full in zip(wanted, names, strict=True)]
    return Listing(kind=kind, entries=tuple(entries), problems=tuple(map(str, problems)))


def _of_model(entry: Entry, name: str) -> Entry:
    """The entry of a metric with what the card of its shipped model says of agreement and text; other entries as they
    are.

    For `NAME[trained=DIR]`, the model's own card and attacks instead of the shipped ones. Raises `UsageError` for a
    folder without a model of this metric.
    """
    from turnwise.encode.models.folder import Folder, read_description, shipped
    from turnwise.metrics import resolve, settings
    from turnwise.metrics.learned.trained import HARDENED
    from turnwise.protocols import metric_extras

    if not isinstance(entry, MetricEntry):
        return entry
    _, given = settings(name)
    if not given:
        there = shipped(name)
        return replace(entry, **_known(*read_description(there))) if there else entry
    try:
        metric = resolve(name)
        _ = metric_extras(metric).half_width  # raises for a dimension that the model does not have
        folder = getattr(metric, "folder", None)
    except MissingExtra:  # the entry names it, and the model's own card cannot be found without it
        folder = None
    # What is known of the plain metric was not measured with other settings.
    hardened = entry.hardened if given.get("trained") == HARDENED else None
    plain = bool(entry.attacks) and not hardened
    entry = replace(entry, name=name, attacks=[], guarded=None, hardened=hardened, plain=plain)
    if "trained" not in given or not isinstance(folder, Folder):
        return entry
    card, attacks = folder.card, folder.card.get("attacks") or ()
    model = {key: card.get(key) for key in ("command", "raters", "ceiling", "held_out", "known_before")}
    model |= {
        "guard": "guard" in folder.config,
        "overall": folder.config.get("dimensions") == {},  # a shipped model without other dimensions
        "known_attacks": [one for one in attacks if isinstance(one, str)],
    }
    try:
        return replace(
            entry,
            attacks=convert([one for one in attacks if isinstance(one, Mapping)], list[Fraud]),
            plain=plain and not attacks,
            model=convert(model, OwnModel),
            **_known(folder.config, card),
        )
    except ValidationError as error:
        raise DataError(f"{name}: card.json of its model: {error}") from None


def _known(config: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    """Of the model with this configuration and card: its Spearman with people on corpora left out, the corpora that its
    readers were trained on, and the licences of the ratings that it was fitted to.

    `text` maps each corpus to whether it is free for commercial use. What the card does not have is None.
    """
    from turnwise.encode.models.folder import read_description, shipped

    people = (card.get("held_out") or {}).get("people")
    rated = (card.get("data") or {}).get("ratings", ())
    text: dict[str, bool] = {}
    for reader in config.get("readers", ()):
        _, about = read_description(shipped(reader["name"]) or Path())
        text |= {corpus: entry["free"] for corpus, entry in about["data"]["text"].items()}
    return {
        "agreement": people and {corpus: one["spearman"] for corpus, one in people.items()},
        "text": text or None,
        "ratings": [one["licence"] for one in rated if isinstance(one, Mapping)] or None,
    }


Entries = tuple[Sequence[Entry], list[PluginError]]  # what can be used, and what cannot


def _usable(names: Iterable[str], record: Callable[[str], Entry], broken: Iterable[PluginError]) -> Entries:
    """The record of each name that can be used, and the problems of the others after those in `broken`."""
    found, problems = [], list(broken)
    for name in names:
        try:
            found.append(record(name))
        except PluginError as error:
            problems.append(error)
    return found, problems


def _metrics() -> Entries:
    """A record for each metric, with its card, known attacks and what a guard changes."""
    from turnwise import metrics
    from turnwise.metrics.attacks import guard_effect, known_attacks, own_guard_effect

    def record(name: str) -> MetricEntry:
        info = metrics.describe(name)
        return MetricEntry(
            name=info.name,
            kind=info.kind,
            level=info.level,
            needs=sorted(info.needs),
            better=info.better,
            missing=missing(metrics.extra_of(name)),
            card=info.card,
            attacks=known_attacks(info.name),
            guarded=guard_effect(info.name),
            hardened=own_guard_effect(info.name),
        )

    return _usable(metrics.names(), record, metrics.broken())


def _estimators() -> Entries:
    """A record for each estimator, with its card."""
    from turnwise import estimators
    from turnwise.encode.models.catalogue import extra_of
    from turnwise.run.ope.command import ENCODER

    def record(name: str) -> EstimatorEntry:
        card = estimators.describe(name)
        return EstimatorEntry(
            name=name,
            kind=card.kind,
            level="system",
            needs=["alternatives"],
            says=card.meaning,
            missing=missing(estimators.extra_of(name) or extra_of(ENCODER)),  # `ope` encodes texts for all
            card=card,
        )

    return _usable(estimators.names(), record, estimators.broken())


def _readers() -> Entries:
    """A record for each reader: ours, and those of other packages."""
    from turnwise.logs import readers

    known = readers.all_readers()

    def record(name: str) -> ReaderEntry:
        reader = known[name]
        return ReaderEntry(
            name=name,
            kind="reader",
            reads=readers.describe(reader),
            missing=missing(reader.extra),
        )

    return _usable(known, record, readers.broken())


def _agents() -> Entries:
    """A record for each kind of agent that can be named."""
    from turnwise import agents

    def record(name: str) -> AgentEntry:
        return AgentEntry(name=name, kind="agent", what=agents.describe(name))

    return _usable(agents.names(), record, agents.broken())


def _worlds() -> Entries:
    """A record for each world, with its families and dimensions."""
    from turnwise import worlds

    def record(name: str) -> WorldEntry:
        module = worlds.named(name)
        return WorldEntry(
            name=name,
            kind="world",
            families=list(module.FAMILIES),
            dimensions=list(module.WORLD.dimensions),
        )

    return _usable(worlds.names(), record, worlds.broken())


def _trainers() -> Entries:
    """A record for each trainer, with what it learns from."""
    from turnwise.run.train import command as training

    def record(name: str) -> TrainerEntry:
        trainer = training.trainer(name)
        return TrainerEntry(
            name=name,
            kind="trainer",
            learns=trainer.learns,
            what=trainer.what,
            missing=missing(training.EXTRA),
        )

    return _usable(training.names(), record, training.broken())


def _statistics() -> Entries:
    """A record for each statistic of agreement."""
    from turnwise.meta.correlate import STATISTICS

    return [StatisticEntry(name=name, kind="statistic", says=says) for name, says in STATISTICS.items()], []


def _weights() -> Entries:
    """A record for each model that can be fetched, and whether it is here."""
    from turnwise.encode.models.catalogue import fetched

    found = [
        WeightsEntry(
            name=model.name,
            kind=model.kind,
            what=model.what,
            licence=model.licence,
            download=f"{model.size / 1e6:.0f} MB",
            sha256=model.hash[:8],
            here="yes" if folder else f"turnwise fetch {model.name}",
            missing=missing(model.extra),
        )
        for model, folder in fetched()
    ]
    return found, []


def _rubrics() -> Entries:
    """A record for each rubric of our library, with its measured agreement."""
    from turnwise.metrics.judge.rubric import library

    found = []
    for name, one in library().items():
        scale = "checklist" if one.scale is None else f"{one.scale[0]}-{one.scale[1]}"
        measured = [
            f"{each.spearman:.2f} [{each.interval[0]:.2f}, {each.interval[1]:.2f}] by {each.model} on {each.corpus}, "
            f"n = {each.n}" + ("" if each.one_rater is None else f"; one rater {each.one_rater:.2f}")
            for each in one.agreement
        ]
        found.append(
            RubricEntry(
                name=name,
                kind="rubric",
                level=one.level,
                scale=scale,
                agreement=measured or ["not measured"],
                question=one.question,
            )
        )
    return found, []


def _ends(interval: tuple[float, float] | None) -> str:
    """An interval as text, with a space before it; "" without one."""
    return "" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"


def _judges() -> Entries:
    """A record for each judge that was checked on this machine: its agreement with people and attacks on it."""
    from turnwise.run.scoring.judge_cards import cards

    found = []
    for card in cards():
        agreed = [
            f"spearman {one.estimate:.2f}{_ends(one.interval)} on {one.dimension} of {', '.join(one.data)}, "
            f"n = {one.n_items}"
            for one in card.agreement
        ]
        attacked = [
            f"gameable: {one.description}" if one.gameable else f"not gamed on {', '.join(one.data)}"
            for one in card.attacks
        ]
        found.append(
            JudgeEntry(
                name=card.signature,
                kind="judge",
                agreement=agreed or None,
                attacked=attacked or None,
            )
        )
    return found, []


def _schemas() -> Entries:
    """An entry for each kind of file, with its JSON Schema."""
    from turnwise.run.schemas import SCHEMAS

    found = [
        SchemaEntry(name=name, kind="schema", says=one.says, file=one.make()) for name, one in SCHEMAS.items()
    ]
    return found, []


_LISTS: Mapping[str, Callable[[], Entries]] = {
    "metrics": _metrics,
    "estimators": _estimators,
    "readers": _readers,
    "agents": _agents,
    "worlds": _worlds,
    "trainers": _trainers,
    "statistics": _statistics,
    "weights": _weights,
    "rubrics": _rubrics,
    "judges": _judges,
    "schemas": _schemas,
}


def _cell(value: Any) -> str:
    """A list as names separated by commas, `-` for None; anything else by `str`."""
    return ", ".join(value) if isinstance(value, list) else "-" if value is None else str(value)
