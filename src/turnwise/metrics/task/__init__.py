"""Metrics of task-oriented dialogue, computed from goals, dialogue states and venue tables."""
