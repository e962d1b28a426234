"""`turnwise attack`: search, reinforcement learning, hardening."""
