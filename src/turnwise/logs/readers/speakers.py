"""Who is the agent: roles of speakers from what the format says, from `--roles`, or an error that asks."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from turnwise.errors import UsageError
from turnwise.logs.readers.source import Options
from turnwise.types import ROLES, Role

OTHERS = "*"  # in --roles: every speaker that is not named
NAMED = 6  # speakers that a message names


def parse(text: str) -> dict[str, Role]:
    """`SpotifyCares=assistant,*=user` as speaker -> role; anything else raises `UsageError`."""
    roles: dict[str, Role] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        speaker, sign, role = (one.strip() for one in part.rpartition("="))
        if not sign or not speaker or role not in ROLES:
            raise UsageError(f"--roles: `{part}` is not SPEAKER=ROLE; a role is one of {', '.join(ROLES)}")
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
        shown = ", ".join(f"`{name}` ({count})" for name, count in unknown.most_common(NAMED))
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        example = unknown.most_common(1)[0][0]
        raise UsageError(
            f"{file}: the roles of these speakers are not known (messages in brackets): {shown}{more}; "
            f"say who is the agent, for example --roles '{example}=assistant,*=user'"
        )
    return found
