"""Commands that make dialogues or replies: `respond`, `simulate`, self-play."""
