"""Values by an offline critic: of each system, and of each system's reply along a dialogue (its tables 2 and 5)."""

from collections.abc import Iterator, Sequence

from turnwise.report import plot
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import Exchange, Figure, low_and_high, provenance_notes, with_estimate
from turnwise.report.figures.interval_lists import Row, interval_list
from turnwise.report.lines import TurnLine
from turnwise.report.runs import RunOf
from turnwise.report.text import number

KINDS = ("system", "logged", "control")
MAX_DIALOGUES = 2  # dialogues shown: those in which values differ most
MAX_AGENTS = 6  # agents in a picture
MIN_TURNS = 3  # minimum number of turns for a picture
SUFFIX = ".turns.jsonl"


def system_values(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """One figure for each critic: the value of each system, of the logged agent and of the controls, highest first."""
    estimated = [r for r in with_estimate(run.document.results) if r.kind in KINDS]
    for estimator in dict.fromkeys(r.estimator for r in estimated):
        mine = [r for r in estimated if r.estimator == estimator]
        mine.sort(key=lambda record: -record.value)
        title = f"what systems are worth to {estimator}"
        yield Figure(
            kind="worths",
            title=title,
            meaning="Systems, the logged agent (dashed line) and controls that nobody wants. Where a control is worth "
            "as much as a system, do not believe the ranking. These intervals account for sampling alone.",
            notes=provenance_notes(mine),
            head=("target", "kind", "estimate", "low", "high", "less the logged", "low of it", "high of it"),
            rows=tuple(
                (r.target, r.kind, r.estimate, *low_and_high(r.interval), r.difference,
                 *low_and_high(r.difference_interval))
                for r in mine
            ),
            svg=interval_list(
                [Row.of(r.target, r, KINDS.index(str(r.kind))) for r in mine],
                title, along=f"value, {mine[0].rating}", rules=[r.value for r in mine if r.kind == "logged"],
                legend=KINDS,
            ),
        )  # fmt: skip


def turn_values(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """Figures of each critic's two dialogues (of three or more turns) in which the agents' values differ most."""
    for name in run.files.names(f"*{SUFFIX}"):
        dialogues: dict[str, list[TurnLine]] = {}
        for turn in run.lines(name, TurnLine):
            dialogues.setdefault(turn.dialogue, []).append(turn)
        long = [turns for turns in dialogues.values() if len(turns) >= MIN_TURNS]
        long.sort(key=_mean_spread, reverse=True)
        for turns in long[:MAX_DIALOGUES]:
            yield _figure(run, turns)


def _mean_spread(turns: Sequence[TurnLine]) -> float:
    """Mean over turns of the highest minus the lowest value of the agents; turns without a value count as 0."""
    known = [[value for value in turn.q.values() if value is not None] for turn in turns]
    return sum(max(values) - min(values) for values in known if values) / len(turns)


def _figure(run: RunOf[OpeDocument], turns: Sequence[TurnLine]) -> Figure:
    """The figure of one dialogue: Q of what each of the first six agents says, turn by turn."""
    estimator = turns[0].estimator
    agents = list(turns[0].q)[:MAX_AGENTS]
    title = f"{estimator}, turn after turn: {turns[0].dialogue}"
    panel = plot.Panel.with_axes(
        (1, len(turns)),
        plot.padded_range(turn.q[agent] for turn in turns for agent in agents),
        integer_ticks=True,
    )
    panel.axes("turn", "Q: what is expected from here on")
    for series, agent in enumerate(agents):
        values = [turn.q[agent] for turn in turns]  # none in an agent's own dialogues
        panel.line(range(1, len(turns) + 1), [float("nan") if q is None else q for q in values], series)
        for place, q in enumerate(values, start=1):
            if q is not None:
                panel.dot(place, q, series, size=2.5, tip=f"turn {place}, {agent}: {number(q)}")
    return Figure(
        kind="valued",
        title=title,
        meaning="The value of what each system says at each turn of one logged dialogue. Where a line falls below the "
        "others, its reply is expected to lead to less. Dialogues are shown in which replies differ most.",
        notes=provenance_notes(
            [r for r in run.document.results if r.estimator == estimator],
            more=[f"{len(turns)} turns are drawn; a single Q has no interval"],
        ),
        head=("turn", "user", *(part for agent in agents for part in (agent, f"Q of {agent}"))),
        rows=tuple(
            (
                place,
                turn.user,
                *(part for agent in agents for part in (turn.replies[agent], turn.q[agent])),
            )
            for place, turn in enumerate(turns, start=1)
        ),
        svg=panel.svg(title, legend=agents),
        exchanges=tuple(
            Exchange(
                turn.user, tuple((agent, turn.replies[agent], number(turn.q[agent])) for agent in agents)
            )
            for turn in turns
        ),
    )  # fmt: skip
