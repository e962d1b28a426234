"""What is asked for of the dialogues of a corpus; without imports of readers, so that `--help` need not load them."""

from dataclasses import dataclass
from typing import Literal

from turnwise.types import Role

ItemChoice = Literal["rated", "last", "all"]
EVERYONE = "@alternatives"  # stands for all agents that have alternatives
FILE = "file"  # in --by: the file that a dialogue is in


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which dialogues and turns are scored, in whose words, and by which keys they are grouped, paired and
    clustered.
    """

    items: ItemChoice | None = None  # None: rated where a file has turn ratings, else all
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
        """Whether nothing depends on the files: which turns are scored, and which agents, is given."""
        return self.items is not None and EVERYONE not in self.as_agents
