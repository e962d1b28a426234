"""Statistics over pairs of items: concordant pairs, and pairwise accuracy with its threshold of ties."""
