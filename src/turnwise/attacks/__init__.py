"""Attacks on a metric: a search for replies that the metric, as a black box, scores above people's.

After Deriu et al., Probing the Robustness of Trained Metrics for Conversational Dialogue Systems. The paper tunes a
language model by reinforcement learning until it converges to a degenerate strategy. A direct search over strategies
finds most of these strategies in seconds, without a model; reinforcement learning is an optional stage.
"""
