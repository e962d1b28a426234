"""`turnwise attack`."""

import os
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

import click

from turnwise.cli import options
from turnwise.errors import TurnwiseError, counted
from turnwise.report.text import number

# Options of --harden alone.
HARDENING = ("rounds", "learn_from", "taught", "agree_with")
SHOWN = 12  # strategies in the table; results.json has all
REASONS = 3  # why replies have no score, that are told; results.json has more
STRONG = 0.3  # a correlation worth a line


def tuning(function: Any) -> Any:
    """What the stage `rl` can be told."""
    for option in reversed((
        click.option("--policy", default="smollm2", show_default=True, metavar="NAME|DIR",
                     help="rl: the language model to tune, causal or encoder-decoder."),
        click.option("--epochs", default=5, show_default=True, type=click.IntRange(min=1),
                     help="rl: the reward is tracked after each. The paper has 15."),
        click.option("--updates", default=20, show_default=True, type=click.IntRange(min=1),
                     help="rl: of the policy, in an epoch. The paper has 500."),
        click.option("--batch", default=16, show_default=True, type=click.IntRange(min=2),
                     help="rl: replies in an update."),
        click.option("--repetitions", default=1, show_default=True, type=click.IntRange(min=1),
                     help="rl: from the start, of which the best is kept. The paper has 10."),
        click.option("--learning-rate", default=1e-5, show_default=True,
                     type=click.FloatRange(0, min_open=True), help="rl: of the policy."),
        click.option("--kl", default=0.05, show_default=True, type=click.FloatRange(0),
                     help="rl: what a nat a token away from the untuned model costs; 0 is the paper's."),
        click.option("--entropy", default=0.0, show_default=True, type=click.FloatRange(0),
                     help="rl: what a nat of the words' entropy earns."),
        click.option("--longest", default=40, show_default=True, type=click.IntRange(min=2),
                     help="rl: tokens of a reply."),
        click.option("--minutes", type=click.FloatRange(0, min_open=True),
                     help="rl: after which a repetition ends with what it has. Default: never."),
    )):  # fmt: skip
        function = option(function)
    return function


@click.command(name="attack")
@options.config
@click.argument("metric", metavar="METRIC")
@click.option(
    "--contexts", multiple=True, required=True, metavar="DATA",
    help="Conversations of people: where the strategies must answer. Repeatable.",
)  # fmt: skip
@click.option(
    "--count", default=200, show_default=True, type=click.IntRange(min=40),
    help="Contexts: half to search on, half to judge on.",
)  # fmt: skip
@click.option(
    "--budget", default=20_000, show_default=True, type=click.IntRange(min=500),
    help="Metric calls; one call is one reply scored. Perturbations and rl come on top.",
)  # fmt: skip
@click.option(
    "--stages", default="baselines,search", show_default=True, callback=options.names, metavar="NAMES",
    help="baselines, search, rl (a language model is tuned to please the metric; wants a GPU or patience).",
)  # fmt: skip
@tuning
@click.option(
    "--perturb/--no-perturb", default=True, show_default=True,
    help="Also report how the score moves under edits that change no meaning, and under ruined contexts.",
)  # fmt: skip
@click.option(
    "--timeout", default=120.0, show_default=True, type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    help="After which a reply that the metric does not answer has no score; it is left after ten of these.",
)  # fmt: skip
@click.option(
    "--harden", is_flag=True,
    help="Teach usr-ret, maude or att what fooled it, and attack again, until nothing found beats people.",
)  # fmt: skip
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(min=1), help="harden: at most.")
@click.option(
    "--learn-from", multiple=True, metavar="DATA",
    help="harden: conversations to train on. Default: those of --contexts that are not attacked. Repeatable.",
)  # fmt: skip
@click.option(
    "--taught", default=2000, show_default=True, type=click.IntRange(min=100),
    help="harden: turns at which frauds are taught; their texts take time on a CPU.",
)  # fmt: skip
@click.option(
    "--agree-with", multiple=True, metavar="RATED",
    help="harden: rated replies, to see what it cost in agreement with people. Repeatable.",
)  # fmt: skip
@click.option(
    "--card", is_flag=True, help="Write the frauds on the card of the trained model that is attacked."
)
@click.option(
    "--gate", is_flag=True,
    help="Fail (exit 1) if the metric can be gamed; with --harden, unless nothing found scores above people.",
)  # fmt: skip
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
    from turnwise.attacks.target import left_behind

    try:
        code = _attacked(given)
    except TurnwiseError as error:
        if not left_behind():
            raise
        click.echo(f"turnwise: error: {error}", err=True)
        code = error.exit_code
    if left_behind():
        # A metric call that hangs in native code would crash the interpreter while it shuts down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _attacked(given: dict[str, Any]) -> int:
    from turnwise.cli.printed import conclude
    from turnwise.library import attack, harden

    given |= {"gates": (), "junit": None}
    if given["harden"]:
        hardened = harden(**options.arguments(given, "harden", "gate"))
        code = conclude(hardened, given, after=_rounds(hardened.document))
        return code or (1 if given["gate"] and not hardened.robust else 0)
    found = attack(**options.arguments(given, "harden", "gate", *HARDENING))
    rows = [_short(row) for row in found.document["results"][:SHOWN]]
    code = conclude(found, given, rows=rows, after=_told(found.document))
    return code or (1 if given["gate"] and found.gameable else 0)


