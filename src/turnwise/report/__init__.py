"""Results become text, tables and files. Everything here is derived from findings."""
