"""The sentences of sellers and customers, in several wordings.

A seller's move is a question about a topic, an offer, a remark, or a closing sentence. `parsing` must recognise
every wording of a move as that move; a test checks this.
"""

from collections.abc import Mapping

# Topic of a question -> the slots that its answer fills.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "goal": ("goal",),
    "name": ("name",),
    "route": ("origin", "destination"),
    "dates": ("leaves", "returns"),
    "price": ("price",),
    "cabin": ("cabin", "stops"),
    "carrier": ("airline", "time"),
}

Wording = Mapping[str, str]  # move -> sentence

WORDINGS: Mapping[str, Wording] = {
    "plain": {
        "goal": "Hello, how can I help you?",
        "name": "What is your name?",
        "route": "Where do you fly from and to?",
        "dates": "When do you leave and when do you return?",
        "price": "What is your budget?",
        "cabin": "Which class and how many connections?",
        "carrier": "Any preference on airline or time of day?",
        "offer": "I found flight {number} on {date} in {cabin} for ${price}. Shall I book it?",
        "remark": "I am looking at our flights.",
        "booked": "I have booked flight {number} for {name}. Goodbye.",
        "changed": "I have changed the reservation to flight {number} for {name}. Goodbye.",
        "cancelled": "I have cancelled the reservation for {name}. Goodbye.",
        "no_flight": "Sorry, there is no flight for {name}. Goodbye.",
        "no_reservation": "Sorry, there is no reservation for {name}. Goodbye.",
    },
    "formal": {
        "goal": "Good day. May I ask how I can be of assistance?",
        "name": "Could you please state the name of the passenger?",
        "route": "May I know your departure airport and your destination?",
        "dates": "On which dates would you like to travel?",
        "price": "What is the highest price that you are prepared to pay?",
        "cabin": "Would you prefer a certain class, and are connections acceptable?",
        "carrier": "Do you wish to fly with a particular airline or at a particular time?",
        "offer": "I can offer flight {number} on {date}, {cabin} class, at ${price}. Would that be acceptable?",
        "remark": "Kindly bear with me while I consult the timetable.",
        "booked": "Your ticket has been issued: flight {number} is booked under the name {name}. Have a pleasant day.",
        "changed": "Your reservation has been changed: {name} now travels on flight {number}. Have a pleasant day.",
        "cancelled": "As requested, the reservation of {name} has been cancelled. Have a pleasant day.",
        "no_flight": "I regret to inform you that no flight meets your conditions, {name}. Have a pleasant day.",
        "no_reservation": "I regret that no reservation was found under the name {name}. Have a pleasant day.",
    },
    "chatty": {
        "goal": "Hey there! What can I do for you today?",
        "name": "Awesome! And who am I talking to, can I have your name?",
        "route": "Cool, a trip! Tell me, where are you off to, and from which airport?",
        "dates": "Lovely! So when are you heading out, and when are you coming back?",
        "price": "Great! How much money do you want to spend at most?",
        "cabin": "Nice! Business or economy class, and do you mind stops on the way?",
        "carrier": "Super! Got a favourite airline, or a time of day you like best?",
        "offer": "Ooh, look at this one! Flight {number}, {date}, {cabin}, just ${price}! Should I grab it for you?",
        "remark": "Hang on, my screen is a bit slow today, haha!",
        "booked": "Woohoo, you are all set {name}! I booked flight {number} for you. Enjoy and bye bye!",
        "changed": "Tada, all changed {name}! You are on flight {number} now. Enjoy and bye bye!",
        "cancelled": "Okay {name}, it is gone, your reservation is cancelled. Take care and bye bye!",
        "no_flight": "Oh no {name}, I looked everywhere but there is no flight like that. Take care and bye bye!",
        "no_reservation": "Hmm {name}, I see no reservation of yours at all. Take care and bye bye!",
    },
    "terse": {
        "goal": "Yes, your request?",
        "name": "Full name?",
        "route": "Airports, from and to?",
        "dates": "Dates, out and back?",
        "price": "Max price?",
        "cabin": "Class, connections?",
        "carrier": "Airline, hours?",
        "offer": "Flight {number}, {date}, {cabin}, ${price}. Ok?",
        "remark": "One moment.",
        "booked": "Booked. Flight {number}, {name}.",
        "changed": "Changed. Flight {number}, {name}.",
        "cancelled": "Cancelled. {name}.",
        "no_flight": "No flight. {name}.",
        "no_reservation": "No reservation. {name}.",
    },
    "wordy": {
        "goal": "Thank you very much for contacting us, we are always happy to hear from our travellers. "
        "In what way can I help you on this beautiful day?",
        "name": "Thank you so much for that. Before we go any further, and so that I can address you properly, "
        "would you be so kind as to give me your name?",
        "route": "That is wonderful to hear, travelling is one of the great joys of life. To find the best for you, "
        "could you let me know the airport that you start from and your destination?",
        "dates": "Excellent, I have made a note of everything. Our timetable changes with the season, so could you "
        "let me know on which dates you would like to leave and return?",
        "price": "Perfect, that helps me a lot. We have something for every purse, so in order not to waste any "
        "of your time, what is the budget that you have in mind for this journey?",
        "cabin": "Understood, and thank you for your patience so far. Comfort matters to us, so could you tell me "
        "which class you would like, and whether you accept connections on the way?",
        "carrier": "We are almost there, only a little detail is left. We work with many partners around the "
        "clock, so is there an airline or a time of day that you would prefer?",
        "offer": "After a careful search among all of our partners I am delighted to offer you flight {number} on "
        "{date} in {cabin} class for only ${price}. Would you like me to book it for you?",
        "remark": "Please allow me a short moment while I look through everything that our many partners have on "
        "offer, as I would like to be certain that nothing escapes me.",
        "booked": "I am delighted to let you know that I have booked flight {number} for {name}, and I wish you a "
        "most pleasant journey. Goodbye.",
        "changed": "I am delighted to let you know that I have changed the reservation to flight {number} for {name}, "
        "and I wish you a most pleasant journey. Goodbye.",
        "cancelled": "As you wished I have cancelled the reservation for {name}, and I do hope that we may welcome "
        "you on board at another time. Goodbye.",
        "no_flight": "I have looked at each and every connection and I am truly sorry to say that there is no flight "
        "for {name} today. Goodbye.",
        "no_reservation": "I have looked through all of our books and I am truly sorry to say that there is no "
        "reservation for {name}. Goodbye.",
    },
}

