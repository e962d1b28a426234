"""`turnwise attack`."""

import os
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import TurnwiseError, UsageError, counted
from turnwise.report.text import number
from turnwise.terminal import say, visible

# Options of --harden alone.
HARDENING = ("rounds", "learn_from", "taught", "agree_with")
SHOWN = 12  # strategies in the table; results.json has all
REASONS = 3  # reasons for missing scores that are printed; results.json has more
STRONG = 0.3  # correlations from this one on are printed


def tuning(function: Any) -> Any:
    """A decorator that adds the options of the stages `samples` and `rl` to a command."""
    for option in reversed((
        click.option("--policy", default="smollm2", show_default=True, metavar="NAME|DIR",
                     help="samples, rl: the language model, causal or encoder-decoder."),
        click.option("--samples", default=8, show_default=True, type=click.IntRange(min=2),
                     help="samples: replies in each context, of which the metric chooses; a beam search goes on."),
        click.option("--epochs", default=5, show_default=True, type=click.IntRange(min=1),
                     help="rl: the reward is tracked after each. The paper has 15."),
        click.option("--updates", default=20, show_default=True, type=click.IntRange(min=1),
                     help="rl: updates of the policy in an epoch. The paper has 500."),
        click.option("--batch", default=16, show_default=True, type=click.IntRange(min=2),
                     help="rl: replies in an update."),
        click.option("--repetitions", default=1, show_default=True, type=click.IntRange(min=1),
                     help="rl: trainings from the start, of which the best is kept. The paper has 10."),
        click.option("--learning-rate", default=1e-5, show_default=True,
                     type=click.FloatRange(0, min_open=True), help="rl: learning rate of the policy."),
        click.option("--kl", default=0.05, show_default=True, type=click.FloatRange(0),
                     help="rl: penalty for a nat per token of divergence from the untuned model; the paper has 0."),
        click.option("--entropy", default=0.0, show_default=True, type=click.FloatRange(0),
                     help="rl: reward for a nat of entropy of the words."),
        click.option("--longest", default=40, show_default=True, type=click.IntRange(min=2),
                     help="samples, rl: tokens of a reply, at most."),
        click.option("--minutes", type=click.FloatRange(0, min_open=True),
                     help="rl: minutes after which a repetition ends with what it has. Default: no limit."),
    )):  # fmt: skip
        function = option(function)
    return function


@click.command(name="attack")
@options.config
@click.argument("metric", metavar="METRIC")
@click.option(
    "--contexts", multiple=True, required=True, metavar="DATA",
    help="Dialogues of people, in which the strategies must reply. Repeatable.",
)  # fmt: skip
@options.reader
@click.option(
    "--count", default=200, show_default=True, type=click.IntRange(min=40),
    help="Number of contexts: half to search on, half to test on.",
)  # fmt: skip
@click.option(
    "--budget", default=20_000, show_default=True, type=click.IntRange(min=500),
    help="Metric calls; one call is one reply scored. Perturbations, samples and rl come on top.",
)  # fmt: skip
@click.option(
    "--stages", default="baselines,search", show_default=True, callback=options.names, metavar="NAMES",
    help="baselines, search, samples (of a language model, chosen by the metric), rl (tunes the language model; slow "
    "without a GPU).",
)  # fmt: skip
@tuning
@click.option(
    "--perturb/--no-perturb", default=True, show_default=True,
    help="Also report how the score changes under edits that keep the meaning, and under damaged contexts.",
)  # fmt: skip
@click.option(
    "--timeout", default=120.0, show_default=True, type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    help="Time after which a reply is unscored; after ten of these the metric is given up.",
)  # fmt: skip
@click.option(
    "--harden", is_flag=True,
    help="Train usr-ret, maude, att or guarded[metric=NAME] on the frauds found, and attack again, until nothing found "
    "scores above people.",
)  # fmt: skip
@click.option(
    "--rounds", default=4, show_default=True, type=click.IntRange(min=1), help="harden: rounds, at most."
)
@click.option(
    "--learn-from", multiple=True, metavar="DATA",
    help="harden: dialogues to train on. Default: those of --contexts that are not attacked. Repeatable.",
)  # fmt: skip
@click.option(
    "--taught", default=2000, show_default=True, type=click.IntRange(min=100),
    help="harden: turns at which frauds are taught; encoding their texts takes time on a CPU.",
)  # fmt: skip
@click.option(
    "--agree-with", multiple=True, metavar="RATED",
    help="harden: rated replies, to measure the change of the agreement with people. Repeatable.",
)  # fmt: skip
@click.option(
    "--card", is_flag=True, help="Write the frauds on the card of the trained model that is attacked."
)
@click.option(
    "--gate", is_flag=True,
    help="Fail (exit 1) if the metric can be gamed, or if too little was searched; with --harden, unless nothing found "
    "scores above people.",
)  # fmt: skip
@options.selecting
@options.running
@options.printing
def command(**given: Any) -> int:
    """How can a metric be gamed? Searches for replies that it scores above people's.

    METRIC is any name of `turnwise ls metrics`, with settings in brackets, a `module:function` or an http
    address. Strategies are searched on one half of the contexts and tested on the other: a metric is gameable
    when a strategy's gain over people has an interval above zero, at a level shared among all that were
    tested.

    \b
      turnwise attack length --contexts dialogues.jsonl
      turnwise attack usr-ret --contexts dialogues.jsonl -o out --gate
      turnwise attack mymetrics:score --contexts dialogues.jsonl --budget 5000
    """
    from turnwise.attacks.target import has_running_call

    try:
        code = _attacked(given)
    except TurnwiseError as error:
        if not has_running_call():
            raise
        say(f"turnwise: error: {error}", err=True)
        code = error.exit_code
    if has_running_call():
        # A metric call that hangs in native code would crash the interpreter while it shuts down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _attacked(given: dict[str, Any]) -> int:
    """Run `attack`, or `harden` with --harden, print the result, and return the exit code (1: the --gate failed).

    --harden without -o raises `UsageError`.
    """
    from turnwise.cli.common.printed import conclude
    from turnwise.library import attack, harden

    given |= {"gates": (), "junit": None}
    if given["harden"]:
        if not given["output"]:
            raise UsageError("--harden writes a model: give its folder with -o")
        hardened = harden(**options.arguments(given, "harden", "gate"))
        code = conclude(hardened, given, after=_rounds(hardened.document))
        return code or (1 if given["gate"] and not hardened.robust else 0)
    found = attack(**options.arguments(given, "harden", "gate", *HARDENING))
    rows = [_short(row) for row in found.document["results"][:SHOWN]]
    code = conclude(found, given, rows=rows, after=_summary(found.document))
    return code or (1 if given["gate"] and (found.gameable or found.document["unsearched"]) else 0)


