"""A simulated customer books flights with a seller, after AirDialogue (Wei et al. 2018).

Every decision of a seller has a score, so an agent's true mean score can be simulated to any precision.

from turnwise.worlds import booking

sellers = booking.family("behaviour", agents=16)
dialogue = booking.WORLD.play(sellers["hurried"], np.random.default_rng(0))
"""

from turnwise.worlds.booking.families import FAMILIES, family
from turnwise.worlds.booking.other_customer import with_user
from turnwise.worlds.booking.world import WORLD, Booking

__all__ = ["FAMILIES", "WORLD", "Booking", "family", "with_user"]
