"""`python -m papers.dimensions DATA WILD [PART...]`: `turnwise` beyond the overall rating of a reply.

Four parts, each with corpora left out: regressions for single dimensions of rating, scores of whole dialogues from the
scores of their replies, replies that are unlike the rated ones, and the coverage of intervals. WILD is a folder of logs
of other tools. Results go to papers/dimensions.json, and as tables into papers/dimensions.md. Needs `turnwise fetch
minilm smollm2`. With cached vectors it takes a minute; reading about 10,000 replies with the large reader takes 20.
"""

import ast
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq

import turnwise
from papers.flagship import taught
from papers.flagship.contexts import for_teaching
from papers.learned import OWN_DRAWS, Corpora
from papers.learned_page import lined
from papers.rated_corpora import GROUPS, Rated, rated
from papers.rated_dimensions import DIALOGUES, DIMENSIONS, SOURCES, Units, rated_units
from tools.dimension_heads import left_out, spearman
from turnwise import convert
from turnwise.encode.models.folder import load, shipped
from turnwise.encode.text.normalise import plain
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.meta.gold import gold
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.held_out import context_groups
from turnwise.metrics.learned.trained import encoder_of
from turnwise.metrics.learned.turnwise.calibration import COVERAGE
from turnwise.metrics.learned.turnwise.familiar import (
    FALSE_ALARMS,
    MOST_MARKS,
    Familiarity,
    counts,
    even_quantile,
    marks,
)
from turnwise.metrics.learned.turnwise.metric import OVERALL, is_copy, is_foreign
from turnwise.metrics.learned.turnwise.preference_fit import fit_choices
from turnwise.metrics.learned.turnwise.ridge import CORPUS_WEIGHT, RidgeWeights, standardised
from turnwise.metrics.learned.turnwise.signals import PENALTY, Signals
from turnwise.types import Floats, Ints, Item, Turn

HERE = Path(__file__)
KEPT, PAGE = HERE.with_suffix(".json"), HERE.with_suffix(".md")
TABLES = "## The tables"
EDITIONS = ("turnwise", "turnwise-large")
DRAWS = 400  # bootstrap samples of an interval
COUNTS = (30, 60, 100, 300, 1000)  # numbers of a user's own ratings
SPARE = 100  # replies or choices that are left to test on
FEWEST_CONTEXTS = 40  # with several rated replies, for choices
PAIRS = 3  # choices in a context
MARK = "utterance_good"  # dimension of convai2_2018
MANY = 200  # replies of a corpus that are shown to the detector
POOLING = ("mean", "least", "last", "spread", "trend", "log turns", "repetition")
POOL_PENALTY = (
    300.0  # of the regression over these; its weight of the mean is shrunk towards .3, the others to 0
)
# Small talk that is not rated by the reply, and texts of another kind.
TALK = ("personachat", "dailydialog", "ji2022", "convai2_2018", "ieval", "chitchat_byu", "more/topical_chat",
        "more/cmu_dog", "more/self_dialogue", "more/commonsense_dialogues")  # fmt: skip
TASKS = ("multiwoz_valtest", "multiwoz_delex")
LOGS = {  # files of WILD: name -> files that are read together
    "tau2 (tool calls)": ("tau2_results.json",), "tau-bench (tool calls)": ("tau_bench_v1_airline.json",),
    "ParlAI task dialogues": ("parlai_tod_example.jsonl",), "HH-RLHF": ("hh_rlhf_pairs.jsonl",),
    "MT-bench": ("mt_bench_questions.jsonl", "mt_bench_answers_a.jsonl", "mt_bench_answers_b.jsonl"),
    "Blender with people": ("parlai_chatlog_blender_2.7B.json",),
}  # fmt: skip
LANGUAGES = ("ar", "de", "es", "fr")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Edition:
    """The rated replies and dialogues with the signals of an edition of `turnwise`."""

    def __init__(self, data: Path, name: str) -> None:
        self.data, self.name = data, name
        model = load(shipped(name) or "", name)
        self.signals, self.encoder = Signals.load(model), encoder_of(model)
        self.groups = list(rated(data))
        self._fitted: dict[str, RidgeWeights] = {}

    @cached_property
    def units(self) -> dict[str, Units]:
        return rated_units(self.data, self.groups, lambda some: self.signals.table(some, self.encoder))

    @cached_property
    def frauds(self) -> tuple[Floats, Floats]:
        return taught.pairs(for_teaching(self.data), lambda some: self.signals.table(some, self.encoder))

    def fit_on(self, names: Iterable[str]) -> RidgeWeights:
        """The overall regression on some of the nine groups."""
        tables, ratings = [], []
        for name in names:
            table = np.concatenate(self.units[name].tables)
            known = ~np.isnan(table).any(axis=1)
            tables.append(table[known])
            ratings.append(self.units[name].ratings[OVERALL][known])
        return taught.fit(self.signals.columns, tables, ratings, self.frauds)

    def fit_without(self, source: str) -> RidgeWeights:
        """The overall regression without a publication."""
        if source not in self._fitted:
            self._fitted[source] = self.fit_on(name for name in GROUPS if SOURCES[name] != source)
        return self._fitted[source]


