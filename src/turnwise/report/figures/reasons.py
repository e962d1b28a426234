"""What metrics said about their scores: the reasons of a judge for its lowest and highest scores."""

from collections.abc import Iterator

from turnwise.report.documents import ScoreDocument
from turnwise.report.figure import Exchange, Figure, provenance_notes, with_estimate
from turnwise.report.lines import Explanation, ItemLine
from turnwise.report.runs import RunOf
from turnwise.report.text import number

SHOWN = 4  # items at either end of the scores


def reasons(run: RunOf[ScoreDocument]) -> Iterator[Figure]:
    """A table for each metric that gave reasons: the items with its lowest and its highest scores."""
    if not any(record.explained for record in run.document.results):
        return  # items.jsonl may be long
    found: dict[str, list[tuple[float, ItemLine, Explanation]]] = {}
    for line in run.lines("items.jsonl", ItemLine):
        for metric, said in line.explained():
            score = line.scores.get(metric)
            if score is not None and said.reason:
                found.setdefault(metric, []).append((score, line, said))
    for metric, mine in found.items():
        mine.sort(key=lambda one: one[0])
        ends = mine if len(mine) <= 2 * SHOWN else [*mine[:SHOWN], *mine[-SHOWN:]]
        about = [record for record in with_estimate(run.document.results) if record.metric == metric]
        criteria = any(said.criteria for *_, said in ends)
        yield Figure(
            kind="reasons",
            title=f"why {metric} scored so",
            meaning=f"The reasons for its lowest and highest scores, of {len(mine)} items with a reason. items.jsonl "
            "has all of them, and `turnwise view` shows them beside the replies.",
            notes=provenance_notes(about),
            head=("item", "agent", metric, "reason", *(("criteria",) if criteria else ())),
            rows=tuple(
                (line.id, line.agent, score, said.reason, *((_criteria(said),) if criteria else ()))
                for score, line, said in ends
            ),
            exchanges=tuple(
                Exchange(str(line.id), ((f"{metric} on {line.agent}", said.reason, number(score)),))
                for score, line, said in ends
            ),
        )


def _criteria(said: Explanation) -> str:
    """The verdict on each criterion."""
    return ", ".join(f"{name}: {answer}" for name, answer in (said.criteria or {}).items())
