"""What a critic expects after everyone's reply: of each system, and turn after turn (the critic's tables 2 and 5)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.report import plot
from turnwise.report.figure import Exchange, Figure, answered, interval, stated
from turnwise.report.figures.listed import listed
from turnwise.report.runs import Run
from turnwise.report.text import number

KINDS = ("system", "logged", "control")
DIALOGUES = 2  # those in which replies are worth the most different
AGENTS = 6
FEWEST = 3  # turns that make a line
SUFFIX = ".turns.jsonl"
Turn = Mapping[str, Any]  # a line of that file: dialogue, turn, user, replies and q by agent


def worths(run: Run) -> Iterator[Figure]:
    """Each system beside the logged agent and the controls, by each critic."""
    judged = [r for r in answered(run.results) if r.get("kind") in KINDS]
    for estimator in dict.fromkeys(r["estimator"] for r in judged):
        mine = [r for r in judged if r["estimator"] == estimator]
        mine.sort(key=lambda record: -record["estimate"])
        title = f"what systems are worth to {estimator}"
        yield Figure(
            kind="worths",
            title=title,
            meaning="Systems, the logged agent (dashed line) and controls that nobody wants. Where a control is worth "
            "as much as a system, do not believe the ranking. These intervals know of chance alone.",
            notes=stated(mine),
            head=("target", "kind", "estimate", "low", "high", "less the logged", "low of it", "high of it"),
            rows=tuple(
                (r["target"], r["kind"], r["estimate"], *(interval(r) or (None, None)), r.get("difference"),
                 *(interval(r, "difference_interval") or (None, None)))
                for r in mine
            ),
            svg=listed(
                mine, title, names=[str(r["target"]) for r in mine], along=f"value, {mine[0]['rating']}",
                rules=[float(r["estimate"]) for r in mine if r["kind"] == "logged"],
                series=lambda record: KINDS.index(record["kind"]), legend=KINDS,
            ),
        )  # fmt: skip


def valued(run: Run) -> Iterator[Figure]:
    for path in sorted(run.folder.glob(f"*{SUFFIX}")):
        dialogues: dict[str, list[Turn]] = {}
        for turn in run.lines(path.name):
            dialogues.setdefault(turn["dialogue"], []).append(turn)
        long = [turns for turns in dialogues.values() if len(turns) >= FEWEST]
        long.sort(key=_apart, reverse=True)
        for turns in long[:DIALOGUES]:
            yield _figure(run, turns)


def _apart(turns: Sequence[Turn]) -> float:
    """How far the best reply is worth more than the worst, a turn."""
    known = [[float(value) for value in turn["q"].values() if value is not None] for turn in turns]
    return sum(max(values) - min(values) for values in known if values) / len(turns)


def _figure(run: Run, turns: Sequence[Turn]) -> Figure:
    estimator = turns[0]["estimator"]
    agents = list(turns[0]["q"])[:AGENTS]
    title = f"{estimator}, turn after turn: {turns[0]['dialogue']}"
    panel = plot.Panel.over(
        (1, len(turns)), plot.reach(turn["q"][agent] for turn in turns for agent in agents), whole=True
    )
    panel.axes("turn", "Q: what is expected from here on")
    for series, agent in enumerate(agents):
        values = [turn["q"][agent] for turn in turns]  # none in an agent's own dialogues
        panel.line(range(1, len(turns) + 1), [float("nan") if q is None else q for q in values], series)
        for place, q in enumerate(values, start=1):
            if q is not None:
                panel.dot(place, q, series, size=2.5, tip=f"turn {place}, {agent}: {number(q)}")
    return Figure(
        kind="valued",
        title=title,
        meaning="The value of what each system says at each turn of one logged dialogue. Where a line falls below the "
        "others, its reply is expected to lead to less. Dialogues are shown in which replies differ most.",
        notes=stated(
            [r for r in run.results if r["estimator"] == estimator],
            more=[f"{len(turns)} turns are drawn; a single Q has no interval"],
        ),
        head=("turn", "user", *(part for agent in agents for part in (agent, f"Q of {agent}"))),
        rows=tuple(
            (
                place,
                turn["user"],
                *(part for agent in agents for part in (turn["replies"][agent], turn["q"][agent])),
            )
            for place, turn in enumerate(turns, start=1)
        ),
        svg=panel.svg(title, legend=agents),
        exchanges=tuple(
            Exchange(
                turn["user"], tuple((agent, turn["replies"][agent], number(turn["q"][agent])) for agent in agents)
            )
            for turn in turns
        ),
    )  # fmt: skip
