"""How reliable judges are in themselves: position bias of pairs, agreement of a panel, and spread of samples."""

from collections.abc import Iterator

from turnwise.report.figure import Figure, Record, provenance_notes, with_estimate
from turnwise.report.runs import Run


def position_biases(run: Run) -> Iterator[Figure]:
    """A table of the judges of pairs: how much more often they chose what was shown first."""
    mine = [record for record in with_estimate(run.results) if record.get("position_bias") is not None]
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
                    r["metric"], r["agent_a"], r["agent_b"], r["position_bias"],
                    *(r.get("position_bias_interval") or (None, None)), r.get("consistent"),
                )
                for r in mine
            ),
        )  # fmt: skip


def judge_agreement(run: Run) -> Iterator[Figure]:
    """A table of panels and of judges with several samples: how far their verdicts on one item differ."""
    mine = [record for record in with_estimate(run.results) if _has_spread(record)]
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
                    r["metric"], r["agent"], r.get("panel_agreement"), _means(r), r.get("sample_sd"),
                    r.get("item_margin"),
                )
                for r in mine
            ),
        )  # fmt: skip


def _has_spread(record: Record) -> bool:
    """Whether a record is of a panel, or of a judge with several samples."""
    return "panel_means" in record or "sample_sd" in record


def _means(record: Record) -> str:
    """The mean score of each judge of a panel."""
    means = record.get("panel_means") or {}
    return ", ".join(f"{model}: {'-' if mean is None else f'{mean:.2f}'}" for model, mean in means.items())
