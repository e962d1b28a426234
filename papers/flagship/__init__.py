"""Training of `turnwise`, second edition: text, networks, columns, regression. papers/learned.md has the commands."""
