"""Metrics of agents that call tools, from the log alone: no judge is asked (docs/agents-with-tools.md)."""
