"""Which replies are judged and how they are grouped: what is asked for, and what the files decide of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from turnwise.errors import UsageError
from turnwise.logs.scan import Census, Source
from turnwise.types import Role

Judged = Literal["rated", "last", "all"]
EVERYONE = "@alternatives"  # stands for all agents that have alternatives
FILE = "file"  # in --by: the file that a dialogue is in


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which dialogues and turns are judged, in whose words, and by which keys they are grouped, paired and
    clustered.
    """

    judged: Judged | None = None  # None: rated where a file has turn ratings, else all
    dimension: str | None = None  # with "rated": only turns rated on this dimension
    role: Role = "assistant"
    pair: str | None = None  # key such as meta.item
    cluster: str | None = None
    by: str | None = None  # one result a group: meta.corpus; or several keys by comma
    where: tuple[tuple[str, str], ...] = ()
    limit: int | None = None  # dialogues
    as_agents: tuple[str, ...] = ()  # score what these agents would have said

    @property
    def group_keys(self) -> tuple[str, ...]:
        """The keys of `by`, split at commas and stripped; empty without `by`."""
        return tuple(key.strip() for key in self.by.split(",") if key.strip()) if self.by else ()

    @property
    def apart(self) -> bool:
        """Whether `by` has the key `file`: then ids need only differ inside a file."""
        return FILE in self.group_keys

    @property
    def is_settled(self) -> bool:
        """Whether nothing depends on the files: which turns are judged, and which agents, is given."""
        return self.judged is not None and EVERYONE not in self.as_agents


def settled(selection: Selection, census: Census, *, source: Source | None = None) -> Selection:
    """The selection with what the files decide: whether only rated turns are judged, and which agents
    `@alternatives` stands for. Turn ratings of `source` decide if it is given, else those of all files. An
    agent without alternatives raises `UsageError`.
    """
    rated = census.turn_rated if source is None else source.turn_rated
    is_rated = bool(rated) if selection.dimension is None else selection.dimension in rated
    judged = selection.judged or ("rated" if is_rated else "all")
    named = [agent for agent in selection.as_agents if agent != EVERYONE]
    check_speakers(named, census.alternatives)
    if EVERYONE not in selection.as_agents or not census.alternatives:
        return replace(selection, judged=judged)
    return replace(selection, judged=judged, as_agents=tuple(dict.fromkeys([*named, *census.alternatives])))


def check_speakers(agents: Iterable[str], there: Iterable[str]) -> None:
    """Raise `UsageError` if one of `agents` is not in `there`, the agents that have alternatives."""
    known = dict.fromkeys(there)
    for agent in agents:
        if agent not in known:
            names = ", ".join(known) or "none"
            raise UsageError(f"no alternatives of agent `{agent}` at any judged turn; there are: {names}")
