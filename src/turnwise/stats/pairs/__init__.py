"""Statistics over pairs of items: concordant pairs, pairwise accuracy with its threshold of ties, and effect sizes."""
