"""Who is the agent: roles of speakers from what the format says, from `--roles`, or an error that asks."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnwise.errors import UsageError, WrongForFile, convert_option
from turnwise.logs.readers.source import Options
from turnwise.types import ROLES, Dialogue, Role

OTHERS = "*"  # in --roles: every speaker that is not named
NAMED = 6  # speakers that a message names
HELD = 1000  # speakers that are counted for a message
SPEAKER = ("source_role", "name", "speaker", "id")  # where readers keep a speaker's name beside a message


def parse(text: str) -> dict[str, Role]:
    """`SpotifyCares=assistant,*=user` as speaker -> role; anything else raises `UsageError`."""
    roles: dict[str, Role] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        speaker, sign, role = (one.strip() for one in part.rpartition("="))
        if not sign or not speaker or role not in ROLES:
            raise UsageError(
                f"{convert_option('--roles')}: `{part}` is not SPEAKER=ROLE; a role is one of {', '.join(ROLES)}"
            )
        roles[speaker] = next(one for one in ROLES if one == role)
    return roles


def renamed(message: Any, roles: Mapping[str, Role], *, known: Collection[str] = ROLES) -> Any:
    """A message with the role that --roles gives to its role name, which is kept as `source_role`; else unchanged.

    `*` of --roles is for names that are not `known`.
    """
    name = message.get("role") if roles and isinstance(message, dict) else None
    if not isinstance(name, str):
        return message
    role = roles.get(name) or (None if name in known else roles.get(OTHERS))
    return message if role in (None, name) else {**message, "role": role, "source_role": name}


def roles(
    speakers: Counter[str], options: Options, *, file: str, known: Mapping[str, Role] | None = None
) -> dict[str, Role]:
    """The role of every speaker; a speaker without one raises `UsageError`, which says how to give it.

    `speakers` counts messages. A speaker that --roles names comes first, then what the format says (`known`),
    then `*` of --roles.
    """
    said = options.roles
    found: dict[str, Role] = {}
    for speaker in speakers:
        role = said.get(speaker) or (known or {}).get(speaker) or said.get(OTHERS)
        if role is not None:
            found[speaker] = role
    unknown = Counter({speaker: count for speaker, count in speakers.items() if speaker not in found})
    if unknown:
        raise asked_for(unknown, file)
    return found


def asked_for(unknown: Counter[str], file: str) -> UsageError:
    """The error (not raised) that asks for the roles of speakers; `unknown` counts their messages."""
    example = unknown.most_common(1)[0][0]
    return WrongForFile(
        file,
        f"the roles of these speakers are not known (messages in brackets): {_shown(unknown)}; "
        f"say who is the agent, for example {convert_option('--roles')} '{example}=assistant,*=user'",
    )


def _shown(speakers: Counter[str]) -> str:
    """The most frequent speakers with their messages, and how many others there are."""
    shown = ", ".join(f"`{name}` ({count})" for name, count in speakers.most_common(NAMED))
    return shown + (f" and {len(speakers) - NAMED} more" if len(speakers) > NAMED else "")


@dataclass(slots=True)
class Heard:
    """Which speakers that --roles names speak in dialogues that were read."""

    roles: Mapping[str, Role]
    named: set[str] = field(default_factory=set)  # in --roles and in the dialogues
    speakers: Counter[str] = field(default_factory=Counter)  # messages of the first speakers

    def add(self, dialogue: Dialogue) -> None:
        """Note the speakers of one dialogue; without --roles nothing happens."""
        for turn in dialogue.turns if self.roles else ():
            names = [one for key in SPEAKER if isinstance(one := turn.extra.get(key), str)]
            self.named |= self.roles.keys() & {*names, turn.role}
            speaker = (names or [turn.role])[0]
            if speaker in self.speakers or len(self.speakers) < HELD:
                self.speakers[speaker] += 1

    def check(self, file: str, notes: list[str]) -> None:
        """Raise `UsageError` if --roles names agents and none of them speaks; a note is added for other names that do
        not speak.
        """
        absent = [name for name in self.roles if name not in self.named and name != OTHERS]
        if not absent:
            return
        names = ", ".join(f"`{name}`" for name in absent)
        found = (
            f"{convert_option('--roles')} names {names}, and no such speaker is there; there are "
            f"{_shown(self.speakers)}"
        )
        if all(name in absent for name, role in self.roles.items() if role == "assistant" and name != OTHERS):
            raise WrongForFile(file, found)
        notes.append(found)
