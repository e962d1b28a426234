"""The corpora of the training text, in the order of their numbers, and which of them are free for commercial use.

The corpora of `papers.rated_dimensions.DIALOGUES`, on which the readers are tested, are none of them, and `prepare.py`
leaves out of the others what they share with these.
"""

# file -> (licence, whether the text is free for commercial use)
SOURCES = {
    "personachat": ("MIT", True),
    "dailydialogpp": ("MIT", True),
    "more/dailydialogpp_positives": ("MIT", True),
    "chitchat_byu": ("MIT", True),
    "more/topical_chat": ("CDLA-Sharing-1.0", True),
    "more/synthetic_personachat": ("CC-BY-4.0", True),
    "more/self_dialogue": ("BSD-3-Clause", True),
    "dailydialog": ("CC-BY-NC-SA-4.0", False),
    "empathetic_contexts": ("CC-BY-NC-4.0", False),
    "more/commonsense_dialogues": ("CC-BY-NC-4.0", False),
    "more/cmu_dog": ("none stated", False),
    "more/mutual": ("none stated", False),
}
NAMES = tuple(SOURCES)
FREE = frozenset(name for name, (_, free) in SOURCES.items() if free)
