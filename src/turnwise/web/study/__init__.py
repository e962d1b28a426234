"""A study: its definition, its tasks, who gets which, the answers, and their export."""
