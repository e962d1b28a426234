"""Heads that tell the reply that was given from replies that were not: MAUDE, ATT and what they share."""
