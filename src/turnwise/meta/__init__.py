"""Scores against people, and agents against each other: what differs, by how much, and how sure that is."""
