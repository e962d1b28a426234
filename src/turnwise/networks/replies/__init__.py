"""Networks that read a reply in its context: a language model with adapters, and a small encoder that imitates it."""
