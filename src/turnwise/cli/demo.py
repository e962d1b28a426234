"""`turnwise demo`."""

import shlex
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copyfile

import click

STEPS = {
    "Are the conversations sound?": "validate {data}",
    "How good are the replies?": "score {data} -m bleu-4,rouge-l,distinct-2,length -o {out}/score",
    "Is `good` better than `dull`?": (
        "compare {data} -m rouge-l,length --agents good,dull --pair meta.topic -o {out}/compare"
    ),
    "Do these metrics agree with people?": (
        "meta {data} -m bleu-4,rouge-l,length --statistic spearman -o {out}/meta"
    ),
}


@click.command(name="demo")
@click.option("-o", "--output", default="turnwise-demo", show_default=True, metavar="DIR")
def command(output: str) -> int:
    """The whole loop on the embedded, made-up corpus.

    40 invented conversations of four invented agents with three invented raters: no figure from them means
    anything about a real system.
    """
    from turnwise.cli.group import run

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "demo.jsonl"
    with as_file(files("turnwise.data") / "demo.jsonl") as corpus:
        copyfile(corpus, data)
    click.echo("40 made-up conversations of four made-up agents, rated by three made-up people.")
    for question, step in STEPS.items():
        line = step.format(data=shlex.quote(str(data)), out=shlex.quote(output))
        click.echo(f"\n# {question}\n> turnwise {line}")
        if code := run(shlex.split(line)):
            return code
    click.echo(f"\nEverything is in {output}/: results.json has the numbers, items.jsonl each reply's own.")
    return 0
