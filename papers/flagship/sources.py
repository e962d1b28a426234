"""The corpora of the training text, in the order of their numbers, and which of them are free for commercial use."""

# file -> (licence, whether the text is free for commercial use, whether assistant turns were written by a machine)
SOURCES = {
    "personachat": ("MIT", True, False),
    "dailydialogpp": ("MIT", True, False),
    "more/dailydialogpp_positives": ("MIT", True, False),
    "chitchat_byu": ("MIT", True, False),
    "more/topical_chat": ("CDLA-Sharing-1.0", True, False),
    "more/synthetic_personachat": ("CC-BY-4.0", True, False),
    "more/self_dialogue": ("BSD-3-Clause", True, False),
    "ji2022": ("MIT", True, True),
    "ieval": ("CC-BY-4.0", True, True),
    "dailydialog": ("CC-BY-NC-SA-4.0", False, False),
    "empathetic_contexts": ("CC-BY-NC-4.0", False, False),
    "more/commonsense_dialogues": ("CC-BY-NC-4.0", False, False),
    "more/cmu_dog": ("none stated", False, False),
    "more/mutual": ("none stated", False, False),
    "convai2_2018": ("none stated", False, True),
}
NAMES = tuple(SOURCES)
FREE = frozenset(name for name, (_, free, _) in SOURCES.items() if free)
