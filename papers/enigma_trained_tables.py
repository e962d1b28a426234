"""The tables of papers/enigma-trained.md from papers/enigma-trained.json."""

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.stats.correlation import pearson, row_correlations, spearman
from turnwise.stats.interval import percentile

SCORES = ("flight", "status", "reward")
SELECTED = {
    "flight": 0.5,
    "status": 0.7,
    "reward": 0.65,
}  # true means above these: the paper's 'selected agents'
DRAWS = 2000  # resamples of agents
FEWEST = 4  # agents for a correlation
COLLAPSED = (0.5, 2.0)  # mean zeta outside this is a collapse, which `enigma` refuses
# Table 1, Pearson for flight, status and reward: method -> all agents, selected agents.
PUBLISHED = {
    "BLEU": ((0.1450, -0.1907, -0.0709), (-0.0621, -0.1442, 0.2944)),
    "perplexity": ((-0.1598, 0.1325, 0.0195), (-0.0197, -0.1775, 0.0460)),
    "self-play": ((0.6450, 0.7926, 0.7482), (0.0970, 0.5203, 0.4777)),
    "ENIGMA": ((0.9255, 0.9854, 0.9672), (0.8640, 0.9031, 0.8952)),
}
AGENT_METHODS = ("BLEU", "perplexity", "self-play", "self-play, reward model")
LOG_METHODS = {
    "hand-crafted regression": "features",
    "mean of the others": "mean",
    "mean of relabelled scores": "mean-relabelled",
    "closed-form DICE": "dice-linear",
    "ours (`robust`)": "robust",
}
RAW = ", before calibration"
LOG_ROWS = (
    "hand-crafted regression",
    f"mean of the others{RAW}",
    "mean of relabelled scores",
    "closed-form DICE",
    f"ours (`robust`){RAW}",
    "ours (`robust`)",
    "ENIGMA",
)
DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
STATS = DATA / "enigma_stats" / "airdialogue.csv"


def estimates(case: dict[str, Any], setting: str, method: str, score: str) -> dict[str, float]:
    """Agent -> what the method says of it, higher is better; refused and collapsed agents are left out."""
    if method in ("BLEU", "perplexity"):
        sign, key = (1, "bleu") if method == "BLEU" else (-1, "perplexity")
        return {name: sign * found[key] for name, found in case["language"].items() if key in found}
    if method.startswith("self-play"):
        return dict(case.get("self-play", {}).get(method, {}).get(score, {}))
    if method == "ENIGMA":
        found = case.get("enigma", {}).get(setting, {})
        low, high = COLLAPSED
        return {name: one[score] for name, one in found.items() if low <= one["mean_zeta"] <= high}
    plain = method.removesuffix(RAW)
    rows = case["estimates"].get(setting, {}).get(score, {}).get(LOG_METHODS[plain], {})
    if plain != method:
        return {name: one["raw"] for name, one in rows.items() if one["raw"] is not None}
    return {name: one["estimate"] for name, one in rows.items() if "refused" not in one}


def correlations(x: Sequence[float], y: Sequence[float]) -> dict[str, Any] | None:
    """Pearson and Spearman with percentile intervals that resample agents; None with too few or equal estimates."""
    pairs = np.array([x, y], dtype=float)
    if len(x) < FEWEST or np.ptp(pairs[0]) < 1e-9:
        return None
    at = np.random.default_rng(0).integers(len(x), size=(DRAWS, len(x)))
    found: dict[str, Any] = {"n": len(x)}
    for name, statistic in (("pearson", pearson), ("spearman", spearman)):
        values = row_correlations(name, pairs[0][at], pairs[1][at])
        bounds = percentile(values[np.isfinite(values)], n_clusters=len(x))
        found[name] = (statistic(*pairs), bounds)
    return found


def chosen(case: dict[str, Any], score: str, *, selected: bool) -> dict[str, float]:
    """Agent -> its true mean, for all agents or the selected ones."""
    truth = {name: means[score] for name, means in case["truth"].items()}
    return {name: mean for name, mean in truth.items() if not selected or mean > SELECTED[score]}


def cell(case: dict[str, Any], setting: str, method: str, score: str, *, selected: bool = False) -> str:
    truth = chosen(case, score, selected=selected)
    said = {name: value for name, value in estimates(case, setting, method, score).items() if name in truth}
    found = correlations(list(said.values()), [truth[name] for name in said])
    if found is None:
        return f"- ({len(said)} of {len(truth)})"
    few = f" ({len(said)} of {len(truth)})" if len(said) < len(truth) else ""
    return f"{bounded(*found['pearson'])}, {bounded(*found['spearman'])}{few}"


def bounded(value: float, bounds: tuple[float, float] | None) -> str:
    """A correlation with its interval, if there is one."""
    return signed(value) + (f" [{signed(bounds[0])}, {signed(bounds[1])}]" if bounds else "")


def signed(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)


def lines(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    found = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in found)


def methods_of(case: dict[str, Any]) -> list[str]:
    first = [name for name in AGENT_METHODS if estimates(case, "full", name, "reward")]
    return [*first, *LOG_ROWS]


