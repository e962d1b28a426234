"""`turnwise score`, `compare` and `meta`: items through metrics, shard by shard, and what follows from the rows."""
