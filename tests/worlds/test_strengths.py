"""Families that repeat a list of behaviours at decreasing strength."""

from turnwise.worlds.strengths import at_halving_strength


def test_the_strength_halves_with_every_repetition_of_the_list():
    kinds = {"slow": lambda x: ("slow", x), "rude": lambda x: ("rude", x)}
    assert at_halving_strength(kinds, 5) == {
        "slow": ("slow", 1.0),
        "rude": ("rude", 1.0),
        "slow-2": ("slow", 0.5),
        "rude-2": ("rude", 0.5),
        "slow-3": ("slow", 0.25),
    }