# Everything a customer says has three wordings; a customer uses one throughout (`Intent.wording`).
OPENINGS: Mapping[str, tuple[str, ...]] = {
    "book": (
        "Hi, I want to book a flight.",
        "Hello, I would like to book a ticket.",
        "Hey, can you book me a trip?",
    ),
    "change": (
        "Hi, I want to change my reservation.",
        "Hello, I would like to change the dates of my ticket.",
        "Hey, my plans moved, please change my booking.",
    ),
    "cancel": (
        "Hi, I want to cancel my reservation.",
        "Hello, I would like to cancel my ticket.",
        "Hey, please cancel my booking, I am not going.",
    ),
}
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "name": ("My name is {name}.", "I am {name}.", "{name} here."),
    "route": (
        "I fly from {origin} to {destination}.",
        "From {origin} to {destination}, please.",
        "{origin} to {destination}.",
    ),
    "dates": (
        "I leave on {leaves} and return on {returns}.",
        "Departure on {leaves}, back on {returns}.",
        "Out {leaves}, back {returns}.",
    ),
    "price": ("My budget is ${price}.", "I can pay up to ${price}.", "At most ${price}."),
    "cabin": ("{cabin} and {stops}.", "I would like {cabin}, with {stops}.", "{cabin}, {stops}."),
    "carrier": ("{airline} and {time}.", "I prefer {airline}, {time}.", "{airline}, {time}."),
}  # fmt: skip
# Slot -> value -> the words for it.
VALUES: Mapping[str, Mapping[object, str]] = {
    "cabin": {"economy": "economy class", "business": "business class", None: "any class"},
    "stops": {0: "a direct flight", 1: "at most one connection", None: "any number of connections"},
    "time": {**{time: f"in the {time}" for time in ("morning", "afternoon", "evening")}, None: "at any time"},
}
AGREED = ("Yes, please.", "Yes, that is fine.", "Yes, great.")
REFUSED = ("No, that does not suit me.", "No, thank you.", "No, not that one.")
REMINDED = ("I told you already.", "As I said before.", "Again?")
WAITING = ("Okay.", "Sure, I will wait.", "Fine.")
LEAVING = ("I have to go now, please finish with what you have.",
           "I must leave, please close this with what you know.",
           "No more time, finish it as it is.")  # fmt: skip