def table_1(case: dict[str, Any]) -> str:
    """Pearson with its interval and Spearman of every method, for all and for selected agents."""

    def rows() -> Iterator[list[str]]:
        for selected in (False, True):
            counts = [len(chosen(case, score, selected=selected)) for score in SCORES]
            which = f"selected, {min(counts)} to {max(counts)}" if selected else f"all {counts[0]}"
            for method in methods_of(case):
                cells = [cell(case, "full", method, score, selected=selected) for score in SCORES]
                yield [which, method, *cells]

    return lines(["agents", "method", *SCORES], rows())


def settings_table(case: dict[str, Any]) -> str:
    def rows() -> Iterator[list[str]]:
        for setting in case["estimates"]:
            for method in LOG_ROWS:
                if setting in case.get("enigma", {}) or method != "ENIGMA":
                    yield [setting, method, *(setting_cell(setting, method, score) for score in SCORES)]

    def setting_cell(setting: str, method: str, score: str) -> str:
        found = case["estimates"][setting].get(score, {})
        there = method == "ENIGMA" or LOG_METHODS[method.removesuffix(RAW)] in found
        return cell(case, setting, method, score) if there else "not run"

    return lines(["data", "method", *SCORES], rows())


def table_3(case: dict[str, Any]) -> str:
    def rows() -> Iterator[list[str]]:
        for name, means in case["truth"].items():
            own = case["language"][name]
            shown = [f"{own['bleu']:.1f}", f"{own['perplexity']:.2f}" if "perplexity" in own else "-"]
            true = [f"{means[score]:.3f}" for score in ("reward", "name", "flight", "status")]
            played = case.get("self-play", {}).get("self-play", {}).get("reward", {}).get(name)
            yield [name, *shown, *true, "-" if played is None else f"{played:.3f}"]

    return lines(
        ["seller", "BLEU", "perplexity", "reward", "name", "flight", "status", "reward in self-play"], rows()
    )


def beside(case: dict[str, Any]) -> str:
    """Table 1 of the paper beside ours: theirs, ours, and whether it is the same work."""
    same = {
        "BLEU": "yes, on simulated dialogues",
        "perplexity": "yes, of slot texts",
        "self-play": "yes: trained customer, the task's own score",
        "ENIGMA": "frozen MiniLM, `quick`; theirs RoBERTa, tuned",
    }

    def rows() -> Iterator[list[str]]:
        for method in (*PUBLISHED, "ours (`robust`)"):
            for selected in (False, True):
                theirs = PUBLISHED[method][selected] if method in PUBLISHED else None
                yield [
                    method,
                    "selected" if selected else "all",
                    ", ".join(map(signed, theirs)) if theirs else "-",
                    ", ".join(ours(method, score, selected=selected) for score in SCORES),
                    same.get(method, "not in the paper"),
                ]

    def ours(method: str, score: str, *, selected: bool) -> str:
        truth = chosen(case, score, selected=selected)
        said = {n: value for n, value in estimates(case, "full", method, score).items() if n in truth}
        found = correlations(list(said.values()), [truth[name] for name in said])
        return "-" if found is None else signed(found["pearson"][0])

    return lines(["method", "agents", "theirs", "ours", "same work?"], rows())


def spread(case: dict[str, Any]) -> str:
    """The true means of the agents beside the published ones of the paper's 24 sellers, where these are at hand."""
    keys = {"reward": "reward-mean", "flight": "flight_score-mean", "status": "status_score-mean"}
    published = list(csv.DictReader(STATS.open())) if STATS.exists() else []

    def rows() -> Iterator[list[str]]:
        for score, key in keys.items():
            mine = [means[score] for means in case["truth"].values()]
            theirs = [float(row[key]) for row in published]
            yield [
                score,
                *(
                    f"{min(x):.2f} to {max(x):.2f}, {max(x) - min(x):.2f}" if x else "-"
                    for x in (theirs, mine)
                ),
            ]

    return lines(
        ["score", "theirs: 24 sellers, spread", f"ours: {len(case['truth'])} sellers, spread"], rows()
    )


def intervals(case: dict[str, Any]) -> str:
    """Coverage, mean absolute error and half width of `robust` in each setting, pooled over the three scores."""

    def rows() -> Iterator[list[str]]:
        for setting, by_score in case["estimates"].items():
            found = []
            refused = 0
            for score, found_of in by_score.items():
                for name, one in found_of["robust"].items():
                    if "refused" in one:
                        refused += 1
                        continue
                    truth, (low, high) = case["truth"][name][score], one["interval"]
                    found.append((low <= truth <= high, abs(one["estimate"] - truth), (high - low) / 2))
            figures = [f"{one:.3f}" for one in np.mean(found, axis=0)] if found else ["-"] * 3
            yield [setting, str(len(found)), str(refused), *figures]

    return lines(["data", "answered", "refused", "coverage", "mae", "half width"], rows())