def _short(row: Mapping[str, Any], width: int = 72) -> dict[str, Any]:
    """The row with its description cut to `width` characters, and the number of compared contexts if it is not all."""
    text = str(row.get("description", ""))
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    if unscored := sum((row.get("unscored") or {}).values()):
        text += f" (compared in {row['n_items']} of {row['n_items'] + unscored} contexts)"
    return {**row, "description": text}


def _summary(document: Mapping[str, Any]) -> str:
    """The lines under the table: the verdict, what the scores correlate with, and replies of the worst fraud;
    empty without a verdict.
    """
    verdict = document.get("verdict")
    if verdict is None:
        return ""
    people, rest = document["people"], len(document["results"]) - SHOWN
    named = people["agent"] == "human"
    lines = [
        "",
        f"people score {number(people['score'])}; {document['tried']} strategies in {document['calls']} calls",
        *([] if named else ["no agent is called `human`: the replies of all agents are used as people's"]),
    ]
    if document["unsearched"] and not verdict["gameable"]:
        from turnwise.attacks.attack import MIN_SEARCH_CALLS

        lines.append(
            f"too little was searched for a verdict: after testing, --budget leaves fewer than {MIN_SEARCH_CALLS} "
            "calls; raise it (the default is 20,000), or lower --count"
        )
    if document["unjudged"]:
        lines.append(
            f"not tested: {document['unjudged']} strategies, because of the budget or missing scores"
        )
    lines += [
        f"no score for {times} replies: {why}" for why, times in islice(document["errors"].items(), REASONS)
    ]
    if rest > 0:
        lines.append(f"{rest} more in results.json (-o) or with --format json")
    if verdict["gameable"]:
        worst_one = _cut(verdict["description"], 200)
        lines.append(f"GAMEABLE: {counted(verdict['frauds'], 'fraud')} above people; the worst {worst_one}")
        worst = next(row for row in document["results"] if row["strategy"] == verdict["worst"])
        for context, reply in worst["transcript"]:
            lines += [f"  context: {_cut(context)}", f"  reply:   {_cut(reply)}"]
    else:
        lines.append(f"no strategy was shown to score above people ({verdict['judged']} tested)")
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
    return "\n".join(map(visible, lines))


def _rounds(document: Mapping[str, Any]) -> str:
    """The lines under the table of --harden: each round, the change of the agreement with people, and the
    conclusion.
    """
    lines = [""]
    for one in document["rounds"]:
        for attacked in one["attacked"]:
            lines.append(
                f"round {one['round']}, {attacked['contexts']}: people {attacked['people']:.3f}, best strategy "
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
    lines.append(f"{document['summary']}; the metric is now {document['hardened']}")
    return "\n".join(map(visible, lines))


def _cut(text: str, width: int = 100) -> str:
    """The text in one line, cut to `width` characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"
