"""A detector of replies that were made to please a metric, and its training."""
