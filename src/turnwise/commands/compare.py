"""Which agent is better? Paired tests, effect sizes, items that differ most; a leaderboard of more than two."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Gated, Gating, typed
from turnwise.errors import DataError, UsageError, counted
from turnwise.library.notes import (
    SHOWN,
    Warned,
    common_notes,
    covers_few,
    in_group,
    learned_from_ratings,
    rater_notes,
    thinned,
    verdict_notes,
)
from turnwise.library.results import ADJUSTED, ResultOf, result
from turnwise.logs.items.selection import Selection
from turnwise.logs.memory import is_folder
from turnwise.records import DifferenceRecord, PreferenceFit, both_ends, plain
from turnwise.report.documents import CompareDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import (
    AsAgents,
    Drawing,
    Evaluating,
    Judging,
    Resumption,
    Selecting,
    Trying,
)
from turnwise.settings.option import Names, NamesOrFunctions, Option
from turnwise.terminal import visible
from turnwise.types import TASK

NO_PAIRS = "none"  # `pair` of a comparison of independent samples
# Settings of scoring: they cannot change two finished runs.
FIXED = (
    "items",
    "role",
    "where",
    "by",
    "pair",
    "cluster",
    "limit",
    "as_agents",
    "real",
    "model",
)

# What the tables below the main one show first.
STRENGTHS = Layout(names=("agent", "component"), results=("estimate", "interval"), others=("n_items",))
EFFECTS = Layout(names=("covariate",), results=("estimate", "interval", "p"))
BOARD = Layout(
    names=("agent",),
    results=("estimate", "interval", "ties", "rank", "rank_interval"),
    others=("n_items", "n_clusters"),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(ResultOf[DifferenceRecord]):
    """The difference of every two agents for each metric and group: agent_a minus agent_b."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent_a", "agent_b", "group", "a", "b", "ties", "both_bad", "estimate", "interval",
        "p_adjusted", "interval_alone", "p_alone", "effect_size",
        "n_items", "n_clusters", "unpaired_a", "unpaired_b", "verdict",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "group", "agent_a", "agent_b"),
        results=("estimate", "interval", "verdict"),
        others=(
            "p_adjusted", ("a", "b"), "n_items", "ties", ("unpaired_a", "unpaired_b"), "effect_size", "n_clusters",
            "both_bad",
            "interval_alone", "p_alone",
        ),
        keys=ADJUSTED,
    )  # fmt: skip

    document: CompareDocument

    shared_agent: str | None = None  # the agent of all files, in place of which their names are used

    @property
    def leaderboard(self) -> list[dict[str, Any]]:
        """The agents by each metric, best first, one dict an agent; empty where two agents were compared."""
        return [plain(row) for row in self.document.leaderboard]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What the calls of each tool of the two agents were like, if a metric of tool calls was asked for."""
        return [plain(record) for record in self.document.tools]

    @property
    def strengths(self) -> list[dict[str, Any]]:
        """Bradley-Terry strengths, one dict an agent, for each dimension of preferences; empty without preferences."""
        return [
            {"metric": fit.metric, "group": fit.group, **plain(strength)}
            for fit in self.document.preferences
            for strength in fit.strengths
        ]

    def notes(self) -> list[str]:
        """As in `Result`, on what was left out, on preferences by few raters, and on strengths that could not be found
        or compared.
        """
        document = self.document
        found = common_notes(document, self.findings, limits=limits, together=pairing)
        found += dict.fromkeys(filter(None, map(coverage, document.results)))
        found += rater_notes(document.results, lambda record: record.metric)
        found += verdict_notes(document.results)
        if self.shared_agent is not None:
            found.append(
                f"note: all files have the agent `{self.shared_agent}`, so that agents are named after the files"
            )
        return [*found, *strength_notes(document.preferences)]


@dataclass(frozen=True, kw_only=True)
class Compare(Gated, Trying, Drawing, Judging, AsAgents, Selecting, Evaluating):
    """Which agent is better? Paired tests, effect sizes, items that differ most; a leaderboard of more than two.

    DATA is files of dialogues, or exactly two folders written by `turnwise score -o`. The estimate is the first agent's
    number minus the second's, and a --gate applies to it. A judge scores each reply by itself; docs/judge.md explains
    how to show it two replies.

    \b
      turnwise compare rated.jsonl --agents new,old
      turnwise compare logs.jsonl -m bleu-4 --agents new,old
      turnwise compare logs.jsonl -m bleu-4 --as new,old
      turnwise compare out/new out/old
    """

    command: ClassVar[str] = "compare"
    resumption: ClassVar[Resumption] = "rows"

    metrics: Annotated[
        NamesOrFunctions,
        Option(
            "Metrics, separated by commas; `rating:overall` is people's ratings, `preference:overall` their "
            "choices. Default: everything that people said; for two finished runs, every metric that both have.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ] = ()  # fmt: skip
    agents: Annotated[
        Names,
        Option(
            "The agents, two or more; the first less the second. Default: all of the data, or of --as.",
            metavar="A,B",
        ),
    ] = ()  # fmt: skip
    draws: Annotated[
        int,
        Meta(ge=100),
        Option("Resamples behind the position bias of a judge of pairs; nothing else is drawn.", record=None),
    ] = 1000
    force: Annotated[bool, Option("Compare runs whose signatures differ.", record=None)] = False
    pair: Annotated[
        str | None,
        Option(
            "The key that pairs items of the two agents; `id` is the id or line of a dialogue in its file. `none` "
            "compares all items as independent samples. Default: the same context.",
            metavar="KEY|none", record=None,
        ),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Measuring`. Agents that speak in the logs are those to compare."""
        super().__post_init__()
        if not self.agents and len(self.as_agents) > 1:
            object.__setattr__(self, "agents", self.as_agents)

    @property
    def independent(self) -> bool:
        """Whether all items are compared as independent samples, also where they have a pair."""
        return self.pair == NO_PAIRS

    @property
    def selection(self) -> Selection:
        """As in `Filtering`, without the key `none`."""
        return replace(super().selection, pair=None if self.independent else self.pair)

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """As in `Command`, and whether the samples are independent."""
        return tuple(sorted([*super().options, *([("independent", True)] if self.independent else [])]))

    @classmethod
    def on_command_line(cls, screen: Gating, given: dict[str, Any]) -> int:
        """As in `Gated`; settings of scoring that were typed for finished runs raise `UsageError`, those of a file of
        options are left out.
        """
        if not given.get("reader") and all(Path(path).is_dir() for path in given["data"]):
            fixed = [name for name in FIXED if name != "pair" or given.get("pair") != NO_PAIRS]
            if idle := typed(*fixed):
                raise UsageError(
                    f"{', '.join(idle)} cannot change two finished runs; give them to `turnwise score -o`, or compare "
                    "files"
                )
            given = {name: value for name, value in given.items() if name not in fixed}
        return super().on_command_line(screen, given)

    def run(self) -> Comparison:
        """Compare the two agents, or the two finished runs."""
        from turnwise.run.scoring.compare import compare as run
        from turnwise.run.scoring.compare import compare_runs

        with opened(self, name_files=not (self.selection.apart or self.as_agents)) as ready:
            finished = _are_finished_runs(ready.paths)
            if finished:
                self._check_unselected()
            outcome = compare_runs(ready) if finished else run(ready)
            made = result(Comparison, outcome, ready.files, figures=self.figures)
            return replace(made, shared_agent=ready.shared_agent)

    def _check_unselected(self) -> None:
        """Raise `UsageError` if a setting of scoring is set: selections were made when the two runs were scored."""
        given = {name: getattr(self, name) for name in FIXED}
        given |= {"role": None if self.role == "assistant" else self.role, "pair": self.selection.pair}
        if idle := [name for name, value in given.items() if value]:
            raise UsageError(
                f"{', '.join(idle)} cannot change two finished runs; give them to `score`, or compare files"
            )

    def show(self, comparison: Comparison, screen: Gating) -> int:
        """Print the comparison, or what a judge of pairs would be asked."""
        document = comparison.document
        if screen.style == "table" and (self.dry_run or self.show_prompt is not None):
            screen.print_questions(document)
            return 0
        after = [_strengths(document, screen), _flips(document, screen) if screen.verbose else ""]
        after.append(screen.tools_table(document.tools))
        return screen.conclude(
            comparison,
            before=_leaderboard(document, screen),
            after="\n".join(part for part in after if part),
        )


