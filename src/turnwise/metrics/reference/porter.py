"""Porter's stemmer for English (Porter 1980, An algorithm for suffix stripping).

With the three changes of the author's own later program: words of one or two letters stay as they are, `bli`
becomes `ble`, `logi` becomes `log`. The first is why it is used here: the printed algorithm takes the s off
`is` and `as`, which then match `i` and `a`. nltk calls this `MARTIN_EXTENSIONS`; its default is another.
"""

from functools import lru_cache

# Suffix -> what takes its place. A word takes the first suffix it ends in, and no other even if a condition
# then fails: so a suffix stands before those it ends in.
_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_DOUBLE = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_SINGLE = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_BARE = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), ""
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if len(word) <= 2:
        return word
    word = _past(_replaced(word, _PLURALS, above=-1))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for endings, above in ((_DOUBLE, 0), (_SINGLE, 0), (_BARE, 1)):
        word = _replaced(word, endings, above=above)
    if word.endswith("e") and (_measure(word[:-1]) > 1 or (_measure(word) == 1 and not _short(word[:-1]))):
        word = word[:-1]
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _past(word: str) -> str:
    """Without -ed or -ing, and with the e that they may have hidden."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and "v" in _shape(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and _shape(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replaced(word: str, endings: dict[str, str], *, above: int) -> str:
    """With another ending, where what stands before it has a measure above the given one."""
    if not word.endswith(tuple(endings)):  # as most do not: all are tried at once
        return word
    for ending, other in endings.items():
        if word.endswith(ending):
            rest = word[: -len(ending)]
            fits = _measure(rest) > above and (ending != "ion" or rest[-1] in "st")
            return rest + other if fits else word
    return word


def _shape(word: str) -> str:
    """`c` for a consonant and `v` for a vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _short(word: str) -> bool:
    """Porter's *o: ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