def coverage_by_share(case: dict[str, Any]) -> str:
    """How many intervals of `robust` hold, by setting and by the share of the corpus that a seller learned from.

    Pooled over the three scores; the names of trained sellers end with the percentage.
    """
    shares = sorted({name.rsplit("-", 1)[1] for name in case["truth"]}, reverse=True)

    def rows() -> Iterator[list[str]]:
        for setting, by_score in case["estimates"].items():
            held: dict[str, list[bool]] = {share: [] for share in shares}
            for score, found in by_score.items():
                for name, one in found["robust"].items():
                    if "refused" not in one:
                        low, high = one["interval"]
                        held[name.rsplit("-", 1)[1]].append(low <= case["truth"][name][score] <= high)
            yield [setting, *(f"{sum(some)} of {len(some)}" for some in held.values())]

    return lines(["data", *(f"{int(share)} % of the corpus" for share in shares)], rows())


def merged(cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The draws of one family as one case, whose agents are named by draw and name.

    A part that a draw lacks has no estimates of its agents, which the tables count as without an estimate.
    """

    def together(parts: Sequence[Any], depth: int) -> Any:
        """The tables of the draws, merged at the level of agents, `depth` levels down."""
        if depth:
            keys = dict.fromkeys(key for one in parts for key in one)
            return {key: together([one.get(key, {}) for one in parts], depth - 1) for key in keys}
        named = zip((case["draw"] for case in cases), parts, strict=True)
        return {f"{draw}/{name}": one for draw, part in named for name, one in part.items()}

    depths = {"truth": 0, "language": 0, "self-play": 2, "estimates": 3, "enigma": 1}
    found = {key: together([case.get(key, {}) for case in cases], depth) for key, depth in depths.items()}
    first = cases[0]
    draws = ", ".join(str(case["draw"]) for case in cases)
    sizes = f"{first['agents']} sellers each, {first['dialogues']} dialogues a seller"
    about = f"`{first['family']}`, draw{'s' * (len(cases) > 1)} {draws}: {sizes}."
    return {**found, "family": first["family"], "about": about}


def by_draw(families: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    """Pearson on `reward` of each draw alone, with full data."""
    shown = (
        "BLEU", "self-play", "hand-crafted regression", "mean of relabelled scores", "closed-form DICE", "ENIGMA",
        "ours (`robust`)",
    )  # fmt: skip

    def rows() -> Iterator[list[str]]:
        for family, cases in families.items():
            for case in cases:
                yield [family, str(case["draw"]), *(pearson_of(case, method) for method in shown)]

    def pearson_of(case: dict[str, Any], method: str) -> str:
        truth = chosen(case, "reward", selected=False)
        said = estimates(case, "full", method, "reward")
        found = correlations(list(said.values()), [truth[name] for name in said])
        few = f" ({len(said)} of {len(truth)})" if len(said) < len(truth) else ""
        return "-" if found is None else signed(found["pearson"][0]) + few

    return lines(["family", "draw", *shown], rows())


def apart(case: dict[str, Any]) -> str:
    """Pearson of BLEU and perplexity with `reward`, over all trained sellers and among those that are alike."""

    def alike(name: str, key: str) -> str:
        """The group of a seller, which is named DRAW/KIND-SHARE."""
        kind, share = name.rsplit("-", 1)
        return {"all": "", "share of the corpus": f"{name.split('/')[0]}/{share}", "losses": kind}[key]

    def rows() -> Iterator[list[str]]:
        for key in ("all", "share of the corpus", "losses"):
            groups = {alike(name, key) for name in case["truth"]}
            found = []
            for method in ("BLEU", "perplexity"):
                pairs = np.array([(value, case["truth"][name]["reward"])
                                  for name, value in estimates(case, "full", method, "reward").items()])  # fmt: skip
                names = list(estimates(case, "full", method, "reward"))
                for group in groups:
                    mine = np.array([alike(name, key) == group for name in names])
                    pairs[mine] -= pairs[mine].mean(0)
                found.append(signed(pearson(*pairs.T)))
            yield ["all sellers" if key == "all" else f"sellers of a draw with the same {key}", *found]

    return lines(["among", "BLEU", "perplexity"], rows())


def page_with(cases: Sequence[dict[str, Any]], page: str) -> str:
    """The page with its tables written anew from the finished parts."""
    blocks = {"beside": beside, "table 1": table_1, "settings": settings_table, "table 3": table_3}
    blocks |= {"spread": spread, "intervals": intervals, "apart": apart, "by share": coverage_by_share}
    families: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        if "full" in case.get("estimates", {}):
            families.setdefault(case["family"], []).append(case)
    whole = [merged(some) for some in families.values()]
    found = {
        name: "\n\n".join(
            f"{case['about']}\n\n{make(case)}"
            for case in whole
            if case["family"] == "trained" or name not in ("beside", "table 3", "apart", "by share")
        )
        for name, make in blocks.items()
        if f"<!-- {name} -->" in page
    }
    found["by draw"] = by_draw(families)
    for name, text in found.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        page = block.sub(lambda old, text=text: f"{old[1]}{text}\n{old[2]}", page)
    return page
