"""Metrics with trained parameters."""
