"""What every training shares: the data it gets, the loop, checkpoints."""
