"""`python -m papers.flagship.widths DATA`: can the size of an error be predicted, so that intervals differ by reply?

A second ridge regression predicts the absolute error of a reply from the signals. Half-widths are then proportional to
its prediction (normalised split conformal), and compared with one half-width for all: both are calibrated on eight
groups and tested on the ninth. Prints the rank correlation of predicted and actual error, coverage and mean half-width.
"""

import sys
from pathlib import Path

import numpy as np

from papers.learned import Corpora
from turnwise.metrics.learned.turnwise.calibration import COVERAGE
from turnwise.metrics.learned.turnwise.familiar import even_quantile
from turnwise.metrics.learned.turnwise.ridge import fit_ridge, standardised
from turnwise.metrics.learned.turnwise.signals import CUT, PENALTY
from turnwise.stats.correlation import STATISTICS

LEAST = 0.3  # least predicted error, as a share of the mean error


def main() -> None:
    for edition in ("turnwise", "turnwise-large"):
        corpora = Corpora(Path(sys.argv[1]), edition)
        every = range(len(corpora.groups))
        known = [~np.isnan(table).any(axis=1) for table in corpora.tables]
        tables = [table[some] for table, some in zip(corpora.tables, known, strict=True)]
        errors = [
            np.abs(standardised(corpora.values[n][known[n]]) - corpora.predict(n, others, "all", PENALTY)[known[n]])
            for n in every
            for others in [[m for m in every if m != n]]
        ]  # fmt: skip
        rows = []
        for n in every:
            others = [m for m in every if m != n]
            of_error = fit_ridge(
                [tables[m] for m in others], [errors[m] for m in others], penalty=PENALTY, cut=CUT
            )
            mean, spread = (np.mean([of(errors[m]) for m in others]) for of in (np.mean, np.std))
            sizes = [np.maximum(mean + spread * of_error.predict(table), LEAST * mean) for table in tables]
            one = even_quantile([errors[m] for m in others], COVERAGE)
            own = even_quantile([errors[m] / sizes[m] for m in others], COVERAGE) * sizes[n]
            rank = STATISTICS["spearman"](sizes[n], errors[n])
            rows.append([rank, np.mean(errors[n] <= one), one, np.mean(errors[n] <= own), np.mean(own)])
        names = ("rank correlation", "coverage, one width", "width", "coverage, own widths", "mean width")
        print(edition, dict(zip(names, np.round(np.mean(rows, axis=0), 3).tolist(), strict=True)))


if __name__ == "__main__":
    main()