def difference(one: Floats, two: Floats, ratings: Floats) -> tuple[float, float]:
    """The 95 % interval of the difference of two Spearman correlations with ratings, over resampled units."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(ratings), size=len(ratings)) for _ in range(DRAWS)]
    found = [spearman(two[some], ratings[some]) - spearman(one[some], ratings[some]) for some in drawn]
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def dimensions(edition: Edition) -> dict[str, Any]:
    """Dimension -> group -> agreement of the overall regression and of the dimension's own, and their difference."""
    found: dict[str, Any] = {}
    for dimension in DIMENSIONS:
        cells = {}
        for name, one in left_out(dimension, edition.units, edition.fit_without).items():
            overall, own = one.agreement
            interval = difference(one.overall, one.own, one.ratings)
            cells[name] = {"overall": overall, "own": own, "difference": interval, "n": len(one.ratings)}
        found[dimension] = cells
        say(f"{edition.name}, {dimension}: {cells}")
    return found


def measured(edition: Edition) -> dict[str, Any]:
    """Dimensions, dialogues and coverage of an edition."""
    return {"dimensions": dimensions(edition), "dialogues": dialogues(edition), "coverage": coverage(edition)}


def features(scores: Floats, replies: Sequence[str]) -> list[float]:
    """`POOLING` of a dialogue, from the scores and the normalised texts of its replies."""
    steps = np.arange(len(scores)) - (len(scores) - 1) / 2
    trend = float(steps @ scores / max(steps @ steps, 1.0))
    words = [text.split() for text in replies]
    repeated = [
        max(LCSseq.similarity(text, before) / max(len(text), 1) for before in words[:at])
        for at, text in enumerate(words)
        if at
    ]
    return [
        scores.mean(), scores.min(), scores[-1], scores.std(), trend, np.log(len(scores)),
        float(np.mean(repeated)) if repeated else 0.0,
    ]  # fmt: skip


def pooled(unit: Units, weights: RidgeWeights) -> Floats:
    """(n, 7) the features of each dialogue; NaN for a dialogue without a scored reply."""
    rows = np.full((len(unit.tables), len(POOLING)), np.nan)
    for at, (table, replies) in enumerate(zip(unit.tables, unit.replies, strict=True)):
        scores = weights.predict(table)
        known = ~np.isnan(scores)
        if known.any():
            texts = [plain(item.reply) for item, keep in zip(replies, known, strict=True) if keep]
            rows[at] = features(scores[known], texts)
    return rows


def fit_pooling(tables: Sequence[Floats], ratings: Sequence[Floats]) -> Floats:
    """(k,) weights of features, standardised and centred within each corpus."""
    width = tables[0].shape[1]
    start = np.zeros(width)
    start[0] = 0.3
    gram, cross = POOL_PENALTY * np.eye(width), np.zeros(width)
    for table, rated_ in zip(tables, ratings, strict=True):
        known = ~np.isnan(table).any(axis=1)
        x, y = table[known] - table[known].mean(axis=0), standardised(rated_[known])
        share = CORPUS_WEIGHT / len(x)
        gram += share * x.T @ x
        cross += share * x.T @ (y - x @ start)
    return np.asarray(start + np.linalg.solve(gram, cross))


