"""How is a metric gamed? Any metric as a black box: baselines, search, naming, verdict.

After Deriu et al., Probing the Robustness of Trained Metrics for Conversational Dialogue Systems. The paper
tunes a language model by reinforcement learning until it finds a degenerate strategy; most of what it finds
is found here without a model, by searching over strategies directly, in seconds.
"""
