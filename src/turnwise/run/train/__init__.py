"""`turnwise train`: trainers by name, and the evaluation of trained policies."""
