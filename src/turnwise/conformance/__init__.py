"""Checks of plugin objects and of what they return. `turnwise.testing` uses the same functions and checks much more."""
