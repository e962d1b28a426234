"""Notes on a result: what was not scored and why, and what limits the findings."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from turnwise.errors import counted
from turnwise.types import Finding

SHOWN = 5  # placeholders or agents that a note names
NO_VARIATION = ("none: no variation", "no interval: the ratings do not vary")  # in the method of a finding
_FRACTION = re.compile(r"-?\d+\.\d+")
WARNING = "warning: "  # of a line that --quiet does not hide


def notes(findings: Sequence[Finding]) -> list[str]:
    """Lines on what was not scored, on what limits the findings, and on findings without a result; without
    repetitions.
    """
    return list(dict.fromkeys([*item_notes(findings), *_without_a_result(findings)]))


def item_notes(findings: Sequence[Finding]) -> list[str]:
    """Lines on what was not scored, once for each metric and reason, then on what limits the findings; without
    repetitions. Counts of items are added up over findings; for agreement, where findings share items, the
    largest counts.
    """
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        for reason, count in finding.unscored.items():
            key = (str(finding.what.get("metric")), reason)
            counts[key] = (
                max(counts.get(key, 0), count) if "statistic" in finding.what else counts.get(key, 0) + count
            )
    metrics: dict[tuple[int, str], list[str]] = {}
    for (name, reason), count in counts.items():
        metrics.setdefault((count, reason), []).append(name)
    found = [
        f"note: {', '.join(names)}: {counted(count, 'item')} not scored: {reason}"
        for (count, reason), names in metrics.items()
    ]
    for finding in findings:
        metric = finding.what.get("metric")
        if trained_on := finding.details.get("in_training"):
            found.append(f"{WARNING}{metric} learned from {_learned(finding, trained_on)}")
        if thinned := _thinned(finding):
            found.append(thinned)
        if uneven := finding.details.get("uneven"):
            found.append(
                f"{WARNING}{metric}{_in_group(finding)} depends on the number of items, and agents have {uneven[0]} to "
                f"{uneven[1]}: their order may be that of these numbers; compare agents with about equally many"
            )
        if "position_bias" in finding.details:
            found.append(_position_bias(finding))
        if cut := finding.details.get("cut"):
            found.append(f"note: {metric}: its model read only the beginning of {counted(cut, 'text')}")
        if unresolved := finding.details.get("unresolved"):
            named = ", ".join(f"{name} ({count})" for name, count in islice(unresolved.items(), SHOWN))
            more = f", and {len(unresolved) - SHOWN} more" if len(unresolved) > SHOWN else ""
            found.append(f"note: placeholders that the ontology does not know: {named}{more}")
    return list(
        dict.fromkeys([*found, *_without_variation(findings), *_pairing(findings), *_judges(findings)])
    )


def _learned(finding: Finding, count: str) -> str:
    """What it means that a metric learned from so many of the items: for its agreement with people, or its scores."""
    if "statistic" in finding.what:
        return f"{count} items here: its agreement with people says nothing about new ones"
    return f"the ratings of {count} items here: its scores are no evidence beside these ratings"


def _without_variation(findings: Sequence[Finding]) -> list[str]:
    """A line for each metric, or for several with the same agents, on estimates that have no interval because values do
    not vary. Comparisons are left out: their verdict does not depend on an interval.
    """
    agents: dict[str, list[str]] = {}
    for finding in findings:
        what, method = finding.what, str(finding.method)
        if (
            "agent_a" not in what
            and finding.estimate is not None
            and finding.interval is None
            and any(reason in method for reason in NO_VARIATION)
        ):
            named = " minus ".join(str(what[key]) for key in ("agent", "minus") if what.get(key))
            agents.setdefault(str(what.get("metric")), []).append(named)
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, those in agents.items():
        metrics.setdefault(tuple(filter(None, dict.fromkeys(those))), []).append(metric)
    found = []
    for named_agents, names in metrics.items():
        more = f" and {len(named_agents) - SHOWN} more" if len(named_agents) > SHOWN else ""
        of = f" of {', '.join(named_agents[:SHOWN])}{more}" if named_agents else ""
        found.append(f"note: {', '.join(names)}{of}: no interval, as the values do not vary")
    return found


def coverage(findings: Sequence[Finding]) -> list[str]:
    """A warning for each estimate of `score` or `compare` that is of less than half of the items that it should be of;
    without repetitions.
    """
    return list(dict.fromkeys(filter(None, map(_mostly_unscored, findings))))


def _mostly_unscored(finding: Finding) -> str | None:
    """A warning if an estimate is of less than half of the items that it should be of; None if not."""
    metric, details = f"{finding.what.get('metric')}{_in_group(finding)}", finding.details
    others = "the others were not scored, and may differ from these"
    if "agent_a" in finding.what:
        counts = [(details.get(f"scored_{side}", 0), details.get(f"unscored_{side}", 0)) for side in "ab"]
        if finding.estimate is None or all(scored >= left for scored, left in counts):
            return None
        covered = " and ".join(
            f"{scored} of {counted(scored + left, 'item')} of {finding.what[f'agent_{side}']}"
            for side, (scored, left) in zip("ab", counts, strict=True)
        )
        return f"{WARNING}{metric} covers only {covered}; {others}"
    left = sum(finding.unscored.values())
    if not 0 < finding.n_items < left:
        return None
    agent = f" of {finding.what['agent']}" if finding.what.get("agent") else ""
    covered = f"{finding.n_items} of {finding.n_items + left} items"
    return f"{WARNING}{metric}{agent} covers only {covered}; {others}"


def _judges(findings: Sequence[Finding]) -> list[str]:
    """For each judge with several samples how far these differ, and for each panel how far its judges agree."""
    found: dict[str, list[str]] = {}
    for finding in findings:
        metric, details = str(finding.what.get("metric")), finding.details
        agent = finding.what.get("agent")
        if "sample_sd" in details:
            one = f"{details['sample_sd']:.2f}{f' ({agent})' if agent else ''}"
            found.setdefault(f"{metric}: standard deviation of the samples of one item", []).append(one)
        if details.get("panel_agreement") is not None:
            one = f"{details['panel_agreement']:.2f}{f' ({agent})' if agent else ''}"
            found.setdefault(f"{metric}: agreement of the judges (alpha)", []).append(one)
    return [f"note: {what}: {', '.join(values)}" for what, values in found.items()]


def _thinned(finding: Finding) -> str | None:
    """A note on items that were left out so that both agents, or runs, have about equally many; None if none were."""
    for side, run in (("a", "the new run"), ("b", "the old run")):
        if left := finding.details.get(f"thinned_{side}"):
            whose = finding.what.get(f"agent_{side}", run)
            return (
                f"note: {finding.what.get('metric')}{_in_group(finding)} depends on the amount of text: "
                f"{counted(left, 'item')} of {whose}, drawn at random, left out, so that both have about equally many"
            )
    return None


def _in_group(finding: Finding) -> str:
    """` in GROUP` for a finding of a group, else empty."""
    return f" in {finding.what['group']}" if finding.what.get("group") else ""


def _position_bias(finding: Finding) -> str:
    """How much more often a judge of pairs chose what was shown first, and how often both orders agree."""
    bias, interval = finding.details["position_bias"], finding.details["position_bias_interval"]
    ends = "" if interval is None else f" [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"
    return (
        f"note: {finding.what.get('metric')}: position bias {100 * bias:+.1f} points{ends} towards what was shown "
        f"first, removed by asking in both orders; they agree in {finding.details['consistent']:.0%} of pairs"
    )


def _without_a_result(findings: Sequence[Finding]) -> list[str]:
    """A line for each status and reason of findings without a result, which names one of them and counts the others.

    A reason that only repeats why items were not scored is left out, as `item_notes` has it.
    """
    about: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.status != "ok" and not _repeats_items(finding):
            what = " ".join(str(value) for value in finding.what.values() if value)
            about.setdefault((finding.status, str(finding.reason)), []).append(what)
    return _grouped(about)


def _repeats_items(finding: Finding) -> bool:
    """Whether the finding's reason is that its items were not scored, and nothing else."""
    rest = str(finding.reason)
    for reason, count in finding.unscored.items():
        rest = rest.replace(f"{reason} ({counted(count, 'item')})", "")
    return not rest.strip("; ")


