"""Model files: known names, where they come from, fetching, and folders of trained models."""
