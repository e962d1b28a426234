"""Curves of a language model tuned to maximise a metric: reward, loss and collapse (Deriu et al., figure 2)."""

from collections.abc import Iterator

from turnwise.report import plot
from turnwise.report.documents import AttackDocument
from turnwise.report.figure import Figure, provenance_notes
from turnwise.report.runs import RunOf

TUNED = "rl"  # begins the names of strategies that were tuned
QUANTITIES = {
    "reward": "The metric's mean score of what the tuned model says; where it passes people's (dashed), it beats them.",
    "lm_loss": "How unlikely people's own replies have become to the tuned model, in nats a token.",
    "entropy": "The spread of the words that it chooses, in nats: near 0 it says the same whatever it hears.",
    "response_frequency": "The share of its most frequent reply: near 1 it says one thing.",
}


def tuning(run: RunOf[AttackDocument]) -> Iterator[Figure]:
    """One figure for each quantity that was recorded, with a line for each repetition; none if no policy was tuned."""
    results, repetitions = run.document.results, run.document.repetitions
    people = None if run.document.people is None else run.document.people.score
    # The reward is the metric, negated if lower is better.
    negated = bool(results) and results[0].better == "lower"
    people = -people if people is not None and negated else people
    for quantity, meaning in QUANTITIES.items():
        curves = [(one.repetition, getattr(one.curves, quantity)) for one in repetitions]
        drawn = [(number, values) for number, values in curves if values]
        if not drawn:
            continue
        metric = results[0].metric
        title = f"{quantity.replace('_', ' ')} of a model tuned on {metric}"
        rule = [people] if quantity == "reward" and people is not None else []
        reached = [value for _, values in drawn for value in values]
        longest = max(len(values) for _, values in drawn)
        panel = plot.Panel.with_axes(
            (0, max(1, longest - 1)), plot.padded_range([*reached, *rule]), integer_ticks=True
        )
        panel.axes("epoch", quantity.replace("_", " "))
        for mean in rule:
            panel.horizontal_rule(mean)
        for place, (_, values) in enumerate(drawn):
            panel.line(range(len(values)), [float("nan") if v is None else v for v in values], place)
        records = [record for record in results if str(record.strategy).startswith(TUNED)]
        yield Figure(
            kind="tuning",
            title=title,
            meaning=meaning
            + (" Lower is better by this metric, and its sign is turned." if negated and rule else ""),
            notes=provenance_notes(records or results, more=[f"{len(drawn)} repetitions"]),
            head=("repetition", "epoch", quantity),
            rows=tuple(
                (number + 1, epoch, value) for number, values in drawn for epoch, value in enumerate(values)
            ),
            svg=panel.svg(title, legend=[f"repetition {number + 1}" for number, _ in drawn]),
        )
