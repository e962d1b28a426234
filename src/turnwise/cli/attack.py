"""`turnwise attack`."""

import sys
from typing import Any

import click

from turnwise.cli import options
from turnwise.errors import counted

SHOWN = 12  # strategies in the table; results.json has all
STRONG = 0.3  # a correlation worth a line


@click.command(name="attack")
@options.config
@click.argument("metric", metavar="METRIC")
@click.option(
    "--contexts", "data", multiple=True, required=True, metavar="DATA",
    help="Conversations of people: where the strategies must answer. Repeatable.",
)  # fmt: skip
@click.option(
    "--count", default=200, show_default=True, type=click.IntRange(min=40),
    help="Contexts: half to search on, half to judge on.",
)  # fmt: skip
@click.option(
    "--budget", default=20_000, show_default=True, type=click.IntRange(min=500),
    help="Metric calls; one call is one reply scored.",
)  # fmt: skip
@click.option(
    "--stages", default="baselines,search", show_default=True, callback=options.names, metavar="NAMES",
    help="baselines, search.",
)  # fmt: skip
@click.option(
    "--perturb/--no-perturb", default=True, show_default=True,
    help="Also report how the score moves under edits that change no meaning, and under ruined contexts.",
)  # fmt: skip
@click.option(
    "--timeout", default=120.0, show_default=True, type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    help="After which a metric that does not answer is left.",
)  # fmt: skip
@click.option("--gate", is_flag=True, help="Fail (exit 1) if the metric can be gamed.")
@options.selecting
@options.running
@options.printing
def command(**given: Any) -> int:
    """How is a metric gamed? Searches for replies that it scores above people's.

    METRIC is any name of `turnwise ls metrics`, with settings in brackets, a `module:function` or an http
    address. Strategies are searched on one half of the contexts and judged on the other: a metric is gameable
    when a strategy's gain over people has an interval above zero, at a level shared among all that were
    judged.

    \b
      turnwise attack length --contexts talks.jsonl
      turnwise attack usr-ret --contexts talks.jsonl -o out --gate
      turnwise attack mymetrics:score --contexts talks.jsonl --budget 5000
    """
    from turnwise.cli.printed import conclude
    from turnwise.run.attack import run_attack

    given |= {"metrics": (given["metric"],), "gates": (), "junit": None}
    names = ("count", "budget", "stages", "perturb", "timeout")

    def report(line: str) -> None:
        if not given["quiet"] and sys.stderr.isatty():
            click.echo(line, err=True)

    with options.spec("attack", given, **{name: given[name] for name in names}) as spec:
        outcome = run_attack(spec, report=report)
        columns = (
            "kind",
            "score",
            "interval",
            "gain",
            "gain_interval",
            "beats_human",
            "significant",
            "description",
        )
        shown = {**outcome.document, "results": [_short(row) for row in outcome.document["results"][:SHOWN]]}
        table = type(outcome)(outcome.findings, shown if given["style"] == "table" else outcome.document)
        code = conclude(table, columns, given, after=_told(outcome.document))
        gamed = (outcome.document.get("verdict") or {}).get("gameable")
        return code or (1 if given["gate"] and gamed else 0)


def _short(row: dict[str, Any], width: int = 72) -> dict[str, Any]:
    text = str(row.get("description", ""))
    return {**row, "description": text if len(text) <= width else f"{text[: width - 1]}…"}


def _told(document: dict[str, Any]) -> str:
    """The verdict, what the scores run with, and what the worst fraud says."""
    verdict = document.get("verdict")
    if verdict is None:
        return ""
    people, rest = document["people"], len(document["results"]) - SHOWN
    named = people["agent"] == "human"
    lines = [
        "",
        f"people score {people['score']:.3f}; {document['tried']} strategies in {document['calls']} calls",
        *([] if named else ["no agent is called `human`: all agents' replies stand for people's"]),
    ]
    if rest > 0:
        lines.append(f"{rest} more in results.json (-o) or with --format json")
    if verdict["gameable"]:
        lines.append(
            f"GAMEABLE: {counted(verdict['frauds'], 'fraud')} above people; the worst {verdict['description']}"
        )
        worst = next(row for row in document["results"] if row["strategy"] == verdict["worst"])
        for heard, said in worst["transcript"]:
            lines += [f"  they said:  {_cut(heard)}", f"  it answers: {_cut(said)}"]
    else:
        lines.append(f"no strategy was shown to score above people ({verdict['judged']} judged)")
    if verdict["note"]:
        lines.append(f"but {verdict['note']}")
    lines += [
        f"{one['description']} ({one['correlation']:+.2f})"
        for one in document["tendencies"]
        if abs(one["correlation"]) >= STRONG
    ]
    lines += [
        f"{one['name']}: {one['change']:+.2f} sd on average, {one['raised']:.0%} rise, {one['lowered']:.0%} fall"
        for one in document["perturbations"]
    ]
    return "\n".join(lines)


def _cut(text: str, width: int = 100) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"
