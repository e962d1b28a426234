"""Scenarios: what a simulated user wants and knows, which tools answer the agent, and what must hold at the end."""
