"""The sentences of systems, with placeholders for values as in the replies of MultiWOZ's published policies.

The user parses them with `lexicon`; a test checks that every sentence is parsed as intended.
"""

from collections.abc import Mapping

# Slot -> the question for it.
QUESTIONS: Mapping[str, str] = {
    "food": "What type of food would you like?",
    "pricerange": "What price range do you have in mind?",
    "area": "Which area would you like?",
    "type": "What kind of place are you looking for?",
    "stars": "What star rating would you like?",
    "internet": "Do you need internet?",
    "parking": "Do you need parking?",
    "departure": "Where are you leaving from?",
    "destination": "Where are you going to?",
    "day": "On which day?",
    "leaveat": "What time would you like to leave or arrive?",
    "people": "For how many people?",
    "time": "At what time?",
    "stay": "For how many nights?",
}
# Domain -> the sentence that offers a venue, and the question after it.
OFFERS: Mapping[str, str] = {
    "restaurant": "[restaurant_name] is a [restaurant_pricerange] [restaurant_food] restaurant in the "
    "[restaurant_area].",
    "hotel": "[hotel_name] is a [hotel_pricerange] [hotel_type] in the [hotel_area] with [hotel_stars] stars, "
    "[hotel_parking] and [hotel_internet].",
    "attraction": "[attraction_name] is a [attraction_type] in the [attraction_area].",
    "train": "[train_id] goes from [train_departure] to [train_destination] on [train_day], leaves at "
    "[train_leaveat] and arrives by [train_arriveby].",
}
OFFER_QUESTIONS: Mapping[str, str] = {
    "restaurant": "Would you like me to book it?",
    "hotel": "Would you like me to book it?",
    "attraction": "Would you like to know more about it?",
    "train": "Would you like tickets?",
}
# Domain -> the confirmation of a booking.
BOOKED: Mapping[str, str] = {
    "restaurant": "I have booked [restaurant_name] for [restaurant_people] on [restaurant_day] at [restaurant_time]. "
    "The reference number is [restaurant_reference].",
    "hotel": "I have booked [hotel_name] for [hotel_people] and [hotel_stay] from [hotel_day]. "
    "The reference number is [hotel_reference].",
    "train": "I have booked [train_people] on [train_id]. The reference number is [train_reference].",
    "taxi": "I have booked a taxi for you, a [taxi_type]. The phone number is [taxi_phone].",
}
# The value of a slot, known and unknown.
VALUE_STATEMENT = "The {noun} of [{domain}_{offer}] is [{domain}_{slot}]."
VALUE_UNKNOWN = "I do not know the {noun}."
# Domain -> no venue matches.
NO_MATCH: Mapping[str, str] = {
    "restaurant": "I am sorry, there is no such restaurant.",
    "hotel": "I am sorry, there is no such place to stay.",
    "attraction": "I am sorry, there is no such attraction.",
    "train": "I am sorry, there is no such train.",
    "taxi": "I am sorry, there is no taxi.",
}
BOOKING_DECLINED = "You can arrange that at the desk when you get there."
ANYTHING_ELSE = "Is there anything else that I can do for you?"
HELP = "Hello, how can I help you?"
BYE = "You are welcome. Goodbye."
REPEAT_PLEASE = "I'm sorry, could you say that again?"  # Lubis et al. 2022, section 5.4
