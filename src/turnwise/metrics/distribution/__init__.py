"""Metrics that compare the distribution of an agent's replies with that of people's replies."""
