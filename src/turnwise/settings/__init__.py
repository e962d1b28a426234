"""What a setting of a command is, and the groups of settings that several commands share."""
