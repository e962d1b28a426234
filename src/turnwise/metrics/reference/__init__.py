"""Metrics that compare a reply with what people said at the same point.

One rule for all: a reference in which the metric finds no token is no reference, and an item without any is
not scored. The peers (sacrebleu, rouge-score) count such a reference, as a text of length 0 or as a score of
0.
"""
