"""Encoders and language models that stand on torch; nothing outside this folder of `encode` imports it."""

from turnwise.extras import require

require("neural", "a neural encoder")
