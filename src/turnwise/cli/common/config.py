"""Defaults for options from a file: `--config FILE.toml`, or the `turnwise.toml` that is found.

A command's own section counts before keys that all commands share, which are at the top of the file or under [common].
A value in the file means what it would mean on the command line. An unknown key is an error, because a setting that is
silently ignored gives a result that nobody asked for.
"""

import os
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.types import BoolParamType

from turnwise.errors import UsageError, nearest
from turnwise.settings.schema import CONFIG, FORMER
from turnwise.terminal import say

COMMON = "common"
PLACES = "turnwise.config.places"  # key of `ctx.meta`: parameter -> key, section and file of its value
_IGNORED, _FOUND = "turnwise.no_config", "turnwise.found_config"  # keys of `ctx.meta`


class Configured(click.Command):
    """A command whose options may have their defaults from a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; standard error says which file was found and what it sets, also where a value is wrong."""
        try:
            return super().parse_args(ctx, args)
        finally:
            if _FOUND in ctx.meta:
                _say_found(ctx, ctx.meta[_FOUND])


def ignore_found(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    """The callback of --no-config: no file is looked for."""
    ctx.meta[_IGNORED] = given


def configure(ctx: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """The callback of --config: use the values of the file as defaults, which the command line overrides.

    Without a path it is the `turnwise.toml` that is found. Shared keys may be those of any command, a section has only
    those of its command; an unknown section or key raises `UsageError`.
    """
    found = None if path or ctx.resilient_parsing or ctx.meta.get(_IGNORED) else found_config()
    name = path or (os.path.relpath(found) if found else None)
    if name is None:
        return None
    try:
        settings = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {error}") from error
    known = _configurable(ctx, option)
    sections, top = _parted(name, settings, [COMMON, *known])
    mine = ctx.command.name or ""
    for_all = {key: parameter for keys in known.values() for key, parameter in keys.items()} | known[mine]
    shared = _values(name, top, for_all)
    common = _values(f"{name}: [{COMMON}]", sections.get(COMMON, {}), for_all)
    if twice := shared.keys() & common.keys():
        raise UsageError(f"{name}: [{COMMON}] gives `{min(twice)}`, which is at the top of the file, too")
    own = _values(f"{name}: [{mine}]", sections.get(mine, {}), known[mine])
    ctx.default_map = {key: value for key, (_, value) in {**shared, **common, **own}.items()}
    ctx.meta[PLACES] = {
        parameter: f"`{key}`{where} of {name}"
        for where, found_there in (("", shared), (f" in [{COMMON}]", common), (f" in [{mine}]", own))
        for parameter, (key, _) in found_there.items()
    }
    if found:
        ctx.meta[_FOUND] = name
    return name


def found_config() -> Path | None:
    """The `turnwise.toml` of this folder or of the nearest one above it; None without one.

    The last folder that is looked at is that of a repository (with .git) or the home folder. Above this folder, one
    that everybody may write to, such as /tmp, is passed over: anybody could have put the file there.
    """
    from turnwise.cli.common.group import IN_DEMO  # that module imports this one

    if IN_DEMO.get():  # the steps of the demo are the same everywhere
        return None
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was removed
        return None
    return next((file for folder in _folders(here) if os.path.isfile(file := folder / CONFIG)), None)


def _folders(here: Path) -> Iterator[Path]:
    """The folders in which `turnwise.toml` is looked for, the nearest first."""
    home = Path(os.path.expanduser("~"))
    for folder in (here, *here.parents):
        if folder == here or not _open_to_all(folder):
            yield folder
        if folder == home or os.path.exists(folder / ".git"):
            return


def _open_to_all(folder: Path) -> bool:
    """Whether everybody may write to a folder, or nothing can be known of it; Windows does not say."""
    try:
        return os.name == "posix" and bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _say_found(ctx: click.Context, name: str) -> None:
    """Say on standard error which file was found and what it sets for this command; nothing if it sets nothing."""
    given = set(ctx.default_map or ())
    keys = [
        _shown(parameter)
        for parameter in ctx.command.params
        if parameter.name in given
        and ctx.get_parameter_source(parameter.name) is not ParameterSource.COMMANDLINE
    ]
    if keys:
        say(f"{name}: {', '.join(keys)} (--no-config leaves it out)", err=True)


def _shown(parameter: click.Parameter) -> str:
    """How a message names a parameter: its long option, or an argument's name."""
    long = [text for text in parameter.opts if text.startswith("--")]
    return long[0] if long else parameter.human_readable_name.strip("[].")


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
            if parameter.expose_value  # not --config itself, nor what prints and ends
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


def _parted(
    path: str, settings: dict[str, Any], names: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The sections of a file, and the keys at its top; `UsageError` for a section that is not among `names`."""
    sections = {name: value for name, value in settings.items() if isinstance(value, dict)}
    for name in sections:
        if name not in names:
            raise UsageError(f"{path}: there is no section [{name}]; {nearest(name, names)}")
    top = {key: value for key, value in settings.items() if key not in sections}
    for name, value in top.items():
        if name in names:
            raise UsageError(f"{path}: `{name}` is a section, [{name}], and not {value!r:.40}")
    return sections, top


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

    The negative form of a switch (`positional_raters = true`) is inverted, and so is the Python name of a setting that
    its flag switches off (`check`, by --no-check); a list is joined by commas if the option takes names.
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
    flag = f"--{name.replace('_', '-')}"
    switched_off = flag not in parameter.opts and all(text.startswith("--no-") for text in parameter.opts)
    if flag in parameter.secondary_opts or (isinstance(parameter.type, BoolParamType) and switched_off):
        try:
            return not click.BOOL.convert(texts[0], parameter, None)
        except click.BadParameter as error:
            raise UsageError(f"{place}: {error.message}") from None
    return texts[0]
