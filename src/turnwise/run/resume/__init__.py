"""Results of interrupted runs: stored blocks, journals, partial and finished runs."""
