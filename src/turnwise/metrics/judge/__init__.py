"""A language model as a judge of replies, whole dialogues and pairs (docs/judge.md)."""
