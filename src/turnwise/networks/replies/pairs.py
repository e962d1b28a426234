"""The input of the small reader: a context and a reply as one sequence of BERT's tokens."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
WORDS = 80  # of a turn or a reply that either reader reads, as in training
CONTEXT_TOKENS, REPLY_TOKENS = 96, 104  # longest context, cut on the left, and longest reply: about 80 words
FIRST, BETWEEN, PADDING = 101, 102, 0  # BERT's [CLS], [SEP] and [PAD]


def pair_tokens(turns: Sequence[Tokens], reply: Tokens) -> tuple[Tokens, int]:
    """The tokens of a context (oldest turn first) and a reply, and where the reply begins."""
    context = np.concatenate([part for turn in turns for part in (turn, [BETWEEN])])[-CONTEXT_TOKENS:]
    both = np.concatenate([[FIRST], context, reply[:REPLY_TOKENS], [BETWEEN]]).astype(np.int64)
    return both, 1 + len(context)
