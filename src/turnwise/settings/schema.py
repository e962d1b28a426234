"""The JSON Schema of `turnwise.toml`, for editors: made from the classes of the commands.

Everything that the schema accepts, `--config` takes. It takes more: a number or a switch written as a text.
"""

from collections.abc import Iterable
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec

from turnwise.settings.groups import Command
from turnwise.settings.option import Names, NamesOrFunctions, Setting, bare, settings

CONFIG = "turnwise.toml"
# Setting -> names that it had in earlier versions, which files may still use.
FORMER = {
    "items": ("judged",),
    "lower_is_better": ("lower",),
    "contexts": ("data",),
    "self_play": ("turns",),
}
_VALUE: dict[str, Any] = {"type": ["string", "number"]}
_VALUES: dict[str, Any] = {"$ref": "#/$defs/values"}

Properties = dict[str, dict[str, Any]]  # key of a section -> schema of its value


def config_schema(commands: Iterable[type[Command]]) -> dict[str, Any]:
    """The JSON Schema of a config file of these commands, draft 2020-12."""
    sections = {one.command: _options(one) for one in commands if one.configurable}
    shared = _shared(sections.values())
    tables = {name: _section(name, options) for name, options in {"common": shared, **sections}.items()}
    top = _section("common", {name: {"$ref": f"#/$defs/common/properties/{name}"} for name in shared})
    top["properties"] |= {name: {"$ref": f"#/$defs/{name}"} for name in tables}
    several = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": CONFIG,
        "description": "Keys at the top are shared by all commands; those of a section are of one command.",
        **top,
        "$defs": {"values": several, **tables},
    }


def _options(command: type[Command]) -> Properties:
    """Each option of a command by all of its names, with dashes where it has several words; the first is the usual."""
    known = [*settings(command), *settings(command.screen_class)]
    return {
        name: _value(one)
        for one in known
        if not (one.option.only_python or one.option.prints or one.option.hidden)
        for name in _names(one)
    }


def _names(setting: Setting) -> dict[str, None]:
    """The names that a setting may have in a file, in order, each once."""
    flags = [flag[2:] for flags in setting.flags for flag in flags.split("/") if flag.startswith("--")]
    names = [*flags, setting.name, *FORMER.get(setting.name, ())]
    return dict.fromkeys(name.replace("_", "-") for name in names)


def _value(setting: Setting) -> dict[str, Any]:
    """The schema of a setting's value in a file."""
    return {"description": setting.option.help, **_kind(setting)}


def _kind(setting: Setting) -> dict[str, Any]:
    """The schema of a setting's type: as a command line takes it, a list where it takes several values."""
    if setting.option.repeatable or setting.flags[0].rstrip("]").endswith("..."):
        return _VALUES
    kind = bare(setting.kind)
    if kind in (Names, Names | None, NamesOrFunctions):
        return _VALUES
    parts = [part for part in (get_args(kind) or (kind,)) if part is not NoneType]
    choices = get_origin(kind) is Literal or all(get_origin(part) is Literal for part in parts)
    if setting.option.parse or not (choices or parts in ([bool], [int], [float])):
        return _VALUE
    made = msgspec.json.schema(setting.kind)
    return next((one for one in made.get("anyOf", ()) if one != {"type": "null"}), made)


def _shared(sections: Iterable[Properties]) -> Properties:
    """The keys of all sections; where they mean several things, a value of any of their kinds."""
    found: dict[str, list[dict[str, Any]]] = {}
    for options in sections:
        for name, value in options.items():
            kinds = found.setdefault(name, [])
            if value not in kinds:
                kinds.append(value)
    return {name: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for name, kinds in found.items()}


def _section(name: str, options: Properties) -> dict[str, Any]:
    """The schema of a table with these keys, in which underscores may stand for dashes."""
    return {
        "type": "object",
        "properties": dict(options),
        "patternProperties": {
            f"^{key.replace('-', '_')}$": {"$ref": f"#/$defs/{name}/properties/{key}"}
            for key in options
            if "-" in key
        },
        "additionalProperties": False,
    }
