"""One module a kind of figure, after the figures of the papers; each makes what a run's results allow, or nothing."""
