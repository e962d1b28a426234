"""`turnwise play`: agents talk to simulated users in scenarios."""
