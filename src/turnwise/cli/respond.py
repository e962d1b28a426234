"""`turnwise respond`."""

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError
from turnwise.terminal import say_lines

_SHOWN = 5  # failures that are printed


def _settings(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """The callback of --set: key -> value, a number, true, false or text; a value with a comma or a bracket is a text.

    Anything but KEY=VALUE raises `UsageError`.
    """
    from turnwise.metrics import settings

    found: dict[str, Any] = {}
    for value in values:
        if "=" not in value:
            raise UsageError(f"--set takes KEY=VALUE, as in --set temperature=.7, and not `{value}`")
        key, text = value.split("=", 1)
        found |= {key: text} if "," in text or "[" in text else settings(f"set[{value}]")[1]
    return found


@click.command(name="respond")
@options.config
@options.data
@options.reader
@click.option("--agent", required=True, metavar="URL|MODULE:FUNCTION|MODEL",
              help="Who replies: an OpenAI-compatible address, your own function, a folder that `turnwise train` "
              "wrote, or a language model by name, folder or hub id. Not the name of the logged agent: records that "
              "name none get it from `turnwise convert --agent NAME`.")  # fmt: skip
@click.option("--name", required=True, metavar="NAME", help="The name of its replies in the logs.")
@click.option("--samples", default=1, show_default=True, type=click.IntRange(min=1), metavar="K",
              help="Replies at each point.")  # fmt: skip
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="The logs with the replies; an interrupted run resumes.",
)
@click.option("--set", "settings", multiple=True, callback=_settings, metavar="KEY=VALUE",
              help="A setting of the agent, e.g. temperature=.7. Repeatable; docs/respond.md lists them.")  # fmt: skip
@click.option("--self-play", type=click.IntRange(min=1), metavar="N",
              help="Instead, write dialogues of N replies of the agent with itself, begun as logged.")  # fmt: skip
@click.option("--user", metavar="AGENT", help="With --self-play: the agent that plays the user.")
@click.option("--where", multiple=True, callback=options.pairs, metavar="KEY=VALUE",
              help="Only these dialogues, e.g. meta.corpus=dailyz. Repeatable.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N dialogues.")
@click.option("--again", is_flag=True, help="Replace replies that the logs have under this name.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N",
              help="Requests or calls at once. Default: 8 for an address, 1 for a function.")  # fmt: skip
@click.option("--timeout", default=120.0, show_default=True, type=click.FloatRange(min=0, min_open=True),
              metavar="SECONDS", help="How long one reply of an address or a function may take.")  # fmt: skip
@click.option("--tries", type=click.IntRange(min=1), metavar="N",
              help="Attempts at a point. Default: 4 for an address, 2 for a function.")  # fmt: skip
@click.option("--max-errors", default=20, show_default=True, type=click.IntRange(min=0),
              help="Stop when the agent has failed at more points than this.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--restart", is_flag=True, help="Ignore what an interrupted run has done.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar and no notes.")
@options.verbose(expose=False)
def command(**given: Any) -> None:
    """Add what an agent would have said at each assistant message of the logs.

    The agent is given the logged context of each point, and its replies are written under `alternatives`, where
    `score --as` and `ope` read them. Points that have replies under this name are left as they are. Where the
    agent fails, the point is printed and stays without a reply; `respond OUT ... -o OUT` asks there again.

    \b
      turnwise respond logs.jsonl --agent smollm2 --name smollm2 -o out.jsonl
      turnwise respond logs.jsonl --agent bot:reply --name mine -o out.jsonl
      turnwise respond logs.jsonl --agent https://host/v1 --set model=m \\
        --name m -o out.jsonl
    """
    from turnwise.errors import counted
    from turnwise.library import respond

    done = respond(**options.arguments(given, figures=False))
    if given["quiet"]:
        return
    for failure in done.failures[:_SHOWN]:
        say_lines(f"note: {failure}", err=True)
    if len(done.failures) > _SHOWN:
        say_lines(f"note: and at {counted(len(done.failures) - _SHOWN, 'point')} more", err=True)
    if done.n_there:
        say_lines(f"note: {counted(done.n_there, 'point')} had replies of {given['name']} already", err=True)
    with_replies = done.n_points - len(done.failures)
    coverage = (
        ""
        if given["self_play"]
        else f", {given['name']} replies at {with_replies} of {counted(done.n_points, 'point')}"
    )
    say_lines(f"{given['output']}: {counted(done.n_dialogues, 'dialogue')} written{coverage}", err=True)
