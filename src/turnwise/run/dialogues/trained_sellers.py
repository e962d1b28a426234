"""The family `trained` of the booking world: sellers of graded strength that were trained by cloning (ENIGMA, 4.2).

All learn from one corpus of simulated dialogues. They differ in how much of it they see and in the weights of the
losses, as the paper's 24 agents do. Training needs minutes on one processor core; trained models are kept in the cache
folder, named by a digest of everything that decides them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from turnwise.agents.booking_training import Settings, train_customer, train_seller
from turnwise.encode.models import folder
from turnwise.encode.models.catalogue import cache_home
from turnwise.errors import UsageError, setting
from turnwise.terminal import say_lines
from turnwise.types import Agent, Dialogue, digest
from turnwise.worlds.booking.drawn import ORDERS
from turnwise.worlds.booking.sellers import Habits, Seller
from turnwise.worlds.booking.world import WORLD

WORLD_NAME = "booking"
NAME = "trained"
CORPUS = 600  # dialogues that all sellers learn from
VERSION = 1  # of the corpus and the network: a change trains anew
# Share of the corpus in percent, and how the losses are weighted.
SHARES = (100, 15, 5, 2)
WEIGHTS: Mapping[str, Mapping[str, Any]] = {
    "even": {},
    "weak-flight": {"flight": 0.003},
    "weak-intent": {"intent": 0.02},
    "weak": {"intent": 0.02, "flight": 0.0, "name": 0.0},
}
UPDATES = 160


def strengths(agents: int) -> dict[str, Settings]:
    """Seller name -> its settings, from much data to little; with fewer sellers every n-th, so that kinds are mixed.

    Raises `UsageError` for more than there are.
    """
    found = {}
    kinds = list(WEIGHTS)
    for place, share in enumerate(SHARES):
        for kind in kinds[place:] + kinds[:place]:
            layers = 1 + (kinds.index(kind) + place) % 2
            found[f"{kind}-{share:03d}"] = Settings(
                share=share / 100, layers=layers, updates=UPDATES, **dict(WEIGHTS[kind])
            )
    if agents > len(found):
        raise UsageError(
            f"the family `{NAME}` has {len(found)} sellers; take {setting('--agents', len(found))} or fewer"
        )
    chosen = [list(found)[index * len(found) // agents] for index in range(agents)]
    return {name: found[name] for name in chosen}


def corpus(seed: int, dialogues: int = CORPUS) -> list[Dialogue]:
    """Dialogues of sellers without faults, in two wordings, some of which offer a flight before they book it."""
    found = []
    for number in range(dialogues):
        wording = ("plain", "formal")[number % 2]
        teacher = Seller(Habits(wording, asks=ORDERS[wording], offers=0.3))
        rng = np.random.default_rng([seed, 1, number])
        found.append(WORLD.play(teacher, rng, identity=f"corpus/{number}", name=wording))
    return found


def trained_sellers(agents: int, seed: int) -> dict[str, Agent]:
    """The sellers of the family by name, trained now unless the cache has them.

    `seed` is that of the corpus and of the first weights.
    """
    from turnwise.agents.seller import TrainedSeller

    data: list[Dialogue] = []
    found: dict[str, Agent] = {}
    for name, settings in strengths(agents).items():
        place = cache_home() / "sellers" / digest(str((VERSION, seed, CORPUS)), str(asdict(settings)))[:16]
        if not folder.is_trained(place):
            data = data or corpus(seed)
            say_lines(f"training seller {name}: kept in {place}", err=True)
            made = train_seller(data, settings, seed=seed)
            folder.save(place, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
        found[name] = TrainedSeller.read(folder.load(place, "seller"))
    return found


def trained_customer(seed: int, dialogues: list[Dialogue]) -> "folder.Folder":
    """A customer trained on the corpus of this seed and further dialogues, kept in the cache folder."""
    settings = Settings(updates=2 * UPDATES)
    texts = [turn.text for one in dialogues for turn in one.turns]
    place = (
        cache_home() / "customers" / digest(str((VERSION, seed, CORPUS)), str(asdict(settings)), *texts)[:16]
    )
    if not folder.is_trained(place):
        made = train_customer([*corpus(seed), *dialogues], settings, seed=seed)
        folder.save(place, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    return folder.load(place, "customer")
