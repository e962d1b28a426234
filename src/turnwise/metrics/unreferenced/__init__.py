"""Metrics that score a reply in its context without a reference."""
