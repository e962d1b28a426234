"""Transcripts: frauds beside people's replies, and the items on which two agents differ most."""

from collections.abc import Iterator

from turnwise.report.figure import Exchange, Figure, Record, learned_note, provenance_notes, with_estimate
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import Run
from turnwise.report.text import number

MAX_FRAUDS = 3  # maximum strategies with a transcript
MAX_FLIPS = 3  # maximum items shown for each agent


def frauds(run: Run) -> Iterator[Figure]:
    """A figure for each of the up to three frauds with the largest gain, in the contexts where it gains most."""
    mine = [r for r in with_estimate(run.results) if r.get("significant") and r.get("transcript")]
    mine.sort(key=lambda record: -(record.get("gain") or 0.0))
    for record in mine[:MAX_FRAUDS]:
        heard_said = record["transcript"]
        people = record.get("people_said") or [""] * len(heard_said)
        scores = record.get("transcript_scores") or [(None, None)] * len(heard_said)
        exchanges = tuple(
            Exchange(
                heard, (("a person", person, number(theirs)), (record["strategy"], said, number(own)))
            )
            for (heard, said), person, (own, theirs) in zip(heard_said, people, scores, strict=True)
        )  # fmt: skip
        yield Figure(
            kind="transcripts",
            title=f"{record['metric']} prefers this to people: {record['strategy']}",
            meaning=f"The strategy {record['description']}. It scores above the person's reply in "
            f"{record['beats_human'] or 0:.0%} of contexts. Shown are the contexts where it gains most.",
            notes=provenance_notes([record]),
            head=("they said", "a person", "score", record["strategy"], "score of it"),
            rows=tuple(
                (one.heard, one.replies[0][1], one.replies[0][2], one.replies[1][1], one.replies[1][2])
                for one in exchanges
            ),
            exchanges=exchanges,
        )


def flips(run: Run) -> Iterator[Figure]:
    """One figure for each metric with the items on which two agents differ most, up to three on either side."""
    for record in with_estimate(run.results):
        found = [flip for flip in record.get("flips") or () if "reply_a" in flip]
        if not found:
            continue
        shown = [*found[:MAX_FLIPS], *found[-MAX_FLIPS:]] if len(found) > 2 * MAX_FLIPS else found
        a, b = record["agent_a"], record["agent_b"]
        yield Figure(
            kind="flips",
            title=f"where {a} and {b} differ most by {record['metric']}",
            meaning=_order(record.get("better"), a, b),
            notes=provenance_notes([record]),
            head=("they said", a, record["metric"], b, f"{record['metric']} of it"),
            rows=tuple((f["context"], f["reply_a"], f["a"], f["reply_b"], f["b"]) for f in found),
            exchanges=tuple(
                Exchange(
                    flip["context"],
                    (
                        (a, flip["reply_a"], number(flip["a"])), (b, flip["reply_b"], number(flip["b"])),
                        *((("the judge", flip["reason"], ""),) if flip.get("reason") else ()),
                    ),
                )
                for flip in shown
            ),
        )  # fmt: skip


def disagreements(run: Run) -> Iterator[Figure]:
    """For each metric and dimension, the replies that it and people rank most differently; none without examples."""
    found: dict[tuple[str, str, str | None], list[Record]] = {}
    for line in run.lines("examples.jsonl"):
        found.setdefault((line["metric"], line["dimension"], line["group"]), []).append(line)
    for (metric, dimension, group), mine in found.items():
        about = [
            r
            for r in with_estimate(run.results)
            if (r["metric"], r["dimension"], r.get("group") or None) == (metric, dimension, group or None)
        ]
        who = rated_by(run, about)
        yield Figure(
            kind="disagreements",
            title=f"where {metric} and {who.words} disagree most on {dimension}" + (f", {group}" if group else ""),
            meaning=f"First the replies that the metric ranks higher than {who.words} {who.verb('do')}, among the "
            "replies of the same agent, then those that it ranks lower." + learned_note(about),
            notes=provenance_notes(about),
            head=("they said", "agent", "reply", metric, who.words, "item"),
            rows=tuple((r["context"], r["agent"], r["reply"], r["score"], r["people"], r["id"]) for r in mine),
            exchanges=tuple(
                Exchange(r["context"], ((r["agent"], r["reply"], _scores(metric, r, who.words)),)) for r in mine
            ),
        )  # fmt: skip


def _scores(metric: str, example: Record, raters: str) -> str:
    """The metric's score of a reply and the raters' mean rating, in words."""
    return f"{metric} {number(example['score'])}, {raters} {number(example['people'], 2)}"


def _order(better: str | None, a: str, b: str) -> str:
    """A sentence on the order of items, from the highest A - B down; `better` says for whom that is good."""
    if better is None:
        return f"First where {a} has a higher number than {b}, then the other way round."
    first, second = (a, b) if better == "higher" else (b, a)
    return f"First what {first} did best beside {second}, then the other way round."