def document_notes(document: Mapping[str, Any]) -> list[str]:
    """Lines on what a run left out or scored together, which `document`, the content of results.json, lists."""
    return [f"note: {note}" for note in document.get("notes", ())]


def others_without_a_result(records: Sequence[Mapping[str, Any]], findings: Sequence[Finding]) -> list[str]:
    """As the lines of `notes` on findings without a result, for the records of other estimators than the findings'."""
    asked = {finding.what["estimator"] for finding in findings}
    about: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["status"] != "ok" and record["estimator"] not in asked:
            about.setdefault((record["status"], str(record["reason"])), []).append(_estimate_of(record))
    return _grouped(about)


def whole_scales(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line on the estimates whose interval is the whole scale of the ratings; empty if there are none."""
    named = [_estimate_of(record) for record in records if record["diagnostics"].get("whole_scale")]
    said = "the interval is the whole scale of the ratings, so the logs say nothing about this mean"
    return [f"note: {_first_of(named)}: {said}"] if named else []


def _estimate_of(record: Mapping[str, Any]) -> str:
    """Target, rating and estimator of a record of `ope`."""
    return " ".join(str(record[key]) for key in ("target", "rating", "estimator") if record.get(key))


def _first_of(names: Sequence[str]) -> str:
    """The first name, and how many others there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _grouped(about: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """A line for each status and reason, which names the first of what it is about and counts the others.

    Reasons that differ in fractions alone, such as a correlation, are one line with the least and largest of each.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for status, reason in about:
        alike.setdefault((status, _FRACTION.sub("#", reason)), []).append(reason)
    lines = []
    for (status, _), reasons in alike.items():
        names = [name for reason in reasons for name in about[status, reason]]
        lines.append(f"note: {_first_of(names)}: {status}: {_with_ranges(reasons)}")
    return lines


def _with_ranges(reasons: Sequence[str]) -> str:
    """The reason that these are, with `LEAST to LARGEST` in place of a fraction that is not the same in all."""
    columns = zip(*(_FRACTION.findall(reason) for reason in reasons), strict=True)
    ranges = iter([sorted(set(column), key=float) for column in columns])
    return _FRACTION.sub(
        lambda _: " to ".join(dict.fromkeys((one := next(ranges))[:1] + one[-1:])), reasons[0]
    )


def unseen_parts(document: Mapping[str, Any]) -> list[str]:
    """A line on the images, audio and files of the data, which text metrics do not see; empty if there are none.

    `document` is the content of results.json.
    """
    unseen = document.get("unseen_parts")
    if not unseen or not unseen["replies"]:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in unseen["parts"].items())
    return [
        f"note: {unseen['replies']} of {unseen['n_replies']} replies in the data, or their contexts, hold parts that "
        f"text metrics do not see ({kinds})"
    ]


def automatic_raters(document: Mapping[str, Any]) -> list[str]:
    """A line on the ratings and preferences that only language models or programs gave, once for the same raters;
    `document` is the content of results.json.
    """
    given: dict[tuple[str, ...], list[str]] = {}
    for name, raters in (document.get("automatic_raters") or {}).items():
        given.setdefault(tuple(raters), []).append(name)
    return [
        f"note: {', '.join(names)}: given by a language model or a program, not by people"
        + (f" ({', '.join(raters[:SHOWN])})" if raters else "")
        for raters, names in given.items()
    ]


def _pairing(findings: Sequence[Finding]) -> list[str]:
    """Notes on the items of two compared agents that have no partner or share one. A note names its metrics and groups
    where the notes of others differ.
    """
    about: dict[str, list[Finding]] = {}
    for finding in findings:
        for said in filter(None, (_unpaired(finding), _merged(finding))):
            about.setdefault(said, []).append(finding)
    compared = [finding for finding in findings if "agent_a" in finding.what and finding.estimate is not None]
    found = []
    for said, of in about.items():
        names = [
            ", ".join(dict.fromkeys(str(finding.what.get(key)) for finding in of))
            for key in ("metric", "group")
            if {finding.what.get(key) for finding in of} != {finding.what.get(key) for finding in compared}
        ]
        found.append(": ".join(filter(None, ["note", " in ".join(names), said])))
    return found


def _unpaired(finding: Finding) -> str | None:
    """On items of two compared agents that have no partner, or on a comparison without pairs; None if neither
    applies.
    """
    if "agent_a" not in finding.what:
        return None
    from turnwise.meta.compare import has_unpaired  # slow to import

    if not has_unpaired(finding):
        return None
    left = [finding.details.get(f"unpaired_{side}") for side in "ab"]
    agents = [finding.what.get(f"agent_{side}") for side in "ab"]
    details = finding.details
    better = ""
    if "better_pair_key" in details:
        better = (
            f"; --pair {details['better_pair_key']} makes {counted(details['better_pair_key_pairs'], 'pair')}"
        )
    if not any(left):
        same = f"`{details['pair_key']}`" if "pair_key" in details else "context"
        return (
            f"fewer than half of the items of {agents[0]} and {agents[1]} have a partner with the same {same}, "
            f"so the agents are compared as independent samples{better}"
        )
    counts = " and ".join(f"{count or 0} of {agent}" for count, agent in zip(left, agents, strict=True))
    more = f"{better} instead of {finding.n_items}" if better else ""
    return f"items without a partner, left out: {counts}{more}; --pair none compares all items as independent samples"


def _merged(finding: Finding) -> str | None:
    """On items of one agent with the same partner, which count as one item; None if there are none."""
    counts = [finding.details.get(f"merged_{side}") for side in "ab"]
    if not any(counts):
        return None
    agents = [finding.what.get(f"agent_{side}") for side in "ab"]
    same = f"`{finding.details['pair_key']}`" if "pair_key" in finding.details else "context"
    named = " and ".join(
        f"{count or 0} fewer of {agent}" for count, agent in zip(counts, agents, strict=True)
    )
    return f"items of one agent with the same {same} count as one, their mean: {named}"


def strength_notes(fits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines on Bradley-Terry fits: why there is none, which agents have no strength, which cannot be compared."""
    found = []
    for fit in fits:
        reasons = dict.fromkeys([fit["reason"], *(one["reason"] for one in fit["strengths"])])
        found += [f"note: {fit['metric']}: no strengths: {reason}" for reason in reasons if reason]
        if (fit["n_components"] or 1) > 1:
            sets: dict[int, list[str]] = {}
            for one in fit["strengths"]:
                sets.setdefault(one["component"], []).append(one["agent"])
            listed = "; ".join(", ".join(names) for names in sets.values())
            found.append(
                f"warning: {fit['metric']}: comparisons do not connect all agents, so strengths compare only within "
                f"each set: {listed}"
            )
    return found


def change_notes(findings: Sequence[Finding], document: Mapping[str, Any]) -> list[str]:
    """Lines on what only one of two runs has, on pairs by context, and on texts that could not be read."""
    found = []
    for finding in findings:
        counts = [finding.details.get(f"only_{side}") or 0 for side in ("old", "new")]
        if any(counts):
            found.append(
                f"note: items of {finding.what['agent']} in one run only, left out: {counts[0]} of the old run and "
                f"{counts[1]} of the new one"
            )
        if finding.details.get("paired_by") == "context":
            found.append("note: items are paired by their contexts, which match where the ids do not")
    found += [
        f"note: only the {side} run has {', '.join(names)}"
        for side, names in document.get("metrics_in_one_run", {}).items()
        if names
    ]
    found += [
        f"note: no texts of the {side} run: {reason}"
        for side, reason in document.get("texts_missing", {}).items()
    ]
    return list(dict.fromkeys(found))
