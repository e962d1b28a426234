"""The leaderboard of several agents: mean, interval, groups of agents that were not told apart, and possible ranks."""

from collections.abc import Iterator, Sequence

from turnwise.metrics import is_preference, is_rating
from turnwise.records import RankedAgent
from turnwise.report import plot
from turnwise.report.documents import CompareDocument
from turnwise.report.figure import (
    Figure,
    common_digits,
    in_words,
    low_and_high,
    provenance_notes,
    with_estimate,
)
from turnwise.report.figures.differences import families
from turnwise.report.runs import RunOf

COLUMN = 12.0  # width of a column of one group of ties
RANKS = 40.0  # width of the column of ranks


def leaderboards(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """One figure for each metric and group, in the order of the leaderboard: people first."""
    ranked = with_estimate(run.document.leaderboard)
    pairs = with_estimate((*run.document.people, *run.document.results))
    for metric, group in dict.fromkeys((agent.metric, agent.group) for agent in ranked):
        mine = [agent for agent in ranked if (agent.metric, agent.group) == (metric, group)]
        tested = [pair for pair in pairs if (pair.metric, pair.group) == (metric, group)]
        title = f"the agents by {metric}" + (f", {group}" if group else "")
        end = " (lower is better)" if mine[0].better == "lower" else ""
        number = "strength" if is_preference(metric) else "mean"
        yield Figure(
            kind="leaderboard",
            title=title,
            meaning=f"The dot is the {number} of an agent, the line its own interval. Agents that a bar at the right "
            "joins were not shown to differ; all pairs are tested together. The last column has the ranks that the "
            f"tests leave open: a {number} alone ranks nobody."
            + ("" if is_rating(metric) or is_preference(metric) else " No rating by people is in it."),
            notes=provenance_notes(mine, more=families(tested), column=True),
            head=("agent", number, "low", "high", "group", "rank", "at best", "at worst", "below it", "above it",
                  "items", "clusters", "signature"),
            rows=tuple(
                (a.agent, a.estimate, *low_and_high(a.interval), a.ties, a.rank, *(a.rank_interval or (None, None)),
                 a.n_below, a.n_above, a.n_items, a.n_clusters, a.signature)
                for a in mine
            ),
            svg=_picture(mine, title, number, f"{number} by {metric}{end}"),
        )  # fmt: skip


def _picture(agents: Sequence[RankedAgent], title: str, number: str, along: str) -> str:
    """The picture: names, intervals, their means or strengths, bars of ties, ranks."""
    letters = sorted({letter for agent in agents for letter in agent.ties})
    digits = common_digits(agents)
    means = [in_words(agent.estimate, agent.bounds, digits).split(" [")[0] for agent in agents]
    width = plot.LETTER_WIDTH * max(map(len, [*means, number])) + 8
    edge = plot.WIDTH - plot.RIGHT
    bars = edge - RANKS - COLUMN * len(letters)
    ends = [end for agent in agents for end in (agent.value, *(agent.bounds or ()))]
    panel = plot.Panel.with_names(
        [agent.agent for agent in agents],
        plot.padded_range(ends),
        right=plot.WIDTH - (bars - width - 10),
        above=plot.LINE_HEIGHT + 4,
    )
    panel.axes(along)
    for across, name in ((bars - 10, number), (edge, "rank")):
        panel.text(across, plot.TOP + 6, name, anchor="end", style="label")
    for place, (agent, mean) in enumerate(zip(agents, means, strict=True)):
        if agent.bounds:
            panel.path([(end, place) for end in agent.bounds], style="whisker s0")
        panel.dot(agent.value, place, tip=f"{agent.agent}: {in_words(agent.estimate, agent.bounds)}")
        panel.text(bars - 10, panel.y(place) + 4, mean, anchor="end")
        panel.text(edge, panel.y(place) + 4, _ranks(agent), anchor="end")
    for column, letter in enumerate(letters):
        _bar(panel, [letter in agent.ties for agent in agents], bars + COLUMN * (column + 0.5), letter)
    return panel.svg(title)


def _bar(panel: plot.Panel, inside: Sequence[bool], across: float, letter: str) -> None:
    """A vertical bar beside the agents of one group, from the first to the last, with a dot at each of them."""
    places = [place for place, member in enumerate(inside) if member]
    top, bottom = panel.y(places[0]), panel.y(places[-1])
    if len(places) > 1:
        panel.marks.append(f'<path d="M{across:.1f} {top:.1f}L{across:.1f} {bottom:.1f}" class="tie"/>')
    for place in places:
        panel.marks.append(
            f'<circle cx="{across:.1f}" cy="{panel.y(place)}" r="3" class="member">'
            f"<title>group {letter}</title></circle>"
        )


def _ranks(agent: RankedAgent) -> str:
    """The ranks that an agent may have."""
    if agent.rank_interval is None:
        return str(agent.rank or "-")
    low, high = agent.rank_interval
    return str(low) if low == high else f"{low}-{high}"
