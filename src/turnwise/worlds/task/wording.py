"""What users say: templates, and how values are put into them.

They are read by trackers through `lexicon`; a test holds every sentence to what it says.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from turnwise.worlds.task.lexicon import NOUNS

LEADS = (
    "I am looking for {}.",
    "I need {}.",
    "Can you help me find {}?",
    "Hi, I would like to find {}.",
    "Could you find me {}, please?",
    "Hello, I am trying to find {}.",
    "I want to find {}.",
    "I am planning a trip and I need to find {}.",
    "Hi there, I am visiting town and I would like some help finding {}.",
    "I would like some information on {}, please.",
    "Hello, can you give me some information about {}?",
)
MORE = (
    "I am also looking for {}.",
    "I also need {}.",
    "Can you help me with {} too?",
    "Thanks. I would also like to find {}.",
    "Great, thank you. I need {} as well.",
    "Thanks so much. I would also like some help with finding {}, please.",
    "Perfect, thank you. Next I am looking for {}.",
    "Yes, I am also in need of {}.",
)
TAILS = ("", "", "", "What do you have?", "What would you recommend?", "Can you help me with that?")
HEADS = {"restaurant": "restaurant", "hotel": "place to stay", "attraction": "attraction", "train": "train"}
BEFORE = (("pricerange", "{}"), ("stars", "{} star"))
AFTER = (
    ("name", "called {}"),
    ("departure", "from {}"),
    ("destination", "to {}"),
    ("area", "in the {}"),
    ("food", "that serves {} food"),
    ("day", "on {}"),
    ("leaveat", "leaving after {}"),
    ("arriveby", "arriving by {}"),
)
TAXIS = ("I need a taxi {}.", "Can you book a taxi {}?", "I would like a taxi {}, please.")
MORE_TAXIS = ("I also need a taxi {}.", "Lastly, I need a taxi {} please.", "Can I also get a taxi {}?")
TELLS: Mapping[str, tuple[str, ...]] = {
    "food": (
        "I would like {} food.",
        "{} food, please.",
        "It should serve {} food.",
        "I am in the mood for some {} food.",
        "I would prefer {} food, if that is possible.",
    ),
    "pricerange": (
        "I want something {}.",
        "Something {}, please.",
        "I would like something in the {} price range.",
        "I would like it to be {}, please.",
        "I am looking for something that is {}.",
    ),
    "area": (
        "It should be in the {}.",
        "In the {}, please.",
        "I would like to be in the {} of town.",
        "Preferably somewhere in the {}, if possible.",
        "I would like it to be located in the {}.",
    ),
    "type": (
        "I would like a {}.",
        "It should be a {}.",
        "I am interested in a {}.",
        "I would prefer to go for a {}.",
        "I think that I would like a {}, please.",
    ),
    "stars": (
        "It should have {} stars.",
        "{} stars, please.",
        "I would like {} stars.",
        "It needs to have {} stars, please.",
        "I would prefer something with {} stars.",
    ),
    "internet": ("It should have {}.", "I want {}."),
    "parking": ("It should have {}.", "I want {}."),
    "name": ("It is called {}.", "The name is {}.", "I mean {}.", "I have heard good things about {}."),
    "departure": (
        "I am leaving from {}.",
        "I will be departing from {}.",
        "I would like to leave from {}, please.",
        "I will be leaving from {} that day.",
    ),
    "destination": (
        "I am going to {}.",
        "I would like to go to {}.",
        "I need to get to {}, please.",
        "I will be travelling to {}.",
    ),
    "day": (
        "On {}.",
        "It is for {}.",
        "It needs to be on {}, please.",
        "I would like it to be for {}.",
        "{}, please.",
    ),
    "leaveat": (
        "I want to leave after {}.",
        "I would like to leave after {}, please.",
        "I would prefer to leave after {}, if possible.",
        "I need something that leaves after {}, please.",
    ),
    "arriveby": (
        "I need to arrive by {}.",
        "I would like to arrive by {}.",
        "I have to be there by {}.",
        "It does not matter as long as I arrive by {}.",
    ),
    "people": (
        "For {}.",
        "There will be {}.",
        "It will be for {}, please.",
        "We are going to be {} in total.",
        "{}, please.",
    ),
    "time": (
        "At {}.",
        "At {}, please.",
        "I would like it to be at {}.",
        "Let us say at {}, if that is possible.",
    ),
    "stay": ("For {}.", "We will stay {}.", "We would like to stay for {}, please.", "It will be for {}."),
}
ANY = (
    "I do not care about the {}.",
    "Any {} is fine.",
    "Any {} will do.",
    "I do not have a preference for the {}.",
)
ASKS = (
    "Can I get the {}?",
    "What is the {}?",
    "I need the {}, please.",
    "Could you give me the {}?",
    "Can you please tell me the {} for that one?",
    "May I have the {}, please?",
    "I would also like to know the {}.",
)
BOOKS: Mapping[str, tuple[str, ...]] = {
    "restaurant": (
        "Please book a table for {people} at {time} on {day}.",
        "Can you book it for {people} on {day} at {time}?",
        "I would like to book a table for {people}, {day} at {time}.",
        "Yes please, can you book a table there for {people} on {day} at {time} for me?",
        "That is great, I need to make a reservation for {people} at {time} on {day}.",
    ),
    "hotel": (
        "Please book it for {people} and {stay} starting from {day}.",
        "Can you book it for {people}, {stay}, from {day}?",
        "I would like to book it from {day} for {stay} and {people}.",
        "Yes please, I would like to book a room for {people} for {stay}, starting on {day}.",
        "That is great, can you make a reservation for {people} and {stay} from {day}?",
    ),
    "train": (
        "Please book it for {people}.",
        "Can you book tickets for {people}?",
        "I would like to book {tickets}.",
    ),
}
BOOK_IT = (
    "Yes, please book it.",
    "Yes, can you book that for me?",
    "Please book it for me.",
    "That sounds great, could you make a reservation for me?",
    "Yes, I would like to make a booking, please.",
)
OPENERS = (
    "",
    "",
    "Okay.",
    "Great.",
    "Thank you.",
    "That sounds good.",
    "That sounds perfect, thank you.",
    "Thanks so much.",
    "That will work for me.",
)
CORRECTS = (
    "No, that is not right.",
    "That is not what I asked for.",
    "Actually, that is not quite what I was looking for.",
    "I am sorry, but that is wrong.",
    "No.",
)
INSTEAD = (
    "How about this instead.",
    "In that case let us change that.",
    "Okay, then let us try something different.",
    "That is too bad, then I will take something else.",
    "Okay, then something else.",
)
REMINDS = ("As I said.", "I told you already.", "I believe that I have mentioned it.", "Again:")
REPEATS = ("I am sorry, I asked for something else.", "That does not help me.", "Let me say it again.")
DONE = (
    "That is all I need, thank you. Goodbye.",
    "Thank you for your help, bye.",
    "No, that will be all. Thanks!",
    "Great, that is all. Have a nice day!",
    "No, that is all I needed today. Thank you so much for all of your help!",
    "Thanks, that will be all for today. I appreciate your help.",
    "Perfect, thank you very much for your help. Goodbye!",
)
LEAVES = ("This does not help me. Goodbye.", "I will try somewhere else, bye.", "Never mind, goodbye.")


def one(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.random() * len(options))]


def noun(slot: str) -> str:
    return NOUNS[slot][0]


def shown(slot: str, value: str) -> str:
    """A value in words: `free parking`, `3 people`, `1 night`."""
    if slot in ("internet", "parking"):
        return f"{'no' if value == 'no' else 'free'} {noun(slot)}"
    if slot in ("people", "stay"):
        many, single = ("people", "person") if slot == "people" else ("nights", "night")
        return f"{value} {single if value == '1' else many}"
    return value


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def wanted(domain: str, slots: Mapping[str, str]) -> str:
    """A noun phrase: `a cheap restaurant in the centre that serves indian food`."""
    say = {slot: shown(slot, value) for slot, value in slots.items()}
    before = [text.format(say[slot]) for slot, text in BEFORE if slot in say]
    extras = [say[slot] for slot in ("internet", "parking") if slot in say]
    after = [f"with {listed(extras)}"] if extras else []
    text = " ".join([*before, say.get("type", HEADS[domain]), ride(say), *after])
    text = " ".join(text.split())
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def ride(say: Mapping[str, str]) -> str:
    """What follows the noun: `from here to there arriving by 17:15`."""
    return " ".join(text.format(say[slot]) for slot, text in AFTER if slot in say)


def told(slot: str, value: str | None, rng: np.random.Generator) -> str:
    """A sentence with one constraint or detail in it; None where the user does not mind."""
    if value is None:
        return one(ANY, rng).format(noun(slot))
    text = one(TELLS[slot], rng).format(shown(slot, value))
    return text[:1].upper() + text[1:]