def dialogues(edition: Edition) -> dict[str, Any]:
    """Way of scoring -> corpus -> Spearman with ratings of whole dialogues, the corpus left out."""
    raw = {name: pooled(edition.units[name], edition.fit_without(SOURCES[name])) for name in DIALOGUES}
    ratings = {name: edition.units[name].ratings["dialogue"] for name in DIALOGUES}
    spread = np.mean([np.nanstd(table, axis=0) for table in raw.values()], axis=0)
    tables = {name: table / spread for name, table in raw.items()}
    sets = {f"regression on mean and {POOLING[at]}": (0, at) for at in range(1, len(POOLING))}
    sets["regression on all seven"] = tuple(range(len(POOLING)))
    predictions: dict[str, dict[str, Floats]] = {
        "mean of the scores": {n: tables[n][:, 0] for n in DIALOGUES}
    }
    for label, chosen in sets.items():
        predictions[label] = {}
        for name in DIALOGUES:
            others = [other for other in DIALOGUES if other != name]
            weights = fit_pooling([tables[m][:, chosen] for m in others], [ratings[m] for m in others])
            predictions[label][name] = tables[name][:, chosen] @ weights
    heads = left_out("dialogue", edition.units, edition.fit_without)
    predictions["mean of `dimension=dialogue`"] = {name: one.own for name, one in heads.items()}
    return {
        label: {
            name: {
                "spearman": spearman(one[name], ratings[name]),
                "difference": difference(tables[name][:, 0], one[name], ratings[name]),
                "n": len(ratings[name]),
            }
            for name in DIALOGUES
        }
        for label, one in predictions.items()
    }


def some_replies(path: Path) -> list[Item]:
    """One random reply with a context of each of `MANY` dialogues, or all where a file has fewer dialogues."""
    rng = np.random.default_rng(0)
    by_dialogue: list[list[Item]] = []
    for dialogue in native.read(str(path)):
        if any(turn.role == "assistant" for turn in dialogue.turns):
            by_dialogue.append([item for item in items([dialogue], Selection(items="all")) if item.context])
    by_dialogue = [some for some in by_dialogue if some]
    if len(by_dialogue) < MANY:
        every = [item for some in by_dialogue for item in some]
        return [every[at] for at in rng.permutation(len(every))[:MANY]]
    chosen = rng.permutation(len(by_dialogue))[:MANY]
    return [by_dialogue[at][int(rng.integers(len(by_dialogue[at])))] for at in chosen]


def exchange(said: str, reply: str) -> Item:
    turns = (Turn("user", said), Turn("assistant", reply))
    return Item("x#1", "x", "bot", turns, 1, cluster="x", pair="x")


def code() -> list[Item]:
    """Functions of this package as replies to the first line of their docstring."""
    found = []
    for path in sorted((Path(turnwise.__file__).parent / "stats").glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and (about := ast.get_docstring(node)):
                found.append(exchange(about.splitlines()[0], ast.get_source_segment(text, node) or ""))
    return found[:MANY]


def in_language(name: str) -> list[Item]:
    """Messages of the rating app in a language, each as the reply to the one before."""
    path = Path(turnwise.__file__).parent / "web" / "messages" / f"{name}.toml"
    texts = [text for text in _texts(tomllib.loads(path.read_text())) if len(text) > 40]
    return [exchange(said, reply) for said, reply in pairwise(texts)]


def _texts(messages: Mapping[str, Any]) -> list[str]:
    found = []
    for value in messages.values():
        found += _texts(value) if isinstance(value, dict) else [value] if isinstance(value, str) else []
    return found


def joined(found: Sequence[Item]) -> list[Item]:
    """Very long replies: ten replies of a corpus one after the other, in the context of the first."""
    return [
        exchange(found[at].context[-1].text, " ".join(item.reply for item in found[at : at + 10]))
        for at in range(len(found) - 9)
    ]


def unlike(data: Path, wild: Path) -> dict[str, list[Item]]:
    """Name -> replies of other corpora and kinds of text."""
    found = {name.removeprefix("more/"): some_replies(data / f"{name}.jsonl.gz") for name in (*TALK, *TASKS)}
    found["ten replies in one"] = joined(found["dailydialog"])
    found |= {f"language {name}": in_language(name) for name in LANGUAGES}
    found["code"] = code()
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, files) in enumerate(LOGS.items()):
            out = Path(folder) / f"{number}.jsonl"
            convert([wild / file for file in files], out)
            found[name] = some_replies(out)
    return found


