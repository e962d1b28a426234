"""The options that several commands share, and how they become the keywords of a library function."""

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from turnwise.cli.common.config import configure
from turnwise.errors import TurnwiseError, UsageError
from turnwise.plugin_code import TRACEBACKS

if TYPE_CHECKING:
    from turnwise.report.gate import Gate

Function = TypeVar("Function", bound=Callable[..., Any])


def _options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """One decorator that adds several options, in this order in the help."""

    def decorate(function: Function) -> Function:
        """Add all options to a command's function."""
        return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), function)

    return decorate


def pairs(_: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A callback of click: `KEY=VALUE` texts as pairs; anything else raises `BadParameter`."""
    found = []
    for value in values:
        key, sign, wanted = value.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"`{value}` is not KEY=VALUE", param=parameter)
        found.append((key, wanted))
    return tuple(found)


def names(_: click.Context, parameter: click.Parameter, value: Any) -> tuple[str, ...]:
    """A callback of click: names separated by commas, a comma inside brackets belongs to a metric's settings.

    A text without a name raises `BadParameter`; no text gives no names.
    """
    from turnwise.library.arguments import split_names

    texts = [value] if isinstance(value, str) else list(value or ())
    found = split_names(texts)
    if texts and not found:
        raise click.BadParameter(f"`{','.join(texts)}` names nothing", param=parameter)
    return found


def _gates(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple["Gate", ...]:
    """A callback of click: the parsed gates, so that a mistake (`UsageError`) is found before the run."""
    if not values:
        return ()
    from turnwise.report.gate import Gate

    return tuple(Gate.parse(value) for value in values)


data = click.argument("data", nargs=-1, required=True, metavar="DATA...")
mapping = click.option(
    "--mapping", metavar="FILE.toml",
    help="Read DATA as this file says; `turnwise convert --save-mapping` writes it.",
)  # fmt: skip
reader = _options(
    click.option(
        "--from", "reader", metavar="FORMAT",
        help="Format of DATA where it is not the native one; `turnwise ls readers` lists them.",
    ),
    mapping,
)  # fmt: skip
metrics = click.option(
    "-m", "--metric", "metrics", multiple=True, required=True, callback=names, metavar="NAMES",
    help="Metrics, separated by commas; `turnwise ls metrics` lists them; `rating:overall` is people's ratings, "
    "`module:function` is your own.",
)  # fmt: skip

as_agents = click.option(
    "--as", "as_agents", callback=names, metavar="NAMES|@alternatives",
    help="Score what these agents would have said at the logged points.",
)  # fmt: skip

config = click.option(
    "--config", callback=configure, is_eager=True, expose_value=False, metavar="FILE.toml",
    help="Defaults for these options, under [common] or [COMMAND].",
)  # fmt: skip


def _items(text: str) -> Callable[[Function], Function]:
    """The option --items with this help text."""
    return click.option("--items", type=click.Choice(["rated", "last", "all"]), help=text)


def _role(text: str) -> Callable[[Function], Function]:
    """The option --role with this help text."""
    return click.option(
        "--role", default="assistant", show_default=True, type=click.Choice(["assistant", "user"]), help=text
    )


_scored_items = _items("What is scored. Default: the rated turns where the data has turn ratings, else all.")
_scored_role = _role("Whose messages are scored.")
_where = click.option(
    "--where", multiple=True, callback=pairs, metavar="KEY=VALUE",
    help="Only these dialogues, e.g. meta.corpus=dailyz. Repeatable.",
)  # fmt: skip
_by = click.option(
    "--by", metavar="KEYS",
    help="One result for each value of KEYS, e.g. meta.corpus,meta.year; `file` is the file.",
)  # fmt: skip
_cluster = click.option(
    "--cluster", metavar="KEY", help="The key of what is resampled together. Default: the dialogue."
)
_limit = click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the first N dialogues of all files together.",
)


def _selecting(whose: str, *, metavar: str = "KEY", more: str = "") -> Callable[[Function], Function]:
    """The options that select items; `whose` items --pair pairs, and what `more` it takes."""
    pair = click.option(
        "--pair",
        metavar=metavar,
        help=f"The key that pairs items of {whose}; `id` is the id or line of a dialogue in its file. {more}"
        "Default: the same context.",
    )
    return _options(_scored_items, _scored_role, _where, _by, pair, _cluster, _limit)


selecting = _selecting("different agents")
selecting_compared = _selecting(
    "the two agents", metavar="KEY|none", more="`none` compares all items as independent samples. "
)
selecting_pairs = _options(
    _scored_items,
    _scored_role,
    _where,
    click.option(
        "--pair",
        metavar="KEY",
        help="The key that pairs items of different agents; `id` is the id or line of a dialogue in its file. "
        "Default: the same context.",
    ),
    _cluster,
    _limit,
)
selecting_units = _options(
    _items("Which replies count. Default: the last ones where only last ones are rated, else all."),
    _scored_role,
    _where,
    _by,
    _cluster,
    _limit,
)
workers = _options(
    click.option("--jobs", type=click.IntRange(min=1), show_default="1; on ray the cluster's CPUs",
                 help="Number of workers: processes, or actors of a Ray cluster."),
    click.option("--on", default="local", show_default=True, type=click.Choice(["local", "ray"]),
                 help="Where the work is done (docs/scale.md). The results are the same."),
    click.option("--address", metavar="HOST:PORT",
                 help="Address of a Ray cluster. Default: RAY_ADDRESS, else a cluster on this machine."),
)  # fmt: skip

_scoring = _options(
    click.option("-o", "--output", metavar="DIR",
                 help="Write results.json and items.jsonl here; an interrupted run resumes."),
    click.option("--real", metavar="FILE",
                 help="Reference dialogues for metrics that need fitting."),
    click.option("--model", metavar="NAME|DIR|hub id",
                 help="Model of the metrics that have one; metric[model=...] sets it for one metric."),
    click.option("--db", metavar="DIR",
                 help="Venue tables of task metrics. Default: the folder multiwoz_db beside the data."),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0)),
)  # fmt: skip
draws = click.option("--draws", default=1000, show_default=True, type=click.IntRange(min=100),
                     help="Resamples behind an interval or a test.")  # fmt: skip
_limits = _options(
    workers,
    click.option("--max-errors", default=20, show_default=True, type=click.IntRange(min=0),
                 help="Stop when a metric has failed on more items than this."),
    click.option("--max-cost", type=click.FloatRange(min=0), metavar="X",
                 help="Spend at most X on a judge, in the currency of its price; then it is not asked any more."),
    click.option("--no-cache", is_flag=True, help="Do not reuse rows that are in -o, nor cached verdicts of a judge."),
)  # fmt: skip
running = _options(
    _scoring,
    draws,
    _limits,
)  # fmt: skip
running_without_draws = _options(_scoring, _limits)  # for intervals that need no resampling

style = click.option(
    "--format", "style", default="table", show_default=True, type=click.Choice(["table", "json"])
)


def _print_tracebacks(_: click.Context, __: click.Parameter, wanted: bool) -> bool:
    """With -v, let errors of plugins print their tracebacks until the command ends (`group.run`)."""
    if wanted and TRACEBACKS not in os.environ:
        os.environ[TRACEBACKS] = "1"
    return wanted


def verbose(shows: str = "", *, expose: bool = True) -> Callable[[Function], Function]:
    """The option -v: what it `shows`, if anything, and the tracebacks of errors in plugins."""
    traced = "the traceback of an error in a plugin"
    return click.option(
        "-v",
        "--verbose",
        is_flag=True,
        callback=_print_tracebacks,
        expose_value=expose,
        help=f"{shows} Print {traced}.".strip(),
    )


wide = click.option("--wide", is_flag=True, help="Show all columns of tables, however wide the terminal is.")

printing = _options(
    style,
    wide,
    click.option("-q", "--quiet", is_flag=True, help="No progress bar and no notes; warnings are printed."),
    verbose("Also show methods and signatures; includes --wide."),
)  # fmt: skip

gating = _options(
    click.option("--gate", "gates", multiple=True, callback=_gates, metavar="'NAME >= X'",
                 help="Fail (exit 1) unless the bound of the interval meets this. Repeatable."),
    click.option("--junit", metavar="FILE", help="Write the gates as a JUnit XML file."),
)  # fmt: skip

trying = _options(
    click.option("--dry-run", is_flag=True,
                 help="Only say what judges would be asked and what it would cost; send nothing."),
    click.option("--show-prompt", metavar="ITEM", is_flag=False, flag_value="",
                 help="Only show what judges are sent for ITEM, an id of items.jsonl; without ITEM for the first."),
)  # fmt: skip


def typed(*parameters: str) -> list[str]:
    """Those of these parameters that were given on the command line (not by default or --config), by their
    option names.
    """
    ctx = click.get_current_context()
    return [
        parameter.opts[-1]
        for parameter in ctx.command.params
        if parameter.name in parameters
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]


# Parameters of a command line alone: the library functions do not have them.
OWN = ("style", "quiet", "verbose", "wide", "gates", "junit", "no_cache")


def arguments(given: Mapping[str, Any], *drop: str, figures: bool = True) -> dict[str, Any]:
    """The keywords of the library function that a command line calls: parameters have the same names there, and
    those of `OWN` and `drop` are left out. `--quiet` becomes `progress=False` and `--no-cache` `reuse=False`.
    `figures`: the function has the keyword `figures`, which is set to False.
    """
    found = {name: value for name, value in given.items() if name not in (*OWN, *drop)}
    found["progress"] = not given["quiet"]
    if "no_cache" in given:
        found["reuse"] = not given["no_cache"]
    if "output" in found:
        found["output"] = found["output"] or None
    return found | ({"figures": False} if figures else {})


@contextmanager
def gated(given: dict[str, Any]) -> Iterator[None]:
    """Check the gates before the run; a gate on a metric that is not asked for raises `UsageError`.

    If the run raises a `TurnwiseError`, its gates are written as failed to the --junit file, if one is asked for.
    """
    metrics = given.get("metrics")
    for gate in given["gates"]:
        if metrics and gate.name not in metrics:
            asked = ", ".join(metrics)
            raise UsageError(f"gate `{gate.text}`: `{gate.name}` is not among the metrics asked for: {asked}")
    try:
        yield
    except TurnwiseError as error:
        from turnwise.cli.common.printed import fail_gates

        fail_gates(given, error)
        raise
