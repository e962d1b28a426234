"""Evaluation of metrics against people's ratings, and comparison of agents."""
