"""Simple features of replies: length, lexical variety, repetition. None of them measures quality by itself."""
