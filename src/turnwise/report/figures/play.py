"""How agents did with simulated users, how dialogues ended, and how real the users are."""

from collections.abc import Iterator
from dataclasses import replace

from turnwise.report.documents import PlayDocument
from turnwise.report.figure import Figure, low_and_high
from turnwise.report.figures.interval_lists import listed
from turnwise.report.runs import RunOf

WORLDS = "no signature: checked at the end of each dialogue"


def fared(run: RunOf[PlayDocument]) -> Iterator[Figure]:
    """The scores of each agent."""
    for one in listed(run):
        notes = tuple(WORLDS if note.startswith("no signature") else note for note in one.notes)
        yield replace(one, kind="played", notes=notes)


def ends(run: RunOf[PlayDocument]) -> Iterator[Figure]:
    """A table of how the dialogues of each agent ended."""
    told = run.document.ends
    reasons = sorted({reason for one in told for reason in one.ends})
    yield Figure(
        kind="ends",
        title="how dialogues ended",
        meaning="Dialogues by the reason of their end. Those that a fault of the simulated user or of the "
        "infrastructure ended are not scored.",
        notes=tuple(f"not asked of the agents: {what} ({n})" for what, n in run.document.left_out.items()),
        head=("agent", "dialogues", *reasons, "messages tried again", "calls", "cost", "not judged"),
        rows=tuple(
            (
                one.agent, one.dialogues, *(one.ends.get(reason, 0) for reason in reasons),
                sum(one.discarded.values()), one.calls, one.cost, one.unjudged,
            )
            for one in told
        ),
    )  # fmt: skip


def realisms(run: RunOf[PlayDocument]) -> Iterator[Figure]:
    """A table of how far simulated users are from real ones, and one of whether both rank agents alike."""
    if measured := [one for one in run.document.realism if one.estimate is not None]:
        yield Figure(
            kind="realism",
            title="how real the simulated users are",
            meaning="Each measure between messages of simulated and of real users, and between two halves of the real "
            "ones, the floor. Far from the floor means: do not rely on the scores. Near it means: nothing was seen.",
            notes=(),
            head=("kind", "measure", "simulated", "real", "estimate", "low", "high", "floor"),
            rows=tuple(
                (one.kind, one.measure, one.simulated, one.real, one.estimate, *low_and_high(one.interval), one.floor)
                for one in measured
            ),
        )  # fmt: skip
    if checks := run.document.ranks:
        yield Figure(
            kind="ranks",
            title="agents that both simulated and real users met",
            meaning="Whether scores of the simulation and ratings of real dialogues put two agents in the same order.",
            notes=(),
            head=("score", "rating", "agents", "pairs in the same order", "pairs", "Kendall's tau"),
            rows=tuple(
                (
                    one.against,
                    one.dimension,
                    ", ".join(one.agents),
                    one.agreeing_pairs,
                    one.pairs,
                    one.kendall,
                )
                for one in checks
            ),
        )
