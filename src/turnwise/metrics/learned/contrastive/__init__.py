"""Contrastive heads, which separate the logged reply from wrong replies: MAUDE, ATT and what they share."""
