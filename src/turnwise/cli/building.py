"""Makes the command line of a command from its settings and those of its screen."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from inspect import cleandoc
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import click
from click.core import ParameterSource
from msgspec import Meta

from turnwise.cli.common.config import Configured, configure, ignore_found
from turnwise.plugin_code import TRACEBACKS
from turnwise.run.workers.threads import limited_threads
from turnwise.settings.groups import Command
from turnwise.settings.option import Names, NamesOrFunctions, Pairs, Setting, bare, settings, split_names

Callback = Callable[[click.Context, click.Parameter, Any], Any]


def command_line(command: type[Command]) -> click.Command:
    """The command line of a command's class: an argument or option for each setting."""
    own = settings(command)
    shown = settings(command.screen_class)
    parameters = [_parameter(setting) for setting in (*own, *shown) if not setting.option.only_python]
    if command.configurable:
        parameters[:0] = _config()
    return Configured(
        command.command,
        params=parameters,
        help=cleandoc(command.__doc__ or ""),
        callback=partial(_called, command),
    )


def _called(command: type[Command], /, **values: Any) -> int:
    """Run the command with what was given of these values, print its result, and return the exit code.

    What was not given is left to the defaults of the fields. While it runs, BLAS has one thread.
    """
    source = click.get_current_context().get_parameter_source
    given = {name: value for name, value in values.items() if source(name) is not ParameterSource.DEFAULT}
    names = {setting.name for setting in settings(command.screen_class)}
    shown = {name: value for name, value in given.items() if name in names}
    chosen = {name: value for name, value in given.items() if name not in names}
    known = {setting.name for setting in settings(command)}
    # What a command line decides by itself.
    chosen |= {
        name: value
        for name, value in {"progress": not shown.get("quiet", False), "figures": False}.items()
        if name in known
    }
    with limited_threads():
        return command.on_command_line(command.screen_class(**shown), chosen)


def _config() -> list[click.Parameter]:
    """The options --no-config, which is looked at first, and --config."""
    return [
        click.Option(
            ["--no-config"],
            is_flag=True,
            callback=ignore_found,
            is_eager=True,
            expose_value=False,
            help="Do not look for turnwise.toml.",
        ),
        click.Option(
            ["--config"],
            callback=configure,
            is_eager=True,
            expose_value=False,
            metavar="FILE.toml",
            help="Defaults for these options, at the top or under [COMMAND]. Default: the turnwise.toml of this folder "
            "or of one above it.",
        ),
    ]


def _parameter(setting: Setting) -> click.Parameter:
    """The argument or option of one setting."""
    option = setting.option
    if not setting.flags[0].startswith("-"):
        return _argument(setting)
    kind = bare(setting.kind)
    if kind in (bool, bool | None):
        return _flag(setting)
    several = option.repeatable
    return click.Option(
        [*setting.flags, setting.name],
        multiple=several,
        required=setting.required,
        type=None if option.parse else _type(setting.kind),
        show_default=option.default or _shows_default(setting),
        callback=_callback(setting),
        metavar=option.metavar,
        help=option.help,
        **_optional_value(setting),
        **_default(setting, several=several),
    )


def _optional_value(setting: Setting) -> dict[str, Any]:
    """How click takes an option whose value may be left out: a metavar in brackets."""
    may_lack = (setting.option.metavar or "").startswith("[")
    return {"is_flag": False, "flag_value": ""} if may_lack else {}


def _argument(setting: Setting) -> click.Argument:
    """The positional argument of a setting; `DATA...` takes any number."""
    name = setting.flags[0]
    several = name.rstrip("]").endswith("...")
    kind = None if several else _type(setting.kind)
    return click.Argument(
        [setting.name],
        nargs=-1 if several else 1,
        required=setting.required,
        metavar=None if isinstance(kind, click.Choice) else name,  # click shows the choices
        type=kind,
        callback=_callback(setting),
        **({} if several else _default(setting, several=False)),
    )


def _flag(setting: Setting) -> click.Option:
    """The flag of a setting that is on or off; an inverted one switches it off."""
    option = setting.option
    if option.prints is not None:
        return _ending_flag(setting, option.prints)
    default = False if option.inverted else setting.default
    return click.Option(
        [*setting.flags, setting.name],
        is_flag=True,
        default=default,
        show_default=bool(setting.default) and "/" in setting.flags[-1],
        callback=_traced if setting.name == "verbose" else (_inverted if option.inverted else None),
        hidden=option.hidden,
        help=option.help,
    )


