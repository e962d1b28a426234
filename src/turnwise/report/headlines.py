"""The main results of a run as sentences."""

from collections.abc import Callable, Iterator, Sequence

from turnwise.errors import counted
from turnwise.report.figure import Record, interval, with_estimate, with_interval
from turnwise.report.runs import Run
from turnwise.report.text import number, p_value

LEVEL = 0.05  # significance level


def sentences(run: Run) -> list[str]:
    """The main results of a run; empty for commands that have no such sentences."""
    return list(_SENTENCES[run.command](run)) if run.command in _SENTENCES else []


def agreement(records: Sequence[Record]) -> list[Record]:
    """Correlations with people, highest first, by one statistic on one dimension at the finest level.

    Levels are turn, dialogue and system. The statistic is Spearman and the dimension `overall` if the run has them,
    else its first. The list is empty without metrics.
    """
    mine = [r for r in with_estimate(records) if r.get("metric") and r.get("statistic")]
    if not mine:
        return []
    statistics = {r["statistic"] for r in mine}
    statistic = "spearman" if "spearman" in statistics else mine[0]["statistic"]
    finest = next(
        level for level in ("turn", "dialogue", "pair", "system") if any(r["level"] == level for r in mine)
    )
    dimensions = {r["dimension"] for r in mine}
    dimension = "overall" if "overall" in dimensions else mine[0]["dimension"]
    chosen = [
        r for r in mine if (r["statistic"], r["level"], r["dimension"]) == (statistic, finest, dimension)
    ]
    return sorted(chosen, key=lambda record: -record["estimate"])


def _score(run: Run) -> Iterator[str]:
    """A sentence with the numbers of agents and metrics; none for fewer than two agents."""
    records = [r for r in with_estimate(run.results) if r.get("agent")]
    agents = {r["agent"] for r in records}
    metrics = dict.fromkeys(r["metric"] for r in records)
    if len(agents) < 2 or not metrics:
        return
    yield f"{len(agents)} agents were scored by {len(metrics)} metrics: {', '.join(metrics)}."


def _meta(run: Run) -> Iterator[str]:
    """Which metric agrees best with people, and whether it is shown to; then which ranks against people.

    Without a metric: sentences on how far raters agree.
    """
    ranked = agreement(run.results)
    if not ranked:
        yield from _raters(run)
        return
    best, worst = ranked[0], ranked[-1]
    bounds = interval(best)
    above = (
        f"; one person against the others reaches {number(best['ceiling'], 2)}" if best.get("ceiling") else ""
    )
    where = f"{best['statistic']} {with_interval(best)} on {best['dimension']}, {best['level']} level{above}"
    p = best.get("p")
    chance = float(best["floor"]) if best["level"] == "pair" else 0.0  # an accuracy is not 0 by chance
    shown = (
        bounds[0] > chance
        if bounds is not None
        else best["estimate"] > chance and p is not None and p <= LEVEL
    )
    if not shown:
        yield f"Trust none of these metrics yet: even {best['metric']} was not shown to agree with people ({where})."
    else:
        few = "{} agrees with people" if len(ranked) == 1 else "Of these metrics trust {} most"
        yield f"{few.format(best['metric'])}: {where}."
    if worst is not best and worst["estimate"] < 0 and (worst["p"] or 1.0) <= LEVEL:
        yield f"Do not use {worst['metric']}: it ranks against people ({worst['statistic']} {with_interval(worst)})."


def _raters(run: Run) -> Iterator[str]:
    """The agreement of one rater with the others for each dimension, or why it is unknown if no metric was measured."""
    one = [
        r for r in with_estimate(run.results) if not r.get("metric") and r.get("statistic") == "leave-one-out"
    ]
    for dimension in dict.fromkeys(record["dimension"] for record in one):
        first = next(record for record in one if record["dimension"] == dimension)
        yield (
            f"On {dimension} one person follows the others by {with_interval(first)} ({first['level']} level): a "
            "metric that does as well is as good a judge as one person."
        )
    if not one and not any(r.get("metric") for r in run.results):
        yield f"How far raters agree could not be found out: {_first_reason(run)}"


def _attack(run: Run) -> Iterator[str]:
    """The result of a hardening, or of an attack: no verdict, no fraud, or the worst fraud."""
    verdict = run.document.get("verdict")
    if rounds := run.document.get("rounds"):
        # Runs before version 0.2 have the sentence under `told`.
        left = run.document.get("summary") or run.document["told"]
        yield f"{run.document['hardened']}, after {counted(len(rounds), 'attack')}: {left}."
        return
    if not verdict:
        yield f"No verdict: {_first_reason(run)}"
        return
    metric = run.results[0]["metric"]
    if not verdict["gameable"]:
        searched = "; nothing was searched for" if run.document.get("unsearched") else ""
        yield (
            f"No fraud was shown against {metric}: of {verdict['judged']} strategies judged none is above people "
            f"beyond chance{searched}."
        )
        return
    worst = next(r for r in run.results if r["strategy"] == verdict["worst"])
    yield (
        f"Do not tune a system on {metric}: a reply that {verdict['description']} scores above people's in "
        f"{worst['beats_human']:.0%} of contexts ({verdict['frauds']} frauds found)."
    )


