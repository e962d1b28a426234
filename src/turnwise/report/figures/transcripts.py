"""Transcripts: frauds beside people's replies, and the items on which two agents differ most."""

from collections.abc import Iterator, Sequence

from turnwise.records import Number
from turnwise.report.documents import AttackDocument, CompareDocument, MetaDocument
from turnwise.report.figure import Exchange, Figure, learned_note, provenance_notes, with_estimate
from turnwise.report.lines import ExampleLine
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MAX_FRAUDS = 3  # maximum strategies with a transcript
MAX_FLIPS = 3  # maximum items shown for each agent


def frauds(run: RunOf[AttackDocument]) -> Iterator[Figure]:
    """A figure for each of the up to three frauds with the largest gain, in the contexts where it gains most."""
    mine = [r for r in with_estimate(run.document.results) if r.significant and r.transcript]
    mine.sort(key=lambda record: -(record.gain or 0.0))
    for record in mine[:MAX_FRAUDS]:
        heard_said, name = record.transcript, str(record.strategy)
        people = record.people_said or ("",) * len(heard_said)
        scores: Sequence[tuple[Number, Number]] = record.transcript_scores or [(None, None)] * len(heard_said)
        exchanges = tuple(
            Exchange(
                heard, (("a person", person, number(theirs)), (name, said, number(own)))
            )
            for (heard, said), person, (own, theirs) in zip(heard_said, people, scores, strict=True)
        )  # fmt: skip
        yield Figure(
            kind="transcripts",
            title=f"{record.metric} prefers this to people: {name}",
            meaning=f"The strategy {record.description}. It scores above the person's reply in "
            f"{record.beats_human or 0:.0%} of contexts. Shown are the contexts where it gains most.",
            notes=provenance_notes([record]),
            head=("they said", "a person", "score", name, "score of it"),
            rows=tuple(
                (one.heard, one.replies[0][1], one.replies[0][2], one.replies[1][1], one.replies[1][2])
                for one in exchanges
            ),
            exchanges=exchanges,
        )


def flips(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """One figure for each metric with the items on which two agents differ most, up to three on either side."""
    for record in with_estimate(run.document.results):
        found = [
            (flip, flip.context or "", flip.reply_a, flip.reply_b)
            for flip in record.flips
            if flip.reply_a is not None and flip.reply_b is not None
        ]
        if not found:
            continue
        shown = [*found[:MAX_FLIPS], *found[-MAX_FLIPS:]] if len(found) > 2 * MAX_FLIPS else found
        a, b = str(record.agent_a), str(record.agent_b)
        yield Figure(
            kind="flips",
            title=f"where {a} and {b} differ most by {record.metric}",
            meaning=_order(record.better, a, b),
            notes=provenance_notes([record]),
            head=("they said", a, record.metric, b, f"{record.metric} of it"),
            rows=tuple((heard, of_a, flip.a, of_b, flip.b) for flip, heard, of_a, of_b in found),
            exchanges=tuple(
                Exchange(
                    heard,
                    (
                        (a, of_a, number(flip.a)), (b, of_b, number(flip.b)),
                        *((("the judge", flip.reason, ""),) if flip.reason else ()),
                    ),
                )
                for flip, heard, of_a, of_b in shown
            ),
        )  # fmt: skip


def disagreements(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """For each metric and dimension, the replies that it and people rank most differently; none without examples."""
    found: dict[tuple[str, str, str | None], list[ExampleLine]] = {}
    for line in run.lines("examples.jsonl", ExampleLine):
        found.setdefault((line.metric, line.dimension, line.group), []).append(line)
    for (metric, dimension, group), mine in found.items():
        about = [
            r
            for r in with_estimate(run.document.results)
            if (r.metric, r.dimension, r.group or None) == (metric, dimension, group or None)
        ]
        who = rated_by(run, about)
        yield Figure(
            kind="disagreements",
            title=f"where {metric} and {who.words} disagree most on {dimension}" + (f", {group}" if group else ""),
            meaning=f"First the replies that the metric ranks higher than {who.words} {who.verb('do')}, among the "
            "replies of the same agent, then those that it ranks lower." + learned_note(about),
            notes=provenance_notes(about),
            head=("they said", "agent", "reply", metric, who.words, "item"),
            rows=tuple((r.context, r.agent, r.reply, r.score, r.people, r.id) for r in mine),
            exchanges=tuple(
                Exchange(r.context, ((r.agent, r.reply, _scores(metric, r, who.words)),)) for r in mine
            ),
        )  # fmt: skip


def _scores(metric: str, example: ExampleLine, raters: str) -> str:
    """The metric's score of a reply and the raters' mean rating, in words."""
    return f"{metric} {number(example.score)}, {raters} {number(example.people, 2)}"


def _order(better: str | None, a: str, b: str) -> str:
    """A sentence on the order of items, from the highest A - B down; `better` says for whom that is good."""
    if better is None:
        return f"First where {a} has a higher number than {b}, then the other way round."
    first, second = (a, b) if better == "higher" else (b, a)
    return f"First what {first} did best beside {second}, then the other way round."
