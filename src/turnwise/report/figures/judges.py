"""How reliable judges are in themselves: position bias of pairs, agreement of a panel, and spread of samples."""

from collections.abc import Iterator

from turnwise.records import ScoreRecord
from turnwise.report.documents import CompareDocument, ScoreDocument
from turnwise.report.figure import Figure, low_and_high, provenance_notes, with_estimate
from turnwise.report.runs import RunOf


def position_biases(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """A table of the judges of pairs: how much more often they chose what was shown first."""
    mine = [record for record in with_estimate(run.document.results) if record.position_bias is not None]
    if mine:
        yield Figure(
            kind="position bias",
            title="do judges favour what is shown first?",
            meaning="Share of answers that chose what was shown first, less a half; 0 is no bias. Each pair is asked "
            "about in both orders, so the bias is not in the estimate. `both orders agree` is the share of pairs with "
            "the same winner in both.",
            notes=provenance_notes(mine),
            head=("judge", "first", "second", "position bias", "low", "high", "both orders agree"),
            rows=tuple(
                (
                    r.metric, r.agent_a, r.agent_b, r.position_bias, *low_and_high(r.position_bias_interval),
                    r.consistent,
                )
                for r in mine
            ),
        )  # fmt: skip


def judge_agreement(run: RunOf[ScoreDocument]) -> Iterator[Figure]:
    """A table of panels and of judges with several samples: how far their verdicts on one item differ."""
    mine = [record for record in with_estimate(run.document.results) if _has_spread(record)]
    if mine:
        yield Figure(
            kind="agreement of judges",
            title="do judges agree with each other, and with themselves?",
            meaning="Alpha of the judges of a panel: 1 is perfect agreement, 0 is chance. Standard deviation of the "
            "samples of one item, and half the 95 % interval of an item's mean over its samples. Neither says whether "
            "people would agree.",
            notes=provenance_notes(mine),
            head=("judge", "agent", "alpha", "means of the judges", "sd of samples", "margin of an item"),
            rows=tuple(
                (
                    r.metric, r.agent, r.panel_agreement, _means(r), r.sample_sd, r.item_margin,
                )
                for r in mine
            ),
        )  # fmt: skip


def _has_spread(record: ScoreRecord) -> bool:
    """Whether a record is of a panel, or of a judge with several samples."""
    return bool(record.panel_means) or record.sample_sd is not None


def _means(record: ScoreRecord) -> str:
    """The mean score of each judge of a panel."""
    means = record.panel_means
    return ", ".join(f"{model}: {'-' if mean is None else f'{mean:.2f}'}" for model, mean in means.items())
