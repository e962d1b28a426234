"""Small talk with a persona, after ConvAI2 (Dinan et al. 2020), rated by a panel of simulated raters.

Dialogues have no goal and end without a decision; their only scores are ratings.
"""

from turnwise.worlds.chat.families import FAMILIES, family
from turnwise.worlds.chat.world import WORLD, Chat

__all__ = ["FAMILIES", "WORLD", "Chat", "family"]
