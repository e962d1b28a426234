"""Countable properties of replies: how long, how varied, how repetitive. Each says one thing and none says
quality.
"""
