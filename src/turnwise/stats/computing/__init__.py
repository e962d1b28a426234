"""What several statistics compute with: quantiles of distributions, and results that are remembered."""