def _are_finished_runs(paths: Sequence[str]) -> bool:
    """Whether the paths are two folders; folders in any other number, or beside files, raise `UsageError`, and a
    folder of another format `DataError`.
    """
    from turnwise.logs.foreign import foreign
    from turnwise.logs.readers import recognise

    folders = list(map(is_folder, paths))
    if not any(folders):
        return False
    for path, is_run in zip(paths, folders, strict=True):
        if is_run and recognise(path) and (other := foreign(path, command="compare")):
            raise DataError(other)
    if folders != [True, True]:
        raise UsageError("finished runs are compared as exactly two folders, without other files")
    return True


def _leaderboard(document: CompareDocument, screen: Gating) -> str:
    """A table of the agents, best first, for each metric and group; empty where two agents were compared."""
    columns = ("agent", "estimate", "interval", "ties", "rank", "rank_interval")
    parts = []
    for about in dict.fromkeys((row.metric, row.group) for row in document.leaderboard):
        rows = [row for row in document.leaderboard if (row.metric, row.group) == about]
        counts = ("n_items", *(("n_clusters",) if any(row.n_clusters for row in rows) else ()))
        end = "lowest" if rows[0].better == "lower" else "highest"
        table = screen.records_table(rows, (*columns, *counts), BOARD)
        parts.append(f"{visible(', '.join(filter(None, about)))}, {end} first:\n{table}\n")
    if parts:
        parts.append("Agents that share a letter under `ties` were not shown to differ. Every two of them:\n")
    return "\n".join(parts)


