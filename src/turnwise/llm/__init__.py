"""Clients of language models behind an address."""
