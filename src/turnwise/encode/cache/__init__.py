"""Vectors that were computed once: on disk, and on storage shared by several machines."""
