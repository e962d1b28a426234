"""`--config FILE.toml`: defaults for options, under [common] or a command's own section.

A value in the file means what it would mean on the command line. An unknown key is an error, because a setting that is
silently ignored gives a result that nobody asked for.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from turnwise.errors import UsageError, nearest

COMMON = "common"
PLACES = "turnwise.config.places"  # key of the context: parameter -> key, section and file of its value
# Parameter -> names that it had in earlier versions, which files may still use.
FORMER = {
    "items": ("judged",),
    "lower_is_better": ("lower",),
    "contexts": ("data",),
    "self_play": ("turns",),
}


def configure(ctx: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """The callback of --config: use the values of FILE.toml as defaults, which the command line overrides.

    [common] may have keys of any command, a command's own section only its own; an unknown section or key
    raises `UsageError`.
    """
    if path is None:
        return None
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    known = _configurable(ctx, option)
    _check_sections(path, settings, [COMMON, *known])
    mine = ctx.command.name or ""
    for_all = {name: found for keys in known.values() for name, found in keys.items()}
    common = _values(f"{path}: [{COMMON}]", settings.get(COMMON, {}), {**for_all, **known[mine]})
    own = _values(f"{path}: [{mine}]", settings.get(mine, {}), known[mine])
    ctx.default_map = {name: value for name, (_, value) in {**common, **own}.items()}
    ctx.meta[PLACES] = {
        name: f"`{key}` in [{mine if name in own else COMMON}] of {path}"
        for name, (key, _) in {**common, **own}.items()
    }
    return path


def place_of(error: click.BadParameter) -> str | None:
    """The key, the section and the file of a value that click found wrong; None if it is not from a file."""
    if error.ctx is None or error.param is None or error.param.name is None:
        return None
    of_file = error.ctx.get_parameter_source(error.param.name) is ParameterSource.DEFAULT_MAP
    places: dict[str, str] = error.ctx.meta.get(PLACES, {})
    return places.get(error.param.name) if of_file else None


def _configurable(ctx: click.Context, option: click.Parameter) -> dict[str, dict[str, click.Parameter]]:
    """Command -> key -> parameter, for every command that has the option --config (`option`), without that option."""
    root = ctx.find_root().command
    commands = [ctx.command]
    if isinstance(root, click.Group):
        commands += [
            command
            for name in root.list_commands(ctx)
            if (command := root.get_command(ctx, name)) is not None
        ]
    return {
        command.name or "": {
            key: parameter
            for parameter in command.params
            if parameter.name != option.name
            for key in _keys(parameter)
        }
        for command in commands
        if any(parameter.name == option.name for parameter in command.params)
    }


def _keys(parameter: click.Parameter) -> Iterable[str]:
    """The names that a parameter may have in a file, with _ for -: its long options, its Python name, and
    former names.
    """
    long = [text[2:] for text in (*parameter.opts, *parameter.secondary_opts) if text.startswith("--")]
    inside = parameter.name or ""
    return {name.replace("-", "_") for name in (*long, inside, *FORMER.get(inside, ()))}


def _check_sections(path: str, settings: dict[str, Any], sections: list[str]) -> None:
    """Raise `UsageError` for a key outside a section, and for a section that is not in `sections`."""
    for name, value in settings.items():
        if not isinstance(value, dict):
            raise UsageError(
                f"{path}: `{name}` is outside a section; keys go under [{COMMON}] or the command's own"
            )
        if name not in sections:
            raise UsageError(f"{path}: there is no section [{name}]; {nearest(name, sections)}")


def _values(
    place: str, table: dict[str, Any], known: dict[str, click.Parameter]
) -> dict[str, tuple[str, Any]]:
    """A section: Python parameter -> key of the file, and the value as click takes defaults.

    An unknown key, or a parameter given twice, raises `UsageError` that begins with `place`.
    """
    found: dict[str, tuple[str, Any]] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            raise UsageError(f"{place} has no option `{key}`; {nearest(name, list(known))}")
        parameter = known[name]
        inner = parameter.name or ""
        if inner in found:
            raise UsageError(f"{place} gives `{key}` twice, once under another name")
        found[inner] = key, _typed(f"{place} {key}", value, parameter, name)
    return found


def _typed(place: str, value: Any, parameter: click.Parameter, name: str) -> Any:
    """The value as text, or texts, as it would come from the command line; `name` is the key that was used.

    The negative form of a flag (`no_intervals = true`) is inverted; a list is joined by commas if the option
    takes names.
    """
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, (dict, list)) for one in values):
        raise UsageError(f"{place}: expected a value or a list of values")
    texts = [str(one) for one in values]
    if parameter.multiple or parameter.nargs == -1:
        return texts
    if isinstance(value, list):
        if parameter.type is not click.STRING or parameter.callback is None:
            raise UsageError(f"{place}: takes one value, not a list")
        return ",".join(texts)  # an option that takes names separated by commas
    if f"--{name.replace('_', '-')}" in parameter.secondary_opts:
        try:
            return not click.BOOL.convert(texts[0], parameter, None)
        except click.BadParameter as error:
            raise UsageError(f"{place}: {error.message}") from None
    return texts[0]
