"""Agents of the data that --limit leaves without a dialogue.

--limit takes the first dialogues. In files that list one agent after the other these are of few agents.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from turnwise.errors import setting
from turnwise.logs.items.items import Selection, selected_dialogues
from turnwise.logs.native import read_each
from turnwise.logs.scan import Census

if TYPE_CHECKING:
    from turnwise.settings.groups import Running

SHOWN = 5  # agents that the note names


def cut_agents(spec: "Running", census: Census, among: Collection[str] = ()) -> list[str]:
    """A note that names the agents of the selected dialogues, or of these those in `among`, that --limit cuts off;
    empty if there are none, and for --as, whose agents speak in every dialogue.
    """
    selection = spec.selection
    if selection.limit is None or selection.as_agents or len(census.agents) < 2:
        return []
    kept = _agents(spec, selection, census)
    there = list(census.agents)
    unlimited = replace(selection, limit=None)
    if unlimited.filters != Selection().filters and len(kept) < len(there):
        there = _agents(spec, unlimited, census)
    cut = [agent for agent in there if agent not in kept and (not among or agent in among)]
    if not cut:
        return []
    more = f" and {len(cut) - SHOWN} more" if len(cut) > SHOWN else ""
    return [
        f"{setting('--limit', selection.limit)} takes the first dialogues, and none of them is of "
        f"{', '.join(cut[:SHOWN])}{more}"
    ]


def _agents(spec: "Running", selection: Selection, census: Census) -> list[str]:
    """The agents of the selected dialogues, in order of appearance."""
    dialogues = chain.from_iterable(census.held or read_each(spec.paths, apart=census.apart))
    return list(dict.fromkeys(one.agent for one in selected_dialogues(dialogues, selection)))
