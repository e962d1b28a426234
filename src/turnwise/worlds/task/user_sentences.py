"""The sentences of users: templates, and functions that fill them with values.

Trackers parse them with `lexicon`; a test checks that every sentence is parsed as intended.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from turnwise.worlds.task.lexicon import NOUNS

# The first message on a domain: of the first domain, and of each further one.
FIRST_REQUESTS = (
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
FURTHER_REQUESTS = (
    "I am also looking for {}.",
    "I also need {}.",
    "Can you help me with {} too?",
    "Thanks. I would also like to find {}.",
    "Great, thank you. I need {} as well.",
    "Thanks so much. I would also like some help with finding {}, please.",
    "Perfect, thank you. Next I am looking for {}.",
    "Yes, I am also in need of {}.",
)
# An optional last sentence of the first message.
LAST_SENTENCES = ("", "", "", "What do you have?", "What would you recommend?", "Can you help me with that?")
# The noun phrase for what a user is looking for: domain -> noun, and slot -> template of a modifier before or
# after the noun.
HEAD_NOUNS = {
    "restaurant": "restaurant",
    "hotel": "place to stay",
    "attraction": "attraction",
    "train": "train",
}
MODIFIERS_BEFORE = (("pricerange", "{}"), ("stars", "{} star"))
MODIFIERS_AFTER = (
    ("name", "called {}"),
    ("departure", "from {}"),
    ("destination", "to {}"),
    ("area", "in the {}"),
    ("food", "that serves {} food"),
    ("day", "on {}"),
    ("leaveat", "leaving after {}"),
    ("arriveby", "arriving by {}"),
)
FIRST_TAXI_REQUESTS = ("I need a taxi {}.", "Can you book a taxi {}?", "I would like a taxi {}, please.")
FURTHER_TAXI_REQUESTS = (
    "I also need a taxi {}.",
    "Lastly, I need a taxi {} please.",
    "Can I also get a taxi {}?",
)
# Slot -> sentences that state its value; `NO_PREFERENCE` says that any value will do.
STATEMENTS: Mapping[str, tuple[str, ...]] = {
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
NO_PREFERENCE = (
    "I do not care about the {}.",
    "Any {} is fine.",
    "Any {} will do.",
    "I do not have a preference for the {}.",
)
# A request for slots.
SLOT_REQUESTS = (
    "Can I get the {}?",
    "What is the {}?",
    "I need the {}, please.",
    "Could you give me the {}?",
    "Can you please tell me the {} for that one?",
    "May I have the {}, please?",
    "I would also like to know the {}.",
)
# A request for a booking: domain -> with details; `BOOKING_REQUESTS_WITHOUT_DETAILS` without.
BOOKING_REQUESTS: Mapping[str, tuple[str, ...]] = {
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
BOOKING_REQUESTS_WITHOUT_DETAILS = (
    "Yes, please book it.",
    "Yes, can you book that for me?",
    "Please book it for me.",
    "That sounds great, could you make a reservation for me?",
    "Yes, I would like to make a booking, please.",
)
# First sentences of a reply: neutral, correction, change of constraints, reminder, complaint.
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
CORRECTIONS = (
    "No, that is not right.",
    "That is not what I asked for.",
    "Actually, that is not quite what I was looking for.",
    "I am sorry, but that is wrong.",
    "No.",
)
CHANGES = (
    "How about this instead.",
    "In that case let us change that.",
    "Okay, then let us try something different.",
    "That is too bad, then I will take something else.",
    "Okay, then something else.",
)
REMINDERS = ("As I said.", "I told you already.", "I believe that I have mentioned it.", "Again:")
COMPLAINTS = ("I am sorry, I asked for something else.", "That does not help me.", "Let me say it again.")
# Last messages: everything found, or nothing.
DONE = (
    "That is all I need, thank you. Goodbye.",
    "Thank you for your help, bye.",
    "No, that will be all. Thanks!",
    "Great, that is all. Have a nice day!",
    "No, that is all I needed today. Thank you so much for all of your help!",
    "Thanks, that will be all for today. I appreciate your help.",
    "Perfect, thank you very much for your help. Goodbye!",
)
LEAVING = ("This does not help me. Goodbye.", "I will try somewhere else, bye.", "Never mind, goodbye.")


def pick(options: Sequence[str], rng: np.random.Generator) -> str:
    """A random option."""
    return options[int(rng.random() * len(options))]


def noun(slot: str) -> str:
    """The noun for a slot in sentences."""
    return NOUNS[slot][0]


def value_in_words(slot: str, value: str) -> str:
    """A value in words: `free parking`, `3 people`, `1 night`; values of other slots unchanged."""
    if slot in ("internet", "parking"):
        return f"{'no' if value == 'no' else 'free'} {noun(slot)}"
    if slot in ("people", "stay"):
        many, single = ("people", "person") if slot == "people" else ("nights", "night")
        return f"{value} {single if value == '1' else many}"
    return value


def join_with_and(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; `parts` must not be empty."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def noun_phrase(domain: str, slots: Mapping[str, str]) -> str:
    """The noun phrase for a search: `a cheap restaurant in the centre that serves indian food`.

    `slots` is slot -> value.
    """
    in_words = {slot: value_in_words(slot, value) for slot, value in slots.items()}
    before = [text.format(in_words[slot]) for slot, text in MODIFIERS_BEFORE if slot in in_words]
    extras = [in_words[slot] for slot in ("internet", "parking") if slot in in_words]
    after = [f"with {join_with_and(extras)}"] if extras else []
    text = " ".join([*before, in_words.get("type", HEAD_NOUNS[domain]), modifiers(in_words), *after])
    text = " ".join(text.split())
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def modifiers(in_words: Mapping[str, str]) -> str:
    """The modifiers after the noun: `from here to there arriving by 17:15`; `in_words` is slot -> value in words."""
    return " ".join(text.format(in_words[slot]) for slot, text in MODIFIERS_AFTER if slot in in_words)


def statement(slot: str, value: str | None, rng: np.random.Generator) -> str:
    """A sentence that states the value of a slot; None: the user has no preference."""
    if value is None:
        return pick(NO_PREFERENCE, rng).format(noun(slot))
    text = pick(STATEMENTS[slot], rng).format(value_in_words(slot, value))
    return text[:1].upper() + text[1:]
