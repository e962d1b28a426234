"""Tables whose columns say by their names what they are, so that they need no map.

A table has *one row a message* (the dialogue, who speaks, the text) or *one row a reply* (what was asked, what was
answered). Each of these meanings must be that of one column only: where `question` and `context`, or `answer` and
`prediction`, stand side by side, a map has to say which is which.
"""

from collections.abc import Iterable, Mapping, Sequence

CONVERSATION = (
    "conversation_id", "conv_id", "dialogue_id", "dialog_id", "session_id", "thread_id", "chat_id", "conversation",
    "session", "dialogue", "dialog",
)  # fmt: skip
# Meaning -> names of columns that have it, in lower case; of several names of an id the first counts.
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (*CONVERSATION, "id", "item_id", "question_id", "example_id", "sample_id"),
    "role": ("role", "speaker", "sender", "author", "from"),
    "content": ("content", "text", "message", "utterance", "body", "value"),
    "context": ("context", "prompt", "question", "query", "input", "instruction", "user_message", "user_input",
                "user_query", "human"),
    "response": ("response", "answer", "completion", "output", "reply", "bot_response", "assistant_message",
                 "assistant_response", "model_output", "model_response", "generated_text", "generation", "prediction"),
    "agent": ("agent", "model", "model_name", "model_id", "bot", "variant"),
    "reference": ("reference", "references", "ground_truth", "gold", "expected", "expected_output", "target",
                  "reference_answer"),
    "turn": ("turn", "turn_id", "turn_index", "turn_number", "message_index"),
    "time": ("time", "timestamp", "created_at", "sent_at"),
    "rater": ("rater", "rater_id", "annotator", "annotator_id", "worker_id"),
}  # fmt: skip
MESSAGES, REPLIES = (
    ("id", "role", "content"),
    ("context", "response"),
)  # what the two kinds of tables must have
LAYOUT = frozenset(
    {*MESSAGES, *REPLIES, "messages", "message", "reply_to"}
)  # a map with one of these says it all
BESIDE_MESSAGES = ("agent", "turn", "time", "rater")
BESIDE_REPLIES = ("id", "agent", "reference", "rater")
# The five attributes that people rate in HelpSteer and data like it.
ATTRIBUTES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
OF_ATTRIBUTES = "[0-4]"
FIRST = ("id",)  # meanings for which the first of several columns counts


def usual_columns(header: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Meaning -> column of a table whose columns have usual names; empty if they do not say what it is."""
    names = list(header)
    if {*REPLIES} <= {*names} and not {*MESSAGES} <= {*names}:
        layout: Sequence[str] = REPLIES
        found: dict[str, tuple[str, ...]] = {meaning: (meaning,) for meaning in REPLIES}
    else:
        chosen = {meaning: _column(meaning, names) for meaning in {*MESSAGES, *REPLIES}}
        layout = next((kind for kind in (MESSAGES, REPLIES) if all(chosen[one] for one in kind)), ())
        found = {meaning: (column,) for meaning in layout if (column := chosen[meaning])}
    if not layout:
        return {}
    for meaning in BESIDE_MESSAGES if layout is MESSAGES else BESIDE_REPLIES:
        if meaning not in found and (column := _column(meaning, names)):
            found[meaning] = (column,)
    if layout is REPLIES and {*ATTRIBUTES} <= {*names}:
        found |= {f"rating:{attribute}{OF_ATTRIBUTES}": (attribute,) for attribute in ATTRIBUTES}
    return found


def _column(meaning: str, names: Sequence[str]) -> str | None:
    """The one column with this meaning: the one that is called so, else the only one with another usual name.

    A `context` beside a `question` may be what was retrieved for it, so these must be the only ones.
    """
    if meaning in names and meaning not in (*FIRST, *REPLIES):
        return meaning
    known = NAMES[meaning]
    there = sorted(
        (name for name in names if name.lower() in known), key=lambda name: known.index(name.lower())
    )
    return there[0] if there and (len(there) == 1 or meaning in FIRST) else None


def is_conversation(column: str) -> bool:
    """Whether a column names the dialogue that several rows belong to, and not the row."""
    return column.lower() in CONVERSATION


def described(columns: Mapping[str, Sequence[str]]) -> str:
    """The columns as a --map would name them."""
    return ",".join(f"{meaning}={column}" for meaning, several in columns.items() for column in several)
