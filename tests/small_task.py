"""Generated delexicalised task dialogues, in which the logged system mostly fails.

A user wants cheap Indian food and then the phone number. The system offers a venue or asks something else; then it
gives the phone number or wishes a nice day. A dialogue succeeds if the system did both. The more frequent replies are
the worse ones, so a policy that imitates the logs fails, and one that maximises the reward succeeds.
"""

import numpy as np

from turnwise.types import Dialogue, Turn

GOAL = {"restaurant": {"info": {"food": "indian", "pricerange": "cheap"}, "reqt": ["phone"]}}
STATE = {"restaurant": {"food": "indian", "pricerange": "cheap"}}
ASKED = ("i want [value_pricerange] [value_food] food", "what is the phone number ?")
GOOD = ("[restaurant_name] is a good place .", "the number is [restaurant_phone] .")
BAD = ("which part of town do you like ?", "have a nice day !")
POINTER = ("001", "010")  # database pointer of each turn
LAVA = {
    "embedding": 12,
    "hidden": 24,
    "latent": 8,
    "dropout": 0.0,
    "fewest": 1,
    "longest": 12,
    "rate": 0.02,
    "batch": 32,
    "epochs": 9,
    "patience": 9,
    "held_out": 0.1,
    "alpha": 0.001,
    "beta": 0.001,
}


def small_task(count: int = 200, *, seed: int = 0, good: float = 0.42) -> list[Dialogue]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        turns: list[Turn] = []
        for place in range(2):
            reply = (GOOD if rng.random() < good else BAD)[place]
            turns += [Turn("user", ASKED[place]), Turn("assistant", reply, state=STATE)]
        split = ("train", "train", "train", "val")[number % 4]
        meta = {"split": split, "db_pointer": POINTER}
        found.append(Dialogue(f"task{number}", "human", tuple(turns), goal=GOAL, meta=meta))
    return found
