"""Dialogues as chat products, model APIs and research platforms write them."""