def familiar(data: Path, wild: Path) -> dict[str, Any]:
    """Name -> number of replies, and the shares that are unscored for their language and as unfamiliar.

    The rated groups are tested with a limit from the other eight. The detector reads no network, so that it is the same
    for both editions. `vectors` has, for MultiWOZ, the share that a limit on the similarity to real exchanges finds.
    """
    edition = Edition(data, "turnwise")
    lexicon = edition.signals.lexicon
    most = load(shipped("turnwise") or "", "turnwise").config["most_unknown"]

    def table(some: Sequence[Item]) -> tuple[Floats, Floats, Floats]:
        known = [item for item in some if reply_and_context(item) is not None]
        rows = [counts(*text, lexicon) for item in known if (text := reply_and_context(item))]
        foreign = np.array([is_foreign(item, lexicon, most) for item in known])
        return np.array(rows), foreign, np.array([marks(item.reply) > MOST_MARKS for item in known])

    def shares(some: tuple[Floats, Floats, Floats], fitted: Familiarity) -> dict[str, float]:
        rows, foreign, marked = some
        far = ((fitted.distances(rows) > fitted.limit) | marked) & ~foreign
        return {"n": len(far), "language": float(foreign.mean()), "unfamiliar": float(far.mean())}

    own = {group.name: table(group.items) for group in edition.groups}
    found: dict[str, Any] = {"rated": {}}
    for group in edition.groups:
        fitted = Familiarity.of([rows for other, (rows, _, _) in own.items() if other != group.name])
        found["rated"][group.name] = shares(own[group.name], fitted)
        far = (fitted.distances(own[group.name][0]) > fitted.limit) | own[group.name][2]
        sizes = standardised(np.array(group.values))[far]
        found["rated"][group.name]["rating"] = float(sizes.mean()) if far.any() else None
    whole = Familiarity.of([rows for rows, _, _ in own.values()])
    texts = unlike(data, wild)
    found["others"] = {name: shares(table(some), whole) for name, some in texts.items()}

    def similarity(some: Sequence[Item]) -> Floats:
        columns = ["usual reply", "usual turn"]
        return np.asarray(edition.signals.table(some, edition.encoder, columns).sum(axis=1))

    limit = even_quantile([-similarity(group.items) for group in edition.groups], 1 - FALSE_ALARMS)
    task = TASKS[0]
    found["vectors"] = {task: {"n": MANY, "unfamiliar": float(np.mean(-similarity(texts[task]) > limit))}}
    return found


def coverage(edition: Edition) -> dict[str, Any]:
    """Group -> share of its ratings inside the 95 % interval whose half-width the other groups gave, and that width."""
    errors = {}
    for name in GROUPS:
        unit, weights = edition.units[name], edition.fit_on(other for other in GROUPS if other != name)
        table = np.concatenate(unit.tables)
        known = ~np.isnan(table).any(axis=1)
        predicted = weights.predict(table)
        predicted[[is_copy(item) for [item] in unit.replies]] = np.nanquantile(predicted, 0.01)
        errors[name] = np.abs(standardised(unit.ratings[OVERALL][known]) - predicted[known])
    found = {}
    for name, own in errors.items():
        width = even_quantile([error for other, error in errors.items() if other != name], COVERAGE)
        found[name] = {"inside": float(np.mean(own <= width)), "half_width": width, "n": len(own)}
    return found


def utterances(data: Path) -> Rated:
    """Single replies that chatters of ConvAI2 marked as good or bad: the only corpus with more than 1,000 of them."""
    there = list(native.read(str(data / "convai2_2018.jsonl.gz")))
    selection = Selection(items="rated", dimension=MARK)
    found = [item for item in items(there, selection) if reply_and_context(item) is not None]
    wanted = {item.id for item in found}
    ratings = [one for d in there for one in d.ratings if one.item in wanted and one.dimension == MARK]
    return Rated("convai2_2018", found, gold(ratings, MARK, "turn"))


