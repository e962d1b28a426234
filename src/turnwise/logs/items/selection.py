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
    """Which turns of which dialogues are scored, and how items are grouped, paired and clustered."""

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
        return tuple(key.strip() for key in self.by.split(",") if key.strip()) if self.by else ()

    @property
    def apart(self) -> bool:
        """Whether files are kept apart, so that ids need only differ inside a file."""
        return FILE in self.group_keys

    @property
    def is_settled(self) -> bool:
        return self.judged is not None and EVERYONE not in self.as_agents


def settled(selection: Selection, census: Census, *, source: Source | None = None) -> Selection:
    """The selection with what the files decide: whether rated turns only are judged, and who everyone is.

    Turn ratings decide for the file that has them: `source`, where several are read together.
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
    """A name that has no alternatives at all is a mistake, and not an agent that was silent."""
    known = dict.fromkeys(there)
    for agent in agents:
        if agent not in known:
            names = ", ".join(known) or "none"
            raise UsageError(f"no alternatives of agent `{agent}` at any judged turn; there are: {names}")
