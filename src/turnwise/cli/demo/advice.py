"""The conclusion of the demo for a person who must choose an agent: ratings, an estimate and a metric."""

from collections.abc import Mapping, Sequence

from turnwise.report.figure import Record, interval
from turnwise.report.text import number, p_value


def two_best(records: Sequence[Record]) -> tuple[str, str]:
    """The two agents that people rate highest, the best first."""
    means = means_by_people(records)
    first, second, *_ = sorted(means, key=lambda name: -means[name])
    return first, second


def means_by_people(records: Sequence[Record]) -> dict[str, float]:
    """Agent -> mean overall rating, from the first record of overall ratings that has systems."""
    systems = next(r["systems"] for r in records if r.get("systems") and r["dimension"] == "overall")
    return {one["agent"]: one["people"] for one in systems}


def reached(record: Record, means: Mapping[str, float]) -> str:
    """A sentence on whether the estimate can rank its agent among `means`, with a space before it; empty
    without an interval. It cannot if its interval contains more than a quarter of the agents.
    """
    ends = interval(record)
    if ends is None:
        return ""
    inside = sum(ends[0] <= mean <= ends[1] for mean in means.values())
    todo = "rate some of its dialogues before you rank it" if inside > len(means) / 4 else "it can be ranked"
    return f" {inside} of {len(means)} rated agents lie in that interval: {todo}."


def chosen(record: Record, means: Mapping[str, float]) -> str:
    """A sentence on which of the two compared agents to choose.

    Ratings decide, because a metric may disagree with people.
    """
    first, second, metric = record["agent_a"], record["agent_b"], record["metric"]
    people = f"People put {first} ({number(means[first], 2)}) before {second} ({number(means[second], 2)})"
    by = f"A - B {number(record['estimate'])}, p {p_value(record['p_adjusted'])}"
    if record.get("better") is None:
        return f"{people}; {metric} ({by}) is no verdict on either: people decide."
    if str(record["verdict"]).startswith("A"):
        return f"{people}, and so does {metric} ({by}): take {first}."
    if str(record["verdict"]).startswith("B"):
        return f"{people}; {metric} says the opposite ({by}): between these two ask people, not {metric}."
    return f"{people}; {metric} shows no difference ({by}): people decide."