def own_ratings(data: Path) -> dict[str, Any]:
    """Name -> number of own ratings -> Spearman on other contexts and coverage, after the steps of `train turnwise`.

    Only groups with `SPARE` further replies are used; the name gives the number of these groups.
    """
    corpora = Corpora(data, "turnwise", [*rated(data), utterances(data)])
    sizes = [len(values) for values in corpora.values]
    marked, nine = len(GROUPS), range(len(GROUPS))
    found: dict[str, Any] = {}
    for groups, most in (
        (list(nine), 100),
        ([n for n in nine if sizes[n] >= 300 + SPARE], 300),
        ([marked], 1000),
    ):
        name = corpora.groups[marked].name if groups == [marked] else f"{len(groups)} groups"
        for count in (count for count in COUNTS if count <= most):
            means = [np.mean(list(corpora.calibrated(n, count)), axis=0) for n in groups]
            cell = dict(zip(("spearman", "coverage"), np.mean(means, axis=0).tolist(), strict=True))
            found.setdefault(name, {})[str(count)] = cell
        before = [corpora.spearman(n, [m for m in nine if m != n], "all", PENALTY) for n in groups]
        found[name]["0"] = {"spearman": float(np.mean(before))}
        say(f"own ratings, {name}: {found[name]}")
    return found


def own_choices(data: Path) -> dict[str, Any]:
    """Number of choices -> share of choices on other contexts that are predicted, after `train --on preferences`.

    Of two replies to a context, the one with the higher mean rating counts as chosen. Means over draws and groups.
    """
    corpora = Corpora(data)
    found: dict[str, Any] = {}
    for n, group in enumerate(corpora.groups):
        weights = corpora.fit([m for m in range(len(GROUPS)) if m != n], "all", PENALTY)
        rows = weights.standardise(corpora.tables[n])
        contexts, values = context_groups(group.items), corpora.values[n]
        rng = np.random.default_rng(0)
        pairs = []
        for context in range(int(contexts.max()) + 1):
            there = [
                (one, two)
                for one, two in combinations(np.flatnonzero(contexts == context), 2)
                if values[one] != values[two] and not np.isnan(rows[[one, two]]).any()
            ]
            pairs += [there[at] for at in rng.permutation(len(there))[:PAIRS]]
        if len({contexts[one] for one, _ in pairs}) < FEWEST_CONTEXTS:
            continue
        gaps = np.stack([rows[one] - rows[two] for one, two in pairs])
        chosen = np.array([float(values[one] > values[two]) for one, two in pairs])
        of = np.array([contexts[one] for one, _ in pairs])
        found[group.name] = {"0": _predicted(gaps @ weights.weights, chosen), "pairs": len(pairs)}
        for count in COUNTS[:4]:
            shares = list(_draws(gaps, chosen, of, weights.weights, count))
            if shares:
                found[group.name][str(count)] = float(np.mean(shares))
        say(f"own choices, {group.name}: {found[group.name]}")
    return found


def _draws(gaps: Floats, chosen: Floats, contexts: Ints, start: Floats, count: int) -> Iterator[float]:
    """The share of predicted choices on the other contexts, for each random draw of contexts with `count` choices."""
    rng = np.random.default_rng(0)
    for _ in range(OWN_DRAWS):
        order = rng.permutation(np.unique(contexts))
        rows = np.concatenate([np.flatnonzero(contexts == one) for one in order])
        mine = rows[:count]
        rest = rows[~np.isin(contexts[rows], contexts[mine])]
        if len(mine) < count or len(rest) < SPARE:
            return
        fit = fit_choices(gaps[mine], chosen[mine], contexts[mine], start, rng=rng)
        yield _predicted(gaps[rest] @ fit.weights, chosen[rest])


def _predicted(log_odds: Floats, chosen: Floats) -> float:
    """The share of choices whose log odds have the right sign."""
    return float(np.mean((log_odds > 0) == (chosen == 1)))


