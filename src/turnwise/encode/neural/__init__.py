"""Encoders and language models that stand on torch; nothing outside this folder of `encode` imports it."""

from importlib.util import find_spec

from turnwise.errors import MissingExtra

if find_spec("torch") is None or find_spec("transformers") is None:
    raise MissingExtra("a neural encoder", "neural")
