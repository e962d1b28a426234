"""Text preprocessing: tokenising, normalising, delexicalising."""
