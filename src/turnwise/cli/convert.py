"""`turnwise convert`."""

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError
from turnwise.terminal import say


@click.command(name="convert")
@click.option("--from", "reader", metavar="FORMAT",
              help="`turnwise ls readers` lists them. Default: the format that is recognised.")  # fmt: skip
@click.option(
    "--map", "columns", multiple=True, metavar="MEANING=COLUMN,...",
    help="What a table's columns, or the paths of --from json, are: id, role, content, turn, time, message, reply_to, "
    "agent, context, response, rater, reference, messages, goal, say:ROLE, rating:NAME, dialogue-rating:NAME, "
    "alternative:AGENT. A rating may have a scale: rating:NAME[1-5].",
)  # fmt: skip
@click.option("--split", metavar="TEXT", help="What separates the turns of a table's context.")
@click.option("--roles", multiple=True, metavar="SPEAKER=ROLE,...",
              help="Who is who where the format does not say it: 'Support=assistant,*=user'.")  # fmt: skip
@click.option("--agent", metavar="NAME", help="The agent's name where the records name none.")
@click.option("--each", metavar="PATH", help="With --from json: where the records are, e.g. 'results[*]'.")
@click.option(
    "--mapping",
    metavar="FILE.toml",
    help="Take --from, --map, --split, --roles, --agent and --each from here.",
)
@click.option("--save-mapping", metavar="FILE.toml", help="Write these options to a file for --mapping.")
@click.option(
    "--strict", is_flag=True, help="Anything that cannot be kept is an error, and nothing is written."
)
@click.option(
    "--redact",
    is_flag=True,
    help="Replace names, mail addresses, phone, card and IBAN numbers, IPs, URLs with tokens and keys by placeholders "
    "such as [PERSON_1]. By rules, offline, not complete.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress bar, and nothing on what was understood.")
@options.verbose(expose=False)
@click.argument("files", nargs=-1, required=True, metavar="IN... OUT")
def command(
    reader: str | None,
    columns: tuple[str, ...],
    split: str | None,
    roles: tuple[str, ...],
    agent: str | None,
    each: str | None,
    mapping: str | None,
    save_mapping: str | None,
    strict: bool,
    redact: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> None:
    """Convert dialogues of another format to the native one.

    What was understood is said. OUT appears whole or not at all, and is compressed if its name ends in .gz. A
    conversion that was killed is continued by the same command. `-` is a pipe. Only mt-bench, a
    format of several files, and native, which merges files, take more than one IN.

    \b
      turnwise convert results.json logs.jsonl
      turnwise convert --from csv --map id=conv,role=who,content=text \\
        --map rating:overall=score in.csv logs.jsonl
      turnwise convert --from json --map messages=traj,role=author,content=text \\
        --each 'runs[*]' in.json logs.jsonl
    """
    from turnwise.library import convert
    from turnwise.logs.readers.mapping import load, save

    if len(files) < 2:
        raise UsageError("give what to read and what to write: turnwise convert IN OUT")
    given = {
        "from": reader, "map": ",".join(columns) or None, "split": split, "roles": ",".join(roles) or None,
        "agent": agent, "each": each,
    }  # fmt: skip
    kept = (load(mapping) if mapping else {}) | {
        key: value for key, value in given.items() if value is not None
    }
    done = convert(
        files[:-1],
        files[-1],
        reader=kept.get("from"),
        columns=kept.get("map", ""),
        split=kept.get("split"),
        roles=kept.get("roles", ""),
        agent=kept.get("agent"),
        each=kept.get("each"),
        strict=strict,
        redact=redact,
        progress=not quiet,
    )
    if save_mapping:
        save(save_mapping, {"from": done.reader, **kept})
    if not quiet:
        say(str(done), err=True)
