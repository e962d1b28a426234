"""What every command shares: options, the file of defaults, printing of results, and the report of a crash."""
