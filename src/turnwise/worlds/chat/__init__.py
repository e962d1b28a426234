"""Small talk with a persona, after ConvAI2 (Dinan et al. 2020), judged by a panel of simulated people.

Nothing is decided here: what is known of a conversation is what raters say of it.
"""

from turnwise.worlds.chat.families import FAMILIES, family
from turnwise.worlds.chat.world import WORLD, Chat

__all__ = ["FAMILIES", "WORLD", "Chat", "family"]
