"""Numbers about numbers: correlations, intervals, tests and agreement. Arrays in, numbers out.

The unit of everything random is the cluster (a dialogue): items of one cluster are drawn, swapped and left
out together. What is undefined is NaN, an interval that cannot be had is None, and neither is ever 0.
"""
