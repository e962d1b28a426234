"""turnwise evaluates dialogue systems from their conversations, with numbers that can be believed."""

__version__ = "0.1.0"
