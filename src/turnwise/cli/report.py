"""`turnwise report`."""

import click


@click.command(name="report")
@click.argument("folders", nargs=-1, metavar="DIR...")
@click.option(
    "-o", "--output", multiple=True, default=("report.html",), show_default=True, metavar="FILE",
    help="report.html, report.md or report.json: the name decides the form. Repeatable.",
)  # fmt: skip
@click.option("--title", default="turnwise report", show_default=True, help="The heading of the report.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of results.json, and nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print what was written.")
def command(folders: tuple[str, ...], output: tuple[str, ...], title: str, schema: bool, quiet: bool) -> None:
    """Tables and figures of finished runs, as one self-contained HTML file; also Markdown and JSON.

    DIR is what `score`, `meta`, `compare`, `calibrate`, `power`, `attack` or `ope` wrote with -o, or a folder that
    holds several of them. Markdown has its pictures as SVG files in a folder beside it.

    \b
      turnwise report out -o report.html
      turnwise report out/score out/meta -o report.md -o report.json
    """
    if schema:
        from turnwise.report.schema import published

        click.echo(published(), nl=False)
        return
    from turnwise.library import make_report

    made = make_report(folders, output=output, title=title)
    if not quiet:
        click.echo(str(made), err=True)
