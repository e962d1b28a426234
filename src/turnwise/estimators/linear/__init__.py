"""Estimators that are linear in features: fitted Q, LSTDQ, DICE, balancing weights, doubly robust."""
