"""Metrics that compare a reply with reference replies by people.

All of them ignore a reference without tokens, and an item without a usable reference is unscored. sacrebleu and
rouge-score count such a reference as a text of length 0 or as a score of 0.
"""
