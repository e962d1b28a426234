"""Results as text, tables, figures, gates and files. All of it is computed from findings."""
