"""`turnwise ope`: from logs to calibrated estimates, in memory or streamed; the critic of task dialogue."""