def _ending_flag(setting: Setting, prints: Callable[[], None]) -> click.Option:
    """A flag that prints something and ends, before the other parameters are looked at."""

    def end(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        """A callback of click."""
        if given and not ctx.resilient_parsing:
            prints()
            ctx.exit()

    return click.Option(
        [*setting.flags, setting.name],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=end,
        help=setting.option.help,
    )


def _inverted(_: click.Context, __: click.Parameter, given: bool) -> bool:
    """A callback of click: the setting that a flag switches off."""
    return not given


def _traced(_: click.Context, __: click.Parameter, given: bool) -> bool:
    """A callback of click: with -v, errors of plugins print their tracebacks until the command ends."""
    if given and TRACEBACKS not in os.environ:
        os.environ[TRACEBACKS] = "1"
    return given


def _type(kind: Any) -> "click.ParamType[Any] | None":
    """The type of click for the type of a setting; None for a text."""
    metas = [note for note in _notes(kind) if isinstance(note, Meta)]
    plain = [part for part in (get_args(bare(kind)) or (bare(kind),)) if part is not NoneType]
    if get_origin(bare(kind)) is Literal:
        return click.Choice(get_args(bare(kind)))
    if len(plain) == 1 and get_origin(plain[0]) is Literal:
        return click.Choice(get_args(plain[0]))
    if plain == [int]:
        return _range(click.IntRange, metas) if metas else click.INT
    if plain == [float]:
        return _range(click.FloatRange, metas) if metas else click.FLOAT
    return None


def _notes(kind: Any) -> list[Any]:
    """What annotations hold beside types, at any depth of unions."""
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        return [*notes, *_notes(inner)]
    if get_origin(kind) in (Literal, None):
        return []
    return [note for part in get_args(kind) for note in _notes(part)]


def _range(kind: type[Any], metas: Sequence[Meta]) -> "click.ParamType[Any]":
    """The range of click with the bounds of a setting."""
    meta = metas[0]
    low = meta.ge if meta.ge is not None else meta.gt
    high = meta.le if meta.le is not None else meta.lt
    return cast(
        "click.ParamType[Any]",
        kind(low, high, min_open=meta.gt is not None, max_open=meta.lt is not None),
    )


def _default(setting: Setting, *, several: bool) -> dict[str, Any]:
    """How click takes the default: as a command line would give it, names as one text; without one the key is left out,
    because click would take None for a value.
    """
    if setting.required:
        return {}
    default = setting.default
    if several:
        values = default if isinstance(default, tuple) else (default,)
        return {"default": values if default else ()}
    return {"default": (",".join(default) or None) if isinstance(default, tuple) else default}


def _shows_default(setting: Setting) -> bool:
    """Whether the help shows the default: where there is one that is not empty."""
    return not setting.required and setting.default not in (None, (), "")


def _callback(setting: Setting) -> Callback | None:
    """What turns texts of the command line into the value of a setting."""
    kind = bare(setting.kind)
    if setting.option.parse is not None:
        return partial(_parsed, setting)
    if kind in (Names, Names | None, NamesOrFunctions):
        return _names
    if kind in (Pairs, Pairs | None):
        return _pairs
    return None


def _parsed(setting: Setting, _: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """A callback of click: the value as the setting parses it; a `ValueError` becomes `BadParameter`."""
    if given is None or given == ():
        return setting.default
    try:
        return cast("Callable[[Any], Any]", setting.option.parse)(given)
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from None


def _names(_: click.Context, parameter: click.Parameter, value: Any) -> tuple[str, ...] | None:
    """A callback of click: names separated by commas, a comma inside brackets belongs to a metric's settings.

    A text without a name raises `BadParameter`; no text gives no names.
    """
    texts = [value] if isinstance(value, str) else list(value or ())
    names = split_names(texts)
    if texts and not names:
        raise click.BadParameter(f"`{','.join(texts)}` names nothing", param=parameter)
    return names


def _pairs(
    _: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """A callback of click: `KEY=VALUE` texts as pairs; anything else raises `BadParameter`."""
    pairs = []
    for value in values:
        key, sign, wanted = value.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"`{value}` is not KEY=VALUE", param=parameter)
        pairs.append((key, wanted))
    return tuple(pairs)
