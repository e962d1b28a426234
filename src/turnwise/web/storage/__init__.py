"""Where a study's events are kept: SQLite or PostgreSQL."""
