"""Raters from a crowd: how they join, consent, are screened, practise, finish and are paid."""