def _strengths(document: CompareDocument, screen: Gating) -> str:
    """Tables of Bradley-Terry strengths with the effects of the controls, one a dimension and group."""
    parts = []
    for fit in document.preferences:
        rows = [strength for strength in fit.strengths if strength.estimate is not None]
        if rows:
            about = visible(", ".join(filter(None, [fit.metric, fit.group])))
            several = (fit.n_components or 1) > 1
            columns = ("agent", *(("component",) if several else ()), "estimate", "interval", "n_items")
            table = screen.records_table(rows, columns, STRENGTHS)
            parts.append(f"\nBradley-Terry strengths by {about}, in log odds:\n{table}")
        if fit.effects:
            columns = ("covariate", "estimate", "interval", "p")
            effects = screen.records_table(fit.effects, columns, EFFECTS)
            parts.append(f"\neffects of what was controlled for, in log odds:\n{effects}")
    return "\n".join(parts)


def _flips(document: CompareDocument, screen: Gating) -> str:
    """Tables of the items whose scores differ most, one a metric that has any; empty if none has."""
    parts = []
    for record in document.results:
        if record.flips:
            rows = [[flip.id_a, flip.id_b, flip.a, flip.b, flip.difference] for flip in record.flips]
            first, second = str(record.agent_a), str(record.agent_b)
            names, values = [f"item of {first}", f"item of {second}"], [first, second, "difference"]
            table = screen.table(rows, [*names, *values], Layout(names=tuple(names), results=tuple(values)))
            parts.append(f"\nitems that differ most by {visible(record.metric)}:\n{table}")
    return "\n".join(parts)


def limits(record: DifferenceRecord) -> Iterator[str]:
    """Yield the lines on what limits one comparison."""
    if record.in_training:
        yield learned_from_ratings(record, record.in_training)
    yield from thinned(record)
    if record.position_bias is not None:
        yield _position_bias(record, record.position_bias)


def coverage(record: DifferenceRecord) -> str | None:
    """A warning if a difference is of less than half of the items of an agent; None if not."""
    counts = [
        (record.agent_a, record.scored_a or 0, record.unscored_a or 0),
        (record.agent_b, record.scored_b or 0, record.unscored_b or 0),
    ]
    if record.estimate is None or all(scored >= left for _, scored, left in counts):
        return None
    covered = " and ".join(
        f"{scored} of {counted(scored + left, 'item')} of {agent}" for agent, scored, left in counts
    )
    return covers_few(f"{record.metric}{in_group(record)}", covered)


