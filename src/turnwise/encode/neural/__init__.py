"""Encoders and language models that stand on torch; nothing outside this folder of `encode` imports it."""
