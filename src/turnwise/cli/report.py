"""`turnwise report`."""

import click

from turnwise.cli.common import options
from turnwise.terminal import json_escape, say, say_document, visible


@click.command(name="report")
@click.argument("folders", nargs=-1, metavar="DIR...")
@click.option(
    "-o", "--output", multiple=True, default=("report.html",), show_default=True, metavar="FILE",
    help="report.html, report.md or report.json: the name decides the form. Repeatable.",
)  # fmt: skip
@click.option("--format", "style", type=click.Choice(["markdown"]),
              help="Print the conclusions and a folded table of each run, short enough for a comment on a pull "
              "request. Files are then written only with -o.")  # fmt: skip
@click.option("--title", default="turnwise report", show_default=True, help="The heading of the report.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of results.json, and nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print what was written.")
def command(
    folders: tuple[str, ...],
    output: tuple[str, ...],
    style: str | None,
    title: str,
    schema: bool,
    quiet: bool,
) -> None:
    """Tables and figures of finished runs, as one self-contained HTML file; also Markdown and JSON.

    DIR is what `score`, `meta`, `compare`, `diff`, `calibrate`, `power`, `attack` or `ope` wrote with -o, or a folder
    that holds several of them. Markdown has its pictures as SVG files in a folder beside it.

    \b
      turnwise report out -o report.html
      turnwise report out/score out/meta -o report.md -o report.json
      turnwise report out --format markdown >> "$GITHUB_STEP_SUMMARY"
    """
    if schema:
        from turnwise.report.schema import published

        say_document(published(), escape=json_escape)
        return
    from turnwise.library import make_report

    wanted = () if style and not options.typed("output") else output
    made = make_report(folders, output=wanted, title=title)
    if style:
        say_document(made.comment, escape=visible)
    if wanted and not quiet:
        say(str(made), err=True)
