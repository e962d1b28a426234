"""Benchmarks of speed and accuracy against other packages, as ratios measured in one run on one machine."""
