"""Statistics on arrays: correlations, intervals, tests and agreement between raters.

The unit of resampling is the cluster (normally a dialogue): items of one cluster are drawn, swapped and left out
together. An undefined number is NaN and an interval that cannot be computed is None; neither is ever reported as 0.
"""