def pairing(compared: Sequence[DifferenceRecord]) -> list[str]:
    """Notes on the items of two compared agents that have no partner or share one. A note names its metrics and groups
    where the notes of others differ.
    """
    about: dict[str, list[DifferenceRecord]] = {}
    independent: dict[tuple[str, str | None, str | None], list[DifferenceRecord]] = {}
    for record in compared:
        if record.sampling == "unpaired":
            key = (record.metric, record.group, record.better_pair_key)
            independent.setdefault(key, []).append(record)
        for said in filter(None, (_left_unpaired(record), _merged(record))):
            about.setdefault(said, []).append(record)
    for of in independent.values():
        about.setdefault(_independent(of), []).extend(of)
    every = [(record.metric, record.group) for record in compared if record.estimate is not None]
    found = []
    for said, of in about.items():
        mine = [(record.metric, record.group) for record in of]
        names = [
            ", ".join(dict.fromkeys(str(pair[at]) for pair in mine))
            for at in (0, 1)
            if {pair[at] for pair in mine} != {pair[at] for pair in every}
        ]
        found.append(": ".join(filter(None, ["note", " in ".join(names), said])))
    return found


def _independent(records: Sequence[DifferenceRecord]) -> str:
    """On comparisons of one metric without pairs, which all have the same key that would pair more items, or none."""
    agents = [f"{record.agent_a} and {record.agent_b}" for record in records]
    more = f" or of {len(agents) - SHOWN} more pairs of agents" if len(agents) > SHOWN else ""
    return (
        f"fewer than half of the items of {', or of '.join(agents[:SHOWN])}{more} have a partner with the same "
        f"{_pair_key(records[0])}, so the agents are compared as independent samples{_better(records)}"
    )


def _better(records: Sequence[DifferenceRecord]) -> str:
    """The key that would pair more items, and how many pairs it makes; empty if there is none."""
    key = records[0].better_pair_key
    if key is None:
        return ""
    numbers = sorted({record.better_pair_key_pairs or 0 for record in records})
    least = f"{numbers[0]} to " if len(numbers) > 1 else ""
    return f"; --pair {key} makes {least}{counted(numbers[-1], 'pair')}"


def _left_unpaired(record: DifferenceRecord) -> str | None:
    """On items of two compared agents that have no partner and were left out; None if there are none."""
    if not any((record.unpaired_a, record.unpaired_b)):
        return None
    better = _better([record])
    counts = f"{record.unpaired_a or 0} of {record.agent_a} and {record.unpaired_b or 0} of {record.agent_b}"
    more = f"{better} instead of {record.n_items}" if better else ""
    return f"items without a partner, left out: {counts}{more}; --pair none compares all items as independent samples"


def _merged(record: DifferenceRecord) -> str | None:
    """On items of one agent with the same partner, which count as one item; None if there are none."""
    if not any((record.merged_a, record.merged_b)) or record.pair_key == TASK:
        return None  # a note on the tasks says it
    named = f"{record.merged_a or 0} fewer of {record.agent_a} and {record.merged_b or 0} fewer of {record.agent_b}"
    return f"items of one agent with the same {_pair_key(record)} count as one, their mean: {named}"


def _pair_key(record: DifferenceRecord) -> str:
    """What pairs the items of two agents."""
    return "context" if record.pair_key is None else f"`{record.pair_key}`"


def strength_notes(fits: Sequence[PreferenceFit]) -> list[str]:
    """Lines on Bradley-Terry fits: why there is none, which agents have no strength, which cannot be compared."""
    found = []
    for fit in fits:
        reasons = dict.fromkeys([fit.reason, *(one.reason for one in fit.strengths)])
        found += [f"note: {fit.metric}: no strengths: {reason}" for reason in reasons if reason]
        if (fit.n_components or 1) > 1:
            sets: dict[int, list[str]] = {}
            for one in fit.strengths:
                sets.setdefault(one.component, []).append(one.agent)
            listed = "; ".join(", ".join(names) for names in sets.values())
            found.append(
                Warned(
                    f"{fit.metric}: comparisons do not connect all agents, so strengths compare only within each set: "
                    f"{listed}"
                )
            )
    return found


def _position_bias(record: DifferenceRecord, bias: float) -> str:
    """How much more often a judge of pairs chose what was shown first, and how often both orders agree."""
    interval = both_ends(record.position_bias_interval)
    ends = "" if interval is None else f" [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"
    return (
        f"note: {record.metric}: position bias {100 * bias:+.1f} points{ends} towards what was shown "
        f"first, removed by asking in both orders; they agree in {record.consistent or 0:.0%} of pairs"
    )


COMMAND = Compare
compare = function(Compare)
__all__ = ["Comparison", "compare"]
