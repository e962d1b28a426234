"""Every question of turnwise, asked of published data in a terminal."""