def _short(row: Mapping[str, Any], width: int = 72) -> dict[str, Any]:
    text = str(row.get("description", ""))
    return {**row, "description": text if len(text) <= width else f"{text[: width - 1]}…"}


def _told(document: Mapping[str, Any]) -> str:
    """The verdict, what the scores run with, and what the worst fraud says."""
    verdict = document.get("verdict")
    if verdict is None:
        return ""
    people, rest = document["people"], len(document["results"]) - SHOWN
    named = people["agent"] == "human"
    lines = [
        "",
        f"people score {number(people['score'])}; {document['tried']} strategies in {document['calls']} calls",
        *([] if named else ["no agent is called `human`: all agents' replies stand for people's"]),
    ]
    if document["unsearched"]:
        lines.append(
            "nothing was searched for: --budget does for judging alone; give it more, or lower --count"
        )
    if document["unjudged"]:
        lines.append(f"not judged: {document['unjudged']} strategies, for want of budget or of answers")
    lines += [
        f"no score for {times} replies: {why}" for why, times in islice(document["errors"].items(), REASONS)
    ]
    if rest > 0:
        lines.append(f"{rest} more in results.json (-o) or with --format json")
    if verdict["gameable"]:
        told = _cut(verdict["description"], 200)
        lines.append(f"GAMEABLE: {counted(verdict['frauds'], 'fraud')} above people; the worst {told}")
        worst = next(row for row in document["results"] if row["strategy"] == verdict["worst"])
        for heard, said in worst["transcript"]:
            lines += [f"  they said:  {_cut(heard)}", f"  it answers: {_cut(said)}"]
    else:
        lines.append(f"no strategy was shown to score above people ({verdict['judged']} judged)")
    if verdict["note"]:
        lines.append(f"but {verdict['note']}")
    lines += [
        f"rl, repetition {one['repetition'] + 1}: reward {one['curves']['reward'][0]:.3f} -> {one['reward']:.3f}; "
        f"{one['final']}: {one['description']}" + (f"; stopped: {one['stopped']}" if one["stopped"] else "")
        for one in document["repetitions"]
    ]
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


def _rounds(document: Mapping[str, Any]) -> str:
    """Round after round, what it cost, and what is shown in the end."""
    lines = [""]
    for one in document["rounds"]:
        for attacked in one["attacked"]:
            lines.append(
                f"round {one['round']}, {attacked['contexts']}: people {attacked['people']:.3f}, best fraud "
                f"{attacked['score']:.3f} ({_cut(attacked['description'], 60)})"
            )
            if attacked["edits"]:
                edits = ", ".join(attacked["edits"])
                lines.append(
                    f"  people's own replies, edited, score above people: {edits}; this is not taught"
                )
    lines += [
        f"{one['rated']}, {one['dimension']}: Spearman {number(one['before'])} -> {number(one['after'])}"
        for one in document["agreement"]
    ]
    return "\n".join([*lines, f"{document['told']}; the metric is now {document['hardened']}"])


def _cut(text: str, width: int = 100) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"
