"""`turnwise convert`."""

import click


@click.command(name="convert")
@click.option(
    "--from",
    "reader",
    required=True,
    metavar="FORMAT",
    help="The format of IN; `turnwise ls readers` lists them.",
)
@click.option(
    "--map", "columns", multiple=True, metavar="MEANING=COLUMN,...",
    help="The columns of a table: id, role, content, turn, agent, context, response, rater, reference, "
    "rating:NAME, dialogue-rating:NAME, alternative:AGENT. A rating may have a scale: rating:NAME[1-5].",
)  # fmt: skip
@click.option("--split", metavar="TEXT", help="The text that separates the turns of a table's context.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
def command(reader: str, columns: tuple[str, ...], split: str | None, source: str, target: str) -> None:
    """Convert dialogues of another format to the native one.

    OUT appears whole or not at all, and is compressed if its name ends in .gz. `-` is a pipe.

    \b
      turnwise convert --from openai chats.jsonl logs.jsonl
      turnwise convert --from csv --map id=conv,role=who,content=text,rating:overall=score in.csv logs.jsonl
    """
    from turnwise.errors import counted
    from turnwise.library import convert

    done = convert(source, target, reader=reader, columns=",".join(columns), split=split)
    click.echo(f"{target}: {counted(done.n_dialogues, 'dialogue')} written", err=True)
    for what, count in done.dropped.items():
        click.echo(f"not kept: {count} {what}", err=True)
