"""Metrics that look at a reply and its context, and at no reference."""
