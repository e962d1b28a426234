"""What is asked for of the dialogues of a corpus; without imports of readers, so that `--help` need not load them."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from turnwise.types import Role

if TYPE_CHECKING:
    from turnwise.records import Origin

ItemChoice = Literal["rated", "last", "all"]
EVERYONE = "@alternatives"  # stands for all agents that have alternatives
FILE = "file"  # in --by: the file that a dialogue is in
# Fields that results.json always has, since version 0.2; a later field is recorded where it differs from its default.
FIRST = frozenset({"items", "dimension", "role", "pair", "cluster", "by", "where", "limit", "as_agents"})
ARRANGING = frozenset(
    {"dimension", "pair", "cluster", "by", "as_agents"}
)  # fields that leave no dialogue or turn out


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

    @property
    def filters(self) -> dict[str, Any]:
        """The fields that decide which dialogues and turns are read."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in ARRANGING}


def recorded(selection: Selection) -> dict[str, Any]:
    """The selection as results.json has it."""
    values = {
        field.name: getattr(selection, field.name)
        for field in fields(Selection)
        if field.name in FIRST or getattr(selection, field.name) != field.default
    }
    # The key of `items` in results.json has been `judged` since version 0.1.
    return {"judged": values.pop("items"), **values}


def recorded_selection(origin: "Origin") -> Selection:
    """The selection of a run whose results have this origin; the default one if another version wrote values that this
    one does not know.
    """
    values = {key: value for key, value in origin.settings.selection.items() if value is not None}
    if "judged" in values:
        values["items"] = values.pop("judged")
    try:
        return msgspec.convert(values, Selection)
    except msgspec.ValidationError:
        return Selection()
