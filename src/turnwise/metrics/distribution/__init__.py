"""Distances between what a system says and what people say: whole sets of replies, not one at a time."""