def _critics(run: Run) -> Iterator[str]:
    """The best system by each critic, or a warning if a control scores as high as a system."""
    for name, critic in (run.document.get("critics") or {}).items():
        systems = [r for r in with_estimate(run.results) if r["estimator"] == name and r["kind"] == "system"]
        if not systems:
            continue
        best = max(systems, key=lambda record: float(record["estimate"]))
        if critic["fooled"]:
            fools = ", ".join(critic["fooled_by"])
            yield f"Do not rank systems by {name}: to it {fools} is worth as much as {critic['worst_system']}."
        else:
            yield (
                f"{name} puts {best['target']} first of {len(systems)}: {with_interval(best)}, and every control below "
                f"every system by {number(critic['margin'])} or more; its intervals know of chance alone."
            )


def _ope(run: Run) -> Iterator[str]:
    """What critics say; else how well left-out agents were predicted; else the estimate for each target and rating.

    The estimate is that of the first estimator.

    For left-out agents: by the first estimator with a correlation over at least three agents, or why there is none.
    """
    if any(record.get("kind") for record in run.results):
        yield from _critics(run)
        return
    checks = run.document.get("validation")
    if checks:
        known = "truth" if any(r.get("truth") is not None for r in run.results) else "known mean"
        for check in checks:
            if check["n_agents"] >= 3 and check["pearson"] is not None:
                cover = (
                    ""
                    if check["coverage"] is None
                    else f", {check['coverage']:.0%} of intervals hold the {known}"
                )
                yield (
                    f"{check['estimator']} predicted {check['rating']} of {check['n_agents']} agents left out in "
                    f"turn: correlation {number(check['pearson'], 2)}, mean error {number(check['mae'])}{cover}."
                )
                return
        yield f"Agents left out in turn could not be predicted: {_first_reason(run)}"
        return
    for target, rating in dict.fromkeys((r["target"], r["rating"]) for r in run.results):
        first = next(r for r in run.results if (r["target"], r["rating"]) == (target, rating))
        if first["estimate"] is None:
            yield f"{target}: no answer on {rating}: {first['reason']}"
            continue
        truth = (
            f"; the truth, known here, is {number(first['truth'])}" if first.get("truth") is not None else ""
        )
        unseen = "whom nobody rated" if first.get("logged") is None else "estimated without its own dialogues"
        yield f"{target}, {unseen}, would get {with_interval(first)} on {rating}{truth}."


def _first_reason(run: Run) -> str:
    """The reason of the first record that has one, or `too little was measured`."""
    said = (r["reason"] for r in run.results if r.get("reason"))
    return str(next(said, "too little was measured"))


def _compare(run: Run) -> Iterator[str]:
    """A sentence on the first metric by which a difference was shown; if none was, on the first with an estimate.

    Without any estimate, why nothing could be compared.
    """
    records = with_estimate(run.results)
    if not records:
        yield f"Nothing could be compared: {_first_reason(run)}"
    shown = [r for r in records if r.get("verdict") not in (None, "not shown")]
    for record in (shown or records)[:1]:
        a, b, metric = record["agent_a"], record["agent_b"], record["metric"]
        by = f"{with_interval(record)}, p {p_value(record.get('p_adjusted'))}"
        if shown:
            leads = str(record["verdict"]).replace("A is", f"{a} is", 1).replace("B is", f"{b} is", 1)
            other = b if str(record["verdict"]).startswith("A") else a
            yield f"{leads} than {other} by {metric}: A - B is {by}."
        else:
            yield f"Neither {a} nor {b} was shown to be better by {metric} ({by}): collect more before choosing."


def _calibrate(run: Run) -> Iterator[str]:
    """The best agent by mean rating, and how many differences were shown; or why there is no answer."""
    records = with_estimate(run.results)
    if not records:
        yield f"No mean rating could be estimated: {_first_reason(run)}"
        return
    metric = records[0]["metric"]
    mine = [r for r in records if r["metric"] == metric]
    means = [r for r in mine if not r.get("minus")]
    best = max(means, key=lambda record: float(record["estimate"]))
    few = f"{best['n_labels']} ratings of {best['n_items']} items"
    yield f"{best['agent']} would get {with_interval(best)} on {best['rating']}, from {few} and {metric}."
    pairs = [r for r in mine if r.get("minus")]
    shown = [r for r in pairs if r.get("p_adjusted") is not None and r["p_adjusted"] <= LEVEL]
    if pairs:
        yield f"{len(shown)} of {counted(len(pairs), 'difference')} between agents were shown."


def _power(run: Run) -> Iterator[str]:
    """The design with the fewest dialogues, or with the smallest difference; or why there is none."""
    records = with_estimate(run.results)
    if not records:
        yield f"Nothing could be planned: {_first_reason(run)}"
        return
    best = min(records, key=lambda record: float(record["estimate"]))
    how = f"{best['design']}, {counted(best['turns'], 'turn')} and {counted(best['raters'], 'rater')}"
    yield (
        f"{counted(best['dialogues'], 'dialogue')} of each agent show a difference of {number(best['difference'])} by "
        f"{best['metric']} ({how}) with power {best['target_power']:g}."
    )


_SENTENCES: dict[str, Callable[[Run], Iterator[str]]] = {
    "score": _score,
    "meta": _meta,
    "attack": _attack,
    "ope": _ope,
    "compare": _compare,
    "calibrate": _calibrate,
    "power": _power,
}