def page(kept: Mapping[str, Any]) -> str:
    """The part of the page from the heading of the tables on."""
    parts = [TABLES]
    for edition in EDITIONS:
        if "dimensions" in kept.get(edition, {}):
            parts += [f"### Dimensions, `{edition}`", _dimension_table(kept[edition]["dimensions"])]
    for edition in EDITIONS:
        if "dialogues" in kept.get(edition, {}):
            parts += [f"### Whole dialogues, `{edition}`", _dialogue_table(kept[edition]["dialogues"])]
    there = [edition for edition in EDITIONS if "coverage" in kept.get(edition, {})]
    cover = [
        [name, str(kept[there[0]]["coverage"][name]["n"]),
         *(f"{kept[one]['coverage'][name]['inside']:.3f} (+-{kept[one]['coverage'][name]['half_width']:.2f})"
           for one in there)]
        for name in GROUPS
    ]  # fmt: skip
    head = ["group left out", "replies", *(f"inside the interval of `{one}` (half-width)" for one in there)]
    parts += ["### Intervals", lined(head, cover), "### Own ratings", _own_table(kept["ratings"])]
    parts += ["### Own preferences", _choice_table(kept["choices"]), "### Unscored replies"]
    head = ["number", "another language", "unfamiliar"]
    for label, rows in (("rated replies, the group left out", "rated"), ("other replies", "others")):
        lines = [
            [name, str(one["n"]), f"{one['language']:.3f}", f"{one['unfamiliar']:.3f}",
             *(["-" if one["rating"] is None else f"{one['rating']:+.2f}"] if "rating" in one else [])]
            for name, one in kept["familiar"][rows].items()
        ]  # fmt: skip
        more = ["mean rating of these, in SD"] if rows == "rated" else []
        parts.append(lined([label, *head, *more], lines))
    return "\n\n".join(parts) + "\n"


def _gap(cell: Mapping[str, Any]) -> str:
    low, high = cell["difference"]
    return f"[{low:+.3f}, {high:+.3f}]"


def _dimension_table(found: Mapping[str, Any]) -> str:
    lines = []
    for dimension, cells in found.items():
        means = [float(np.mean([cell[key] for cell in cells.values()])) for key in ("overall", "own")]
        lines.append([f"**{dimension}**", "mean", "", f"{means[0]:.3f}", f"{means[1]:.3f}", ""])
        for name, cell in cells.items():
            rated_as = " + ".join(DIMENSIONS[dimension][name])
            own = [f"{cell['overall']:.3f}", f"{cell['own']:.3f}", _gap(cell)]
            lines.append(["", name, f"{rated_as} ({cell['n']})", *own])
    return lined(["dimension", "left out", "rated as (number)", "`overall`", "own", "difference"], lines)


def _dialogue_table(found: Mapping[str, Any]) -> str:
    lines = []
    for label, cells in found.items():
        mean = float(np.mean([cell["spearman"] for cell in cells.values()]))
        first = label == next(iter(found))
        shown = [f"{c['spearman']:.3f}" + ("" if first else f" {_gap(c)}") for c in cells.values()]
        lines.append([label, f"{mean:.3f}", *shown])
    sizes = next(iter(found.values()))
    head = ["score of a dialogue", "mean", *(f"{name} ({cell['n']})" for name, cell in sizes.items())]
    return lined(head, lines)


def _own_table(found: Mapping[str, Any]) -> str:
    head = [
        "own ratings",
        *(f"{name}: {what}" for name in found for what in ("Spearman", "inside the interval")),
    ]
    lines = []
    for count in ("0", *map(str, COUNTS)):
        cells = [found[name].get(count, {}) for name in found]
        shown = [
            f"{cell[key]:.3f}" if key in cell else "-" for cell in cells for key in ("spearman", "coverage")
        ]
        lines.append([count, *shown])
    return lined(head, lines)


def _choice_table(found: Mapping[str, Any]) -> str:
    lines = [
        [count, *(f"{one[count]:.3f}" if count in one else "-" for one in found.values())]
        for count in ("0", *map(str, COUNTS[:4]))
    ]
    return lined(["own choices", *(f"{name} ({one['pairs']} pairs)" for name, one in found.items())], lines)


PARTS: dict[str, Callable[[Path, Path], Any]] = {
    **{name: lambda data, wild, name=name: measured(Edition(data, name)) for name in EDITIONS},
    "familiar": familiar, "ratings": lambda data, wild: own_ratings(data),
    "choices": lambda data, wild: own_choices(data),
}  # fmt: skip


def main() -> None:
    data, wild = Path(sys.argv[1]), Path(sys.argv[2])
    for part in sys.argv[3:] or PARTS:
        found = PARTS[part](data, wild)
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        KEPT.write_text(json.dumps(kept | {part: found}, indent=1) + "\n")
        say(f"{part}: written")
    before, _, _ = PAGE.read_text().partition(TABLES)
    PAGE.write_text(before + page(json.loads(KEPT.read_text())))


if __name__ == "__main__":
    main()
