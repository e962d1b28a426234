"""Estimators without off-policy correction, for comparison."""
